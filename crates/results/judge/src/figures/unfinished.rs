//! Operations that were unfinished at the end of the run: which of them have failed, which were only interrupted, and
//! which would have taken longer than all others.
//!
//! An operation without an answer is a failure of the target if it waited for longer than any answer of its
//! measure took. The record has how long all operations waited that were never answered; those that were
//! unfinished are the last of them.
//!
//! All of them are censored: they took at least as long as they waited. At any moment as many wait as began lately and take
//! that long; by how long operations take it is known how many are to be expected (Little's law). The end of a run cuts
//! them off at random. Where more wait, those due last had to wait for longer than those before, and are none of the same
//! distribution: a queue grows. Each of them would have taken longer than what was answered.

use record::{Interval, Outcome, RecordError, Run};
use stats::censored::CensoredTimes;
use stats::hist::LogHistogram;

use super::Figures;
use crate::limits::{CUT_OFF_SHARE, CUT_OFF_Z, OVERDUE_NS_MIN};

/// Loops do not end at the same moment.
const CLOSING_NS: u64 = 2_000_000_000;

/// The waits of operations that were given up when the run ended, by measure.
pub(super) struct UnfinishedWaits {
    since_ns: u64,
    waited: Vec<MeasureWaits>,
}

/// Those of one measure.
#[derive(Default)]
struct MeasureWaits {
    waited: LogHistogram,
    /// The end of the last interval in which any of them was given up.
    until_ns: u64,
    /// An operation may wait as long as it takes, or is none of the target's.
    may_wait: bool,
}

impl Figures {
    /// The waits of a log that was not read yet.
    pub(super) fn unfinished_waits(&self) -> UnfinishedWaits {
        let measures = self.info.measures.iter();
        let waited = measures.map(|measure| {
            let is_begun = matches!(measure.kind.as_str(), "connect" | "request" | "handshake");
            MeasureWaits { may_wait: !is_begun || measure.waits, ..MeasureWaits::default() }
        });
        UnfinishedWaits {
            since_ns: self.ended_ns().saturating_sub(CLOSING_NS),
            waited: waited.collect(),
        }
    }

    /// The number of operations of a measure that are to be expected to wait at a moment, if operations take as long as
    /// these; `None` where the record does not say when they were due.
    fn waiting_at(&self, measure: usize, at_ns: u64, times: &CensoredTimes) -> Option<f64> {
        let is_known = self.windows.get(measure).is_some_and(|windows| !windows.is_empty());
        is_known.then(|| times.expected_waiting(self.due_before(measure, at_ns)))
    }
}

impl UnfinishedWaits {
    /// Whether the end of the run may have cut off what ended in this interval.
    pub(super) fn is_at_end(&self, interval: &Interval) -> bool {
        interval.start_ns + interval.len_ns >= self.since_ns
    }

    /// Adds operations of a measure that were never answered and ended in this interval.
    pub(super) fn add(&mut self, interval: &Interval, measure: usize) {
        let end_ns = interval.start_ns + interval.len_ns;
        let is_last = self.is_at_end(interval);
        if let Some(own) = self.waited.get_mut(measure).filter(|_| is_last) {
            own.waited.merge(&interval.hist);
            own.until_ns = own.until_ns.max(end_ns);
        }
    }

    /// Sets which unfinished operations have failed, and which outlast all others.
    pub(super) fn close(self, figures: &mut Figures) {
        let last = figures.cells.len() - 1;
        for (measure, MeasureWaits { waited, until_ns, may_wait }) in
            self.waited.into_iter().enumerate()
        {
            let unfinished = figures.cells[last][measure].outcome(Outcome::Unfinished);
            if waited.is_empty() || unfinished == 0 {
                continue;
            }
            let all = figures.cell(None, measure);
            let answered = all.answered_times();
            // Others were given up on in the same seconds: those are the ones that waited for longest.
            let others = waited.count().saturating_sub(unfinished);
            let cut_off = shortest(&waited, unfinished);
            let times = CensoredTimes::new(&answered, &all.unanswered);
            let usual = figures.waiting_at(measure, until_ns, &times);
            let is_queue = usual.is_some_and(|usual| {
                cut_off.count() as f64 > CUT_OFF_SHARE * usual + CUT_OFF_Z * usual.sqrt()
            });
            let longer = waited.count() - waited.count_at_most(answered.max().max(OVERDUE_NS_MIN));
            let cell = &mut figures.cells[last][measure];
            if !may_wait {
                cell.overdue = longer.saturating_sub(others).min(unfinished);
            }
            if is_queue {
                cell.outlasting = cut_off.clone();
            }
            cell.cut_off = cut_off;
        }
    }
}

/// The waits of operations that the end of a run cut off and that would have taken longer than all others, by measure
/// ([`Cell::outlasting`](super::Cell::outlasting)). All figures of the run are read for them, if any operation was cut off
/// at all.
///
/// # Errors
/// If the record cannot be read.
pub fn outlasting(run: &Run, measures: &[usize]) -> Result<Vec<LogHistogram>, RecordError> {
    if !was_cut_off(run)? {
        return Ok(vec![LogHistogram::new(); measures.len()]);
    }
    let figures = Figures::read(run)?;
    Ok(measures.iter().map(|&measure| figures.cell(None, measure).outlasting).collect())
}

/// True if the end of the run cut off any operation.
fn was_cut_off(run: &Run) -> Result<bool, RecordError> {
    let tally = run.tally()?;
    let mut measures = tally.iter().flat_map(|tally| &tally.phases).flat_map(|p| &p.measures);
    Ok(measures.any(|measure| measure.outcomes.contains_key(Outcome::Unfinished.name())))
}

/// The shortest of these times, as many as `count`.
fn shortest(times: &LogHistogram, count: u64) -> LogHistogram {
    if times.count() <= count {
        return times.clone();
    }
    let mut shortest = LogHistogram::new();
    for (_, highest, own) in times.iter() {
        shortest.record_n(highest.min(times.max()), own.min(count - shortest.count()));
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, MS, REQUEST, SECOND, fail};

    fn interval(start_s: u64, waited: impl Iterator<Item = u64>) -> Interval {
        let mut hist = LogHistogram::new();
        waited.for_each(|ns| hist.record(ns));
        Interval { tag: String::new(), start_ns: start_s * SECOND, len_ns: SECOND, hist }
    }

    /// Reads what was given up at these times.
    fn close(figures: &mut Figures, given_up: &[Interval]) {
        let mut waits = figures.unfinished_waits();
        for interval in given_up {
            waits.add(interval, REQUEST);
            figures.cell_mut(0, REQUEST).unwrap().unanswered.merge(&interval.hist);
        }
        waits.close(figures);
    }

    /// The failed operations and the share of errors of 6,000 requests of 10 ms and what was given up at these times.
    fn failed(figures: &mut Figures, given_up: &[Interval]) -> (u64, String) {
        close(figures, given_up);
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

    /// 60 s of requests that are due evenly and take as long as this says of when they were due. The run ends `drain_s`
    /// after that.
    fn ended(due_per_s: u64, drain_s: u64, response_s: impl Fn(f64) -> f64) -> Figures {
        let mut figures = sample::figures();
        *figures.cell_mut(0, REQUEST).unwrap() = crate::Cell::default();
        let end_s = (60 + drain_s) as f64;
        let mut waits = LogHistogram::new();
        for n in 0..60 * due_per_s {
            let due_s = n as f64 / due_per_s as f64;
            let response_s = response_s(due_s);
            figures.window_mut(REQUEST, due_s as usize).unwrap().due += 1.0;
            match due_s + response_s <= end_s {
                true => sample::succeed(&mut figures, 0, REQUEST, 1, (response_s * 1e9) as u64, 0),
                false => waits.record(((end_s - due_s) * 1e9) as u64),
            }
        }
        figures.info.ended_ns = (60 + drain_s) * SECOND;
        fail(&mut figures, REQUEST, Outcome::Unfinished, waits.count());
        let start_ns = figures.info.ended_ns - SECOND;
        let tag = String::new();
        close(&mut figures, &[Interval { tag, start_ns, len_ns: SECOND, hist: waits }]);
        figures
    }

    fn shown(figures: &Figures, threshold: &str) -> (bool, String) {
        let names = crate::RunNames::of(&figures.info);
        let threshold = names.names().threshold(threshold).unwrap();
        let result = crate::judge_figures(figures, &[threshold], false).thresholds.remove(0);
        (result.passed, result.shown)
    }

    /// 112 a second at a server that does 100: each waits 0.12 s longer than one that was due a second before.
    #[test]
    fn what_a_growing_queue_cuts_off_is_in_no_percentile_below_it() {
        for drain_s in [0, 2, 5] {
            let figures = ended(112, drain_s, |due_s| 0.12 * due_s + 0.01);
            let cell = figures.cell(None, REQUEST);
            assert!(cell.unfinished() > 0 && !cell.outlasting.is_empty(), "{drain_s} s of drain");
            let (passed, text) = shown(&figures, "p99(request) < 7.2s");
            assert!(!passed && text.starts_with("≥ "), "{drain_s} s of drain: {text}");
            assert!(!shown(&figures, "max(request) < 1h").0);
            // Those that were answered are the fastest.
            assert_eq!(shown(&figures, "p50(request) < 4s"), (true, "3.61 s".to_owned()));
        }
        let drained = ended(112, 10, |due_s| 0.12 * due_s + 0.01);
        assert!(drained.cell(None, REQUEST).cut_off.is_empty());
        assert_eq!(shown(&drained, "p99(request) < 7.2s"), (true, "7.14 s".to_owned()));
    }

    /// Every tenth request takes 6 s, the others 5 ms: ten a second wait for 6 s.
    #[test]
    fn what_is_cut_off_at_random_is_like_what_waited_as_long() {
        for (drain_s, cut_off) in [(0, 59), (2, 39)] {
            let figures = ended(100, drain_s, |due_s| match (due_s * 100.0).round() as u64 % 10 {
                0 => 5.99,
                _ => 0.005,
            });
            let cell = figures.cell(None, REQUEST);
            assert_eq!(cell.cut_off.count(), cut_off, "{drain_s} s of drain");
            assert!(cell.outlasting.is_empty());
            assert_eq!(shown(&figures, "p99(request) < 7s"), (true, "5.99 s".to_owned()));
            assert_eq!(shown(&figures, "p50(request) < 7s"), (true, "5.00 ms".to_owned()));
        }
    }
}
