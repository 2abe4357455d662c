//! The conclusion of a search.

use std::path::Path;

use plan::LoadSetting;
use record::{RecordError, Run};
use stats::usl::UslError;

use super::bend::{Bend, bend};
use super::conclusion::{Conclusion, Law, LevelFigures};
use super::crossing::{breaks_threshold, crossing};
use super::down::while_up;
use super::level::{Level, Verdict};
use super::trial::{Outcome, Trial};
use super::{Bounds, DIGITS_OF_CROSSING, Ending, findings, to_digits};
use crate::law;

/// Confidence of the law's intervals.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// Loads whose concurrency differs by less than this factor do not show a law's bend.
const SPREAD_MIN: f64 = 2.0;

/// Concludes a search by its trials, whose run directories stand in `runs`.
///
/// # Errors
/// If a run's record cannot be read.
pub fn conclude(
    runs: &Path,
    setting: &LoadSetting,
    bounds: &Bounds,
    trials: &[Trial],
    ending: Ending,
) -> Result<Conclusion, RecordError> {
    let trials = while_up(trials);
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
        of: setting.path.clone(),
        unit: setting.unit.clone(),
        ending,
        holds: good.map(|level| level.load),
        breaks: bad.map(|level| level.load),
        crossing: crossing_between(good, bad, trials),
        findings: Vec::new(),
        levels: levels.iter().map(|level| figures(level, trials)).collect(),
        law,
        law_problem,
        bend,
    };
    conclusion.findings = findings::findings(&conclusion, bounds, setting, trials, good, bad);
    Ok(conclusion)
}

/// The load between the one that holds and the one that breaks at which the first threshold reaches its limit; `None` where
/// one of them is not known, or what breaks is no threshold.
fn crossing_between(
    good: Option<&Level>,
    bad: Option<&Level>,
    trials: &[Trial],
) -> Option<(f64, f64, f64)> {
    let bad = bad.filter(|bad| bad.verdict == Verdict::Breaks)?;
    let knee = (good?.load + bad.load) / 2.0;
    if !breaks_threshold(trials, bad.load) {
        return None;
    }
    let (load, low, high) = crossing(trials, knee)?;
    let rounded = |load: f64| to_digits(load, DIGITS_OF_CROSSING);
    Some((rounded(load), rounded(low), rounded(high)))
}

/// Looks at a run of each side of the knee.
fn bend_of(
    runs: &Path,
    trials: &[Trial],
    good: Option<&Level>,
    bad: &Level,
) -> Result<Option<Bend>, RecordError> {
    let open = |load: f64, wanted: &dyn Fn(Outcome) -> bool| {
        let found =
            trials.iter().rev().find(|t| t.load == load && wanted(t.outcome) && t.run.is_some());
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

pub(crate) fn figures(level: &Level, trials: &[Trial]) -> LevelFigures {
    let own = trials.iter().filter(|trial| level.counts(trial));
    let all: Vec<_> = own.filter_map(|trial| trial.figures.as_ref()).collect();
    let mean = |of: fn(&super::TrialFigures) -> f64| {
        let sum: f64 = all.iter().map(|figures| of(figures)).sum();
        (!all.is_empty()).then(|| sum / all.len() as f64)
    };
    // A bound at or below the middle may stand for a time above it.
    let median = |of: fn(&super::TrialFigures) -> Option<(u64, bool)>| {
        let mut values: Vec<(u64, bool)> = all.iter().filter_map(|figures| of(figures)).collect();
        values.sort_unstable();
        let until = values.get(..=values.len() / 2).unwrap_or(&[]);
        let is_bound = until.iter().any(|(_, is_bound)| *is_bound);
        (until.last().map(|(ns, _)| *ns), is_bound)
    };
    let (p50_ns, p50_is_bound) = median(super::TrialFigures::p50);
    let (p99_ns, p99_is_bound) = median(super::TrialFigures::p99);
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
        p50_ns,
        p50_is_bound,
        p99_ns,
        p99_is_bound,
        error_share: mean(|f| f.error_share),
    }
}

/// The law, or why there is none.
fn law(trials: &[Trial]) -> Result<Law, String> {
    let trusted = trials.iter().filter(|trial| trial.outcome != Outcome::Untrusted);
    let points: Vec<(f64, f64)> = trusted
        .filter_map(|trial| trial.figures.as_ref())
        .map(|figures| (figures.in_flight, figures.per_s))
        .filter(|&(n, x)| n > 0.0 && x > 0.0)
        .collect();
    let (least, most) = points.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), point| {
        (least.min(point.0), most.max(point.0))
    });
    let found = law::Law::fit(&points, CONFIDENCE).map_err(|error: UslError| error.to_string())?;
    if most < SPREAD_MIN * least {
        let least = units::significant(least, 3);
        let most = units::significant(most, 3);
        return Err(format!(
            "{least} to {most} operations in flight are too close together to fit a law"
        ));
    }
    // With σ of 1 or more, throughput falls from the first on: the law has no peak.
    let peak = found.peak.filter(|_| found.sigma.0 < 1.0);
    Ok(Law {
        lambda: found.lambda,
        sigma: found.sigma,
        kappa: found.kappa,
        trials: points.len(),
        in_flight_max: most,
        r_squared: found.r_squared,
        peak_in_flight: peak.map(|peak| (peak, found.peak_low.unwrap_or(peak), found.peak_high)),
        limit_per_s: found.limit_per_s,
    })
}
