//! Findings on a model: where it fits, where it does not, and what was wrong with the log.

mod arrivals;
mod scenario;
mod segments;

use serde::{Deserialize, Serialize};
use units::counted;

use crate::durations::Outcome;
use crate::line_problems::{LineProblems, ProblemKind};
use crate::sessions::REQUESTS_MAX;
use crate::{GapReason, Log, Model, SESSIONS_FEW};

/// Above this share of sessions of one request the log hardly shows sessions.
const SHORT_SHARE: f64 = 0.95;
/// Files whose clocks are listed.
const FILES_SHOWN: usize = 5;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The model does not reproduce this, or may not.
    Warning,
    /// Good to know.
    Note,
    /// It fits.
    Good,
}

/// A sentence about a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Code that all findings of a kind share.
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
        lines.push(format!("  {} {}", counted(count.lines, "line"), kind.text()));
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
        self.0.push(Finding { code: code.to_owned(), severity, text });
    }
}

/// Adds a finding behind those of its severity.
pub(crate) fn add(model: &mut Model, severity: Severity, code: &str, text: String) {
    let mut found = Findings(std::mem::take(&mut model.findings));
    found.add(severity, code, text);
    found.0.sort_by_key(|finding| finding.severity);
    model.findings = found.0;
}

/// All findings, the most severe first.
pub(crate) fn findings(model: &Model) -> Vec<Finding> {
    let mut found = Findings::default();
    log(model, &mut found);
    sessions(model, &mut found);
    arrivals::arrivals(&model.arrivals, &mut found);
    let apart = model.segments.iter().any(|segment| segment.process.is_some());
    match apart {
        true => segments::own_processes(model, &mut found),
        false => segments::one_process(model, &mut found),
    }
    thinks(model, &mut found);
    scenario::targets(model, &mut found);
    scenario::sequences(model, &mut found);
    scenario::detail(model, &mut found);
    // Stable: within a severity as they were found.
    found.0.sort_by_key(|finding| finding.severity);
    found.0
}

fn log(model: &Model, found: &mut Findings) {
    let log = &model.log;
    line_problems(log, found);
    for file in &log.files {
        if let Some(why) = &file.cut_off {
            let text = format!(
                "{} ends too early, after {}: {why}",
                file.name,
                counted(file.lines, "line")
            );
            found.add(Severity::Warning, "file-cut-off", text);
        }
    }
    if log.offsets.len() > 1 {
        let offsets = log.offsets.iter();
        let offsets: Vec<String> = offsets
            .map(|(offset, lines)| {
                format!("{} on {}", clock_offset(*offset), counted(*lines, "line"))
            })
            .collect();
        let text = format!(
            "times have {} offsets from UTC ({}): summer time, or several servers; hours of the day follow the most \
             frequent one",
            offsets.len(),
            offsets.join(", ")
        );
        found.add(Severity::Note, "offsets", text);
    }
    if log.without > 0 {
        let text =
            format!("--without or --without-robots left out {}", counted(log.without, "line"));
        found.add(Severity::Note, "left-out", text);
    }
    clocks(log, found);
    if log.step_s >= 1.0 {
        let text = "times are whole seconds: arrivals are judged by counts, and fits of think times take the \
                    clock's step into account";
        found.add(Severity::Note, "clock-step", text.to_owned());
    }
}

fn line_problems(log: &Log, found: &mut Findings) {
    for (kind, count) in &log.problems {
        let first = count.examples.first().map_or("", |example| &example.at);
        let (severity, what) = match kind.is_bad() {
            true => (Severity::Warning, "left out"),
            false => (Severity::Note, "kept"),
        };
        let share = count.lines as f64 / log.lines.max(1) as f64 * 100.0;
        let mut text = format!(
            "{} ({share:.2} %) {}, and {what}; the first is {first}",
            counted(count.lines, "line"),
            kind.text()
        );
        if *kind == ProblemKind::ClockBack {
            text += &format!(
                "; the greatest step back is {:.0} s, and requests are sorted by time",
                log.back_max_s
            );
        }
        let code = serde_json::to_value(kind).ok();
        let code = code.as_ref().and_then(serde_json::Value::as_str).unwrap_or("line");
        found.add(severity, &format!("lines-{code}"), text);
    }
}

/// Files with different clocks, and times that were truncated.
fn clocks(log: &Log, found: &mut Findings) {
    let known: Vec<(&str, f64)> =
        log.files.iter().filter_map(|file| Some((file.name.as_str(), file.step_s?))).collect();
    let differ = known.windows(2).any(|two| two[0].1 != two[1].1);
    if log.finer == 0 && !differ {
        return;
    }
    let mut text = format!("the model uses times in steps of {} s", log.step_s);
    if log.finer > 0 {
        text += &format!(
            "; {} had finer times, truncated to that because the other lines are no finer",
            counted(log.finer, "line")
        );
    }
    if differ {
        let steps = known.iter().take(FILES_SHOWN);
        let steps: Vec<String> = steps.map(|(name, s)| format!("{s} s in {name}")).collect();
        text += &format!("; the clocks of the files differ: {}", steps.join(", "));
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

fn sessions(model: &Model, found: &mut Findings) {
    let sessions: u64 = model.segments.iter().map(|segment| segment.sessions).sum();
    gap(model, sessions, found);
    let single: u64 = model.segments.iter().filter_map(|s| s.behaviour.lengths.get(&1)).sum();
    if model.gap.is_some() && single as f64 > SHORT_SHARE * sessions as f64 {
        let text = format!(
            "{} of the sessions have a single request: the log hardly shows sessions; does {} really identify a \
             user?",
            units::share(single as f64 / sessions as f64),
            model.key
        );
        found.add(Severity::Warning, "no-sessions", text);
    }
    for segment in &model.segments {
        if segment.sessions < SESSIONS_FEW && model.gap.is_some() {
            let text = format!(
                "{:?} has {} with {}: too few to say what its users do",
                segment.name,
                counted(segment.sessions, "session"),
                counted(segment.requests, "request")
            );
            found.add(Severity::Warning, "segment-small", text);
        }
    }
    let mut targets = model.classes.iter().flat_map(|class| &class.targets);
    if targets.any(|target| ["POST", "PUT"].contains(&target.method.as_str())) {
        let text =
            "the log does not contain the bodies of POST and PUT requests: the scenario sends none";
        found.add(Severity::Note, "no-bodies", text.to_owned());
    }
}

/// The gap that ends a session, and sessions that were cut for their length.
fn gap(model: &Model, sessions: u64, found: &mut Findings) {
    let Some(gap) = &model.gap else {
        return;
    };
    let why = match gap.why {
        GapReason::Given => "as requested",
        GapReason::Valley => "the valley between the two peaks of the times between requests",
        GapReason::Usual => "the default, since the times between requests show no valley",
    };
    let text = format!(
        "{} made {}; a session ends after {:.0} s without a request, {why}",
        counted(model.users, "user"),
        counted(sessions, "session"),
        gap.seconds
    );
    found.add(Severity::Note, "sessions", text);
    if gap.cuts > 0 {
        let text = format!(
            "{} longer than {REQUESTS_MAX} requests: the rest counts as another session; does {} really identify a \
             user?",
            match gap.cuts {
                1 => "1 session was".to_owned(),
                cuts => format!("{} were", counted(cuts, "session")),
            },
            model.key
        );
        found.add(Severity::Warning, "sessions-cut", text);
    }
}

fn thinks(model: &Model, found: &mut Findings) {
    let mut outcomes = [0_u64; 4];
    for segment in &model.segments {
        for transition in &segment.behaviour.transitions {
            let outcome = transition.think.as_ref().map_or(Outcome::TooFew, |think| think.outcome);
            outcomes[outcome as usize] += 1;
        }
    }
    let [fits, near, no_fit, few] = outcomes;
    let all = fits + near + no_fit + few;
    if all == 0 {
        return;
    }
    let text = format!(
        "think times of {}: a fitted distribution is not rejected for {fits}, and within 5 % for {near}; {no_fit} \
         fit none and draw recorded values; {few} are too rare for a fit of their own and use their class's",
        counted(all, "transition")
    );
    found.add(Severity::Note, "thinks", text);
}
