//! The unit that a decision counts as one observation.

use stats::sample::Sample;

/// One observation of a measure: a run, or a window of it.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) sample: Sample,
    /// `None` where the record does not say when operations started.
    pub(crate) rate: Option<Rate>,
    /// `None` where the record does not tell.
    pub(crate) ends: Option<Ends>,
}

/// Operations that succeeded while there was load. Those that were answered afterwards are no rate of that time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) in_time: u64,
    /// The time of the load.
    pub(crate) seconds: f64,
}

/// Operations that ended, and those of them that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ends {
    pub(crate) ended: u64,
    pub(crate) failed: u64,
}

impl Rate {
    pub(crate) fn per_second(self) -> f64 {
        self.in_time as f64 / self.seconds
    }

    /// The rate's logarithm, with one operation in place of none.
    pub(crate) fn ln(self) -> f64 {
        (self.in_time.max(1) as f64 / self.seconds).ln()
    }
}

impl Ends {
    pub(crate) fn plus(self, other: &Ends) -> Ends {
        Ends { ended: self.ended + other.ended, failed: self.failed + other.failed }
    }

    /// The share that failed; 0 of none.
    pub(crate) fn error_rate(self) -> f64 {
        self.failed as f64 / self.ended.max(1) as f64
    }

    /// The variance that the arcsine of the share's root has if operations fail independently of each other
    /// (Bartlett 1947).
    pub(crate) fn variance(self) -> f64 {
        0.25 / self.ended.max(1) as f64
    }
}
