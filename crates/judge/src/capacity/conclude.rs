//! What a search comes to.

use std::path::Path;

use plan::LoadSetting;
use record::schema::Finding;
use record::{RecordError, Run};
use serde::Serialize;
use stats::usl::{Estimate, Usl, UslError};

use super::bend::{Bend, bend};
use super::level::{Level, Verdict};
use super::trial::{Outcome, Trial};
use super::{Bounds, Ending, tell};

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
    /// Median of the trials' medians; `None` where nothing ended well.
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

impl Law {
    /// Throughput by second with so many in flight.
    pub fn at(&self, in_flight: f64) -> f64 {
        let (lambda, sigma, kappa) = (self.lambda.0, self.sigma.0, self.kappa.0);
        let beyond = in_flight - 1.0;
        lambda * in_flight / (1.0 + sigma * beyond + kappa * in_flight * beyond)
    }
}

/// Concludes a search by its trials, whose run directories stand in `runs`.
///
/// # Errors
/// Where a run's record cannot be read.
pub fn conclude(
    runs: &Path,
    knob: &LoadSetting,
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
    conclusion.findings = tell::findings(&conclusion, knob, trials, good, bad);
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
    let median = |of: fn(&super::TrialFigures) -> Option<u64>| {
        let mut values: Vec<u64> = all.iter().filter_map(|figures| of(figures)).collect();
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
        p50_ns: median(super::TrialFigures::p50),
        p99_ns: median(super::TrialFigures::p99),
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
        let (least, most) = (units::significant(least, 3), units::significant(most, 3));
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
