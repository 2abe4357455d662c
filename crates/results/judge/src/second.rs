//! A second of a run in progress, as the loops report it.

use stats::hist::LogHistogram;

/// The operations of a measure in one second.
#[derive(Debug, Clone, Copy)]
pub struct SecondOf<'a> {
    /// Index of the measure in the run's list.
    pub measure: usize,
    /// Number of operations that began.
    pub begun: u64,
    /// Numbers of operations that ended, by the outcome's code.
    pub outcomes: &'a [u64],
    /// Response times of operations that succeeded.
    pub response: &'a LogHistogram,
    /// Response times of operations that the target answered with a failure.
    pub failed: &'a LogHistogram,
    /// Waiting times of operations that were never answered.
    pub unanswered: &'a LogHistogram,
    /// Service times of operations that succeeded.
    pub service: &'a LogHistogram,
    /// Lags of operations that succeeded.
    pub lag: &'a LogHistogram,
}
