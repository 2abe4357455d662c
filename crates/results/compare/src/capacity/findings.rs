//! Findings of a search, in sentences with their evidence.

use plan::LoadSetting;
use record::schema::{Finding, Severity};

use super::bend::{Bend, Sign};
use super::conclusion::Conclusion;
use super::independent::{Independent, independent};
use super::level::{Level, Verdict};
use super::search::lacks_operations;
use super::trial::{Outcome, Trial};
use super::{Bounds, Ending};
use crate::law::parameter;
use judge::finding;

/// All of them, the answer first.
pub(super) fn findings(
    conclusion: &Conclusion,
    bounds: &Bounds,
    setting: &LoadSetting,
    trials: &[Trial],
    good: Option<&Level>,
    bad: Option<&Level>,
) -> Vec<Finding> {
    let mut findings = vec![answer(conclusion, setting, trials, good, bad)];
    findings.extend(good.and_then(|good| present(setting, trials, good)));
    findings.extend(crossing(conclusion, setting));
    findings.extend(few_operations(bounds, setting, trials, good, bad));
    findings.extend(bad.and_then(|bad| why(setting, trials, bad)));
    findings.extend(conclusion.bend.as_ref().map(|bend| bent(setting, good, bend)));
    findings.push(law(conclusion));
    findings
}

/// The sentence that was requested.
fn answer(
    conclusion: &Conclusion,
    setting: &LoadSetting,
    trials: &[Trial],
    good: Option<&Level>,
    bad: Option<&Level>,
) -> Finding {
    let is_not_load = conclusion.ending == Ending::LoadIsNotTheCause;
    let (severity, code, text) = match independent(trials).filter(|_| is_not_load) {
        Some(found) => (Severity::Warning, "load-not-the-cause", not_by_load(setting, &found)),
        None => result(conclusion.ending, setting, good, bad),
    };
    let unconfirmed = conclusion.ending == Ending::Untrusted && code == "capacity";
    let text = match unconfirmed {
        true => text + "; the runs that should confirm it could not be trusted",
        false => text + unfinished(conclusion.ending),
    };
    let severity = match conclusion.ending {
        Ending::Untrusted => severity.max(Severity::Warning),
        Ending::Down | Ending::OutOfSteps | Ending::OutOfTime | Ending::Interrupted => {
            severity.max(Severity::Warning)
        }
        _ => severity,
    };
    let mut draft = finding(severity, code, text);
    for (name, load) in [("holds", conclusion.holds), ("breaks", conclusion.breaks)] {
        if let Some(load) = load {
            draft = draft.with(name, load);
        }
    }
    draft.done()
}

/// The finding about the users present at the load that holds, if the search is for them: the fewest of its runs that held.
fn present(setting: &LoadSetting, trials: &[Trial], good: &Level) -> Option<Finding> {
    let held = trials.iter().filter(|trial| good.counts(trial) && trial.outcome == Outcome::Holds);
    let users = held.filter_map(|trial| trial.present_max).min()?;
    let text = format!(
        "at {} {} users were present at once",
        setting.shown(good.load),
        units::count(users)
    );
    Some(finding(Severity::Note, "users-present", text).with("users", users as f64).done())
}

/// The finding about the load at which the first threshold reaches its limit.
fn crossing(conclusion: &Conclusion, setting: &LoadSetting) -> Option<Finding> {
    let (load, low, high) = conclusion.crossing?;
    let text = format!(
        "the first threshold reaches its limit at {} ({} to {}, 95 % confidence)",
        setting.shown(load),
        setting.shown(low),
        setting.shown(high)
    );
    let draft = finding(Severity::Note, "capacity-interval", text);
    Some(draft.with("load", load).with("low", low).with("high", high).done())
}

/// The words for a threshold that fails at any load.
fn not_by_load(setting: &LoadSetting, found: &Independent<'_>) -> String {
    format!(
        "load is not the cause: {} fails at any load that was tried, with {} at {} and {} at {}; lower loads were \
         not tried",
        found.threshold,
        found.high_shown,
        setting.shown(found.high),
        found.low_shown,
        setting.shown(found.low)
    )
}

/// The finding that runs have too few operations for a percentile: those of the load that holds, or of lower loads than the
/// lowest, which were not tried for that reason.
fn few_operations(
    bounds: &Bounds,
    setting: &LoadSetting,
    trials: &[Trial],
    good: Option<&Level>,
    bad: Option<&Level>,
) -> Option<Finding> {
    let level = good.or(bad)?;
    let share = match good {
        Some(_) => 1.0,
        None => 1.0 / bounds.growth,
    };
    // The last one at a load that holds is the one that confirms it.
    let last = trials.iter().rev().find(|trial| level.counts(trial));
    let trial = last.filter(|trial| !trial.has_enough(share))?;
    if good.is_none() && !lacks_operations(bounds, level.load, level.load * share, trials) {
        return None;
    }
    let mut few = trial.thresholds.iter().filter(|one| one.operations > 0);
    let few = few.find(|one| (one.operations as f64) * share < one.operations_min as f64)?;
    let load = match good {
        Some(_) => setting.shown(level.load),
        None => format!("less than {}", setting.shown(level.load)),
    };
    let text = format!(
        "a run at {load} has too few operations for {}: {} were measured at {}, and the percentile takes {}; make the \
         phase longer",
        few.text,
        units::count(few.operations),
        setting.shown(level.load),
        units::count(few.operations_min)
    );
    let draft = finding(Severity::Warning, "few-operations", text);
    let draft = draft.with("operations", few.operations as f64);
    Some(draft.with("operations_min", few.operations_min as f64).done())
}

/// Severity, code and text of what the runs show about the load.
fn result(
    ending: Ending,
    setting: &LoadSetting,
    good: Option<&Level>,
    bad: Option<&Level>,
) -> (Severity, &'static str, String) {
    let trials = |level: &Level| {
        let trusted = level.holds + level.breaks;
        format!("{} of {trusted} runs kept the thresholds", level.holds)
    };
    let shown = |level: &Level| setting.shown(level.load);
    let generator = |bad: &Level| bad.verdict == Verdict::Untrusted || bad.verdict == Verdict::Open;
    match (ending, good, bad) {
        (Ending::AllHold, Some(good), _) => (
            Severity::Good,
            "capacity-above",
            format!("holds {}, the highest load of the search: {}", shown(good), trials(good)),
        ),
        (_, Some(good), Some(bad)) if generator(bad) => (
            Severity::Fatal,
            "generator-limit",
            format!(
                "holds {} ({}); every run at {} was untrusted, so the capacity above is unknown",
                shown(good),
                trials(good),
                shown(bad)
            ),
        ),
        (_, Some(good), Some(bad)) => (
            Severity::Good,
            "capacity",
            format!(
                "holds {} ({}), but not {} ({})",
                shown(good),
                trials(good),
                shown(bad),
                trials(bad)
            ),
        ),
        (_, Some(good), None) => (
            Severity::Note,
            "capacity-above",
            format!("holds {} ({}); higher loads were not tried", shown(good), trials(good)),
        ),
        (_, None, Some(bad)) if generator(bad) => (
            Severity::Fatal,
            "generator-limit",
            format!("every run at {} was untrusted", shown(bad)),
        ),
        (_, None, Some(bad)) => (
            Severity::Warning,
            "capacity-below",
            format!("not even {} holds: {}", shown(bad), trials(bad)),
        ),
        (_, None, None) => (Severity::Note, "capacity-unknown", "no run completed".to_owned()),
    }
}

/// Why a search ended before it reached its precision, if it did.
fn unfinished(ending: Ending) -> &'static str {
    match ending {
        Ending::Down => {
            "; the target then answered nothing more, not even at a load that had held: restart it, and \
             --resume continues the search"
        }
        Ending::OutOfSteps => {
            "; the search ran out of steps (--steps) before it reached its precision; --resume \
             continues it"
        }
        Ending::OutOfTime => {
            "; the search ran out of time (--time-limit) before it reached its precision; \
             --resume continues it"
        }
        Ending::Interrupted => "; the search was interrupted; --resume continues it",
        _ => "",
    }
}

/// The finding that repeats the reasons of the runs above the knee.
fn why(setting: &LoadSetting, trials: &[Trial], bad: &Level) -> Option<Finding> {
    let own = |trial: &&Trial| trial.load == bad.load && !trial.why.is_empty();
    let last = trials.iter().rev().find(own)?;
    let code = match last.outcome {
        Outcome::Untrusted => "untrusted",
        _ => "threshold-failed",
    };
    let text = format!("at {}: {}", setting.shown(bad.load), last.why.join("; "));
    Some(finding(Severity::Note, code, text).with("load", bad.load).done())
}

fn bent(setting: &LoadSetting, good: Option<&Level>, bend: &Bend) -> Finding {
    let load = setting.shown(bend.load);
    let against =
        good.map_or(String::new(), |good| format!(" compared with {}", setting.shown(good.load)));
    let name = |sign: Sign| match sign {
        Sign::GeneratorLag => "the generator's lag",
        Sign::GeneratorCpu => "the generator's CPU",
        Sign::Errors => "errors",
        Sign::Responses => "response times",
        Sign::Backlog => "operations in flight (throughput below the offered load)",
    };
    let Some(&(_, first_ns)) = bend.signs.first() else {
        let text = format!(
            "no single figure degraded at {load}{against}: the load is just beyond the thresholds"
        );
        return finding(Severity::Note, "bend", text).with("load", bend.load).done();
    };
    let listed = |signs: &[(Sign, u64)]| {
        let names: Vec<_> = signs.iter().map(|&(sign, _)| name(sign)).collect();
        names.join(" and ")
    };
    let split = bend.signs.partition_point(|&(_, at_ns)| at_ns == first_ns);
    let (first, later) = bend.signs.split_at(split);
    let mut text = format!(
        "first to degrade at {load}{against}: {}, from {} on",
        listed(first),
        units::span(first_ns)
    );
    for &(sign, at_ns) in later {
        text += &format!("; then {}, from {} on", name(sign), units::span(at_ns));
    }
    let by_generator = first.iter().any(|(sign, _)| *sign <= Sign::GeneratorCpu);
    if by_generator {
        text += "; the generator was the limit, not the target";
    }
    let mut draft = finding(Severity::Note, "bend", text).with("load", bend.load);
    for (sign, at_ns) in &bend.signs {
        let key = match sign {
            Sign::GeneratorLag => "generator_lag_s",
            Sign::GeneratorCpu => "generator_cpu_s",
            Sign::Errors => "errors_s",
            Sign::Responses => "responses_s",
            Sign::Backlog => "backlog_s",
        };
        draft = draft.with(key, *at_ns as f64 / 1e9);
    }
    draft.done()
}

fn law(conclusion: &Conclusion) -> Finding {
    let Some(law) = &conclusion.law else {
        let problem = conclusion.law_problem.as_deref().unwrap_or_default();
        let text = format!("no scalability law was fitted: {problem}");
        return finding(Severity::Note, "no-law", text).done();
    };
    let limit = match (law.peak_in_flight, law.limit_per_s) {
        (Some(peak), Some(limit)) => format!(
            "throughput peaks at {} with {} in flight{}",
            units::rate(limit),
            parameter(peak),
            if peak.0 > law.in_flight_max { ", beyond the measured range" } else { "" }
        ),
        (_, Some(limit)) => format!("throughput approaches {} and never falls", units::rate(limit)),
        _ => "throughput grows with concurrency throughout the measured range".to_owned(),
    };
    let text = format!(
        "scalability law over {} runs: {}/s at concurrency 1, contention σ {}, coherency κ {}; \
         {limit}; it explains {} of the variation",
        law.trials,
        parameter(law.lambda),
        parameter(law.sigma),
        parameter(law.kappa),
        units::share(law.r_squared.max(0.0))
    );
    let mut draft = finding(Severity::Note, "scalability-law", text)
        .with("lambda", law.lambda.0)
        .with("sigma", law.sigma.0)
        .with("kappa", law.kappa.0)
        .with("r_squared", law.r_squared);
    if let Some(limit) = law.limit_per_s {
        draft = draft.with("limit_per_s", limit);
    }
    draft.done()
}
