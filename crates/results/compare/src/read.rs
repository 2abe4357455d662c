//! The figures that a comparison needs of a run directory: for each measure its times in the order
//! they were taken, cut into windows of equal length, and how operations ended.

use std::collections::HashMap;

use record::samples::NO_CLOCK;
use record::schema::{EventKind, RunInfo};
use record::{Measurement, Outcome, Run};
use stats::censored::{CensoredTimes, Quantile};
use stats::hist::LogHistogram;
use stats::sample::{Edge, Sample};

use super::unit::{Ends, Rate, Unit};
use super::{AllOperations, Options, Source, Time};
use judge::JudgeError;

/// The kind of measures whose operations are connections.
const CONNECT: &str = "connect";
/// Windows that a run is cut into, to be compared where there is one run a side only. Ten pairs have
/// 1,024 permutations, so the least p-value is 0.002.
pub(crate) const WINDOWS: usize = 10;
/// A window of fewer operations has no figures to speak of.
const WINDOW_COUNT_MIN: u64 = 10;
/// Memory of a value while it is compared: 8 bytes in order and as much for room that was reserved,
/// 16 as part of its run's sample, 16 as part of its side's.
const VALUE_BYTES: u64 = 48;

/// The stretch of a run that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    from_ns: u64,
    to_ns: u64,
    /// True where it ends with the last phase, to which the drain belongs.
    drains: bool,
}

/// A measure's times in nanoseconds, by window.
#[derive(Debug, Clone)]
pub(crate) enum Times {
    /// Each of them, in about the order they were done.
    Rows(Vec<Vec<f64>>),
    /// Counted.
    Histograms(Vec<LogHistogram>),
}

/// A measure of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunMeasure {
    /// False if the record does not say when operations started, so that it has an order only, or if they are connections:
    /// more of them are neither better nor worse.
    has_rate: bool,
    /// Times of operations that succeeded.
    pub(crate) times: Times,
    /// Operations among these that were answered after the load: they are the last window's.
    drained: u64,
    /// Operations that the target answered with a failure during the load, by window.
    rejected: Vec<u64>,
    /// Over the stretch; `None` if the record does not have it.
    pub(crate) ends: Option<Ends>,
    /// Ends by window; empty if rows were not read.
    pub(crate) window_ends: Vec<Ends>,
    /// Response times of operations that were answered with a failure; empty if service times are read.
    pub(crate) failed: LogHistogram,
    /// How long operations were waited for that were never answered; empty if service times are read.
    pub(crate) unanswered: LogHistogram,
    /// Those of them that the end of the run cut off, and that would have taken longer than all others.
    outlasting: LogHistogram,
}

impl Span {
    /// The stretch that `options` ask for; `None` where the run has no such phase, or nothing of it
    /// is left.
    pub(crate) fn of(info: &RunInfo, ended_ns: u64, options: &Options) -> Option<Span> {
        let last = info.phases.last();
        let (start_ns, end_ns, drains) = match &options.phase {
            Some(name) => {
                let phase = info.phases.iter().find(|phase| &phase.name == name)?;
                let is_last = last.is_some_and(|last| last.name == phase.name);
                (phase.start_ns, phase.end_ns, is_last)
            }
            None => (0, last.map_or(ended_ns, |last| last.end_ns), true),
        };
        let span = Span {
            from_ns: start_ns.saturating_add(options.skip_ns),
            to_ns: end_ns.min(ended_ns),
            drains,
        };
        (span.from_ns < span.to_ns).then_some(span)
    }

    /// As many stretches of this length, one after the other, as fit in. The drain is the last one's, if it ends there.
    pub(crate) fn cut(self, window_ns: u64) -> Vec<Span> {
        let window = |number: u64| {
            let from_ns = self.from_ns + number * window_ns;
            let to_ns = from_ns + window_ns;
            Span { from_ns, to_ns, drains: self.drains && to_ns == self.to_ns }
        };
        (0..self.windows_count(window_ns)).map(window).collect()
    }

    /// How many stretches of this length fit in.
    pub(crate) fn windows_count(self, window_ns: u64) -> u64 {
        (self.to_ns - self.from_ns) / window_ns.max(1)
    }

    /// Start of the stretch, since the run's start.
    pub(crate) fn start_ns(self) -> u64 {
        self.from_ns
    }

    /// End of the stretch, the drain excluded.
    pub(crate) fn end_ns(self) -> u64 {
        self.to_ns
    }

    /// Length of the stretch, the drain excluded.
    pub(crate) fn seconds(self) -> f64 {
        (self.to_ns - self.from_ns) as f64 / 1e9
    }

    /// True of a moment after the load.
    fn is_drain(self, at_ns: u64) -> bool {
        at_ns >= self.to_ns
    }

    /// The window of this moment; `None` outside of the stretch. What is drained is the last one's.
    fn window(self, at_ns: u64) -> Option<usize> {
        if at_ns < self.from_ns || at_ns >= self.to_ns && !self.drains {
            return None;
        }
        let into = u128::from(at_ns - self.from_ns) * WINDOWS as u128;
        let window = into / u128::from(self.to_ns - self.from_ns);
        Some((window as usize).min(WINDOWS - 1))
    }
}

/// Which measures of these runs are read row by row: from the smallest up as many as `memory_bytes`
/// allow. `counts` are operations by run and measure.
pub(crate) fn fitting(counts: &[Vec<u64>], measures: usize, memory_bytes: u64) -> Vec<bool> {
    let total = |measure: usize| counts.iter().map(|run| run[measure]).sum::<u64>();
    let mut order: Vec<usize> = (0..measures).collect();
    order.sort_by_key(|&measure| total(measure));
    let mut fits = vec![false; measures];
    let mut left = memory_bytes;
    for measure in order {
        let Some(rest) = left.checked_sub(total(measure).saturating_mul(VALUE_BYTES)) else {
            break;
        };
        left = rest;
        fits[measure] = true;
    }
    fits
}

/// Operations of each wanted measure over the whole run; `None` where the rows are not all there:
/// lost, sampled, or of a number that the record does not tell.
pub(crate) fn counts(run: &Run, places: &[usize]) -> Result<Option<Vec<u64>>, JudgeError> {
    let sampled = |what: &EventKind| matches!(what, EventKind::Sampling { .. });
    if run.events()?.iter().any(|event| sampled(&event.what)) {
        return Ok(None);
    }
    let whole = run.path().join("requests.parquet").exists();
    let Some(tally) = run.tally()?.filter(|_| whole) else {
        return Ok(None);
    };
    let mut counts = vec![0; places.len()];
    for measure in tally.phases.iter().flat_map(|phase| &phase.measures) {
        let wanted = |&place: &usize| place == usize::from(measure.measure);
        if let Some(number) = places.iter().position(wanted) {
            let all: u64 = measure.outcomes.values().sum();
            counts[number] += all;
        }
    }
    Ok(Some(counts))
}

/// Reads the wanted measures: those at `places` of the run's own list, row by row where `by_rows`.
pub(crate) fn read(
    run: &Run,
    span: Span,
    places: &[usize],
    by_rows: &[bool],
    options: &Options,
) -> Result<Vec<RunMeasure>, JudgeError> {
    let info = run.info();
    let has_rate = |place: usize| {
        let is_connect = info.measures.get(place).is_some_and(|measure| measure.kind == CONNECT);
        info.clock != NO_CLOCK && !is_connect
    };
    let mut all: Vec<RunMeasure> = by_rows
        .iter()
        .zip(places)
        .map(|(&rows, &place)| RunMeasure::new(rows, has_rate(place)))
        .collect();
    if by_rows.contains(&true) {
        read_rows(run, span, places, &mut all, options.time)?;
    }
    if by_rows.contains(&false) {
        read_histograms(run, span, places, &mut all, options.time)?;
        read_tally(run, span, places, &mut all, options)?;
    }
    let is_any_unanswered = all.iter().any(|measured| !measured.unanswered.is_empty());
    if span.drains && is_any_unanswered {
        for (measured, outlasting) in all.iter_mut().zip(judge::outlasting(run, places)?) {
            measured.outlasting = outlasting;
        }
    }
    for measured in &mut all {
        if !measured.window_ends.is_empty() {
            measured.ends = Some(measured.window_ends.iter().fold(Ends::default(), Ends::plus));
        }
    }
    Ok(all)
}

fn read_rows(
    run: &Run,
    span: Span,
    places: &[usize],
    all: &mut [RunMeasure],
    time: Time,
) -> Result<(), JudgeError> {
    let mut numbers = vec![None; run.info().measures.len()];
    for (number, &place) in places.iter().enumerate() {
        if matches!(all[number].times, Times::Rows(_)) {
            numbers[place] = Some(number);
        }
    }
    run.requests(|batch| {
        for row in batch {
            let (Some(number), Some(window)) =
                (numbers[usize::from(row.measure)], span.window(row.done_ns))
            else {
                continue;
            };
            let measured = &mut all[number];
            if time == Time::Response {
                measured.add_failure(row);
            }
            if row.outcome.is_answered_failure() && !span.is_drain(row.done_ns) {
                measured.rejected[window] += 1;
            }
            if row.outcome == Outcome::Unfinished {
                continue;
            }
            let ends = &mut measured.window_ends[window];
            ends.ended += 1;
            ends.failed += u64::from(row.outcome.is_error());
            if let (Outcome::Ok, Times::Rows(windows)) = (row.outcome, &mut measured.times) {
                windows[window].push(match time {
                    Time::Response => row.response_ns(),
                    Time::Service => row.service_ns(),
                } as f64);
                measured.drained += u64::from(span.is_drain(row.done_ns));
            }
        }
    })?;
    Ok(())
}

/// The operations that a tag's histogram counts.
#[derive(Debug, Clone, Copy)]
enum TagOutcome {
    Succeeded,
    Failed,
    Unanswered,
}

fn read_histograms(
    run: &Run,
    span: Span,
    places: &[usize],
    all: &mut [RunMeasure],
    time: Time,
) -> Result<(), JudgeError> {
    let mut tags: HashMap<String, (usize, TagOutcome)> = HashMap::new();
    for (number, &place) in places.iter().enumerate() {
        let name = &run.info().measures[place].name;
        match time {
            Time::Response => {
                tags.insert(name.clone(), (number, TagOutcome::Succeeded));
                tags.insert(format!("{name}.failed"), (number, TagOutcome::Failed));
                tags.insert(format!("{name}.censored"), (number, TagOutcome::Unanswered));
            }
            Time::Service => {
                tags.insert(format!("{name}.service"), (number, TagOutcome::Succeeded));
                tags.insert(format!("{name}.failed"), (number, TagOutcome::Failed));
            }
        }
    }
    run.intervals(|interval| {
        let (Some(&(number, part)), Some(window)) =
            (tags.get(&interval.tag), span.window(interval.start_ns))
        else {
            return;
        };
        let measured = &mut all[number];
        if let Times::Histograms(windows) = &mut measured.times {
            let hist = match part {
                TagOutcome::Succeeded => {
                    if span.is_drain(interval.start_ns) {
                        measured.drained += interval.hist.count();
                    }
                    &mut windows[window]
                }
                TagOutcome::Failed => {
                    if !span.is_drain(interval.start_ns) {
                        measured.rejected[window] += interval.hist.count();
                    }
                    // Their service times are not known.
                    if time == Time::Service {
                        return;
                    }
                    &mut measured.failed
                }
                TagOutcome::Unanswered => &mut measured.unanswered,
            };
            hist.merge(&interval.hist);
        }
    })?;
    Ok(())
}

/// Outcomes of what was not read row by row. The tally knows phases and nothing smaller.
fn read_tally(
    run: &Run,
    span: Span,
    places: &[usize],
    all: &mut [RunMeasure],
    options: &Options,
) -> Result<(), JudgeError> {
    let Some(tally) = run.tally()?.filter(|_| options.compares_all()) else {
        return Ok(());
    };
    let phases = &run.info().phases;
    for (number, &place) in places.iter().enumerate() {
        if matches!(all[number].times, Times::Rows(_)) {
            continue;
        }
        let mut ends = Ends::default();
        for phase in &tally.phases {
            let start_ns = phases.get(phase.phase as usize).map_or(0, |p| p.start_ns);
            if span.window(start_ns).is_none() {
                continue;
            }
            let measures = phase.measures.iter();
            for measure in measures.filter(|m| usize::from(m.measure) == place) {
                for (name, &n) in &measure.outcomes {
                    if name != Outcome::Unfinished.name() {
                        ends.ended += n;
                        ends.failed += if name == Outcome::Ok.name() { 0 } else { n };
                    }
                }
            }
        }
        all[number].ends = Some(ends);
    }
    Ok(())
}

impl RunMeasure {
    fn new(by_rows: bool, has_rate: bool) -> RunMeasure {
        RunMeasure {
            has_rate,
            times: if by_rows {
                Times::Rows(vec![Vec::new(); WINDOWS])
            } else {
                Times::Histograms(vec![LogHistogram::new(); WINDOWS])
            },
            drained: 0,
            rejected: vec![0; WINDOWS],
            ends: None,
            window_ends: vec![Ends::default(); if by_rows { WINDOWS } else { 0 }],
            failed: LogHistogram::new(),
            unanswered: LogHistogram::new(),
            outlasting: LogHistogram::new(),
        }
    }

    /// Adds the time of an operation that failed, as far as it is known.
    fn add_failure(&mut self, row: &Measurement) {
        if row.outcome.is_answered_failure() {
            self.failed.record(row.response_ns());
        } else if row.outcome.is_unanswered() {
            self.unanswered.record(row.response_ns());
        }
    }

    /// The times of all operations, those that failed included; `None` if none of these has a time.
    pub(crate) fn all_operations(&self, quantiles: &[f64]) -> Option<AllOperations> {
        if self.failed.is_empty() && self.unanswered.is_empty() {
            return None;
        }
        let mut known = self.failed.clone();
        match &self.times {
            Times::Rows(windows) => {
                windows.iter().flatten().for_each(|&ns| known.record(ns as u64));
            }
            Times::Histograms(windows) => windows.iter().for_each(|hist| known.merge(hist)),
        }
        let times = CensoredTimes::outlasted(&known, &self.unanswered, &self.outlasting);
        let found: Vec<Quantile> = quantiles.iter().map(|&q| times.quantile(q)).collect();
        Some(AllOperations {
            count: times.count(),
            unanswered: times.count_censored(),
            quantiles_ns: found.iter().map(|found| found.value()).collect(),
            is_bound: found.iter().map(|found| found.is_bound()).collect(),
        })
    }

    /// Source of the measure's times.
    pub(crate) fn source(&self) -> Source {
        match self.times {
            Times::Rows(_) => Source::Rows,
            Times::Histograms(_) => Source::Histograms,
        }
    }

    /// Operations that succeeded.
    pub(crate) fn count(&self) -> u64 {
        match &self.times {
            Times::Rows(windows) => windows.iter().map(|times| times.len() as u64).sum(),
            Times::Histograms(windows) => windows.iter().map(LogHistogram::count).sum(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// All times in order; `None` where the order is not known.
    pub(crate) fn in_order(&self) -> Option<Vec<f64>> {
        match &self.times {
            Times::Rows(windows) => Some(windows.concat()),
            Times::Histograms(_) => None,
        }
    }

    /// The rate of these operations; `None` if they have none.
    fn rate(&self, in_time: u64, seconds: f64) -> Option<Rate> {
        self.has_rate.then_some(Rate { in_time, seconds })
    }

    /// The rate of the operations that the target completed, with success or with a failure, over a run with this much
    /// load; `None` if they have none.
    pub(crate) fn completed(&self, seconds: f64) -> Option<Rate> {
        self.rate(self.count() - self.drained + self.rejected.iter().sum::<u64>(), seconds)
    }

    /// The run as an observation; `None` where no operation succeeded.
    pub(crate) fn unit(&self, seconds: f64) -> Option<Unit> {
        let sample = match &self.times {
            Times::Rows(windows) => Sample::new(windows.concat()),
            Times::Histograms(windows) => {
                let mut all = LogHistogram::new();
                windows.iter().for_each(|hist| all.merge(hist));
                Sample::of_histogram(&all, Edge::Middle)
            }
        };
        Some(Unit { rate: self.completed(seconds), sample: sample.ok()?, ends: self.ends })
    }

    /// The windows as observations; `None` if one has too few operations.
    pub(crate) fn window_units(&self, seconds: f64) -> Option<Vec<Unit>> {
        (0..WINDOWS)
            .map(|window| {
                let sample = match &self.times {
                    Times::Rows(windows) => Sample::new(windows[window].clone()),
                    Times::Histograms(windows) => {
                        Sample::of_histogram(&windows[window], Edge::Middle)
                    }
                };
                let sample = sample.ok().filter(|s| s.count() >= WINDOW_COUNT_MIN)?;
                let drained = if window + 1 == WINDOWS { self.drained } else { 0 };
                Some(Unit {
                    rate: self.rate(
                        sample.count() - drained + self.rejected[window],
                        seconds / WINDOWS as f64,
                    ),
                    ends: self.window_ends.get(window).copied(),
                    sample,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, SECOND};

    fn span(options: &Options, ended_s: u64) -> Option<Span> {
        let mut info = sample::info();
        info.phases = vec![
            sample::phase("warm", "rate", 0, 20, 1.0),
            sample::phase("hot", "rate", 20, 60, 1.0),
        ];
        Span::of(&info, ended_s * SECOND, options)
    }

    #[test]
    fn windows_divide_what_is_compared() {
        let whole = span(&Options::default(), 61).unwrap();
        assert_eq!(whole.seconds(), 60.0);
        let at = |s: f64| whole.window((s * 1e9) as u64);
        assert_eq!([at(0.0), at(5.9), at(6.0), at(60.5)], [0, 0, 1, 9].map(Some));
        let warm =
            Options { phase: Some("warm".to_owned()), skip_ns: 10 * SECOND, ..Options::default() };
        let warm = span(&warm, 61).unwrap();
        let at = |s: f64| warm.window((s * 1e9) as u64);
        assert_eq!(warm.seconds(), 10.0);
        assert_eq!([at(9.9), at(10.0), at(19.9), at(20.0)], [None, Some(0), Some(9), None]);
    }

    #[test]
    fn a_stretch_that_is_not_there_is_none() {
        let phase = |name: &str, skip_s: u64| Options {
            phase: Some(name.to_owned()),
            skip_ns: skip_s * SECOND,
            ..Options::default()
        };
        assert_eq!(span(&phase("cold", 0), 60), None);
        assert_eq!(span(&phase("hot", 40), 60), None);
        assert_eq!(span(&phase("hot", 0), 15), None);
        let skip = Options { skip_ns: u64::MAX, ..Options::default() };
        assert_eq!(span(&skip, 60), None);
    }

    #[test]
    fn the_smallest_measures_are_read_row_by_row() {
        let counts = [vec![10, 1_000, 100], vec![10, 1_000, 100]];
        let fits = |bytes| fitting(&counts, 3, bytes);
        assert_eq!(fits(0), [false, false, false]);
        assert_eq!(fits(220 * VALUE_BYTES), [true, false, true]);
        assert_eq!(fits(u64::MAX), [true, true, true]);
    }

    #[test]
    fn what_is_answered_after_the_load_is_no_rate_of_it() {
        let mut measured = RunMeasure::new(true, true);
        measured.times = Times::Rows(vec![vec![1e6; 100]; WINDOWS]);
        measured.drained = 60;
        let rates = |units: &[Unit]| -> Vec<u64> {
            let rates = units.iter().map(|unit| unit.rate.unwrap());
            rates.map(|rate| rate.in_time).collect()
        };
        assert_eq!(rates(&[measured.unit(10.0).unwrap()]), [940]);
        let windows = rates(&measured.window_units(10.0).unwrap());
        assert_eq!((windows[0], windows[9]), (100, 40));
    }

    #[test]
    fn what_is_answered_with_a_failure_is_completed() {
        let mut measured = RunMeasure::new(true, true);
        measured.times = Times::Rows(vec![vec![1e6; 100]; WINDOWS]);
        measured.rejected[3] = 50;
        assert_eq!(measured.completed(10.0).unwrap().in_time, 1050);
        let windows = measured.window_units(10.0).unwrap();
        let in_time = |window: usize| windows[window].rate.unwrap().in_time;
        assert_eq!([in_time(2), in_time(3)], [100, 150]);
        let unclocked = RunMeasure::new(true, false);
        assert_eq!(unclocked.completed(10.0), None);
    }
}
