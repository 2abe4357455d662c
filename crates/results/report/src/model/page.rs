//! The document of a model: what its log shows of the users, and the fits.

use std::collections::BTreeMap;

use judge::course::Number;
use model::{
    Arrivals, Behaviour, Check, CheckTest, Curves, Durations, Finding, Gap, Model, Outcome,
    Severity,
};
use serde::Serialize;

use crate::page::{Content, Page};

/// Most entries in a page of lists that are as long as a log has kinds of things.
const SEGMENTS_MAX: usize = 24;
const ROWS_MAX: usize = 200;
const TRANSITIONS_MAX: usize = 400;
/// Think times of a segment that are drawn.
const THINKS_MAX: usize = 24;
/// Session lengths that are shown one by one; longer ones share the last.
const LENGTHS_MAX: usize = 100;
const TESTS_MAX: usize = 500;

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ModelDocument<'a> {
    name: &'a str,
    findings: Vec<record::schema::Finding>,
    log: ShownLog<'a>,
    key: &'a str,
    segment_by: Option<&'a str>,
    users: u64,
    gap: Option<&'a Gap>,
    classes: Vec<ShownClass<'a>>,
    /// All together first, then segments of their own.
    arrivals: Vec<ShownArrivals<'a>>,
    segments: Vec<SegmentRow<'a>>,
    behaviours: Vec<ShownBehaviour<'a>>,
    segments_left_out: usize,
    check: Option<ShownCheck<'a>>,
}

impl Content for ModelDocument<'_> {
    const KIND: &'static str = "model";
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownLog<'a> {
    lines: u64,
    requests: u64,
    without: u64,
    step_s: Number,
    first_unix_s: i64,
    last_unix_s: i64,
    files: Vec<ShownFile<'a>>,
    files_left_out: usize,
    problems: Vec<ShownProblem<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownFile<'a> {
    name: &'a str,
    format: &'a str,
    lines: u64,
    cut_off: Option<&'a str>,
}

/// Lines with a problem.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownProblem<'a> {
    text: &'static str,
    is_bad: bool,
    lines: u64,
    examples: Vec<(&'a str, &'a str)>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownClass<'a> {
    name: &'a str,
    state: &'a str,
    requests: u64,
    target: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownArrivals<'a> {
    name: &'a str,
    #[serde(flatten)]
    arrivals: &'a Arrivals,
    /// Instead of all that is known of the gaps: what is drawn of them.
    between: Option<ShownDurations<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct SegmentRow<'a> {
    name: &'a str,
    sessions: u64,
    requests: u64,
    per_s: Number,
    single: u64,
    mean_think_s: Number,
    fit: Option<&'static str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownBehaviour<'a> {
    name: &'a str,
    starts: &'a [u64],
    exits: &'a [u64],
    transitions: Vec<ShownTransition>,
    transitions_left_out: usize,
    thinks: Vec<ShownDurations<'a>>,
    thinks_left_out: usize,
    /// Requests, and how many sessions had that number; the last stands for all that had more.
    lengths: Vec<(u64, u64)>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownTransition {
    from: usize,
    to: usize,
    count: u64,
    p: Number,
    low: Number,
    high: Number,
    mean_think_s: Option<Number>,
    fit: Option<&'static str>,
    p_fit: Option<Number>,
}

/// Durations with their fits and curves.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownDurations<'a> {
    name: String,
    count: u64,
    mean_s: Number,
    step_s: Number,
    outcome: Outcome,
    fits: &'a [model::Fit],
    test: Option<&'a model::Test>,
    curves: Option<Curves>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownCheck<'a> {
    level: f64,
    sessions: (u64, u64),
    holds: bool,
    tests: &'a [CheckTest],
    tests_left_out: usize,
}

impl Page {
    /// The page of a model, and of the check of it where there was one.
    pub fn model(model: &Model, check: Option<&Check>, throng: &str) -> Page {
        let shown = &model.segments[..model.segments.len().min(SEGMENTS_MAX)];
        let own = shown.iter().filter_map(|segment| {
            let own = segment.arrivals.as_ref()?;
            Some(arrivals(&segment.name, own))
        });
        let document = ModelDocument {
            name: &model.name,
            findings: model.findings.iter().map(finding).collect(),
            log: log(model),
            key: &model.key,
            segment_by: model.segment_by.as_deref(),
            users: model.users,
            gap: model.gap.as_ref(),
            classes: classes(model),
            arrivals: std::iter::once(arrivals("all", &model.arrivals)).chain(own).collect(),
            segments: segments(model),
            behaviours: shown
                .iter()
                .filter(|segment| !segment.behaviour.transitions.is_empty())
                .map(|segment| behaviour(model, &segment.name, &segment.behaviour))
                .collect(),
            segments_left_out: model.segments.len() - shown.len(),
            check: check.map(|check| {
                let shown = &check.tests[..check.tests.len().min(TESTS_MAX)];
                ShownCheck {
                    level: check.level,
                    sessions: check.sessions,
                    holds: check.holds,
                    tests: shown,
                    tests_left_out: check.tests.len() - shown.len(),
                }
            }),
        };
        let sentences = model.findings.iter().map(|f| f.text.clone()).collect();
        let title = format!("{}: model · Throng", model.name);
        Page::new(title, sentences, throng, &document)
    }
}

/// As the page knows findings.
fn finding(finding: &Finding) -> record::schema::Finding {
    record::schema::Finding {
        severity: match finding.severity {
            Severity::Warning => record::schema::Severity::Warning,
            Severity::Note => record::schema::Severity::Note,
            Severity::Good => record::schema::Severity::Good,
        },
        code: finding.code.clone(),
        text: finding.text.clone(),
        evidence: BTreeMap::new(),
    }
}

fn log(model: &Model) -> ShownLog<'_> {
    let log = &model.log;
    let files = &log.files[..log.files.len().min(ROWS_MAX)];
    let problems = log.problems.iter().map(|(kind, count)| ShownProblem {
        text: kind.text(),
        is_bad: kind.is_bad(),
        lines: count.lines,
        examples: count.examples.iter().map(|e| (e.at.as_str(), e.text.as_str())).collect(),
    });
    ShownLog {
        lines: log.lines,
        requests: log.requests,
        without: log.without,
        step_s: Number(log.step_s),
        first_unix_s: log.first_unix_s,
        last_unix_s: log.last_unix_s,
        files: files
            .iter()
            .map(|file| ShownFile {
                name: &file.name,
                format: &file.format,
                lines: file.lines,
                cut_off: file.cut_off.as_deref(),
            })
            .collect(),
        files_left_out: log.files.len() - files.len(),
        problems: problems.collect(),
    }
}

fn classes(model: &Model) -> Vec<ShownClass<'_>> {
    let classes = model.classes.iter().take(ROWS_MAX);
    let shown = classes.map(|class| {
        let target = class.targets.first();
        ShownClass {
            name: &class.name,
            state: &class.state,
            requests: class.requests,
            target: target.map_or(String::new(), |t| format!("{} {}", t.method, t.target)),
        }
    });
    shown.collect()
}

fn arrivals<'a>(name: &'a str, arrivals: &'a Arrivals) -> ShownArrivals<'a> {
    ShownArrivals {
        name,
        arrivals,
        between: arrivals.gaps.as_ref().map(|gaps| durations("between arrivals".to_owned(), gaps)),
    }
}

fn segments(model: &Model) -> Vec<SegmentRow<'_>> {
    let rows = model.segments.iter().map(|segment| {
        let thinks = &segment.behaviour.thinks;
        SegmentRow {
            name: &segment.name,
            sessions: segment.sessions,
            requests: segment.requests,
            per_s: Number(segment.sessions as f64 / model.arrivals.span_s),
            single: segment.behaviour.lengths.get(&1).copied().unwrap_or(0),
            mean_think_s: Number(thinks.mean_s),
            fit: thinks.chosen_fit().map(|fit| fit.family.name()),
        }
    });
    rows.collect()
}

fn behaviour<'a>(model: &'a Model, name: &'a str, behaviour: &'a Behaviour) -> ShownBehaviour<'a> {
    let state = |class: usize| model.classes.get(class).map_or("?", |class| class.state.as_str());
    let mut transitions: Vec<&model::Transition> = behaviour.transitions.iter().collect();
    transitions.sort_by_key(|transition| std::cmp::Reverse(transition.count));
    // Think times of all users come first, then those of transitions, the most frequent first.
    let own = transitions.iter().filter_map(|transition| {
        let think = transition.think.as_ref()?;
        let name = format!("{} → {}", state(transition.from), state(transition.to));
        Some((name, think))
    });
    let of_classes = behaviour.class_thinks.iter().enumerate();
    let of_classes = of_classes
        .filter_map(|(class, thinks)| Some((format!("after {}", state(class)), thinks.as_ref()?)));
    let mut thinks =
        std::iter::once(("all".to_owned(), &behaviour.thinks)).chain(own).chain(of_classes);
    let drawn = thinks.by_ref().take(THINKS_MAX);
    let drawn = drawn.map(|(name, thinks)| durations(name, thinks)).collect();
    ShownBehaviour {
        name,
        starts: &behaviour.starts,
        exits: &behaviour.exits,
        transitions: transitions
            .iter()
            .take(TRANSITIONS_MAX)
            .map(|transition| shown(transition))
            .collect(),
        transitions_left_out: transitions.len().saturating_sub(TRANSITIONS_MAX),
        thinks: drawn,
        thinks_left_out: thinks.count(),
        lengths: lengths(&behaviour.lengths),
    }
}

fn shown(transition: &model::Transition) -> ShownTransition {
    let think = transition.think.as_ref();
    let test = think.and_then(|think| think.test.as_ref());
    ShownTransition {
        from: transition.from,
        to: transition.to,
        count: transition.count,
        p: Number(transition.p),
        low: Number(transition.low),
        high: Number(transition.high),
        mean_think_s: think.map(|think| Number(think.mean_s)),
        fit: think.map(|think| think.chosen_fit().map_or("values", |fit| fit.family.name())),
        p_fit: test.map(|test| Number(test.p_distance.min(test.p_anderson))),
    }
}

fn durations(name: String, durations: &Durations) -> ShownDurations<'_> {
    ShownDurations {
        name,
        count: durations.count,
        mean_s: Number(durations.mean_s),
        step_s: Number(durations.step_s),
        outcome: durations.outcome,
        fits: &durations.fits,
        test: durations.test.as_ref(),
        curves: durations.curves(),
    }
}

fn lengths(all: &BTreeMap<u64, u64>) -> Vec<(u64, u64)> {
    let mut shown: Vec<(u64, u64)> = all.iter().map(|(&n, &count)| (n, count)).collect();
    if shown.len() > LENGTHS_MAX {
        let more = shown[LENGTHS_MAX - 1..].iter().map(|(_, count)| count).sum();
        shown.truncate(LENGTHS_MAX);
        shown[LENGTHS_MAX - 1].1 = more;
    }
    shown
}
