//! The time in which a loop had nothing to do, by the intervals in which it fell.
//!
//! A loop may sleep past the end of an interval, or of several if it does not run for seconds. It closes them when it has
//! woken. So what it slept belongs to all of them, and to the one that is open.

/// Idle time that no interval has taken yet.
#[derive(Debug, Default)]
pub(super) struct IdleTime {
    /// The time of all waits but the last one. They ended before the next interval's end: whoever wakes after it closes the
    /// interval before it waits again.
    before_ns: u64,
    /// The last wait, from and until.
    last: (u64, u64),
}

impl IdleTime {
    /// The loop waited in this time, which is after that of all waits before.
    pub(super) fn add(&mut self, since_ns: u64, until_ns: u64) {
        self.before_ns += self.last.1 - self.last.0;
        self.last = (since_ns, until_ns.max(since_ns));
    }

    /// Takes the idle time of an interval that ends then. Intervals are taken in their order.
    pub(super) fn take_until(&mut self, end_ns: u64) -> u64 {
        let (since_ns, until_ns) = self.last;
        let split_ns = end_ns.clamp(since_ns, until_ns);
        self.last.0 = split_ns;
        std::mem::take(&mut self.before_ns) + (split_ns - since_ns)
    }

    /// The idle time that is left, of the interval that is open.
    pub(super) fn left_ns(&self) -> u64 {
        self.before_ns + (self.last.1 - self.last.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn waits_within_an_interval_add_up() {
        let mut idle = IdleTime::default();
        idle.add(100 * MS, 150 * MS);
        idle.add(160 * MS, 210 * MS);
        assert_eq!(idle.left_ns(), 100 * MS);
        assert_eq!(idle.take_until(1_000 * MS), 100 * MS);
        assert_eq!(idle.take_until(2_000 * MS), 0);
    }

    #[test]
    fn a_sleep_through_several_seconds_is_idle_time_of_each() {
        let mut idle = IdleTime::default();
        idle.add(100 * MS, 900 * MS);
        idle.add(950 * MS, 3_400 * MS);
        assert_eq!(idle.take_until(1_000 * MS), 850 * MS);
        assert_eq!(idle.take_until(2_000 * MS), 1_000 * MS);
        assert_eq!(idle.take_until(3_000 * MS), 1_000 * MS);
        // The rest is that of the second that is open.
        assert_eq!(idle.left_ns(), 400 * MS);
        idle.add(3_500 * MS, 4_000 * MS);
        assert_eq!(idle.take_until(4_000 * MS), 900 * MS);
        assert_eq!(idle.left_ns(), 0);
    }

    #[test]
    fn work_after_a_wait_is_not_idle_time() {
        let mut idle = IdleTime::default();
        idle.add(0, 100 * MS);
        // Then a step took two seconds.
        assert_eq!(idle.take_until(1_000 * MS), 100 * MS);
        assert_eq!(idle.take_until(2_000 * MS), 0);
    }
}
