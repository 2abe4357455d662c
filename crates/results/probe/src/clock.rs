//! The run's clock for queries.

use std::time::Duration;

use machine::clock::{Dilation, monotonic_ns};

/// Nanoseconds since a run's start, from a moment at which they were known.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: u64,
    /// The clock's time at the origin; before the start it is negative.
    at_origin_ns: i64,
}

impl Clock {
    /// A clock whose time is `now_ns` now.
    pub fn at(now_ns: i64) -> Clock {
        Clock { origin_ns: monotonic_ns(), at_origin_ns: now_ns }
    }

    /// Nanoseconds since the run's start; before it negative.
    pub fn now_ns(&self) -> i64 {
        let since_ns = monotonic_ns().saturating_sub(self.origin_ns);
        self.at_origin_ns.saturating_add(i64::try_from(since_ns).unwrap_or(i64::MAX))
    }

    /// How long to wait until then; zero if that is past.
    pub fn until(&self, at_ns: i64) -> Duration {
        let left = at_ns.saturating_sub(self.now_ns());
        Duration::from_nanos(Dilation::of_process().stretch_ns(u64::try_from(left).unwrap_or(0)))
    }
}
