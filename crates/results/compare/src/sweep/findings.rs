//! Findings of a sweep, in sentences with their evidence.

use judge::finding;
use plan::LoadSetting;
use record::schema::{Finding, Severity};
use stats::greatest::RESAMPLES;

use super::{BestValue, Neighbour, Sweep, SweepConclusion};
use crate::capacity::{Ending, Outcome, Trial};
use crate::law::parameter;

/// All of them, the answer first.
pub(super) fn findings(
    conclusion: &SweepConclusion,
    setting: &LoadSetting,
    sweep: &Sweep,
    trials: &[Trial],
) -> Vec<Finding> {
    let mut findings = vec![answer(conclusion, setting, sweep)];
    if let Some(best) = &conclusion.best {
        findings.extend(neighbours(best, setting));
    }
    findings.extend(failures(conclusion, setting, trials));
    findings.push(law(conclusion));
    findings
}

/// The sentence that was requested.
fn answer(conclusion: &SweepConclusion, setting: &LoadSetting, sweep: &Sweep) -> Finding {
    let is_whole = conclusion.ending == Ending::Found;
    let unfinished = unfinished(conclusion, sweep);
    let Some(best) = &conclusion.best else {
        let (severity, text) = match conclusion.ending {
            Ending::Untrusted => (Severity::Fatal, "no run could be trusted"),
            Ending::NoneHolds => (Severity::Warning, "no value kept the thresholds"),
            _ => (Severity::Warning, "no value is known to keep the thresholds"),
        };
        return finding(severity, "best-unknown", format!("{text}{unfinished}")).done();
    };
    let shown = |value: f64| setting.shown(value);
    let edge = match (best.is_lowest, best.is_highest) {
        (true, true) => ", the only value that was tried",
        (_, true) => ", the highest value that was tried: it may rise further",
        (true, _) => ", the lowest value that was tried: a lower one may be better",
        _ => "",
    };
    let resamples = units::count(RESAMPLES as u64);
    let range = match best.range {
        Some((low, high)) if low == high => {
            format!("; no other value that was tried is as good (95 % of {resamples} resamples)")
        }
        Some((low, high)) => format!(
            "; the best lies from {} to {} (95 % of {resamples} resamples)",
            shown(low),
            shown(high)
        ),
        None => "; one run of each value says nothing about chance: --repeat 3".to_owned(),
    };
    let text = format!(
        "throughput is greatest at {}, {}{edge}{range}{unfinished}",
        shown(best.value),
        units::rate(best.per_s),
    );
    let (severity, code) = match (is_whole, best.is_highest || best.is_lowest) {
        (false, _) => (Severity::Warning, "best-value"),
        (true, true) => (Severity::Note, "best-at-edge"),
        (true, false) => (Severity::Good, "best-value"),
    };
    let draft = finding(severity, code, text).with("value", best.value).with("per_s", best.per_s);
    match best.range {
        Some((low, high)) => draft.with("low", low).with("high", high).done(),
        None => draft.done(),
    }
}

/// Why a sweep ended before all its runs were made, if it did.
fn unfinished(conclusion: &SweepConclusion, sweep: &Sweep) -> String {
    let why = match conclusion.ending {
        Ending::Down => {
            "the target then answered nothing more, not even where it had before: restart it, and --resume continues"
        }
        Ending::OutOfTime => "the sweep ran out of time (--time-limit); --resume continues it",
        Ending::Interrupted => "the sweep was interrupted; --resume continues it",
        _ => return String::new(),
    };
    let made: usize = conclusion.values.iter().map(|v| v.holds + v.breaks).sum();
    let all = sweep.values.len() * sweep.repeat;
    format!("; {made} of {all} runs count: {why}")
}

fn neighbours(best: &BestValue, setting: &LoadSetting) -> Option<Finding> {
    let lost = |one: &Neighbour| {
        let bounds = one.bounds.map_or(String::new(), |(low, high)| {
            format!(" ({} to {})", units::share(low), units::share(high))
        });
        format!("{} loses {}{bounds}", setting.shown(one.value), units::share(one.loss))
    };
    let each: Vec<String> = best.neighbours.iter().map(lost).collect();
    if each.is_empty() {
        return None;
    }
    let text = format!("against {}, {}", setting.shown(best.value), each.join(", and "));
    let draft = finding(Severity::Note, "neighbours", text);
    let draft = best.neighbours.iter().fold(draft, |draft, one| {
        let side = match one.value < best.value {
            true => "loss_below",
            false => "loss_above",
        };
        draft.with(side, one.loss)
    });
    Some(draft.done())
}

/// Findings about thresholds that do not hold, by the last run of each value.
fn failures(conclusion: &SweepConclusion, setting: &LoadSetting, trials: &[Trial]) -> Vec<Finding> {
    let failing = conclusion.values.iter().filter(|v| v.held != Some(true));
    let each = failing.filter_map(|value| {
        let own = |trial: &&Trial| trial.load == value.value && !trial.why.is_empty();
        let last = trials.iter().rev().find(own)?;
        let code = match last.outcome {
            Outcome::Untrusted => "untrusted",
            _ => "threshold-failed",
        };
        let text = format!("at {}: {}", setting.shown(value.value), last.why.join("; "));
        Some(finding(Severity::Note, code, text).with("value", value.value).done())
    });
    each.collect()
}

fn law(conclusion: &SweepConclusion) -> Finding {
    let Some(law) = &conclusion.law else {
        let problem = conclusion.law_problem.as_deref().unwrap_or_default();
        let text = format!("no scalability law was fitted: {problem}");
        return finding(Severity::Note, "no-law", text).done();
    };
    let text = format!(
        "scalability law over {} with λ {}, σ {}, κ {}: {}; it explains {} of the variation",
        units::counted(law.points as u64, "run"),
        parameter(law.lambda),
        parameter(law.sigma),
        parameter(law.kappa),
        law.greatest().in_words("the highest value"),
        units::share(law.r_squared.max(0.0))
    );
    let draft = finding(Severity::Note, "scalability-law", text)
        .with("lambda", law.lambda.0)
        .with("sigma", law.sigma.0)
        .with("kappa", law.kappa.0)
        .with("r_squared", law.r_squared);
    let more = [("peak", law.peak), ("limit_per_s", law.limit_per_s)];
    let draft = more.into_iter().fold(draft, |draft, (name, value)| match value {
        Some(value) => draft.with(name, value),
        None => draft,
    });
    draft.done()
}
