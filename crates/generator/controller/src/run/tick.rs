//! One second of a run, for the live view.

use std::borrow::Cow;

use engine::measure::{MeasureDelta, SessionTimes};
use engine::sequences::ClockReading;
use judge::course::{LiveRun, SecondOf};
use plan::Plan;
use probe::ProbeValue;
use record::Outcome;
use record::operations::is_of_step;
use record::schema::{ErrorCount, Event, EventKind, MetricInfo, MetricRow, RunInfo, SeriesRow};
use stats::censored::{CensoredTimes, Quantile};
use stats::hist::LogHistogram;
use stats::metrics::MetricValues;

use super::merge::Interval;

/// One second of a run, while it runs.
#[derive(Debug)]
pub struct Tick<'a> {
    pub info: &'a RunInfo,
    pub row: &'a SeriesRow,
    /// The measures that have operations in this interval.
    pub measures: Vec<TickMeasure>,
    pub interrupted: bool,
    /// True if arrivals are paused.
    pub paused: bool,
    /// The newest values of the probes.
    pub probes: &'a [ProbeValue],
    /// The events since the last second.
    pub events: &'a [Event],
    /// Failures of this second by step, kind and detail.
    pub errors: &'a [ErrorCount],
    pub(crate) interval: &'a Interval,
}

impl Tick<'_> {
    /// Response times of the requests and handshakes that succeeded.
    pub fn responses(&self) -> impl Iterator<Item = &LogHistogram> {
        let measures = self
            .interval
            .measures
            .values()
            .filter(|delta| is_of_step(&self.info.measures[delta.measure.index()].kind));
        measures.map(|delta| &delta.response)
    }

    /// The metrics of the scenario's own that were recorded in this interval.
    pub fn metrics(&self) -> impl Iterator<Item = (&MetricInfo, &MetricValues)> {
        let metrics = self.interval.metrics.iter();
        metrics
            .filter_map(|(metric, values)| Some((self.info.metrics.get(metric.index())?, values)))
    }

    /// The measures, those of several regions as one.
    pub fn over_regions(&self) -> Cow<'_, [TickMeasure]> {
        if self.info.regions.is_empty() {
            return Cow::Borrowed(&self.measures);
        }
        let mut parts: Vec<(String, Vec<&MeasureDelta>)> = Vec::new();
        for (id, delta) in &self.interval.measures {
            let name = self.info.measures[id.index()].over_regions();
            match parts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, deltas)) => deltas.push(delta),
                None => parts.push((name, vec![delta])),
            }
        }
        let parts = parts.into_iter();
        parts.map(|(name, deltas)| measure(name, &deltas)).collect()
    }

    /// A copy with all histograms, for another thread to add up.
    pub fn keep(&self) -> Second {
        let measures = self.interval.measures.values();
        Second {
            row: self.row.clone(),
            measures: measures.cloned().collect(),
            metrics: self.interval.metric_rows(),
            sessions: self.interval.sessions.clone(),
            events: self.events.to_vec(),
            errors: self.errors.to_vec(),
            probes: self.probes.to_vec(),
            interrupted: self.interrupted,
            paused: self.paused,
        }
    }
}

/// One second of a run, as an owned copy.
#[derive(Debug)]
pub struct Second {
    row: SeriesRow,
    measures: Vec<MeasureDelta>,
    metrics: Vec<MetricRow>,
    sessions: SessionTimes,
    events: Vec<Event>,
    /// Failures by step, kind and detail.
    pub errors: Vec<ErrorCount>,
    probes: Vec<ProbeValue>,
    /// True if the run is being stopped.
    pub interrupted: bool,
    /// True if arrivals are paused.
    pub paused: bool,
}

impl Second {
    /// Adds it to a run that grows.
    pub fn add_to(self, live_run: &mut LiveRun) {
        live_run.add(&self.row, self.measures.iter().map(second_of));
        self.metrics.iter().for_each(|row| live_run.metric(row));
        live_run.sessions(&self.row, &self.sessions.finished, &self.sessions.unfinished);
        self.errors.into_iter().for_each(|count| live_run.error(count));
        self.events.into_iter().for_each(|event| live_run.event(event));
        let probes = self.probes.into_iter();
        live_run.probes(probes.map(|probed| (probed.info, probed.at_ns, probed.value)));
    }
}

/// A measure in one interval, as the judge takes it.
pub(crate) fn second_of(delta: &MeasureDelta) -> SecondOf<'_> {
    SecondOf {
        measure: delta.measure.index(),
        begun: delta.begun,
        outcomes: &delta.outcomes,
        response: &delta.response,
        failed: &delta.failed,
        unanswered: &delta.censored,
        service: &delta.service,
        lag: &delta.lag,
    }
}

/// A measure in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct TickMeasure {
    pub name: String,
    /// Operations that ended, with success or not.
    pub count: u64,
    /// Operations among them that the target answered.
    pub completed: u64,
    pub errors: u64,
    /// Response times of all of them: 50, 95, 99 %.
    pub response: Option<[Quantile; 3]>,
}

/// The measures of an interval.
pub(crate) fn measures(info: &RunInfo, interval: &Interval) -> Vec<TickMeasure> {
    let measures = interval.measures.iter();
    let measures =
        measures.map(|(&id, delta)| measure(info.measures[id.index()].name.clone(), &[delta]));
    measures.collect()
}

/// The deltas of several regions as one measure.
fn measure(name: String, parts: &[&MeasureDelta]) -> TickMeasure {
    let mut known = LogHistogram::new();
    let mut unanswered = LogHistogram::new();
    let mut count = 0;
    let mut completed = 0;
    let mut errors = 0;
    for part in parts {
        let by_outcome = Outcome::ALL.iter().zip(&part.outcomes);
        for (outcome, n) in by_outcome {
            errors += if outcome.is_error() { *n } else { 0 };
            completed += if outcome.is_answered() { *n } else { 0 };
        }
        count += part.outcomes.iter().sum::<u64>();
        known.merge(&part.response);
        known.merge(&part.failed);
        unanswered.merge(&part.censored);
    }
    let times = CensoredTimes::new(&known, &unanswered);
    TickMeasure {
        name,
        count,
        completed,
        errors,
        response: (!times.is_empty()).then(|| [0.5, 0.95, 0.99].map(|q| times.quantile(q))),
    }
}

/// The events on the clocks that stamp messages.
pub(crate) fn clock_events<'a>(
    plan: &Plan,
    clocks: impl Iterator<Item = &'a ClockReading>,
) -> Vec<EventKind> {
    let events = clocks.filter_map(|clock| {
        let message = plan.messages.get(clock.message.index())?;
        Some(EventKind::ClockCompared {
            measure: plan.measures.get(message.measure.index())?.name.clone(),
            offset_ns: clock.offset_ns,
            bound_ns: clock.bound_ns(),
            replies: clock.replies,
            corrected: message.sent_at.as_ref().is_some_and(|at| at.correct),
        })
    });
    events.collect()
}
