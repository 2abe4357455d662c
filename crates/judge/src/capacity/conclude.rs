//! What a search comes to.

use std::path::Path;

use record::schema::{Finding, Severity};
use record::{RecordError, Run};
use scenario::Knob;
use serde::Serialize;
use stats::usl::{Estimate, Usl, UslError};

use super::bend::{Bend, Sign, bend};
use super::level::{Level, Verdict};
use super::trial::{Outcome, Trial};
use super::{Bounds, Ending};
use crate::findings::finding;
use crate::words;

/// Of the law's intervals.
const CONFIDENCE: f64 = 0.95;
/// Loads whose concurrency differs by less than this factor do not show a law's bend.
const SPREAD_MIN: f64 = 2.0;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conclusion {
    /// What was turned, as `--set` knows it.
    pub of: String,
    /// What follows its numbers.
    pub unit: String,
    /// How the search ended.
    pub ending: Ending,
    /// 0: found, or all holds; 1: nothing holds; 2: it cannot be told.
    pub exit_code: i32,
    /// The highest load that holds; `None`: none does.
    pub holds: Option<f64>,
    /// The lowest above it that does not; `None`: all hold.
    pub breaks: Option<f64>,
    /// The most important first.
    pub findings: Vec<Finding>,
    /// All loads, the lowest first.
    pub levels: Vec<LevelFigures>,
    /// The universal scalability law of the target; `None`: see `law_problem`.
    pub law: Option<Law>,
    /// Why no law was fitted.
    pub law_problem: Option<String>,
    /// What bent first at the lowest load that does not hold.
    pub bend: Option<Bend>,
}

/// A load with its trials and their mean figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelFigures {
    /// The load.
    pub load: f64,
    /// Trials that kept the thresholds.
    pub holds: usize,
    /// Trials that did not.
    pub breaks: usize,
    /// Trials that could not be trusted.
    pub untrusted: usize,
    /// What they come to; `None`: not known yet.
    pub held: Option<bool>,
    /// X, mean of the trials that measured something; `None` where none did.
    pub per_s: Option<f64>,
    /// N = X · R, the same.
    pub in_flight: Option<f64>,
    /// Median of the trials' medians.
    pub p50_ns: Option<u64>,
    /// Median of their 99th percentiles.
    pub p99_ns: Option<u64>,
    /// Mean of their shares of errors.
    pub error_share: Option<f64>,
}

/// X(N) = λN/(1 + σ(N − 1) + κN(N − 1)), N in flight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Law {
    /// λ: throughput by second of one alone; value, lower and upper bound.
    pub lambda: (f64, f64, Option<f64>),
    /// σ: contention.
    pub sigma: (f64, f64, Option<f64>),
    /// κ: coherency.
    pub kappa: (f64, f64, Option<f64>),
    /// Trials it was fitted to.
    pub trials: usize,
    /// The greatest number in flight among them; beyond, the law is a guess.
    pub in_flight_max: f64,
    /// Share of the throughputs' scatter that it explains.
    pub r_squared: f64,
    /// In flight where throughput is greatest; `None`: it never falls.
    pub peak_in_flight: Option<f64>,
    /// The throughput that is never passed; `None`: there is none.
    pub limit_per_s: Option<f64>,
}

/// Concludes a search by its trials, whose run directories stand in `runs`.
///
/// # Errors
/// Where a run's record cannot be read.
pub fn conclude(
    runs: &Path,
    knob: &Knob,
    bounds: &Bounds,
    trials: &[Trial],
    ending: Ending,
) -> Result<Conclusion, RecordError> {
    let levels = Level::all(trials, bounds.repeat);
    let bad = levels.iter().find(|level| level.verdict != Verdict::Holds);
    let below = |level: &&Level| bad.is_none_or(|bad| level.load < bad.load);
    let good = levels.iter().rev().find(below);
    let bend = match bad {
        Some(bad) => bend_of(runs, trials, good, bad)?,
        None => None,
    };
    let (law, law_problem) = match law(trials) {
        Ok(law) => (Some(law), None),
        Err(problem) => (None, Some(problem)),
    };
    let mut conclusion = Conclusion {
        of: knob.path.clone(),
        unit: knob.unit.clone(),
        ending,
        exit_code: match ending {
            Ending::Found | Ending::AllHold => 0,
            Ending::NoneHolds => 1,
            _ => 2,
        },
        holds: good.map(|level| level.load),
        breaks: bad.map(|level| level.load),
        findings: Vec::new(),
        levels: levels.iter().map(|level| figures(level, trials)).collect(),
        law,
        law_problem,
        bend,
    };
    let mut findings = vec![answer(&conclusion, knob, good, bad)];
    findings.extend(bad.and_then(|bad| why(knob, trials, bad)));
    findings.extend(conclusion.bend.as_ref().map(|bend| bent(knob, good, bend)));
    findings.push(told_law(&conclusion));
    conclusion.findings = findings;
    Ok(conclusion)
}

/// Looks at a run of each side of the knee.
fn bend_of(
    runs: &Path,
    trials: &[Trial],
    good: Option<&Level>,
    bad: &Level,
) -> Result<Option<Bend>, RecordError> {
    let open = |load: f64, wanted: &dyn Fn(Outcome) -> bool| {
        let found = trials
            .iter()
            .rev()
            .find(|t| t.load == load && wanted(t.outcome) && t.run.is_some());
        let run = found.and_then(|trial| trial.run.as_ref());
        run.map(|name| Run::open(&runs.join(name))).transpose()
    };
    let Some(breaking) = open(bad.load, &|outcome| outcome != Outcome::Holds)? else {
        return Ok(None);
    };
    let holding = match good {
        Some(good) => open(good.load, &|outcome| outcome == Outcome::Holds)?,
        None => None,
    };
    bend(bad.load, holding.as_ref(), &breaking).map(Some)
}

fn figures(level: &Level, trials: &[Trial]) -> LevelFigures {
    let own = trials.iter().filter(|trial| trial.load == level.load);
    let all: Vec<_> = own.filter_map(|trial| trial.figures.as_ref()).collect();
    let mean = |of: fn(&super::TrialFigures) -> f64| {
        let sum: f64 = all.iter().map(|figures| of(figures)).sum();
        (!all.is_empty()).then(|| sum / all.len() as f64)
    };
    let median = |of: fn(&super::TrialFigures) -> u64| {
        let mut values: Vec<u64> = all.iter().map(|figures| of(figures)).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    LevelFigures {
        load: level.load,
        holds: level.holds,
        breaks: level.breaks,
        untrusted: level.untrusted,
        held: match level.verdict {
            Verdict::Holds => Some(true),
            Verdict::Breaks => Some(false),
            Verdict::Untrusted | Verdict::Open => None,
        },
        per_s: mean(|f| f.per_s),
        in_flight: mean(|f| f.in_flight),
        p50_ns: median(|f| f.p50_ns),
        p99_ns: median(|f| f.p99_ns),
        error_share: mean(|f| f.error_share),
    }
}

/// The law, or why there is none.
fn law(trials: &[Trial]) -> Result<Law, String> {
    let trusted = trials
        .iter()
        .filter(|trial| trial.outcome != Outcome::Untrusted);
    let points: Vec<(f64, f64)> = trusted
        .filter_map(|trial| trial.figures.as_ref())
        .map(|figures| (figures.in_flight, figures.per_s))
        .filter(|&(n, x)| n > 0.0 && x > 0.0)
        .collect();
    let (least, most) = points
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), point| {
            (least.min(point.0), most.max(point.0))
        });
    let found = Usl::fit(&points, CONFIDENCE).map_err(|error: UslError| error.to_string())?;
    if most < SPREAD_MIN * least {
        let (least, most) = (words::significant(least, 3), words::significant(most, 3));
        return Err(format!(
            "{least} to {most} operations in flight are too much alike to show a law"
        ));
    }
    let told = |estimate: Estimate| {
        let high = estimate.high.is_finite().then_some(estimate.high);
        (estimate.value, estimate.low, high)
    };
    Ok(Law {
        lambda: told(found.lambda),
        sigma: told(found.sigma),
        kappa: told(found.kappa),
        trials: points.len(),
        in_flight_max: most,
        r_squared: found.r_squared,
        peak_in_flight: found.peak(),
        limit_per_s: found.limit(),
    })
}

/// The sentence that was asked for.
fn answer(
    conclusion: &Conclusion,
    knob: &Knob,
    good: Option<&Level>,
    bad: Option<&Level>,
) -> Finding {
    let trials = |level: &Level| {
        let trusted = level.holds + level.breaks;
        format!("{} of {trusted} runs kept the thresholds", level.holds)
    };
    let shown = |level: &Level| knob.shown(level.load);
    let generator = |bad: &Level| bad.verdict == Verdict::Untrusted || bad.verdict == Verdict::Open;
    let (severity, code, mut text) = match (conclusion.ending, good, bad) {
        (Ending::AllHold, Some(good), _) => (
            Severity::Good,
            "capacity-above",
            format!(
                "holds {}, the most that was asked for: {}",
                shown(good),
                trials(good)
            ),
        ),
        (_, Some(good), Some(bad)) if generator(bad) => (
            Severity::Fatal,
            "generator-limit",
            format!(
                "holds {} ({}); at {} no run could be trusted, so that what the target can take above \
                 is not known",
                shown(good),
                trials(good),
                shown(bad)
            ),
        ),
        (_, Some(good), Some(bad)) => (
            Severity::Good,
            "capacity",
            format!(
                "holds {} ({}), and {} no more ({})",
                shown(good),
                trials(good),
                shown(bad),
                trials(bad)
            ),
        ),
        (_, Some(good), None) => (
            Severity::Note,
            "capacity-above",
            format!(
                "holds {} ({}); higher loads were not tried",
                shown(good),
                trials(good)
            ),
        ),
        (_, None, Some(bad)) if generator(bad) => (
            Severity::Fatal,
            "generator-limit",
            format!("not even a run at {} could be trusted", shown(bad)),
        ),
        (_, None, Some(bad)) => (
            Severity::Warning,
            "capacity-below",
            format!("not even {} holds: {}", shown(bad), trials(bad)),
        ),
        (_, None, None) => (
            Severity::Note,
            "capacity-unknown",
            "no run came to its end".to_owned(),
        ),
    };
    text += match conclusion.ending {
        Ending::OutOfSteps => {
            "; the search ran out of steps (--steps) before the knee was near enough"
        }
        Ending::OutOfTime => "; the search ran out of time (--for) before the knee was near enough",
        Ending::Interrupted => "; the search was broken off",
        _ => "",
    };
    let severity = match conclusion.ending {
        Ending::OutOfSteps | Ending::OutOfTime | Ending::Interrupted => {
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

/// What the runs above the knee say of themselves.
fn why(knob: &Knob, trials: &[Trial], bad: &Level) -> Option<Finding> {
    let own = |trial: &&Trial| trial.load == bad.load && !trial.why.is_empty();
    let last = trials.iter().rev().find(own)?;
    let code = match last.outcome {
        Outcome::Untrusted => "untrusted",
        _ => "threshold-failed",
    };
    let text = format!("at {}: {}", knob.shown(bad.load), last.why.join("; "));
    Some(
        finding(Severity::Note, code, text)
            .with("load", bad.load)
            .done(),
    )
}

fn bent(knob: &Knob, good: Option<&Level>, bend: &Bend) -> Finding {
    let load = knob.shown(bend.load);
    let against = good.map_or(String::new(), |good| {
        format!(", held against {}", knob.shown(good.load))
    });
    let name = |sign: Sign| match sign {
        Sign::GeneratorLag => "the generator's lag",
        Sign::GeneratorCpu => "the generator's CPU",
        Sign::Errors => "errors",
        Sign::Responses => "response times",
        Sign::Backlog => "the number in flight (throughput below what was offered)",
    };
    let Some(&(_, first_ns)) = bend.signs.first() else {
        let text = format!(
            "no single figure bent at {load}{against}: it is just beyond what the thresholds allow"
        );
        return finding(Severity::Note, "bend", text)
            .with("load", bend.load)
            .done();
    };
    let told = |signs: &[(Sign, u64)]| {
        let names: Vec<_> = signs.iter().map(|&(sign, _)| name(sign)).collect();
        names.join(" and ")
    };
    let split = bend.signs.partition_point(|&(_, at_ns)| at_ns == first_ns);
    let (first, later) = bend.signs.split_at(split);
    let mut text = format!(
        "what bent first at {load}{against}: {}, from {} on",
        told(first),
        words::span(first_ns)
    );
    for &(sign, at_ns) in later {
        text += &format!("; then {}, from {} on", name(sign), words::span(at_ns));
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

fn told_law(conclusion: &Conclusion) -> Finding {
    let Some(law) = &conclusion.law else {
        let problem = conclusion.law_problem.as_deref().unwrap_or_default();
        let text = format!("no scalability law was fitted: {problem}");
        return finding(Severity::Note, "no-law", text).done();
    };
    let number = |x: f64| match x.abs() < 0.001 && x != 0.0 {
        true => format!("{x:.2e}"),
        false => words::significant(x, 3),
    };
    let estimate = |(value, low, high): (f64, f64, Option<f64>)| match high {
        Some(high) => format!("{} ({} to {})", number(value), number(low), number(high)),
        None => format!("{} ({} or more)", number(value), number(low)),
    };
    let limit = match (law.peak_in_flight, law.limit_per_s) {
        (Some(peak), Some(limit)) => format!(
            "throughput is greatest, {}, with {} in flight{}",
            words::rate(limit),
            number(peak),
            if peak > law.in_flight_max {
                ", more than were tried"
            } else {
                ""
            }
        ),
        (_, Some(limit)) => format!(
            "throughput comes near to {} and never falls",
            words::rate(limit)
        ),
        _ => "throughput grows with every one more in flight, as far as was tried".to_owned(),
    };
    let text = format!(
        "scalability law over {} runs: one alone {}/s, contention σ {}, coherency κ {}; {limit}; it \
         explains {} of the scatter",
        law.trials,
        estimate(law.lambda),
        estimate(law.sigma),
        estimate(law.kappa),
        words::share(law.r_squared.max(0.0))
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
