//! The figures of one scenario's runs in the order in which they started, and where they changed.

use serde::Serialize;
use stats::change_points::{Options, change_points};
use stats::order::median;

use super::{Entry, Kind, State};
use judge::course::Number;

/// Most runs of a trend: the newest ones.
const RUNS_MAX: usize = 200;

/// Fewer runs show no change.
pub const TREND_RUNS_MIN: usize = 10;

/// The figures of the runs of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Trend {
    /// The scenario's name.
    pub name: String,
    /// The step of the percentiles.
    pub step: Option<String>,
    /// The runs in the order in which they started.
    pub runs: Vec<TrendRun>,
    /// Their figures.
    pub figures: Vec<TrendFigure>,
    /// Older runs than these, which are left out.
    pub older: usize,
    /// Runs that cannot be trusted, which are left out.
    pub untrusted: usize,
}

/// A run of a trend.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct TrendRun {
    /// The id of its entry.
    pub id: String,
    /// Path of the entry below the root.
    pub path: String,
    /// When it started, milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// Note that somebody wrote about the run.
    pub note: Option<String>,
}

/// A figure of all runs.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct TrendFigure {
    /// `p99`.
    pub name: &'static str,
    /// `ns`, `1/s` or `share`.
    pub unit: &'static str,
    /// Values by run; `None`: a run does not have it.
    pub values: Vec<Option<Number>>,
    /// The parts between changes; one part if there are none.
    pub parts: Vec<TrendPart>,
}

/// Consecutive runs in which a figure scatters around one value.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct TrendPart {
    /// First run of the part.
    pub from: usize,
    /// Last run of the part.
    pub to: usize,
    /// The median of its values.
    pub median: Number,
    /// The p-value of the change that it begins with; `None` of the first part.
    pub p: Option<f64>,
    /// The change as a share of the median before; `None` if that is 0.
    pub change: Option<Number>,
}

/// A figure that has changed for the worse in recent runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendAlarm {
    /// The figure.
    pub figure: &'static str,
    /// `ns`, `1/s` or `share`.
    pub unit: &'static str,
    /// The first run of the new level.
    pub from: usize,
    /// The median before.
    pub before: Number,
    /// The median since.
    pub since: Number,
    /// The p-value of the change.
    pub p: f64,
}

impl Trend {
    /// The figures whose last change is one for the worse and begins among the last `recent` runs: later ones were reported
    /// before. A rate is worse if it is lower, everything else if it is higher.
    pub fn alarms(&self, recent: usize) -> Vec<TrendAlarm> {
        let first = self.runs.len().saturating_sub(recent);
        let alarm = |figure: &TrendFigure| {
            let [.., before, since] = &figure.parts[..] else {
                return None;
            };
            let has_risen = since.median.0 > before.median.0;
            let is_worse = has_risen != (figure.unit == RATE);
            (is_worse && since.from >= first).then(|| TrendAlarm {
                figure: figure.name,
                unit: figure.unit,
                from: since.from,
                before: before.median,
                since: since.median,
                p: since.p.unwrap_or(1.0),
            })
        };
        self.figures.iter().filter_map(alarm).collect()
    }
}

/// The unit of rates.
const RATE: &str = "1/s";

/// Returns a figure of an entry.
type Get = fn(&Entry) -> Option<f64>;

const FIGURES: [(&str, &str, Get); 4] = [
    ("p50", "ns", |entry| entry.p50_ns.map(|ns| ns as f64)),
    ("p99", "ns", |entry| entry.p99_ns.map(|ns| ns as f64)),
    ("rate", RATE, |entry| entry.rate_per_s.map(|rate| rate.0)),
    ("errors", "share", |entry| entry.error_share.map(|share| share.0)),
];

/// The trend of the scenario of the run with this id; `None` if there is no such run. Runs of experiments and
/// searches, whose settings change from run to run, belong to no trend.
pub fn trend(entries: &[Entry], id: &str) -> Option<Trend> {
    let wanted = entries.iter().find(|entry| entry.id == id && is_run(entry))?;
    let mut runs: Vec<&Entry> =
        entries.iter().filter(|e| is_run(e) && e.name == wanted.name).collect();
    let all = runs.len();
    runs.retain(|entry| entry.state != State::Untrusted);
    let untrusted = all - runs.len();
    runs.sort_by(|a, b| (a.started_unix_ms, &a.path).cmp(&(b.started_unix_ms, &b.path)));
    let older = runs.len().saturating_sub(RUNS_MAX);
    runs.drain(..older);
    let step = runs.iter().rev().find_map(|entry| entry.step.clone());
    let figures = FIGURES.iter().map(|&(name, unit, get)| {
        let values = runs.iter().map(|entry| {
            // A percentile of another step would be another figure.
            let is_same = unit != "ns" || entry.step == step;
            get(entry).filter(|_| is_same)
        });
        figure(name, unit, values.collect())
    });
    Some(Trend {
        name: wanted.name.clone(),
        figures: figures.collect(),
        runs: runs.iter().map(|entry| run(entry)).collect(),
        step,
        older,
        untrusted,
    })
}

/// A run on its own that has been judged.
fn is_run(entry: &Entry) -> bool {
    let is_judged =
        matches!(entry.state, State::Measured | State::Passed | State::Failed | State::Untrusted);
    entry.kind == Kind::Run && entry.parent.is_none() && is_judged
}

fn run(entry: &Entry) -> TrendRun {
    TrendRun {
        id: entry.id.clone(),
        path: entry.path.clone(),
        started_unix_ms: entry.started_unix_ms.unwrap_or(0),
        note: entry.note.clone(),
    }
}

fn figure(name: &'static str, unit: &'static str, values: Vec<Option<f64>>) -> TrendFigure {
    let known = values.iter().enumerate();
    let known: Vec<(usize, f64)> = known.filter_map(|(n, value)| Some((n, (*value)?))).collect();
    let numbers: Vec<f64> = known.iter().map(|&(_, value)| value).collect();
    let changes = change_points(&numbers, &Options::default());
    let begins = std::iter::once((0, None)).chain(changes.iter().map(|c| (c.at, Some(c.p))));
    let ends = changes.iter().map(|c| c.at).chain([numbers.len()]);
    let mut parts: Vec<TrendPart> = Vec::new();
    for ((from, p), to) in begins.zip(ends) {
        let Some(median) = median(&numbers[from..to]) else {
            continue;
        };
        let before = parts.last().map(|part| part.median.0).filter(|&before| before != 0.0);
        parts.push(TrendPart {
            from: known[from].0,
            to: known[to - 1].0,
            median: Number(median),
            p,
            change: before.map(|before| Number(median / before - 1.0)),
        });
    }
    TrendFigure {
        name,
        unit,
        values: values.into_iter().map(|value| value.map(Number)).collect(),
        parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: usize, p99_ms: u64) -> Entry {
        Entry {
            id: format!("{n:016x}"),
            parent: None,
            kind: Kind::Run,
            name: "shop".to_owned(),
            path: format!("runs/{n}"),
            state: State::Passed,
            detail: String::new(),
            note: (n == 12).then(|| "new pool".to_owned()),
            started_unix_ms: Some(1_000 * n as u64),
            seconds: None,
            users: Some(10),
            rate_per_s: Some(Number(100.0)),
            error_share: Some(Number(0.0)),
            step: Some("checkout".to_owned()),
            p50_ns: Some(1_000_000),
            p99_ns: Some(p99_ms * 1_000_000),
            bound_above: None,
            comparable: true,
            location: std::path::PathBuf::new(),
        }
    }

    /// Twenty runs, newest first, with a step at the thirteenth and a spike at the fifth.
    fn entries() -> Vec<Entry> {
        let p99 = |n: usize| match n {
            4 => 900,
            12.. => 150 + n as u64 % 5,
            _ => 100 + n as u64 % 5,
        };
        (0..20).rev().map(|n| entry(n, p99(n))).collect()
    }

    fn figure_of<'t>(trend: &'t Trend, name: &str) -> &'t TrendFigure {
        trend.figures.iter().find(|figure| figure.name == name).unwrap()
    }

    #[test]
    fn a_step_divides_a_figure_and_a_spike_does_not() {
        let trend = trend(&entries(), &entry(3, 0).id).unwrap();
        assert_eq!((trend.name.as_str(), trend.step.as_deref()), ("shop", Some("checkout")));
        assert_eq!(trend.runs[0].path, "runs/0");
        let p99 = figure_of(&trend, "p99");
        assert_eq!(p99.values[4], Some(Number(900e6)));
        let [before, after] = &p99.parts[..] else {
            panic!("{:?}", p99.parts);
        };
        assert_eq!((before.from, before.to, before.p), (0, 11, None));
        assert_eq!((after.from, after.to), (12, 19));
        assert_eq!((before.median, after.median), (Number(101.5e6), Number(152.5e6)));
        assert_eq!(trend.runs[after.from].note.as_deref(), Some("new pool"));
        assert!(after.p.unwrap() <= 0.01);
        assert!((after.change.unwrap().0 - 51.0 / 101.5).abs() < 1e-9);
        for name in ["p50", "rate", "errors"] {
            assert_eq!(figure_of(&trend, name).parts.len(), 1, "{name}");
        }
    }

    #[test]
    fn a_change_for_the_worse_is_an_alarm_while_it_is_recent() {
        let mut all = entries();
        let trend_of = |all: &[Entry]| trend(all, &entry(3, 0).id).unwrap();
        // It began with the thirteenth of twenty runs.
        assert_eq!(trend_of(&all).alarms(7), []);
        let found = trend_of(&all).alarms(8);
        let [alarm] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((alarm.figure, alarm.from, alarm.before), ("p99", 12, Number(101.5e6)));
        // What became better is none; a rate is better if it is higher.
        for entry in &mut all {
            entry.p99_ns = entry.p99_ns.map(|ns| 2_000_000_000 - ns);
        }
        assert_eq!(trend_of(&all).alarms(20), []);
        for (run, entry) in all.iter_mut().rev().enumerate() {
            entry.rate_per_s =
                Some(Number(if run < 12 { 100.0 } else { 90.0 } + run as f64 / 100.0));
        }
        let figures: Vec<&str> = trend_of(&all).alarms(20).iter().map(|one| one.figure).collect();
        assert_eq!(figures, ["rate"]);
    }

    #[test]
    fn only_runs_of_the_scenario_with_its_settings_count() {
        let mut all = entries();
        all[0].state = State::Untrusted;
        all[1].state = State::Unfinished;
        all[2].parent = Some("0".repeat(16));
        all[3].name = "other".to_owned();
        all[4].kind = Kind::Experiment;
        // Its percentiles are of another step.
        all[6].step = Some("search".to_owned());
        let trend = trend(&all, &entry(3, 0).id).unwrap();
        assert_eq!((trend.runs.len(), trend.untrusted, trend.older), (15, 1, 0));
        assert_eq!(figure_of(&trend, "p99").values[13], None);
        assert!(figure_of(&trend, "rate").values[13].is_some());
        assert_eq!(figure_of(&trend, "p99").parts.last().unwrap().to, 14);
        assert!(super::trend(&all, &all[2].id).is_none());
        assert!(super::trend(&all, "0123456789abcdef").is_none());
    }

    #[test]
    fn of_many_runs_the_newest_count() {
        let all: Vec<Entry> = (0..RUNS_MAX + 7).map(|n| entry(n, 100)).collect();
        let trend = trend(&all, &all[0].id).unwrap();
        assert_eq!((trend.runs.len(), trend.older), (RUNS_MAX, 7));
        assert_eq!(trend.runs[0].path, "runs/7");
    }
}
