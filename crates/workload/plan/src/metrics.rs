//! Metrics of a scenario's own: numbers that are no times.

use serde::Serialize;
use stats::metrics::MetricKind;

/// Numbers that a scenario records under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Unique among the metrics and the measures.
    pub name: String,
    pub kind: MetricKind,
    /// For people, behind its numbers; may be empty.
    pub unit: String,
}
