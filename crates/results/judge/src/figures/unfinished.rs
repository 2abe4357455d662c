//! Operations that were unfinished at the end of the run: which of them have failed, and which were only
//! interrupted.
//!
//! An operation without an answer is a failure of the target if it waited for longer than any answer of its
//! measure took. The record has how long all operations waited that were never answered; those that were
//! unfinished are the last of them.

use record::Interval;
use stats::hist::LogHistogram;

use super::Figures;
use crate::limits::OVERDUE_NS_MIN;

/// Loops do not end at the same moment.
const CLOSING_NS: u64 = 2_000_000_000;

/// The waits of operations that were given up when the run ended, by measure.
pub(super) struct UnfinishedWaits {
    since_ns: u64,
    /// `None` where an operation may wait as long as it takes, or is none of the target's.
    waited: Vec<Option<LogHistogram>>,
}

impl Figures {
    /// The waits of a log that was not read yet.
    pub(super) fn unfinished_waits(&self) -> UnfinishedWaits {
        let measures = self.info.measures.iter();
        let waited = measures.map(|measure| {
            let is_begun = matches!(measure.kind.as_str(), "connect" | "request" | "handshake");
            (is_begun && !measure.waits).then(LogHistogram::new)
        });
        UnfinishedWaits {
            since_ns: self.ended_ns().saturating_sub(CLOSING_NS),
            waited: waited.collect(),
        }
    }
}

impl UnfinishedWaits {
    /// Adds operations of a measure that were never answered and ended in this interval.
    pub(super) fn add(&mut self, interval: &Interval, measure: usize) {
        let is_last = interval.start_ns + interval.len_ns >= self.since_ns;
        if let Some(Some(waited)) = self.waited.get_mut(measure).filter(|_| is_last) {
            waited.merge(&interval.hist);
        }
    }

    /// Sets how many unfinished operations have failed.
    pub(super) fn close(self, figures: &mut Figures) {
        let last = figures.cells.len() - 1;
        for (measure, waited) in self.waited.into_iter().enumerate() {
            let Some(waited) = waited.filter(|waited| !waited.is_empty()) else {
                continue;
            };
            let all = figures.cell(None, measure);
            let longest_ns = all.response.max().max(all.failed_response.max());
            let longer = waited.count() - waited.count_at_most(longest_ns.max(OVERDUE_NS_MIN));
            let cell = &mut figures.cells[last][measure];
            // Others were given up on in the same seconds: those are the ones that waited for longest.
            let unfinished = cell.outcome(record::Outcome::Unfinished);
            let others = waited.count().saturating_sub(unfinished);
            cell.overdue = longer.saturating_sub(others).min(unfinished);
        }
    }
}

#[cfg(test)]
mod tests {
    use record::Outcome;

    use super::*;
    use crate::sample::{self, MS, REQUEST, SECOND, fail};

    fn interval(start_s: u64, waited: impl Iterator<Item = u64>) -> Interval {
        let mut hist = LogHistogram::new();
        waited.for_each(|ns| hist.record(ns));
        Interval { tag: String::new(), start_ns: start_s * SECOND, len_ns: SECOND, hist }
    }

    /// The failed operations and the share of errors of 6,000 requests of 10 ms and what was given up at these times.
    fn failed(figures: &mut Figures, given_up: &[Interval]) -> (u64, String) {
        let mut waits = figures.unfinished_waits();
        for interval in given_up {
            waits.add(interval, REQUEST);
        }
        waits.close(figures);
        let cell = figures.cell(None, REQUEST);
        let names = crate::RunNames::of(&figures.info);
        let threshold = names.names().threshold("error_rate(request) < 1%").unwrap();
        let judged = crate::judge_figures(figures, &[threshold], false);
        let measure = &judged.measures[0];
        assert_eq!(measure.errors, cell.failed());
        let kind = measure.errors_by_kind.get("unfinished").copied();
        assert_eq!(kind.unwrap_or(0), cell.overdue);
        (cell.failed(), judged.thresholds[0].shown.clone())
    }

    /// 100/s for 50 s, frozen from 30 s on, with a time limit of 30 s and a drain of 10 s.
    #[test]
    fn what_a_frozen_target_never_answered_has_failed() {
        let mut figures = sample::figures();
        *figures.cell_mut(0, REQUEST).unwrap() = crate::Cell::default();
        sample::succeed(&mut figures, 0, REQUEST, 3_000, 10 * MS, 0);
        fail(&mut figures, REQUEST, Outcome::Timeout, 50);
        fail(&mut figures, REQUEST, Outcome::Unfinished, 1_950);
        let timeouts = (0..50).map(|_| 30 * SECOND);
        let others = (0..1_950).map(|n| 10 * SECOND + n * 10 * MS);
        let given_up = [interval(59, timeouts.chain(others))];
        let (count, shown) = failed(&mut figures, &given_up);
        assert_eq!((count, shown.as_str()), (2_000, "40 %"));
    }

    #[test]
    fn what_the_end_interrupts_has_not_failed() {
        let mut figures = sample::figures();
        fail(&mut figures, REQUEST, Outcome::Unfinished, 64);
        // Some had waited for longer than the answers took, but none for a second.
        let given_up = [interval(59, (0..64).map(|n| n * 10 * MS))];
        assert_eq!(failed(&mut figures, &given_up), (0, "0 %".to_owned()));
    }

    #[test]
    fn timeouts_before_the_end_are_not_counted_again() {
        let mut figures = sample::figures();
        fail(&mut figures, REQUEST, Outcome::Timeout, 60);
        fail(&mut figures, REQUEST, Outcome::Unfinished, 5);
        let early = interval(30, (0..50).map(|_| 2 * SECOND));
        // Ten of the last operations timed out, four of the others are overdue.
        let waited = (0..10).map(|_| 2 * SECOND);
        let others = [SECOND / 2, 3 * SECOND / 2, 3 * SECOND / 2];
        let late = waited.chain(others).chain([3 * SECOND / 2; 2]);
        let given_up = [early, interval(59, late)];
        assert_eq!(failed(&mut figures, &given_up).0, 64);
    }

    #[test]
    fn what_may_wait_has_not_failed() {
        let mut figures = sample::figures();
        figures.info.measures[REQUEST].waits = true;
        fail(&mut figures, REQUEST, Outcome::Unfinished, 64);
        let given_up = [interval(59, (0..64).map(|_| 20 * SECOND))];
        assert_eq!(failed(&mut figures, &given_up), (0, "0 %".to_owned()));
    }
}
