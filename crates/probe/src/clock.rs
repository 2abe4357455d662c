//! The run's clock for queries.

use std::time::{Duration, Instant};

/// Nanoseconds since a run's start, from a moment at which they were known.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
    /// What it was at the origin; before the start it is negative.
    at_origin_ns: i64,
}

impl Clock {
    /// A clock whose time is `now_ns` now.
    #[expect(
        clippy::disallowed_methods,
        reason = "answers need the time they were given"
    )]
    pub fn at(now_ns: i64) -> Clock {
        Clock {
            origin: Instant::now(),
            at_origin_ns: now_ns,
        }
    }

    /// Nanoseconds since the run's start; before it negative.
    pub fn now_ns(&self) -> i64 {
        self.at_origin_ns
            .saturating_add(nanos(self.origin.elapsed()))
    }

    /// The time until then; zero if that is past.
    pub fn until(&self, at_ns: i64) -> Duration {
        let left = at_ns.saturating_sub(self.now_ns());
        Duration::from_nanos(u64::try_from(left).unwrap_or(0))
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
