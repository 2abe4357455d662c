//! The unit that a decision counts as one observation.

use stats::sample::Sample;

/// One observation of a measure: a run, or a window of it.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) sample: Sample,
    /// `None` where the record does not say when operations started, and of connections.
    pub(crate) rate: Option<Rate>,
    /// `None` where the record does not tell.
    pub(crate) ends: Option<Ends>,
}

/// Operations that the target completed while there was load. Those that were answered afterwards are no rate of that
/// time.
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

/// How often failures of one kind occurred in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub(crate) failed: u64,
    /// Operations of the step that ended; `None` of a step that is no operation.
    pub(crate) ended: Option<u64>,
}

impl Occurrence {
    /// The share of the operations, or the number of failures.
    pub(crate) fn plain(self) -> f64 {
        match self.ended {
            Some(ended) => Ends { ended, failed: self.failed }.error_rate(),
            None => self.failed as f64,
        }
    }

    /// The figure in a unit in which its scatter does not grow with it: the arcsine of a share's root, the root of a number
    /// (Bartlett 1947).
    pub(crate) fn transformed(self) -> f64 {
        let root = self.plain().sqrt();
        if self.ended.is_some() { root.min(1.0).asin() } else { root }
    }

    /// The variance of [`Occurrence::transformed`] if failures are independent of each other (Bartlett 1947).
    pub(crate) fn variance(self) -> f64 {
        match self.ended {
            Some(ended) => Ends { ended, failed: self.failed }.variance(),
            None => 0.25,
        }
    }
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
