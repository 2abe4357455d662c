//! Conclusions from runs with several values of a setting: the value of greatest throughput, how
//! sure that is, and the scalability law by the value.
//!
//! The load is a closed one and stays as it is. A *trial* is that of a search, with the value in the place of its
//! load. `docs/capacity.md` is the reference for people.

mod findings;

use plan::LoadSetting;
use record::schema::Finding;
use serde::{Deserialize, Serialize};
use stats::greatest::{Greatest, MeanEstimate};

use crate::capacity::{CONFIDENCE, Ending, Level, LevelFigures, Outcome, Trial, Verdict, figures};
use crate::law::Law;

/// Which values a sweep tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Rising, above 0.
    pub values: Vec<f64>,
    /// Runs of each.
    pub repeat: usize,
    /// Seed of the order of the runs, and of the bootstrap.
    pub seed: u64,
}

/// Most values of a sweep.
pub const VALUES_MAX: usize = 100;

/// Why values cannot be tried.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// There is nothing to compare.
    #[error("one value has none to be compared with")]
    Single,
    /// More than [`VALUES_MAX`].
    #[error("{0} values are too many: {VALUES_MAX} can be tried")]
    TooMany(usize),
    /// A value is not above 0.
    #[error("{0} is not above 0")]
    NotPositive(f64),
    /// They do not rise.
    #[error("{after} stands after {before}: values must rise")]
    Unsorted {
        /// The value before.
        before: f64,
        /// The one that is not above it.
        after: f64,
    },
    /// There are no runs.
    #[error("no value is run")]
    NoRuns,
}

impl Sweep {
    /// Checks that the values can be tried.
    ///
    /// # Errors
    /// The first fault of the values.
    pub fn check(&self) -> Result<(), SweepError> {
        let values = &self.values;
        let is_sound = |value: &f64| value.is_finite() && *value > 0.0;
        if let Some(wrong) = values.iter().find(|value| !is_sound(value)) {
            return Err(SweepError::NotPositive(*wrong));
        }
        match values.len() {
            0 | 1 => return Err(SweepError::Single),
            count if count > VALUES_MAX => return Err(SweepError::TooMany(count)),
            _ => {}
        }
        if let Some(pair) = values.windows(2).find(|pair| pair[1] <= pair[0]) {
            let before = pair[0];
            let after = pair[1];
            return Err(SweepError::Unsorted { before, after });
        }
        match self.repeat {
            0 => Err(SweepError::NoRuns),
            _ => Ok(()),
        }
    }
}

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct SweepConclusion {
    /// The setting that was varied, as `--set` knows it.
    pub over: String,
    /// The unit behind its numbers.
    pub unit: String,
    /// How the sweep ended.
    pub ending: Ending,
    /// The value of greatest throughput; `None`: no value kept the thresholds.
    pub best: Option<BestValue>,
    /// The most important first.
    pub findings: Vec<Finding>,
    /// All values that were tried, the lowest first.
    pub values: Vec<ValueFigures>,
    /// Throughput by the value; `None`: see `law_problem`.
    pub law: Option<Law>,
    /// Why no law was fitted.
    pub law_problem: Option<String>,
}

/// The value of greatest throughput.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct BestValue {
    /// The value.
    pub value: f64,
    /// Geometric mean of its runs.
    pub per_s: f64,
    /// The lowest and the highest value that may be best (95 %, bootstrap); `None` without repetitions.
    pub range: Option<(f64, f64)>,
    /// No higher value was tried.
    pub is_highest: bool,
    /// No lower value was tried.
    pub is_lowest: bool,
    /// The values beside the best, and their losses.
    pub neighbours: Vec<Neighbour>,
}

/// A value beside the best, and its loss.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Neighbour {
    /// The value.
    pub value: f64,
    /// The share of the best throughput that it loses.
    pub loss: f64,
    /// Lower and upper bound (95 %); `None` without repetitions.
    pub bounds: Option<(f64, f64)>,
}

/// A value and what its trusted runs measured.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct ValueFigures {
    /// The value.
    pub value: f64,
    /// Runs that kept the thresholds.
    pub holds: usize,
    /// Runs that did not.
    pub breaks: usize,
    /// Runs that could not be trusted.
    pub untrusted: usize,
    /// Whether most kept the thresholds; `None`: not known.
    pub held: Option<bool>,
    /// Geometric mean of the throughputs by second; `None`: nothing succeeded.
    pub per_s: Option<f64>,
    /// Lower and upper bound (95 %); `None` without repetitions.
    pub bounds: Option<(f64, f64)>,
    /// Mean number in flight.
    pub in_flight: Option<f64>,
    /// Median of the runs' medians of all operations.
    pub p50_ns: Option<u64>,
    /// True if it is only known to be at least that, since operations were never answered.
    pub p50_is_bound: bool,
    /// Median of their 99th percentiles.
    pub p99_ns: Option<u64>,
    /// As `p50_is_bound`.
    pub p99_is_bound: bool,
    /// Mean of their shares of errors.
    pub error_share: Option<f64>,
}

/// Concludes a sweep by its trials.
pub fn conclude_sweep(
    setting: &LoadSetting,
    sweep: &Sweep,
    trials: &[Trial],
    ending: Ending,
) -> SweepConclusion {
    let trials = answered(trials);
    let levels = Level::all(trials, sweep.repeat);
    let trusted: Vec<Trial> =
        trials.iter().filter(|trial| trial.outcome != Outcome::Untrusted).cloned().collect();
    let measured: Vec<(f64, Vec<f64>)> = levels
        .iter()
        .map(|level| (level.load, throughputs(&trusted, level.load)))
        .filter(|(_, throughputs)| !throughputs.is_empty())
        .collect();
    let groups: Vec<Vec<f64>> = measured.iter().map(|(_, own)| own.clone()).collect();
    let means = Greatest::find(&groups, CONFIDENCE, sweep.seed);
    let mean = |value: f64| {
        let place = measured.iter().position(|(own, _)| *own == value)?;
        Some(means.as_ref()?.mean(place))
    };
    let (law, law_problem) = match law(setting, &measured) {
        Ok(law) => (Some(law), None),
        Err(problem) => (None, Some(problem)),
    };
    let mut conclusion = SweepConclusion {
        over: setting.path.clone(),
        unit: setting.unit.clone(),
        ending,
        best: best(&levels, &measured, sweep.seed),
        findings: Vec::new(),
        values: levels
            .iter()
            .map(|level| value_figures(&figures(level, &trusted), mean(level.load)))
            .collect(),
        law,
        law_problem,
    };
    if conclusion.best.is_none() && ending == Ending::Found {
        let is_broken = levels.iter().any(|level| level.breaks > 0);
        conclusion.ending = match is_broken {
            true => Ending::NoneHolds,
            false => Ending::Untrusted,
        };
    }
    conclusion.findings = findings::findings(&conclusion, setting, sweep, trials);
    conclusion
}

/// The trials that were made while the target was up. Those after them got no answer, one of them with a value with
/// which the target had answered; the first of them is kept if its value is new, since it may have ended the target.
pub fn answered(trials: &[Trial]) -> &[Trial] {
    let silent = trials.iter().rev().take_while(|t| got_nothing(t)).count();
    let (up, silent) = trials.split_at(trials.len() - silent);
    let has_answered = |trial: &Trial| {
        let mut own = up.iter().filter(|one| one.load == trial.load);
        own.any(|one| !got_nothing(one))
    };
    if !silent.iter().any(has_answered) {
        return trials;
    }
    let is_new = silent.first().is_some_and(|first| !has_answered(first));
    &trials[..up.len() + usize::from(is_new)]
}

/// Nothing succeeded in it, or it could not be made; not for this machine's sake.
pub fn got_nothing(trial: &Trial) -> bool {
    let per_s = trial.figures.as_ref().map_or(0.0, |figures| figures.per_s);
    trial.outcome == Outcome::Breaks && per_s == 0.0
}

/// The throughputs of a value's runs that are above 0.
fn throughputs(trials: &[Trial], value: f64) -> Vec<f64> {
    let own = trials.iter().filter(|trial| trial.load == value);
    let all = own.filter_map(|trial| trial.figures.as_ref());
    let above = all.map(|figures| figures.per_s).filter(|x| *x > 0.0);
    above.collect()
}

/// The best of the values that keep the thresholds.
fn best(levels: &[Level], measured: &[(f64, Vec<f64>)], seed: u64) -> Option<BestValue> {
    let holds = |value: f64| {
        let mut own = levels.iter().filter(|level| level.load == value);
        own.any(|level| level.verdict == Verdict::Holds)
    };
    let held: Vec<&(f64, Vec<f64>)> = measured.iter().filter(|(value, _)| holds(*value)).collect();
    let groups: Vec<Vec<f64>> = held.iter().map(|(_, own)| own.clone()).collect();
    let found = Greatest::find(&groups, CONFIDENCE, seed)?;
    let value = |place: usize| held[place].0;
    let neighbour = |place: usize| {
        let share = found.share(place);
        Neighbour {
            value: value(place),
            loss: 1.0 - share.value,
            bounds: share.bounds.map(|(low, high)| (1.0 - high, 1.0 - low)),
        }
    };
    let beside = [found.place.checked_sub(1), Some(found.place + 1)];
    let beside = beside.into_iter().flatten().filter(|place| *place < held.len());
    let value_best = value(found.place);
    Some(BestValue {
        value: value_best,
        per_s: found.mean(found.place).value,
        range: found.range.map(|(low, high)| (value(low), value(high))),
        is_highest: levels.iter().all(|level| level.load <= value_best),
        is_lowest: levels.iter().all(|level| level.load >= value_best),
        neighbours: beside.map(neighbour).collect(),
    })
}

/// The law by the value, or why there is none.
fn law(setting: &LoadSetting, measured: &[(f64, Vec<f64>)]) -> Result<Law, String> {
    if !setting.unit.is_empty() {
        return Err(format!(
            "{} counts nothing: its values have the unit {}",
            setting.path, setting.unit
        ));
    }
    let points = measured.iter().flat_map(|(value, own)| own.iter().map(|per_s| (*value, *per_s)));
    Law::fit(&points.collect::<Vec<_>>(), CONFIDENCE).map_err(|error| error.to_string())
}

fn value_figures(level: &LevelFigures, mean: Option<MeanEstimate>) -> ValueFigures {
    ValueFigures {
        value: level.load,
        holds: level.holds,
        breaks: level.breaks,
        untrusted: level.untrusted,
        held: level.held,
        per_s: mean.map(|mean| mean.value),
        bounds: mean.and_then(|mean| mean.bounds),
        in_flight: level.in_flight,
        p50_ns: level.p50_ns,
        p50_is_bound: level.p50_is_bound,
        p99_ns: level.p99_ns,
        p99_is_bound: level.p99_is_bound,
        error_share: level.error_share,
    }
}

#[cfg(test)]
mod tests;
