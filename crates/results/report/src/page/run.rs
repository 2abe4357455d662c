//! The document of a run.

mod failures;

use std::collections::BTreeSet;

use judge::course::{Course, Number};
use judge::focus::{self, FocusReason, StepOrder};
use judge::shown_names;
use judge::totals::{StepTotals, Totals};
use record::Import;
use record::schema::{
    Event, EventKind, Finding, Incident, IncidentKind, IntervalMissing, Latency, MeasureSummary,
    MetricSummary, PhaseSummary, RunInfo, RunStatus, Summary, ThresholdResult, Verdict,
};
use serde::Serialize;

use super::{Content, Page};
use crate::findings::{FindingPlace, place};
use crate::verdict::of_region;
use failures::Failures;

/// Most rows in the table of steps: measures of the run, then of each phase.
const STEP_ROWS_MAX: usize = 2_000;
/// Most pauses of arrivals, most faults and most incidents that are marked.
const HIGHLIGHTS_MAX: usize = 100;
/// Most incidents that are listed.
const INCIDENTS_MAX: usize = 100;
/// Most first errors that are shown, and most characters of each.
const EXAMPLES_MAX: usize = 50;
const EXAMPLE_CHARS_MAX: usize = 400;

/// The content of a run's page.
#[derive(Debug)]
pub struct RunReport<'a> {
    /// The run.
    pub info: &'a RunInfo,
    /// The run's figures and the verdict.
    pub summary: &'a Summary,
    /// The run over time.
    pub course: &'a Course,
    /// The run's events.
    pub events: &'a [Event],
    /// Parts that the record lacks; see [`record::Run::missing`].
    pub missing: &'a [String],
    /// Source of the run's results, if they are imported.
    pub import: Option<&'a Import>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct RunDocument<'a> {
    run: RunHead<'a>,
    verdict: RunVerdict,
    totals: Totals,
    /// The step that the first figures are of.
    focus: Option<Focus<'a>>,
    missing: &'a [String],
    findings: &'a [Finding],
    /// The place of each of them, in the same order.
    places: Vec<FindingPlace>,
    thresholds: &'a [ThresholdResult],
    failures: Failures<'a>,
    /// The gravest first.
    incidents: Vec<RunIncident<'a>>,
    incidents_left_out: usize,
    users: &'a record::schema::UsersSummary,
    health: &'a record::schema::HealthSummary,
    phases: Vec<Phase<'a>>,
    highlights: Vec<Highlight>,
    /// The steps: those of the complete run first, the worst of them first.
    steps: Vec<Step<'a>>,
    steps_left_out: usize,
    /// The requests with a tag taken as one, each.
    tags: Vec<Step<'a>>,
    /// The scenario's own metrics; left out if it has none.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [MetricSummary],
    course: &'a Course,
    examples: Vec<Example<'a>>,
    regions: Vec<Region<'a>>,
}

impl Content for RunDocument<'_> {
    const KIND: &'static str = "run";
}

/// The verdict on a run, or what is known instead of one.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub(super) enum RunVerdict {
    Measured,
    Passed,
    Failed,
    Untrusted,
    /// The results come from elsewhere, and nothing is known of the generator.
    Imported,
    /// In progress: nothing in the document is final. So are the next two.
    Running,
    /// Arrivals are paused.
    Paused,
    /// It is being stopped.
    Stopping,
}

impl RunVerdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            RunVerdict::Measured => "measured",
            RunVerdict::Passed => "passed",
            RunVerdict::Failed => "failed",
            RunVerdict::Untrusted => "untrusted",
            RunVerdict::Imported => "imported",
            RunVerdict::Running => "running",
            RunVerdict::Paused => "paused",
            RunVerdict::Stopping => "stopping",
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct RunHead<'a> {
    id: &'a str,
    name: &'a str,
    target: &'a str,
    status: RunStatus,
    /// As text: it may exceed the range of a number in JavaScript.
    seed: String,
    started_unix_ms: u64,
    ended_s: Number,
    mode: &'a str,
    loops: u32,
    cores: u32,
    workers: usize,
    lag_max_ns: u64,
    overrides: &'a [String],
    host: &'a std::collections::BTreeMap<String, String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Phase<'a> {
    name: &'a str,
    kind: &'a str,
    start_s: Number,
    end_s: Number,
    users_planned: Number,
    users_started: Option<u64>,
}

/// The step that the first figures are of.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Focus<'a> {
    name: &'a str,
    reason: FocusReason,
    count: u64,
    errors: u64,
    /// `None`: it has no response times.
    totals: Option<StepTotals>,
}

/// An incident with the names of what it is drawn in.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct RunIncident<'a> {
    #[serde(flatten)]
    incident: &'a Incident,
    /// The names of its rows among the steps, and of its lines in the course.
    rows: BTreeSet<String>,
}

/// A time that stands out on the axes of time.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Highlight {
    name: String,
    kind: HighlightKind,
    from_s: Number,
    /// `None`: to the end.
    to_s: Option<Number>,
}

/// The reason why a time stands out.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
enum HighlightKind {
    /// Arrivals were paused.
    Pause,
    /// A fault was made on purpose.
    Fault,
    /// A step was worse than in the rest of the run.
    Incident,
}

/// A measure over the run, or in one phase.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Step<'a> {
    /// Index of the phase; `None`: the complete run.
    phase: Option<usize>,
    name: &'a str,
    kind: &'a str,
    count: u64,
    rate_per_s: Number,
    errors: u64,
    errors_by_kind: &'a std::collections::BTreeMap<String, u64>,
    /// True if a threshold on it does not hold: in the complete run one for any phase, in a phase one for this phase.
    breaks_threshold: bool,
    /// Operations among the response times that were never answered.
    unanswered: u64,
    /// Percentiles of `response` above this share are lower bounds.
    bound_above: Option<Number>,
    /// Mean, min, p50, p90, p95, p98, p99, p99.9 and max; nanoseconds. So are `service` and `lag`.
    response: Option<Times>,
    /// Intervals of the percentiles of `response`, p50 to p99.9; empty if the record does not say.
    intervals: Vec<Range>,
    service: Option<Times>,
    lag: Option<Times>,
}

/// How far a percentile may lie from the true one, at 95 %; nanoseconds.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Range {
    low: Option<Number>,
    high: Option<Number>,
    /// True if the upper end is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_bound: bool,
    /// Why an end is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<IntervalMissing>,
}

/// Mean, min, p50, p90, p95, p98, p99, p99.9, max; nanoseconds.
type Times = [Number; 9];

/// One of the first errors of a kind.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Example<'a> {
    at_s: Number,
    measure: &'a str,
    outcome: &'a str,
    detail: String,
}

/// The clients of one region.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Region<'a> {
    name: &'a str,
    clients: usize,
    unreachable: usize,
    users_planned: u64,
    connected: u64,
    failed: u64,
}

impl Page {
    /// The page of a run.
    pub fn run(report: &RunReport<'_>, throng: &str) -> Page {
        let RunReport { info, summary, .. } = *report;
        let verdict = match (report.import, summary.verdict) {
            (Some(_), _) => RunVerdict::Imported,
            (None, Verdict::Measured) => RunVerdict::Measured,
            (None, Verdict::Passed) => RunVerdict::Passed,
            (None, Verdict::Failed) => RunVerdict::Failed,
            (None, Verdict::Untrusted) => RunVerdict::Untrusted,
        };
        let totals = Totals::of(summary);
        let document = RunDocument::new(report, verdict, totals, info.ended_ns);
        let sentences = summary.findings.iter().map(|f| f.text.clone()).collect();
        let title = format!("{}: {} · Throng", info.name, verdict.name());
        Page::new(title, sentences, throng, &document)
    }
}

impl<'a> RunDocument<'a> {
    /// The document of a run up to `ended_ns`.
    pub(super) fn new(
        report: &RunReport<'a>,
        verdict: RunVerdict,
        totals: Totals,
        ended_ns: u64,
    ) -> RunDocument<'a> {
        let RunReport { info, summary, .. } = *report;
        let (steps, steps_left_out) = steps(summary, info);
        let listed = summary.incidents.len().min(INCIDENTS_MAX);
        RunDocument {
            run: head(info, ended_ns),
            verdict,
            totals,
            focus: focused(summary, info),
            missing: report.missing,
            findings: &summary.findings,
            places: summary.findings.iter().map(|finding| place(finding, summary)).collect(),
            thresholds: &summary.thresholds,
            failures: Failures::new(summary, report.course, info),
            incidents: summary.incidents[..listed].iter().map(|one| drawn(one, info)).collect(),
            incidents_left_out: summary.incidents.len() - listed,
            users: &summary.users,
            health: &summary.health,
            phases: phases(info, &summary.phases),
            highlights: highlights(report.events, &summary.incidents[..listed]),
            steps,
            steps_left_out,
            tags: summary.tags.iter().map(|tag| step(None, &tag.figures, false)).collect(),
            metrics: &summary.metrics,
            course: report.course,
            examples: examples(report.events),
            regions: report.import.map_or(Vec::new(), regions),
        }
    }
}

fn focused<'a>(summary: &'a Summary, info: &RunInfo) -> Option<Focus<'a>> {
    let focus = focus::of(summary, info)?;
    Some(Focus {
        name: &focus.measure.name,
        reason: focus.reason,
        count: focus.measure.count,
        errors: focus.measure.errors,
        totals: focus.totals(),
    })
}

fn drawn<'a>(incident: &'a Incident, info: &RunInfo) -> RunIncident<'a> {
    let rows = shown_names(info, &incident.step, incident.tag.as_deref());
    RunIncident { incident, rows }
}

fn highlights(events: &[Event], incidents: &[Incident]) -> Vec<Highlight> {
    let pauses = judge::pauses::from_events(events).into_iter().map(|pause| Highlight {
        name: "paused".to_owned(),
        kind: HighlightKind::Pause,
        from_s: seconds(pause.from_ns),
        to_s: pause.until_ns.map(seconds),
    });
    let faults = judge::faults::from_events(events).into_iter().map(|fault| Highlight {
        name: fault.text.to_owned(),
        kind: HighlightKind::Fault,
        from_s: seconds(fault.from_ns),
        to_s: fault.until_ns.map(seconds),
    });
    let incidents = incidents.iter().map(|incident| Highlight {
        name: incident_name(incident),
        kind: HighlightKind::Incident,
        from_s: seconds(incident.begin_ns),
        to_s: Some(seconds(incident.end_ns)),
    });
    let pauses = pauses.take(HIGHLIGHTS_MAX);
    pauses.chain(faults.take(HIGHLIGHTS_MAX)).chain(incidents.take(HIGHLIGHTS_MAX)).collect()
}

/// An incident in a few words: "checkout: errors, response".
fn incident_name(incident: &Incident) -> String {
    let kinds = incident.kinds.iter().map(|kind| match kind {
        IncidentKind::Errors => "errors",
        IncidentKind::Unanswered => "no answers",
        IncidentKind::Response => "response",
        IncidentKind::Throughput => "throughput",
    });
    let kinds: Vec<&str> = kinds.collect();
    let tag = incident.tag.as_ref().map_or(String::new(), |tag| format!(" ({tag})"));
    format!("{}{tag}: {}", incident.step, kinds.join(", "))
}

fn seconds(ns: u64) -> Number {
    Number(ns as f64 / 1e9)
}

fn head(info: &RunInfo, ended_ns: u64) -> RunHead<'_> {
    RunHead {
        id: &info.id,
        name: &info.name,
        target: &info.target,
        status: info.status,
        seed: info.seed.to_string(),
        started_unix_ms: info.started_unix_ns / 1_000_000,
        ended_s: seconds(ended_ns),
        mode: &info.generator.mode,
        loops: info.generator.loops,
        cores: info.generator.cores,
        workers: info.workers.len(),
        lag_max_ns: info.generator.lag_max_ns,
        overrides: &info.overrides,
        host: &info.host,
    }
}

fn phases<'a>(info: &'a RunInfo, summaries: &[PhaseSummary]) -> Vec<Phase<'a>> {
    let phases = info.phases.iter().enumerate().map(|(number, phase)| Phase {
        name: &phase.name,
        kind: &phase.kind,
        start_s: seconds(phase.start_ns),
        end_s: seconds(phase.end_ns),
        users_planned: Number(phase.users_planned),
        users_started: summaries.get(number).map(|phase| phase.users_started),
    });
    phases.collect()
}

/// The table of steps, and the number of rows left out: those of the complete run in the order of [`StepOrder`], then those
/// of each phase in the order of the scenario.
///
/// A run with regions has steps over all regions and of each region; by phase over all regions only.
fn steps<'a>(summary: &'a Summary, info: &'a RunInfo) -> (Vec<Step<'a>>, usize) {
    let order = StepOrder::of(summary, info);
    let regions = summary.regions.iter().filter(|_| summary.regions.len() > 1);
    let by_region = regions.flat_map(|region| of_region(summary, info, &region.name));
    let whole = summary.over_regions().iter().chain(by_region.map(|(_, measure)| measure));
    let mut whole: Vec<&MeasureSummary> = whole.collect();
    whole.sort_by(|one, other| order.rank(one).compare(&order.rank(other)));
    let whole = whole.into_iter().map(|measure| (None, measure));
    let several = summary.phases.len() > 1;
    let by_phase = summary.phases.iter().enumerate();
    let by_phase = by_phase.flat_map(|(n, phase)| {
        let measures = phase.over_regions().iter();
        measures.map(move |m| (Some(n), m))
    });
    // One phase alone is the whole run.
    let by_phase = by_phase.filter(|_| several);
    let mut all = whole.chain(by_phase);
    let rows = all.by_ref().take(STEP_ROWS_MAX).map(|(phase, measure)| {
        let breaks_threshold = order.breaks_threshold(&measure.name, phase);
        step(phase, measure, breaks_threshold)
    });
    let rows = rows.collect();
    (rows, all.count())
}

fn step(phase: Option<usize>, measure: &MeasureSummary, breaks_threshold: bool) -> Step<'_> {
    let response = measure.response.as_ref();
    Step {
        phase,
        name: &measure.name,
        kind: &measure.kind,
        count: measure.count,
        rate_per_s: Number(measure.rate_per_s),
        errors: measure.errors,
        errors_by_kind: &measure.errors_by_kind,
        breaks_threshold,
        unanswered: response.map_or(0, |response| response.unanswered),
        bound_above: response.and_then(|r| r.bound_above).map(Number),
        response: response.map(times),
        intervals: response.map_or(Vec::new(), ranges),
        service: measure.service.as_ref().map(times),
        lag: measure.lag.as_ref().map(times),
    }
}

fn ranges(response: &Latency) -> Vec<Range> {
    let ns = |ns: Option<u64>| ns.map(|ns| Number(ns as f64));
    let ranges = response.intervals.iter().map(|found| Range {
        low: ns(found.low_ns),
        high: ns(found.high_ns),
        is_bound: found.high_is_bound,
        missing: found.missing,
    });
    ranges.collect()
}

fn times(latency: &Latency) -> Times {
    let ns = |ns: u64| Number(ns as f64);
    [
        Number(latency.mean_ns),
        ns(latency.min_ns),
        ns(latency.p50_ns),
        ns(latency.p90_ns),
        ns(latency.p95_ns),
        ns(latency.p98_ns),
        ns(latency.p99_ns),
        ns(latency.p999_ns),
        ns(latency.max_ns),
    ]
}

fn examples(events: &[Event]) -> Vec<Example<'_>> {
    let errors = events.iter().filter_map(|event| match &event.what {
        EventKind::Error { measure, outcome, detail, .. } => Some(Example {
            at_s: seconds(event.at_ns),
            measure,
            outcome,
            detail: detail.chars().take(EXAMPLE_CHARS_MAX).collect(),
        }),
        _ => None,
    });
    errors.take(EXAMPLES_MAX).collect()
}

fn regions(import: &Import) -> Vec<Region<'_>> {
    let mut regions: Vec<Region<'_>> = Vec::new();
    let mut of = |name| match regions.iter().position(|region| region.name == name) {
        Some(place) => place,
        None => {
            regions.push(Region {
                name,
                clients: 0,
                unreachable: 0,
                users_planned: 0,
                connected: 0,
                failed: 0,
            });
            regions.len() - 1
        }
    };
    let places: Vec<usize> = import.clients.iter().map(|c| of(&c.region)).collect();
    let lost: Vec<usize> = import.unreachable.iter().map(|c| of(&c.region)).collect();
    for (client, place) in import.clients.iter().zip(places) {
        let region = &mut regions[place];
        region.clients += 1;
        region.users_planned += client.users_planned;
        region.connected += client.connected;
        region.failed += client.failed;
    }
    for place in lost {
        regions[place].unreachable += 1;
    }
    regions
}
