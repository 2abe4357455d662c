//! Thresholds that end a run in progress: their figures so far, by the rules of one that has ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use plan::{Abort, Basis, Comparison, Figure, MetricId, Stat, Threshold};
use record::Outcome;
use record::operations::is_own_failure;
use record::schema::{RunInfo, SeriesRow};
use stats::metrics::{MetricStat, MetricValues};

use super::{Counts, RunValue, of_cell, of_counts, shown_of};
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
    info: RunInfo,
}

/// One of them, and what its figure is of.
#[derive(Debug)]
struct WatchedThreshold {
    abort: Abort,
    /// When the run, or the phase that it is of, begins and ends.
    start_ns: u64,
    end_ns: u64,
    figure: WatchedFigure,
}

#[derive(Debug)]
enum WatchedFigure {
    Measures(MeasuresWatch),
    Metric(MetricWatch),
}

/// A figure of measures.
#[derive(Debug)]
struct MeasuresWatch {
    figure: MeasureFigure,
    window: Window<Operations>,
    /// Measures of which something succeeded, and nothing took time: messages without a reply. Among the times of
    /// several measures they do not count.
    at_once: BTreeSet<usize>,
    /// Measures of which something took time.
    timed: BTreeSet<usize>,
}

/// A figure of a metric.
#[derive(Debug)]
struct MetricWatch {
    metric: MetricId,
    stat: MetricStat,
    /// Nothing was recorded.
    none: MetricValues,
    window: Window<MetricValues>,
}

/// The operations of an interval, those of all measures of a figure as one.
#[derive(Debug, Clone, Default)]
struct Operations {
    cell: Cell,
    /// Those whose times count.
    times: Cell,
}

/// What happened up to a look: all so far as one, or the intervals that are within a time.
#[derive(Debug)]
struct Window<T> {
    over_ns: Option<u64>,
    slices: VecDeque<Slice<T>>,
}

/// What happened in an interval.
#[derive(Debug, Clone)]
struct Slice<T> {
    start_ns: u64,
    end_ns: u64,
    what: T,
}

/// The value of a figure at a look.
#[derive(Debug)]
struct FigureSoFar {
    found: RunValue,
    /// The time up to the look that it is of.
    over_ns: u64,
}

/// What can be added up over time.
trait Sum: Clone {
    /// Adds what happened later.
    fn add(&mut self, later: &Self);
}

impl Sum for Operations {
    fn add(&mut self, later: &Operations) {
        self.cell.merge(&later.cell);
        self.times.merge(&later.times);
    }
}

impl Sum for MetricValues {
    fn add(&mut self, later: &MetricValues) {
        self.merge(later);
    }
}

impl<T: Sum> Window<T> {
    fn new(over_ns: Option<u64>) -> Window<T> {
        Window { over_ns, slices: VecDeque::new() }
    }

    /// Adds the next interval, and forgets those that are too old now.
    fn push(&mut self, row: &SeriesRow, what: T) {
        let slice = Slice { start_ns: row.start_ns, end_ns: row.end_ns, what };
        let Some(over_ns) = self.over_ns else {
            match self.slices.back_mut() {
                Some(all) => all.add(&slice),
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

    /// All of it as one; `None`: there is no interval.
    fn sum(&self) -> Option<Slice<T>> {
        let mut slices = self.slices.iter();
        let mut all = slices.next()?.clone();
        slices.for_each(|slice| all.add(slice));
        Some(all)
    }
}

impl<T: Sum> Slice<T> {
    /// Adds a later interval.
    fn add(&mut self, later: &Slice<T>) {
        self.end_ns = later.end_ns;
        self.what.add(&later.what);
    }

    fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    fn seconds(&self) -> f64 {
        self.length_ns() as f64 / 1e9
    }
}

impl AbortWatch {
    /// The thresholds `aborts` of this run, which has reported nothing yet.
    pub fn new(info: &RunInfo, aborts: &[Abort]) -> AbortWatch {
        if aborts.is_empty() {
            return AbortWatch { watched: Vec::new(), info: info.clone() };
        }
        // Which measures a figure is of does not depend on what they measured.
        let nothing = Figures::of_nothing(info);
        let end_ns = info.phases.last().map_or(0, |phase| phase.end_ns);
        let watched = aborts.iter().filter_map(|abort| {
            let phase = abort.threshold.figure.phase();
            let phase = phase.and_then(|phase| info.phases.get(phase));
            Some(WatchedThreshold {
                abort: abort.clone(),
                start_ns: phase.map_or(0, |phase| phase.start_ns),
                end_ns: phase.map_or(end_ns, |phase| phase.end_ns),
                figure: WatchedFigure::new(&nothing, abort)?,
            })
        });
        AbortWatch { watched: watched.collect(), info: info.clone() }
    }

    /// Adds a second, and looks at the thresholds: the first that does not hold. Seconds come in order; those after the
    /// last phase are no part of any figure.
    pub fn look(
        &mut self,
        row: &SeriesRow,
        measures: &[SecondOf<'_>],
        metrics: &BTreeMap<MetricId, MetricValues>,
    ) -> Option<FailedLook> {
        let mut failed = None;
        for watched in &mut self.watched {
            if row.start_ns < watched.start_ns || row.start_ns >= watched.end_ns {
                continue;
            }
            match &mut watched.figure {
                WatchedFigure::Measures(watch) => watch.add(row, measures, &self.info),
                WatchedFigure::Metric(watch) => watch.add(row, metrics),
            }
            if failed.is_none() && row.end_ns >= watched.start_ns + watched.abort.after_ns {
                failed = watched.failure(&self.info);
            }
        }
        failed
    }
}

impl WatchedThreshold {
    /// The value of the figure if the threshold is known not to hold.
    fn failure(&self, info: &RunInfo) -> Option<FailedLook> {
        let figure = match &self.figure {
            WatchedFigure::Measures(watch) => watch.value()?,
            WatchedFigure::Metric(watch) => watch.value()?,
        };
        let threshold = &self.abort.threshold;
        fails(threshold, figure.found).then(|| FailedLook {
            threshold: threshold.text.clone(),
            shown: shown_of(info, threshold, figure.found),
            over_ns: figure.over_ns,
        })
    }
}

impl WatchedFigure {
    /// `None`: nothing is known of the figure while the run goes on.
    fn new(nothing: &Figures, abort: &Abort) -> Option<WatchedFigure> {
        let figure = &abort.threshold.figure;
        if let Figure::Metric { stat, metric, .. } = *figure {
            let none = MetricValues::new(nothing.info.metrics.get(metric.index())?.kind);
            let window = Window::new(abort.over_ns);
            return Some(WatchedFigure::Metric(MetricWatch { metric, stat, none, window }));
        }
        Some(WatchedFigure::Measures(MeasuresWatch {
            figure: MeasureFigure::of(nothing, figure)?,
            window: Window::new(abort.over_ns),
            at_once: BTreeSet::new(),
            timed: BTreeSet::new(),
        }))
    }
}

impl MetricWatch {
    fn add(&mut self, row: &SeriesRow, metrics: &BTreeMap<MetricId, MetricValues>) {
        let recorded = metrics.get(&self.metric).unwrap_or(&self.none);
        self.window.push(row, recorded.clone());
    }

    fn value(&self) -> Option<FigureSoFar> {
        let all = self.window.sum()?;
        let value = all.what.value(self.stat, all.seconds())?;
        let found = RunValue { value, is_bound: false };
        Some(FigureSoFar { found, over_ns: all.length_ns() })
    }
}

impl MeasuresWatch {
    fn add(&mut self, row: &SeriesRow, measures: &[SecondOf<'_>], info: &RunInfo) {
        let mut operations = Operations::default();
        for second in measures {
            match self.figure.measures.contains(&second.measure) {
                true => self.add_measure(second, &mut operations),
                false if self.counts_own_failures() => {
                    let measure = info.measures.get(second.measure);
                    let kind = measure.map_or("", |measure| measure.kind.as_str());
                    add_own_failures(second, kind, &mut operations.cell);
                }
                false => {}
            }
        }
        self.window.push(row, operations);
    }

    fn add_measure(&mut self, second: &SecondOf<'_>, operations: &mut Operations) {
        let cell = cell_of(second);
        operations.cell.merge(&cell);
        if second.service.max() > 0 {
            self.timed.insert(second.measure);
            self.at_once.remove(&second.measure);
        } else if !second.service.is_empty() && !self.timed.contains(&second.measure) {
            self.at_once.insert(second.measure);
        }
        let is_alone = self.at_once.len() == self.figure.measures.len();
        if is_alone || self.figure.basis == Basis::Lag || !self.at_once.contains(&second.measure) {
            operations.times.merge(&cell);
        }
    }

    /// Failures that are no request's count among those of all requests.
    fn counts_own_failures(&self) -> bool {
        let of_failures =
            matches!(self.figure.stat, Stat::Errors | Stat::ErrorRate | Stat::SuccessRate);
        self.figure.is_of_all && of_failures
    }

    fn value(&self) -> Option<FigureSoFar> {
        let all = self.window.sum()?;
        let MeasureFigure { stat, basis, .. } = self.figure;
        if stat.is_of_times() {
            let found = of_cell(stat, basis, &all.what.times)?;
            return Some(FigureSoFar { found, over_ns: all.length_ns() });
        }
        let cell = &all.what.cell;
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
            seconds: all.seconds(),
            may_be_none: stat == Stat::Rate,
        };
        let found = RunValue { value: of_counts(stat, &counts)?, is_bound: false };
        Some(FigureSoFar { found, over_ns: all.length_ns() })
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
    use plan::thresholds::{MetricName, Names};
    use record::schema::MetricInfo;
    use stats::decimal::Decimal;
    use stats::hist::LogHistogram;
    use stats::metrics::MetricKind;
    use testkit::runs::sample;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const METRICS: [MetricName<'static>; 4] = [
        MetricName { name: "orders", kind: MetricKind::Counter, unit: "" },
        MetricName { name: "depth", kind: MetricKind::Gauge, unit: "items" },
        MetricName { name: "cheap", kind: MetricKind::Share, unit: "" },
        MetricName { name: "basket", kind: MetricKind::Quantity, unit: "€" },
    ];

    fn abort(text: &str, after_s: u64, over_s: Option<u64>) -> Abort {
        let names = Names {
            measures: &["connect", "request"],
            metrics: &METRICS,
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
        info.metrics = METRICS.map(|metric| metric_info(&metric)).to_vec();
        AbortWatch::new(&info, &[abort])
    }

    fn metric_info(metric: &MetricName<'_>) -> MetricInfo {
        let name = metric.name.to_owned();
        MetricInfo { name, kind: metric.kind, unit: metric.unit.to_owned() }
    }

    /// The number of the second in which it ends a run of whose metric `metric` these numbers are recorded, those of a list
    /// in a second, and what is said of it then.
    fn ends_by(abort: Abort, metric: usize, seconds: &[&[f64]]) -> Option<(u64, String)> {
        let mut watch = watch(abort);
        (0..).zip(seconds).find_map(|(second, numbers)| {
            let mut values = MetricValues::new(METRICS[metric].kind);
            for &number in *numbers {
                values.record(second * SECOND_NS, Decimal::from_f64(number).unwrap());
            }
            // What was not recorded is not reported.
            let mut recorded = BTreeMap::from([(MetricId(metric as u16), values)]);
            recorded.retain(|_, values| !values.is_empty());
            let failed = watch.look(&sample::row(second), &[], &recorded)?;
            Some((second, failed.shown))
        })
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
        watch.look(&sample::row(second), &[values], &BTreeMap::new())
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
    fn a_metric_ends_a_run_in_the_second_in_which_its_figure_passes_the_limit() {
        let ends =
            |text: &str, metric, seconds: &[&[f64]]| ends_by(abort(text, 0, None), metric, seconds);
        let said = |second, shown: &str| Some((second, shown.to_owned()));
        let orders: [&[f64]; 4] = [&[1.0, 2.5], &[], &[6.5], &[0.5]];
        assert_eq!(ends("sum(orders) < 10", 0, &orders), said(2, "10.0"));
        assert_eq!(ends("sum(orders) <= 10", 0, &orders), said(3, "10.5"));
        assert_eq!(ends("count(orders) < 4", 0, &orders), said(3, "4"));
        // 3.5 in the first second, 3.5 in two, 10 in three.
        assert_eq!(ends("rate(orders) > 2/s", 0, &orders), said(1, "1.75/s"));
        assert_eq!(
            ends("last(depth) < 9 items", 1, &[&[7.0], &[9.0, 8.0], &[9.5]]),
            said(2, "9.50 items")
        );
        assert_eq!(ends("max(depth) < 9 items", 1, &[&[7.0], &[9.0, 8.0]]), said(1, "9.00 items"));
        assert_eq!(
            ends("share(cheap) > 50%", 2, &[&[], &[1.0, 1.0], &[0.0], &[0.0]]),
            said(3, "50 %")
        );
        assert_eq!(ends("mean(basket) > 0", 3, &[&[3.0], &[-5.0]]), said(1, "-1.00 €"));
        assert_eq!(ends("p50(basket) < 4 €", 3, &[&[3.0], &[5.0], &[6.0]]), said(2, "5.00 €"));
    }

    #[test]
    fn a_window_of_a_metric_forgets_what_was_before() {
        let seconds: [&[f64]; 6] = [&[6.0], &[], &[6.0], &[], &[5.0], &[5.0]];
        let of_two = |text| ends_by(abort(text, 2, Some(2)), 0, &seconds).map(|(second, _)| second);
        assert_eq!(of_two("sum(orders) < 10"), Some(5));
        assert_eq!(of_two("rate(orders) < 5/s"), Some(5));
        assert_eq!(of_two("sum(orders) < 11"), None);
        // Nothing was recorded in the window.
        assert_eq!(ends_by(abort("last(depth) > 5", 1, Some(1)), 1, &[&[6.0], &[], &[]]), None);
        assert_eq!(ends_by(abort("mean(basket) > 5", 0, None), 3, &[&[], &[]]), None);
    }

    #[test]
    fn a_metric_of_a_phase_is_looked_at_within_it() {
        let each: [&[f64]; 13] = [&[1.0]; 13];
        assert_eq!(
            ends_by(abort("sum(orders) < 3 in hold", 0, None), 0, &each),
            Some((12, "3.00".to_owned()))
        );
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
