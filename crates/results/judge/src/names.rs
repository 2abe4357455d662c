//! The names that thresholds and figures of a run can use.

use plan::thresholds::{MeasureTags, Names};
use record::operations::is_of_step;
use record::schema::{MeasureInfo, RunInfo};

/// The names of a run's measures, tags and phases.
pub struct RunNames<'r> {
    measures: Vec<&'r str>,
    tags: Vec<MeasureTags<'r>>,
    phases: Vec<&'r str>,
}

impl<'r> RunNames<'r> {
    /// The names of this run.
    pub fn of(info: &'r RunInfo) -> RunNames<'r> {
        RunNames {
            measures: info.measures.iter().map(|m| m.name.as_str()).collect(),
            tags: info.measures.iter().map(tagged).collect(),
            phases: info.phases.iter().map(|p| p.name.as_str()).collect(),
        }
    }

    /// The names in the form with which thresholds are parsed.
    pub fn names(&self) -> Names<'_> {
        Names { measures: &self.measures, tags: &self.tags, phases: &self.phases }
    }
}

fn tagged(measure: &MeasureInfo) -> MeasureTags<'_> {
    MeasureTags {
        shared_name: measure.shared_name.as_deref(),
        tags: &measure.tags,
        is_request: is_request(&measure.kind),
    }
}

/// True for the kinds of operations that count if no measure is named: requests, messages that users send, and
/// handshakes. Connections and checks have figures of their own, transactions are made of others, and
/// messages that the target sends by itself would hide errors.
pub fn is_request(kind: &str) -> bool {
    is_of_step(kind)
}
