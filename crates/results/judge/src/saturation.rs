//! Did the target fall behind? Requests that are due faster than they are answered wait in a [backlog] that
//! grows as long as that lasts, however well the generator keeps to its schedule.

mod backlog;
mod shortfall;

use record::schema::{Finding, SeriesRow, Severity};

use crate::figures::{self, Figures, Flow, MeasureGroup, Window};
use crate::finding::finding;
use crate::generator::Cause;
use crate::limits::{
    SATURATED_WAIT_QUANTILE, SLOW_CONNECTS_S_MIN, SLOW_CONNECTS_TIMES, SLOW_STEP_SHARE_MIN,
    SLOW_STEP_TIMES_OTHERS,
};
use crate::silence::{self, Silence};
use backlog::{Backlog, Stream, Times};
pub use shortfall::Shortfall;

/// The code of the finding.
const CODE: &str = "target-saturated";

/// The code of a run that is too short to say that.
const SHORT: &str = "run-too-short";

/// A target that did not keep up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Saturation {
    /// The step that is too slow, if the others are not.
    step: Option<String>,
    backlog: Backlog,
}

impl Saturation {
    pub(crate) fn finding(&self) -> Finding {
        let Backlog {
            since_s,
            due_per_s,
            answered_per_s,
            given_up,
            waiting,
            first_s,
            is_short,
            ..
        } = self.backlog;
        let what = match (is_short, &self.step) {
            (true, _) => "the run is too short to say whether the target keeps up".to_owned(),
            (false, Some(step)) => format!("the target fell behind at {step} from {since_s} s on"),
            (false, None) => format!("the target fell behind from {since_s} s on"),
        };
        let mut text = format!(
            "{what}: of {} due it answered {}, {} less; ",
            units::rate(due_per_s),
            units::rate(answered_per_s),
            units::share(1.0 - answered_per_s / due_per_s),
        );
        let mut waiting_text = units::counted(waiting, "request");
        if given_up > 0 {
            text +=
                &format!("{} ended without an answer, and ", units::counted(given_up, "request"));
            waiting_text = units::count(waiting);
        }
        text += &format!("{waiting_text} waited when the last phase ended");
        if let Some(first_s) = first_s {
            let first = units::duration(first_s * 1e9);
            text += &format!("; those due first took {first}: it was busy from the beginning");
        }
        let (severity, code) = match is_short {
            true => (Severity::Note, SHORT),
            false => (Severity::Warning, CODE),
        };
        finding(severity, code, text)
            .with("since_s", since_s as f64)
            .with("due_per_s", due_per_s)
            .with("answered_per_s", answered_per_s)
            .with("given_up", given_up as f64)
            .with("backlog", waiting as f64)
            .done()
    }

    /// True if the run is too short to say whether the target keeps up.
    pub(crate) fn is_short(&self) -> bool {
        self.backlog.is_short
    }

    /// True if answers came too late for the time limits, so that the target may have seemed to stop.
    pub(crate) fn is_too_late(&self) -> bool {
        self.backlog.too_late_s.is_some()
    }

    /// True of a time without answers that came of answers which were too late, and of nothing else.
    fn explains(&self, silence: &Silence) -> bool {
        self.backlog.too_late_s.is_some_and(|last_s| {
            silence.since_s >= self.backlog.since_s
                && (!silence.is_last || silence.since_s as f64 <= last_s)
        })
    }
}

/// Backlog and silences that a target did not keep up with.
#[derive(Debug, Default)]
pub(crate) struct Overload {
    /// Silences that answers which were too late do not explain.
    pub(crate) silences: Vec<Silence>,
    pub(crate) saturation: Option<Saturation>,
}

impl Overload {
    pub(crate) fn find(figures: &Figures) -> Overload {
        let saturation = saturation(figures);
        let is_explained = |silence: &Silence| {
            let saturation = saturation.as_ref();
            saturation.is_some_and(|saturation| saturation.explains(silence))
        };
        let silences = silence::find(figures).into_iter();
        let silences: Vec<Silence> = silences.filter(|silence| !is_explained(silence)).collect();
        let stopped = silences.iter().find(|silence| silence.is_last);
        let stopped_s = stopped.map(|silence| silence.since_s);
        // A target that stopped has fallen behind since: that says less.
        let says_more = |saturation: &Saturation| {
            stopped_s.is_none_or(|stopped_s| saturation.backlog.since_s < stopped_s)
        };
        Overload { saturation: saturation.filter(says_more), silences }
    }

    /// True if the target did not do what was due to the end.
    pub(crate) fn lasts(&self) -> bool {
        let saturation = self.saturation.iter();
        saturation.clone().any(|found| !found.is_short())
            || self.silences.iter().any(|silence| silence.is_last)
    }
}

/// The saturation of one step where one stands out, else of all requests.
fn saturation(figures: &Figures) -> Option<Saturation> {
    let all: Vec<usize> = requests(figures).collect();
    let mut stream = stream(figures, &all);
    let held = figures.series.iter().any(|row| row.users_held > 0);
    if held && waits_for_connects(figures) {
        add_unstarted(figures, &mut stream);
    }
    let backlog = backlog::find(&stream, || times(figures, &all));
    let whole = backlog.map(|backlog| Saturation { step: None, backlog });
    if stream.is_held && whole.is_some() {
        return whole;
    }
    match slow_step(figures, &stream.windows) {
        Some(slow) if slow.stands_out || whole.is_none() => Some(slow.saturation),
        _ => whole,
    }
}

/// The step with the largest backlog.
struct SlowStep {
    saturation: Saturation,
    /// The other steps are not as slow.
    stands_out: bool,
}

/// The step with the largest backlog, of those that have one.
fn slow_step(figures: &Figures, whole: &[Window]) -> Option<SlowStep> {
    let steps = steps(figures);
    if steps.len() < 2 {
        return None;
    }
    let unanswered = |windows: &[Window]| backlog::sum(windows, |w| w.due - w.answered);
    let due = |windows: &[Window]| backlog::sum(windows, |w| w.due);
    let slow = steps.iter().filter_map(|step| {
        let stream = stream(figures, &step.measures);
        let backlog = backlog::find(&stream, || times(figures, &step.measures))?;
        (!backlog.is_short).then_some((&step.name, backlog, stream.windows))
    });
    let (name, backlog, windows) =
        slow.max_by(|a, b| unanswered(&a.2).total_cmp(&unanswered(&b.2)))?;
    let own = unanswered(&windows);
    let all = unanswered(whole);
    // Without other steps there is nothing to divide by.
    let others = (all - own) / (due(whole) - due(&windows)).max(1.0);
    let stands_out =
        own >= SLOW_STEP_SHARE_MIN * all && own / due(&windows) >= SLOW_STEP_TIMES_OTHERS * others;
    Some(SlowStep { saturation: Saturation { step: Some(name.clone()), backlog }, stands_out })
}

/// The steps that make requests, those of several regions as one.
fn steps(figures: &Figures) -> Vec<MeasureGroup> {
    let over_regions = figures.over_regions();
    if over_regions.is_empty() {
        let steps = requests(figures).map(|number| {
            let measure = &figures.info.measures[number];
            MeasureGroup {
                name: measure.name.clone(),
                kind: measure.kind.clone(),
                measures: vec![number],
            }
        });
        return steps.collect();
    }
    let all: Vec<usize> = requests(figures).collect();
    let is_step = |over: &MeasureGroup| over.measures.iter().any(|m| all.contains(m));
    over_regions.into_iter().filter(is_step).collect()
}

/// The requests that a target is to answer at once: polls, and whatever else waits for it to send something by itself,
/// may take as long as they do.
fn requests(figures: &Figures) -> impl Iterator<Item = usize> {
    let requests = figures.requests();
    requests.filter(|&measure| !figures.info.measures[measure].waits)
}

/// The requests of a phase of an even rate that waited for longer and longer to its end; `None`: the target kept up with
/// what was due, but for what is in flight. That is decided more strictly than the finding on a run.
pub fn falls_short(figures: &Figures, phase: usize) -> Option<Shortfall> {
    let times = figures.info.phases.get(phase)?;
    let measures: Vec<usize> = requests(figures).collect();
    let windows = figures.planned_windows(&measures);
    let window_s = figures.window_s();
    let at = |ns: u64| ((ns / 1_000_000_000) as usize / window_s).min(windows.len());
    shortfall::find(&windows, at(times.start_ns)..at(times.end_ns), window_s)
}

fn stream(figures: &Figures, measures: &[usize]) -> Stream {
    Stream {
        windows: figures.planned_windows(measures),
        window_s: figures.window_s(),
        in_flight: measures.iter().map(|&measure| in_flight(figures, measure)).sum(),
        is_held: false,
    }
}

/// Requests that waited when the run ended, without those that waited for longer than answers take.
fn in_flight(figures: &Figures, measure: usize) -> f64 {
    let cell = figures.cell(None, measure);
    let longest_ns = cell.answered_times().quantile(SATURATED_WAIT_QUANTILE);
    cell.cut_off.count_at_most(longest_ns) as f64
}

fn times(figures: &Figures, measures: &[usize]) -> Times {
    let cell = figures.merged(None, measures);
    let answered = [&cell.response, &cell.failed_response].into_iter();
    let answered = answered.filter(|times| !times.is_empty());
    let fastest_ns = answered.map(stats::hist::LogHistogram::min).min().unwrap_or(0);
    Times {
        fastest_s: fastest_ns as f64 / 1e9,
        waited_s: cell.unanswered.quantile(0.5) as f64 / 1e9,
    }
}

/// True if users who wait for connections to be set up wait for the target: connections took far longer in the second
/// half than at the beginning, or none was established, or they took far longer than anything does on the way to
/// the target and back, although the loops had CPU.
fn waits_for_connects(figures: &Figures) -> bool {
    let flow = figures.planned_flow();
    connects_slowed(&flow) || (connects_are_slow(figures) && Cause::of(figures).had_cpu())
}

fn connects_slowed(flow: &[Flow]) -> bool {
    let mean_s = |seconds: &[Flow]| {
        let connected: u64 = seconds.iter().map(|second| second.connected).sum();
        let time_s: f64 = seconds.iter().map(|second| second.connect_s).sum();
        (connected > 0).then(|| time_s / connected as f64)
    };
    let Some(first) = flow.iter().position(|second| second.connected > 0) else {
        return true;
    };
    let early_s = mean_s(&flow[first..=first]).unwrap_or(0.0);
    mean_s(&flow[flow.len() / 2..])
        .is_none_or(|late_s| late_s >= SLOW_CONNECTS_S_MIN.max(SLOW_CONNECTS_TIMES * early_s))
}

/// True if connections took far longer on average than anything does on the way to the target and back: no distance
/// explains them.
fn connects_are_slow(figures: &Figures) -> bool {
    let merged = |kind: &str| {
        let all = 0..figures.info.measures.len();
        let own: Vec<usize> = all.filter(|&m| figures.kind(m) == kind).collect();
        figures.merged(None, &own)
    };
    let connects = merged("connect");
    let requests = merged("request").service;
    let given_up = &connects.unanswered;
    let connects = connects.response;
    if connects.is_empty() {
        return false;
    }
    let mut fastest_ns = connects.min() as f64;
    if !requests.is_empty() {
        fastest_ns = fastest_ns.min(requests.min() as f64);
        // If each request has a connection of its own, its time includes the set-up.
        let exchange_ns = requests.mean() - connects.mean();
        if connects.count() >= requests.count() && exchange_ns > 0.0 {
            fastest_ns = fastest_ns.min(exchange_ns);
        }
    }
    let count = connects.count() + given_up.count();
    let mean_s = (connects.sum() + given_up.sum()) as f64 / count as f64 / 1e9;
    mean_s >= SLOW_CONNECTS_S_MIN.max(SLOW_CONNECTS_TIMES * fastest_ns / 1e9)
}

/// Adds a request for each user who never started. Users start in order, so those who did not were the last to be due.
fn add_unstarted(figures: &Figures, stream: &mut Stream) {
    let window = |row: &SeriesRow| (row.start_ns / 1_000_000_000) as usize / stream.window_s;
    let rows = figures.series.iter().rev();
    let rows = rows.filter(|row| window(row) < stream.windows.len());
    let behind = |row: &SeriesRow| {
        figures.due_of_rest(row) - figures::users_begun(std::iter::once(row)) as f64
    };
    let mut unstarted = rows.clone().map(behind).sum::<f64>().max(0.0);
    let due: Vec<(usize, f64)> = rows
        .map(|row| {
            let due = (row.users_due as f64).min(unstarted);
            unstarted -= due;
            (window(row), due)
        })
        .collect();
    for (at, due) in due {
        stream.windows[at].due += due;
    }
    stream.is_held = true;
}

#[cfg(test)]
mod tests;
