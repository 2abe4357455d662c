//! How long bytes may have been there before the loop read them.
//!
//! The kernel does not say when a socket became ready. But it became so after the loop's last look at its
//! sockets, or that look would have found it; and while the loop sleeps, news wake it. So what a wait
//! brought is late by no more than the time since
//!
//! - the wait ended, if the loop slept and was woken;
//! - the wait began, if the loop slept past its end: it did not run meanwhile;
//! - the look before, if the wait returned at once: the news came while the loop was busy.

/// A wait that returned within this time found news that were there before.
const AT_ONCE_NS: u64 = 100_000;
/// A sleep that lasted longer than was planned by this much was held up by somebody else.
const OVERSLEPT_NS: u64 = 1_000_000;

/// The loop's looks at its sockets.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    /// When a wait that is not over began, and how long it was to last; 0: it was a mere look.
    waiting: Option<(u64, u64)>,
    /// When the last look ended.
    looked_ns: u64,
    /// What is in hand was not there before this.
    since_ns: u64,
    /// Older news are still in hand.
    has_rest: bool,
}

impl Lateness {
    /// A wait begins at `now_ns`, for `sleep_ns` at most. `has_rest`: news of earlier looks are left.
    pub(super) fn wait(&mut self, now_ns: u64, sleep_ns: u64, has_rest: bool) {
        self.waiting = Some((now_ns, sleep_ns));
        self.has_rest = has_rest;
    }

    /// The clock was read, for the first time since the wait or again.
    pub(super) fn look(&mut self, now_ns: u64) {
        let Some((began_ns, sleep_ns)) = self.waiting.take() else {
            return;
        };
        let waited_ns = now_ns.saturating_sub(began_ns);
        let since_ns = if sleep_ns == 0 || waited_ns <= AT_ONCE_NS {
            self.looked_ns
        } else if waited_ns > sleep_ns.saturating_add(OVERSLEPT_NS) {
            began_ns
        } else {
            now_ns
        };
        self.since_ns = if self.has_rest {
            self.since_ns.min(since_ns)
        } else {
            since_ns
        };
        self.looked_ns = now_ns;
    }

    /// How long what is read at `now_ns` may have been there.
    pub(super) fn of(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.since_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Waits from `began` for `sleep`, looks at `woke`, and reads at `read`, all in microseconds; the
    /// look before was at 1,000.
    fn late(began: u64, sleep: u64, woke: u64, read: u64, has_rest: bool) -> u64 {
        let mut lateness = Lateness::default();
        lateness.wait(0, 0, false);
        lateness.look(MS);
        lateness.wait(began * 1_000, sleep * 1_000, has_rest);
        lateness.look(woke * 1_000);
        lateness.of(read * 1_000) / 1_000
    }

    #[test]
    fn news_that_wake_a_loop_are_late_by_what_it_reads_before_them() {
        assert_eq!(late(2_000, 50_000, 30_000, 30_000, false), 0);
        assert_eq!(late(2_000, 50_000, 30_000, 30_700, false), 700);
    }

    #[test]
    fn news_of_a_busy_loop_may_have_come_since_its_last_look() {
        assert_eq!(late(6_000, 0, 6_001, 6_001, false), 5_001);
        assert_eq!(late(6_000, 50_000, 6_010, 6_020, false), 5_020);
    }

    #[test]
    fn a_loop_that_did_not_run_is_late_since_it_went_to_sleep() {
        assert_eq!(late(2_000, 50_000, 502_000, 502_000, false), 500_000);
        // A millisecond too many is what timers are coarse by.
        assert_eq!(late(2_000, 50_000, 53_000, 53_000, false), 0);
    }

    #[test]
    fn news_that_wait_for_their_turn_stay_as_late_as_they_were() {
        let mut lateness = Lateness::default();
        lateness.wait(MS, 50 * MS, false);
        lateness.look(20 * MS);
        lateness.wait(23 * MS, 0, true);
        lateness.look(23 * MS + 5);
        assert_eq!(lateness.of(24 * MS), 4 * MS);
        lateness.wait(25 * MS, 0, false);
        lateness.look(25 * MS + 5);
        assert_eq!(lateness.of(26 * MS), 3 * MS - 5);
    }
}
