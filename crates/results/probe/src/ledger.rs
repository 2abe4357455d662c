//! Missing answers. Sources are queried at ticks, multiples of their period. Missing answers are counted, and
//! reported when they begin and cease to be missing.

/// The queries to one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Answers.
    pub readings: u64,
    /// Ticks without one.
    pub missed: u64,
    /// CPU time of the queries, in nanoseconds.
    pub cpu_ns: u64,
}

/// How late an answer may be before the source counts as lost, in nanoseconds.
const SILENCE_NS_MAX: i64 = 2_500_000_000;

/// One source's answers so far.
#[derive(Debug)]
pub(crate) struct Ledger {
    every_ns: i64,
    /// The tick that was answered last, or the one before the first.
    last_tick: i64,
    is_lost: bool,
    tally: Tally,
}

/// A change for the worse or the better.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Lost {
        at_ns: i64,
        why: String,
    },
    Back {
        at_ns: i64,
        /// Ticks without an answer since it was lost.
        missed: u64,
    },
}

impl Ledger {
    /// Creates the ledger of a source that is queried from this time on.
    pub(crate) fn new(every_ns: u64, from_ns: i64) -> Ledger {
        let every_ns = i64::try_from(every_ns).unwrap_or(i64::MAX).max(1);
        Ledger {
            every_ns,
            last_tick: first_tick(every_ns, from_ns) - 1,
            is_lost: false,
            tally: Tally::default(),
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// The query of this tick was answered; CPU time so far.
    pub(crate) fn answered(&mut self, tick: i64, cpu_ns: u64) -> Vec<Change> {
        let skipped = (tick - self.last_tick - 1).max(0);
        let mut changes = Vec::new();
        if skipped > 0 && !self.is_lost {
            changes.extend(self.lose(self.last_tick + 1, "its answers took too long".to_owned()));
        }
        if self.is_lost {
            self.is_lost = false;
            changes.push(Change::Back {
                at_ns: tick.saturating_mul(self.every_ns),
                missed: skipped as u64,
            });
        }
        self.tally.missed += skipped as u64;
        self.tally.readings += 1;
        self.tally.cpu_ns = cpu_ns;
        self.last_tick = tick.max(self.last_tick);
        changes
    }

    /// The query of this tick failed.
    pub(crate) fn failed(&mut self, tick: i64, why: String) -> Option<Change> {
        self.lose(tick, why)
    }

    /// Nothing came until now: a source that has been silent for long is lost.
    pub(crate) fn poll(&mut self, now_ns: i64) -> Option<Change> {
        let due_ns = (self.last_tick + 1).saturating_mul(self.every_ns);
        let silent_ns = now_ns.saturating_sub(due_ns);
        if silent_ns <= SILENCE_NS_MAX {
            return None;
        }
        self.lose(self.last_tick + 1, "it does not answer".to_owned())
    }

    /// The queries end; ticks up to now without an answer are missed, except one that is just due.
    pub(crate) fn close(&mut self, now_ns: i64) {
        let due = now_ns.saturating_sub(self.every_ns).div_euclid(self.every_ns);
        let open = (due - self.last_tick).max(0);
        self.tally.missed += open as u64;
        self.last_tick = self.last_tick.max(due);
    }

    fn lose(&mut self, tick: i64, why: String) -> Option<Change> {
        if self.is_lost {
            return None;
        }
        self.is_lost = true;
        let at_ns = tick.saturating_mul(self.every_ns);
        Some(Change::Lost { at_ns, why })
    }
}

/// The first tick that is not before this time.
pub(crate) fn first_tick(every_ns: i64, at_ns: i64) -> i64 {
    at_ns.div_euclid(every_ns) + i64::from(at_ns.rem_euclid(every_ns) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn ledger() -> Ledger {
        Ledger::new(SECOND as u64, -SECOND / 2)
    }

    fn lost(second: i64, why: &str) -> Change {
        Change::Lost { at_ns: second * SECOND, why: why.to_owned() }
    }

    #[test]
    fn answers_in_a_row_change_nothing() {
        let mut ledger = ledger();
        for tick in 0..5 {
            assert_eq!(ledger.answered(tick, 7), []);
            assert_eq!(ledger.poll(tick * SECOND + SECOND), None);
        }
        ledger.close(5 * SECOND + SECOND / 2);
        let expected = Tally { readings: 5, missed: 0, cpu_ns: 7 };
        assert_eq!(ledger.tally(), expected);
    }

    #[test]
    fn failures_are_reported_once_and_counted() {
        let mut ledger = ledger();
        assert_eq!(ledger.answered(0, 0), []);
        assert_eq!(ledger.failed(1, "no".into()), Some(lost(1, "no")));
        assert_eq!(ledger.failed(2, "no".into()), None);
        let back = Change::Back { at_ns: 3 * SECOND, missed: 2 };
        assert_eq!(ledger.answered(3, 0), [back]);
        assert_eq!((ledger.tally().readings, ledger.tally().missed), (2, 2));
    }

    #[test]
    fn silence_and_late_answers_are_losses() {
        let mut ledger = ledger();
        assert_eq!(ledger.answered(0, 0), []);
        assert_eq!(ledger.poll(3 * SECOND), None, "within the tolerance");
        assert_eq!(ledger.poll(4 * SECOND), Some(lost(1, "it does not answer")));
        assert_eq!(ledger.poll(5 * SECOND), None);
        assert_eq!(ledger.answered(6, 0).len(), 1);
        let changes = ledger.answered(9, 0);
        assert_eq!(changes[0], lost(7, "its answers took too long"));
        assert_eq!(ledger.tally().missed, 5 + 2);
    }

    #[test]
    fn a_source_that_never_answers_misses_all_queries() {
        let mut ledger = ledger();
        ledger.close(10 * SECOND);
        assert_eq!(ledger.tally().missed, 10);
    }
}
