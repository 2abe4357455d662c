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

/// The loop's looks at its sockets, and the turns of those with news.
///
/// All that a look found has its turns before anything is believed to be newer: only when all of it
/// was handled does the next look count.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    /// When a wait that is not over began, and how long it was to last; 0: it was a mere look.
    waiting: Option<(u64, u64)>,
    /// When the last look that counts ended.
    looked_ns: u64,
    /// Earliest time at which the news being handled can have arrived.
    since_ns: u64,
    /// Sockets at the front of the loop's queue that have not had their turn since that look.
    turns: usize,
    /// As many sockets may have had news at that look that the kernel has not reported yet.
    unreported: usize,
    /// When the last look that counts began, and the one before it.
    began_ns: u64,
    before_ns: u64,
}

impl Lateness {
    /// A wait begins at `now_ns`, for `sleep_ns` at most.
    pub(super) fn wait(&mut self, now_ns: u64, sleep_ns: u64) {
        if !self.has_rest() {
            self.waiting = Some((now_ns, sleep_ns));
            self.before_ns = self.began_ns;
            self.began_ns = now_ns;
        }
    }

    /// The wait is over: the kernel reported `reported` sockets, of all that it knew if not `is_full`, and
    /// now `queued` are in the loop's queue, of `sockets` in all. The kernel reports in the order in
    /// which they became ready, each once.
    pub(super) fn took(&mut self, is_full: bool, reported: usize, queued: usize, sockets: usize) {
        let counts = !self.has_rest();
        if counts {
            self.unreported = sockets;
        }
        if counts || self.unreported > 0 {
            self.turns = queued;
        }
        self.unreported = if is_full { self.unreported.saturating_sub(reported) } else { 0 };
    }

    /// True if sockets still have to have their turn before the next look.
    pub(super) fn has_turns(&self) -> bool {
        self.turns > 0
    }

    /// The first socket of the queue had its turn; `queued` are in the queue now.
    pub(super) fn turn(&mut self, queued: usize) {
        self.turns = (self.turns - 1).min(queued);
    }

    fn has_rest(&self) -> bool {
        self.turns > 0 || self.unreported > 0
    }

    /// The clock was read, for the first time since the wait or again.
    pub(super) fn look(&mut self, now_ns: u64) {
        let Some((began_ns, sleep_ns)) = self.waiting.take() else {
            return;
        };
        let waited_ns = now_ns.saturating_sub(began_ns);
        let overslept = waited_ns > sleep_ns.saturating_add(OVERSLEPT_NS);
        self.since_ns = if sleep_ns == 0 || waited_ns <= AT_ONCE_NS {
            self.looked_ns
        } else if overslept {
            began_ns
        } else {
            now_ns
        };
        // A loop that does not run may stand between its look and its clock as well.
        self.looked_ns = if overslept { began_ns } else { now_ns };
    }

    /// How long what is read at `now_ns` may have been there.
    pub(super) fn at(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.since_ns)
    }

    /// All that was there at this time is handled. Unlike the lateness this is no estimate: the loop may
    /// have stood still at any point since the look began.
    pub(super) fn seen_ns(&self) -> u64 {
        if self.has_rest() { self.before_ns } else { self.began_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Waits from `began` for `sleep`, looks at `woke`, and reads at `read`, all in microseconds; the
    /// look before was at 1,000. How late is what is read?
    fn late(began: u64, sleep: u64, woke: u64, read: u64) -> u64 {
        let mut lateness = Lateness::default();
        lateness.wait(MS, 0);
        lateness.look(MS);
        lateness.wait(began * 1_000, sleep * 1_000);
        lateness.look(woke * 1_000);
        lateness.at(read * 1_000) / 1_000
    }

    #[test]
    fn news_that_wake_a_loop_are_late_by_what_it_reads_before_them() {
        assert_eq!(late(2_000, 50_000, 30_000, 30_000), 0);
        assert_eq!(late(2_000, 50_000, 30_000, 30_700), 700);
    }

    #[test]
    fn news_of_a_busy_loop_may_have_come_since_its_last_look() {
        assert_eq!(late(6_000, 0, 6_001, 6_001), 5_001);
        assert_eq!(late(6_000, 50_000, 6_010, 6_020), 5_020);
    }

    #[test]
    fn a_loop_that_did_not_run_is_late_since_it_went_to_sleep() {
        assert_eq!(late(2_000, 50_000, 502_000, 502_000), 500_000);
        // A millisecond too many is what timers are coarse by.
        assert_eq!(late(2_000, 50_000, 53_000, 53_000), 0);
    }

    /// Looks without sleeping at `now`: `reported` sockets are new in the queue of `queued`.
    fn look(lateness: &mut Lateness, now_ns: u64, is_full: bool, reported: usize, queued: usize) {
        lateness.wait(now_ns, 0);
        lateness.took(is_full, reported, queued, 100);
        lateness.look(now_ns);
    }

    #[test]
    fn what_came_while_a_loop_stood_between_look_and_clock_is_late() {
        let mut lateness = Lateness::default();
        lateness.wait(MS, 0);
        lateness.look(500 * MS);
        lateness.wait(501 * MS, 0);
        lateness.look(501 * MS);
        assert_eq!(lateness.at(501 * MS), 500 * MS);
    }

    #[test]
    fn a_look_counts_once_all_that_the_one_before_found_had_its_turn() {
        let mut lateness = Lateness::default();
        look(&mut lateness, MS, false, 3, 3);
        assert_eq!((lateness.since_ns, lateness.seen_ns()), (0, 0));
        // One has its turn and comes back; two have to wait, and one more becomes ready.
        lateness.turn(3);
        look(&mut lateness, 2 * MS, false, 1, 4);
        assert_eq!((lateness.since_ns, lateness.seen_ns()), (0, 0));
        lateness.turn(3);
        assert!(lateness.has_turns());
        lateness.turn(2);
        assert!(!lateness.has_turns());
        assert_eq!(lateness.seen_ns(), MS);
        // The two that are left came after the first look, not after the second.
        look(&mut lateness, 3 * MS, false, 0, 2);
        assert_eq!((lateness.since_ns, lateness.seen_ns()), (MS, MS));
    }

    #[test]
    fn what_the_kernel_had_no_room_to_report_is_as_late_as_the_rest() {
        let mut lateness = Lateness::default();
        look(&mut lateness, MS, true, 60, 1);
        lateness.turn(0);
        look(&mut lateness, 2 * MS, true, 60, 1);
        assert_eq!((lateness.since_ns, lateness.seen_ns()), (0, 0));
        lateness.turn(0);
        // Of a hundred sockets all have been reported that were ready at the first look.
        assert_eq!(lateness.seen_ns(), MS);
        look(&mut lateness, 3 * MS, true, 60, 1);
        assert_eq!(lateness.since_ns, MS);
    }
}
