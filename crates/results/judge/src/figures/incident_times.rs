//! Response times in a window of a run, and outside of all such windows of a step.

use stats::hist::LogHistogram;

/// Response times of successes in one incident, and outside of the incidents of its step.
#[derive(Debug, Clone, Default)]
pub(crate) struct IncidentTimes {
    /// Ascending.
    pub(crate) measures: Vec<usize>,
    /// Since the run's start.
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) during: LogHistogram,
    pub(crate) usual: LogHistogram,
}
