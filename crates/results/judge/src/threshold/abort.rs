//! Thresholds that end a run in progress: their figures so far, by the rules of one that has ended.

use std::collections::{BTreeSet, VecDeque};

use plan::{Abort, Basis, Comparison, Stat, Threshold};
use record::Outcome;
use record::operations::is_own_failure;
use record::schema::{RunInfo, SeriesRow};

use super::{Counts, RunValue, of_cell, of_counts, shown, unit};
use crate::figures::{Cell, CompletionCounts, Figures, MeasureFigure};
use crate::second::SecondOf;

/// A threshold that did not hold when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedLook {
    /// The threshold as written.
    pub threshold: String,
    /// The value of its figure, for people.
    pub shown: String,
    /// The time up to the look that the figure is of.
    pub over_ns: u64,
}

/// The thresholds of a run in progress that may end it.
#[derive(Debug)]
pub struct AbortWatch {
    watched: Vec<WatchedThreshold>,
    /// The kind of each measure, as in [`record::schema::MeasureInfo::kind`].
    kinds: Vec<String>,
}

/// A threshold, and what its figure is of.
#[derive(Debug)]
struct WatchedThreshold {
    abort: Abort,
    figure: MeasureFigure,
    /// When the run, or the phase that it is of, begins and ends.
    start_ns: u64,
    end_ns: u64,
    /// All so far, or what is within its time.
    slices: VecDeque<Slice>,
    /// Measures of which something succeeded, and nothing took time: messages without a reply. Among the times of
    /// several measures they do not count.
    at_once: BTreeSet<usize>,
    /// Measures of which something took time.
    timed: BTreeSet<usize>,
}

/// The operations of an interval, those of all measures of a figure as one.
#[derive(Debug, Default)]
struct Slice {
    start_ns: u64,
    end_ns: u64,
    cell: Cell,
    /// The operations whose times count.
    times: Cell,
}

impl AbortWatch {
    /// The thresholds `aborts` of this run, which has reported nothing yet.
    pub fn new(info: &RunInfo, aborts: &[Abort]) -> AbortWatch {
        if aborts.is_empty() {
            return AbortWatch { watched: Vec::new(), kinds: Vec::new() };
        }
        let nothing = Figures::of_nothing(info);
        let end_ns = info.phases.last().map_or(0, |phase| phase.end_ns);
        let watched = aborts.iter().filter_map(|abort| {
            let figure = MeasureFigure::of(&nothing, &abort.threshold.figure)?;
            let phase = figure.phase.and_then(|phase| info.phases.get(phase));
            Some(WatchedThreshold {
                abort: abort.clone(),
                figure,
                start_ns: phase.map_or(0, |phase| phase.start_ns),
                end_ns: phase.map_or(end_ns, |phase| phase.end_ns),
                slices: VecDeque::new(),
                at_once: BTreeSet::new(),
                timed: BTreeSet::new(),
            })
        });
        AbortWatch {
            watched: watched.collect(),
            kinds: info.measures.iter().map(|measure| measure.kind.clone()).collect(),
        }
    }

    /// Adds a second, and looks at the thresholds: the first that does not hold. Seconds come in order; those after the
    /// last phase are no part of any figure.
    pub fn look(&mut self, row: &SeriesRow, measures: &[SecondOf<'_>]) -> Option<FailedLook> {
        let mut failed = None;
        for watched in &mut self.watched {
            if row.start_ns < watched.start_ns || row.start_ns >= watched.end_ns {
                continue;
            }
            watched.add(row, measures, &self.kinds);
            if failed.is_none() && row.end_ns >= watched.start_ns + watched.abort.after_ns {
                failed = watched.failure();
            }
        }
        failed
    }
}

impl WatchedThreshold {
    fn add(&mut self, row: &SeriesRow, measures: &[SecondOf<'_>], kinds: &[String]) {
        let mut slice = Slice { start_ns: row.start_ns, end_ns: row.end_ns, ..Slice::default() };
        for second in measures {
            match self.figure.measures.contains(&second.measure) {
                true => self.add_measure(second, &mut slice),
                false if self.counts_own_failures() => {
                    let kind = kinds.get(second.measure).map_or("", String::as_str);
                    add_own_failures(second, kind, &mut slice.cell);
                }
                false => {}
            }
        }
        let Some(over_ns) = self.abort.over_ns else {
            match self.slices.back_mut() {
                Some(all) => all.merge(&slice),
                None => self.slices.push_back(slice),
            }
            return;
        };
        self.slices.push_back(slice);
        let from_ns = row.end_ns.saturating_sub(over_ns);
        while self.slices.front().is_some_and(|first| first.start_ns < from_ns) {
            self.slices.pop_front();
        }
    }

    fn add_measure(&mut self, second: &SecondOf<'_>, slice: &mut Slice) {
        let cell = cell_of(second);
        slice.cell.merge(&cell);
        if second.service.max() > 0 {
            self.timed.insert(second.measure);
            self.at_once.remove(&second.measure);
        } else if !second.service.is_empty() && !self.timed.contains(&second.measure) {
            self.at_once.insert(second.measure);
        }
        let is_alone = self.at_once.len() == self.figure.measures.len();
        if is_alone || self.figure.basis == Basis::Lag || !self.at_once.contains(&second.measure) {
            slice.times.merge(&cell);
        }
    }

    /// Failures that are no request's count among those of all requests.
    fn counts_own_failures(&self) -> bool {
        let of_failures =
            matches!(self.figure.stat, Stat::Errors | Stat::ErrorRate | Stat::SuccessRate);
        self.figure.is_of_all && of_failures
    }

    /// The value of the figure if the threshold is known not to hold.
    fn failure(&self) -> Option<FailedLook> {
        let mut all = Slice::default();
        self.slices.iter().for_each(|slice| all.merge(slice));
        let found = self.value(&all)?;
        let Threshold { text, figure, limit, .. } = &self.abort.threshold;
        let sign = if found.is_bound { "≥ " } else { "" };
        fails(&self.abort.threshold, found).then(|| FailedLook {
            threshold: text.clone(),
            shown: format!("{sign}{}", shown(unit(figure), found.value, *limit)),
            over_ns: all.end_ns.saturating_sub(all.start_ns),
        })
    }

    fn value(&self, all: &Slice) -> Option<RunValue> {
        let MeasureFigure { stat, basis, .. } = self.figure;
        if stat.is_of_times() {
            return of_cell(stat, basis, &all.times);
        }
        let cell = &all.cell;
        let answered: CompletionCounts = cell.answered();
        let (counted, completed) = match basis {
            Basis::Succeeded => (cell.succeeded(), answered.succeeded),
            Basis::Response | Basis::Service | Basis::Lag => (cell.ended(), answered.total()),
        };
        let counts = Counts {
            ended: cell.ended(),
            begun: cell.ended() + cell.unfinished(),
            counted,
            completed,
            failed: cell.failed(),
            seconds: all.end_ns.saturating_sub(all.start_ns) as f64 / 1e9,
            may_be_none: stat == Stat::Rate,
        };
        of_counts(stat, &counts).map(|value| RunValue { value, is_bound: false })
    }
}

impl Slice {
    /// Adds a later interval.
    fn merge(&mut self, later: &Slice) {
        if self.end_ns == 0 {
            self.start_ns = later.start_ns;
        }
        self.end_ns = later.end_ns;
        self.cell.merge(&later.cell);
        self.times.merge(&later.times);
    }
}

fn cell_of(second: &SecondOf<'_>) -> Cell {
    let mut cell = Cell {
        response: second.response.clone(),
        failed_response: second.failed.clone(),
        unanswered: second.unanswered.clone(),
        service: second.service.clone(),
        lag: second.lag.clone(),
        ..Cell::default()
    };
    for (outcome, &count) in Outcome::ALL.iter().zip(second.outcomes) {
        if count > 0 {
            cell.outcomes.insert(outcome.name().to_owned(), count);
        }
    }
    cell
}

fn add_own_failures(second: &SecondOf<'_>, kind: &str, cell: &mut Cell) {
    for (&outcome, &count) in Outcome::ALL.iter().zip(second.outcomes) {
        if count > 0 && outcome.is_error() && is_own_failure(kind, outcome) {
            *cell.outcomes.entry(outcome.name().to_owned()).or_default() += count;
        }
    }
}

/// True if the condition is known not to hold: a figure that is at least its bound may still be above any limit.
fn fails(threshold: &Threshold, found: RunValue) -> bool {
    let is_upper = matches!(threshold.comparison, Comparison::Less | Comparison::LessEqual);
    !threshold.comparison.holds(found.value, threshold.limit) && (is_upper || !found.is_bound)
}

#[cfg(test)]
mod tests {
    use plan::thresholds::Names;
    use stats::hist::LogHistogram;
    use testkit::runs::sample;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn abort(text: &str, after_s: u64, over_s: Option<u64>) -> Abort {
        let names = Names {
            measures: &["connect", "request"],
            metrics: &[],
            tags: &[],
            phases: &["ramp", "hold"],
        };
        Abort {
            threshold: names.threshold(text).unwrap(),
            after_ns: after_s * SECOND_NS,
            over_ns: over_s.map(|over_s| over_s * SECOND_NS),
        }
    }

    fn watch(abort: Abort) -> AbortWatch {
        let mut info = sample::info();
        info.phases = vec![
            sample::phase("ramp", "rate", 0, 10, 100.0),
            sample::phase("hold", "hold", 10, 60, 0.0),
        ];
        AbortWatch::new(&info, &[abort])
    }

    /// Looks at second `second`, in which this many requests succeeded after 10 ms and this many failed.
    fn look(watch: &mut AbortWatch, second: u64, ok: u64, failed: u64) -> Option<FailedLook> {
        let mut response = LogHistogram::new();
        response.record_n(10_000_000, ok);
        let none = LogHistogram::new();
        let mut outcomes = vec![0; Outcome::ALL.len()];
        outcomes[usize::from(u8::from(Outcome::Ok))] = ok;
        outcomes[usize::from(u8::from(Outcome::Status))] = failed;
        let values = SecondOf {
            measure: sample::REQUEST,
            begun: ok + failed,
            outcomes: &outcomes,
            response: &response,
            failed: &none,
            unanswered: &none,
            service: &response,
            lag: &none,
        };
        watch.look(&sample::row(second), &[values])
    }

    /// The number of the second in which it ends the run, of seconds in which none, then half of all requests fail.
    fn ends_in(abort: Abort, failing_from: u64) -> Option<u64> {
        let mut watch = watch(abort);
        (0..60).find(|&second| {
            let failed = if second < failing_from { 0 } else { 50 };
            look(&mut watch, second, 100 - failed, failed).is_some()
        })
    }

    #[test]
    fn a_run_ends_in_the_second_in_which_a_figure_so_far_passes_its_limit() {
        assert_eq!(ends_in(abort("error_rate < 20%", 0, None), 0), Some(0));
        // 50 of 200.
        assert_eq!(ends_in(abort("error_rate < 20%", 0, None), 1), Some(1));
        // 200 of 1,000.
        assert_eq!(ends_in(abort("error_rate < 20%", 0, None), 6), Some(9));
        assert_eq!(ends_in(abort("error_rate < 20%", 20, None), 0), Some(19));
        assert_eq!(ends_in(abort("error_rate < 60%", 0, None), 0), None);
        assert_eq!(ends_in(abort("errors < 120", 0, None), 6), Some(8));
        assert_eq!(ends_in(abort("p95 < 5ms", 3, None), 60), Some(2));
        assert_eq!(ends_in(abort("rate(request.succeeded) > 80/s", 1, None), 6), Some(9));
    }

    #[test]
    fn a_window_forgets_what_was_before() {
        // 50 of 500 at once, 100 of 500 a second later.
        assert_eq!(ends_in(abort("error_rate < 20%", 5, Some(5)), 30), Some(31));
        assert_eq!(ends_in(abort("error_rate < 20%", 5, Some(5)), 0), Some(4));
        let mut watch = watch(abort("errors < 100", 2, Some(2)));
        let found: Vec<bool> = [60, 0, 60, 0, 50, 50]
            .into_iter()
            .zip(0..)
            .map(|(failed, second)| look(&mut watch, second, 10, failed).is_some())
            .collect();
        assert_eq!(found, [false, false, false, false, false, true]);
    }

    #[test]
    fn a_threshold_of_a_phase_is_looked_at_within_it() {
        assert_eq!(ends_in(abort("error_rate < 20% in hold", 0, None), 0), Some(10));
        assert_eq!(ends_in(abort("error_rate < 20% in hold", 3, None), 0), Some(12));
        assert_eq!(ends_in(abort("error_rate < 20% in ramp", 0, None), 10), None);
    }

    #[test]
    fn nothing_measured_ends_no_run_unless_a_rate_is_demanded() {
        let none = |text| {
            let mut watch = watch(abort(text, 2, None));
            let looks: Vec<bool> =
                (0..4).map(|second| look(&mut watch, second, 0, 0).is_some()).collect();
            looks
        };
        assert_eq!(none("error_rate < 1%"), [false; 4]);
        assert_eq!(none("p95 < 1ms"), [false; 4]);
        assert_eq!(none("rate > 1/s"), [false, true, true, true]);
    }

    #[test]
    fn a_failed_look_says_what_it_saw() {
        let mut watch = watch(abort("error_rate < 20%", 0, Some(5)));
        let failed = look(&mut watch, 0, 60, 40).unwrap();
        assert_eq!((failed.threshold.as_str(), failed.over_ns), ("error_rate < 20%", SECOND_NS));
        assert_eq!(failed.shown, "40 %");
    }
}
