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
        is_request: is_of_step(&measure.kind),
    }
}
