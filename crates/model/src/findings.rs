//! What there is to say of a model: where it fits, where it does not, and what was wrong with the log.

mod segments;

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, HurstEstimate, NoCycle};
use crate::behaviour::SEQUENCES_MAX;
use crate::durations::Outcome;
use crate::durations::POINTS_MAX;
use crate::format;
use crate::line_problems::{LineProblems, ProblemKind};
use crate::scenario::{Detail, SEQUENCE_REQUESTS_MAX, drawn, is_chain, sequences_each};
use crate::sessions::REQUESTS_MAX;
use crate::{GapReason, Log, Model, SESSIONS_FEW};

/// The lower bound of Hurst's H from which on a load is called self-similar.
const H_LONG: f64 = 0.6;
/// The share of sessions of one request above which there are hardly any sessions.
const SHORT_SHARE: f64 = 0.95;

/// The share of requests for targets that the scenario lacks from which on that is told, and warned of.
const TARGETS_MISSED_NOTE: f64 = 0.01;
const TARGETS_MISSED_WARNING: f64 = 0.1;
/// Files whose clocks are told.
const FILES_SHOWN: usize = 5;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The model does not say this rightly, or may not.
    Warning,
    /// To know.
    Note,
    /// It fits.
    Good,
}

/// A sentence on a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Of always the same words.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// The sentence, without a full stop.
    pub text: String,
}

/// Kinds of bad and odd lines with their first examples, a line each.
pub(crate) fn problem_summary(problems: &LineProblems) -> String {
    let mut lines = Vec::new();
    for (kind, count) in &problems.kinds {
        lines.push(format!("  {} {}", count.lines, kind.text()));
        for example in &count.examples {
            lines.push(format!("    {}: {}", example.at, example.text));
        }
    }
    lines.join("\n")
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, severity: Severity, code: &str, text: String) {
        self.0.push(Finding {
            code: code.to_owned(),
            severity,
            text,
        });
    }
}

/// One more, among those that matter as much.
pub(crate) fn add(model: &mut Model, severity: Severity, code: &str, text: String) {
    let mut found = Findings(std::mem::take(&mut model.findings));
    found.add(severity, code, text);
    found.0.sort_by_key(|finding| finding.severity);
    model.findings = found.0;
}

/// All there is to say, what matters most first.
pub(crate) fn findings(model: &Model) -> Vec<Finding> {
    let mut found = Findings::default();
    of_log(model, &mut found);
    of_sessions(model, &mut found);
    of_arrivals(&model.arrivals, &mut found);
    let apart = model
        .segments
        .iter()
        .any(|segment| segment.process.is_some());
    match apart {
        true => segments::own_processes(model, &mut found),
        false => segments::one_process(model, &mut found),
    }
    of_behaviour(model, &mut found);
    of_targets(model, &mut found);
    of_sequences(model, &mut found);
    of_room(model, &mut found);
    // Stable: within a severity as they were found.
    found.0.sort_by_key(|finding| finding.severity);
    found.0
}

fn of_log(model: &Model, found: &mut Findings) {
    let log = &model.log;
    for (kind, count) in &log.problems {
        let first = count.examples.first().map_or("", |example| &example.at);
        let severity = if kind.is_bad() {
            Severity::Warning
        } else {
            Severity::Note
        };
        let share = count.lines as f64 / log.lines.max(1) as f64 * 100.0;
        let mut text = format!(
            "{} lines ({share:.2} %) {}, the first at {first}",
            count.lines,
            kind.text()
        );
        if *kind == ProblemKind::ClockBack {
            text += &format!(
                ", by {:.0} s at most; requests are ordered by time, not as written",
                log.back_max_s
            );
        }
        let code = serde_json::to_value(kind).ok();
        let code = code
            .as_ref()
            .and_then(serde_json::Value::as_str)
            .unwrap_or("line");
        found.add(severity, &format!("lines-{code}"), text);
    }
    for file in &log.files {
        if let Some(why) = &file.cut_off {
            let text = format!(
                "{} ends too early after {} lines: {why}",
                file.name, file.lines
            );
            found.add(Severity::Warning, "file-cut-off", text);
        }
    }
    if log.offsets.len() > 1 {
        let offsets = log.offsets.iter();
        let told: Vec<String> = offsets
            .map(|(offset, lines)| format!("{} on {lines} lines", clock_offset(*offset)))
            .collect();
        let text = format!(
            "times are written in {} offsets from UTC ({}): summer time, or several servers; \
             hours of the day are told by the most frequent",
            log.offsets.len(),
            told.join(", ")
        );
        found.add(Severity::Note, "offsets", text);
    }
    if log.without > 0 {
        let text = format!("{} lines were left out as asked", log.without);
        found.add(Severity::Note, "left-out", text);
    }
    of_clocks(log, found);
    if log.step_s >= 1.0 {
        let text = "times are whole seconds: arrivals are judged by counts, and thinks are fitted as such a \
                    clock shows them";
        found.add(Severity::Note, "clock-step", text.to_owned());
    }
}

/// Files whose clocks differ, and times that were cut.
fn of_clocks(log: &Log, found: &mut Findings) {
    let known: Vec<(&str, f64)> = log
        .files
        .iter()
        .filter_map(|file| Some((file.name.as_str(), file.step_s?)))
        .collect();
    let differ = known.windows(2).any(|two| two[0].1 != two[1].1);
    if log.finer == 0 && !differ {
        return;
    }
    let mut text = format!("times are taken in steps of {} s", log.step_s);
    if log.finer > 0 {
        text += &format!(
            ": {} lines have finer ones, which are cut to that, for the others do not show more",
            log.finer
        );
    }
    if differ {
        let told = known.iter().take(FILES_SHOWN);
        let told: Vec<String> = told.map(|(name, s)| format!("{s} s in {name}")).collect();
        text += &format!("; the clocks of the files differ: {}", told.join(", "));
        if known.len() > FILES_SHOWN {
            text += ", …";
        }
    }
    found.add(Severity::Warning, "clocks-differ", text);
}

fn clock_offset(offset_s: i32) -> String {
    let sign = if offset_s < 0 { '-' } else { '+' };
    let minutes = offset_s.abs() / 60;
    format!("{sign}{:02}{:02}", minutes / 60, minutes % 60)
}

fn of_sessions(model: &Model, found: &mut Findings) {
    let sessions: u64 = model.segments.iter().map(|segment| segment.sessions).sum();
    if let Some(gap) = &model.gap {
        let why = match gap.why {
            GapReason::Given => "as given",
            GapReason::Valley => "which lies between two hills of the times between requests",
            GapReason::Usual => {
                "the usual one: the times between requests show no valley to part them at"
            }
        };
        let text = format!(
            "{} users make {sessions} sessions, a new one after {:.0} s without a request, {why}",
            model.users, gap.seconds
        );
        found.add(Severity::Note, "sessions", text);
        if gap.cuts > 0 {
            let text = format!(
                "in {} places a session of more than {REQUESTS_MAX} requests was cut, and another begins there without \
                 a gap: is {} what users are known by?",
                gap.cuts, model.key
            );
            found.add(Severity::Warning, "sessions-cut", text);
        }
    }
    let single: u64 = model
        .segments
        .iter()
        .filter_map(|s| s.behaviour.lengths.get(&1))
        .sum();
    if model.gap.is_some() && single as f64 > SHORT_SHARE * sessions as f64 {
        let text = format!(
            "{:.1} % of the sessions have a single request: the log hardly shows sessions; is {} what users \
             are known by?",
            single as f64 / sessions as f64 * 100.0,
            model.key
        );
        found.add(Severity::Warning, "no-sessions", text);
    }
    for segment in &model.segments {
        if segment.sessions < SESSIONS_FEW && model.gap.is_some() {
            let text = format!(
                "{:?} has {} sessions with {} requests: too few to say what its users do",
                segment.name, segment.sessions, segment.requests
            );
            found.add(Severity::Warning, "segment-small", text);
        }
    }
    let mut targets = model.classes.iter().flat_map(|class| &class.targets);
    if targets.any(|target| ["POST", "PUT"].contains(&target.method.as_str())) {
        let text =
            "the log does not hold what was sent with POST and PUT: the scenario sends no bodies";
        found.add(Severity::Note, "no-bodies", text.to_owned());
    }
}

fn of_arrivals(arrivals: &Arrivals, found: &mut Findings) {
    let first = arrivals.scales.first();
    let scales: Vec<String> = arrivals
        .scales
        .iter()
        .map(|scale| {
            let mut p = format!("p {}", p_value(scale.p_dispersion));
            if scale.dependence_decides() {
                p += &format!(", of dependence p {}", p_value(scale.p_dependence));
            }
            format!("{:.2} at {} s ({p})", scale.index, scale.window_s)
        })
        .collect();
    let mut tests = format!(
        "variance over mean of the counts, which is 1 for Poisson, is {}",
        scales.join(", ")
    );
    if let Some(trend) = arrivals.trend {
        let how = if trend.z > 0.0 { "rises" } else { "falls" };
        tests += &format!("; for a rate that {how}, p {}", p_value(trend.p));
    }
    match first {
        None => found.add(
            Severity::Warning,
            "arrivals-short",
            "the log is too short to judge how users arrive".to_owned(),
        ),
        Some(_) if arrivals.poisson_rejected() => found.add(
            Severity::Note,
            "poisson-rejected",
            format!("arrivals are no Poisson process of one rate: {tests}"),
        ),
        Some(_) => found.add(
            Severity::Good,
            "poisson",
            format!("arrivals are not told apart from a Poisson process: {tests}"),
        ),
    }
    if let Some(cycle) = &arrivals.cycle {
        let (low, high) = extremes(&cycle.rates);
        let text = format!(
            "the rate follows the day (F = {:.1}, p {}, {:.0} % of the variance){}: from {:.4} to \
             {:.4} users a second",
            cycle.day.f,
            p_value(cycle.day.p),
            cycle.day.explained * 100.0,
            match cycle.week {
                Some(week) if cycle.rates.len() > 24 =>
                    format!(" and the week (F = {:.1}, p {})", week.f, p_value(week.p)),
                Some(week) => format!(", not the week (p {})", p_value(week.p)),
                None => ", and is too short for the week".to_owned(),
            },
            low,
            high
        );
        found.add(Severity::Note, "cycle", text);
        if let Some(broken) = &cycle.broken {
            let text = format!(
                "from day {} on the day stands {:.1} hours elsewhere on the clock (p {}): recordings \
                 were joined there, or the clock was set; the cycle is that of the longer side",
                broken.day,
                broken.hours,
                p_value(broken.p)
            );
            found.add(Severity::Warning, "day-moved", text);
        }
    }
    if arrivals.no_cycle == Some(NoCycle::Bins) {
        let text = format!(
            "counts of {} s do not add up to hours: neither the day nor the week is looked for; give counts whose              --bin divides an hour, such as 1s, 10s, 1m or 1h",
            arrivals.bin_s
        );
        found.add(Severity::Warning, "bins-no-hours", text);
    }
    if let Some(longest) = arrivals.silences.first() {
        let text = format!(
            "nobody came in {:.1} % of the time, in stretches that the rate does not explain; the longest \
             lasts {} s from second {} on",
            arrivals.silent_share * 100.0,
            longest.length_s,
            longest.from_s
        );
        found.add(Severity::Warning, "silences", text);
    }
    if let Some(rescaled) = &arrivals.rescaled {
        let fits = rescaled.p >= 0.01;
        let text = format!(
            "with the cycle taken out of time, counts {} Poisson (variance over mean {:.2}, p {}; \
             dependence p {})",
            if fits {
                "are not told apart from"
            } else {
                "are still not"
            },
            rescaled.index,
            p_value(rescaled.p),
            p_value(rescaled.p_dependence)
        );
        found.add(
            if fits { Severity::Good } else { Severity::Note },
            "rescaled",
            text,
        );
    }
    of_hurst(arrivals, found);
}

/// With its sign of comparison.
fn p_value(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("= {p:.4}")
    }
}

fn about(estimate: &HurstEstimate) -> &'static str {
    match estimate.about_cycle {
        true => " about the cycle",
        false => "",
    }
}

fn of_hurst(arrivals: &Arrivals, found: &mut Findings) {
    let estimates = arrivals.hurst.iter().flat_map(|hurst| &hurst.estimates);
    let with_interval: Vec<_> = estimates
        .clone()
        .filter(|estimate| estimate.low.is_some())
        .collect();
    let beyond: Vec<String> = estimates
        .filter(|estimate| !estimate.is_stationary())
        .map(|e| {
            format!(
                "{:.3} by {}{} over {:.0} to {:.0} s",
                e.h,
                e.method,
                about(e),
                e.from_s,
                e.upto_s
            )
        })
        .collect();
    if !beyond.is_empty() {
        let text = format!(
            "the counts are not stationary at these scales, or too few: Hurst's H, which is between 0 and 1, \
             would be {}",
            beyond.join("; ")
        );
        found.add(Severity::Note, "hurst-beyond", text);
    }
    let told: Vec<String> = with_interval
        .iter()
        .map(|e| {
            let straight = e.p_straight.is_none_or(|p| p >= 0.01);
            format!(
                "{:.3} (95 %: {:.3} to {:.3}) by {}{} over {:.0} to {:.0} s{}",
                e.h,
                e.low.unwrap_or(f64::NAN),
                e.high.unwrap_or(f64::NAN),
                e.method,
                about(e),
                e.from_s,
                e.upto_s,
                if straight {
                    ""
                } else {
                    ", though it is not one H over all of these"
                }
            )
        })
        .collect();
    if told.is_empty() {
        return;
    }
    let long = with_interval
        .iter()
        .any(|e| e.low.is_some_and(|low| low > H_LONG));
    let text = format!("Hurst's H is {}", told.join("; "));
    let code = if long { "self-similar" } else { "hurst" };
    found.add(Severity::Note, code, text);
}

fn extremes(rates: &[f64]) -> (f64, f64) {
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    (low, rates.iter().copied().fold(0.0, f64::max))
}

fn of_behaviour(model: &Model, found: &mut Findings) {
    let mut outcomes = [0_u64; 4];
    for segment in &model.segments {
        for transition in &segment.behaviour.transitions {
            let outcome = transition
                .think
                .as_ref()
                .map_or(Outcome::TooFew, |think| think.outcome);
            outcomes[outcome as usize] += 1;
        }
    }
    let [fits, near, no_law, few] = outcomes;
    if fits + near + no_law + few == 0 {
        return;
    }
    let text = format!(
        "of {} transitions the thinks of {fits} follow the law they are given, {near} follow one to within 5 %, \
         {no_law} follow none and are drawn from the values themselves; {few} were too seldom for a law of \
         their own and have that of their class",
        fits + near + no_law + few
    );
    found.add(Severity::Note, "thinks", text);
}

fn of_sequences(model: &Model, found: &mut Findings) {
    if model.behaviour != crate::BehaviourKind::Sequences {
        return;
    }
    of_drawn(model, found);
    let behaviours = || model.segments.iter().map(|segment| &segment.behaviour);
    let too_long: u64 = behaviours().map(|b| b.sequences_too_long).sum();
    if too_long > 0 {
        let text =
            format!("{too_long} sessions are too long to be kept whole, and are never drawn");
        found.add(Severity::Warning, "sequences-long", text);
    }
    let chains = model
        .segments
        .iter()
        .filter(|segment| model.gap.is_some() && is_chain(model, segment));
    let chains: Vec<String> = chains
        .map(|segment| format!("{:?}", segment.name))
        .collect();
    if !chains.is_empty() {
        let text = format!(
            "of {} no session could be kept whole: a chain says what its users do",
            chains.join(", ")
        );
        found.add(Severity::Warning, "sequences-none", text);
    }
    let segments = model.segments.iter();
    let short = segments.map(|segment| segment.sessions - segment.behaviour.sequences_too_long);
    let kept = short.max().unwrap_or(0).min(SEQUENCES_MAX as u64);
    let each = sequences_each(model);
    if (each as u64) < kept {
        let text = format!(
            "the scenario draws from {each} recorded sessions of each segment instead of {kept}: it has room for \
             {SEQUENCE_REQUESTS_MAX} requests of them together; fewer segments (--segments-max) leave more to each"
        );
        found.add(Severity::Warning, "sequences-few", text);
    }
}

/// What the requests of recorded sessions asked for, where that is not known.
fn of_drawn(model: &Model, found: &mut Findings) {
    let known = |asked: &Vec<usize>| !asked.is_empty();
    let (mut drawn, mut all) = (0, 0);
    for segment in &model.segments {
        let behaviour = &segment.behaviour;
        all += behaviour.sequences.len();
        let known = behaviour
            .sequence_targets
            .iter()
            .filter(|asked| known(asked));
        drawn += behaviour.sequences.len() - known.count();
    }
    let several = model.classes.iter().any(|class| class.targets.len() > 1);
    if drawn > 0 && several {
        let text = format!(
            "what the requests of {drawn} of {all} recorded sessions asked for is not known, since the log cannot be \
             read a second time: they ask for targets of their classes, as often as all requests do"
        );
        found.add(Severity::Warning, "sequences-targets", text);
    }
}

/// Whether the scenario asks for all that the log's users asked for.
fn of_targets(model: &Model, found: &mut Findings) {
    let is_run = |name: &str| name == format::RUN;
    if model.gap.is_none() || model.log.files.iter().any(|file| is_run(&file.format)) {
        return;
    }
    let targets = || model.classes.iter().flat_map(drawn);
    let sample: u64 = targets().map(|target| target.weight).sum();
    // A share as great as that of what the sample has once is not in it at all (Good 1953).
    let once = targets().filter(|target| target.weight == 1).count();
    let share = once as f64 / sample.max(1) as f64;
    if sample >= model.log.requests || share < TARGETS_MISSED_NOTE {
        return;
    }
    let severity = match share < TARGETS_MISSED_WARNING {
        true => Severity::Note,
        false => Severity::Warning,
    };
    let text = format!(
        "chains ask for {} different targets, those of {sample} requests drawn from the log's {}, as often as they \
         asked: {:.1} % of the log's requests ask for one of these, the others for what the scenario never asks \
         for, and a cache that holds targets does better than it did",
        targets().count(),
        model.log.requests,
        (1.0 - share) * 100.0
    );
    found.add(severity, "targets-sampled", text);
}

/// Whether the scenario has room for all of the model.
fn of_room(model: &Model, found: &mut Findings) {
    let Some(detail) = Detail::largest_that_fits(model).filter(|detail| detail.points < POINTS_MAX) else {
        return;
    };
    let sequences = match model.behaviour {
        crate::BehaviourKind::Chain => String::new(),
        crate::BehaviourKind::Sequences => {
            format!(", and {} recorded sessions of each segment", detail.sequences)
        }
    };
    let text = format!(
        "the scenario has room for {} values instead of {POINTS_MAX} where those stand for thinks{sequences}; fewer \
         segments or classes (--segments-max, --classes-max) leave more to each",
        detail.points
    );
    found.add(Severity::Warning, "scenario-short", text);
}
