//! What a decision counts as one observation.

use stats::sample::Sample;

/// One observation of a measure: a run, or a window of it.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) sample: Sample,
    /// Operations that succeeded, per second; `None` where the record does not say when they started.
    pub(crate) rate: Option<f64>,
    /// `None` where the record does not tell.
    pub(crate) error_rate: Option<f64>,
}
