//! Durations as a log shows them, and the law that made them, if one did.

use serde::{Deserialize, Serialize};
use stats::fit::{self, Family, Fitted, Observed};
use stats::rng::{Purpose, Rng};

/// Fewer are not fitted.
pub(crate) const COUNT_MIN: u64 = 30;
/// So many are fitted, drawn from all.
pub(crate) const SAMPLE_MAX: usize = 2_000;
/// So many are tested: of more, laws are refused for differences that do not matter.
const TESTED_MAX: usize = 300;
/// Samples redrawn for a test.
const ROUNDS: u32 = 49;
/// The level of a test.
const ALPHA: f64 = 0.05;
/// A law that is refused, but nowhere further off than this share, is near enough to be used.
const NEAR: f64 = 0.05;
/// A clock finer than this share of the mean is taken to step so: nothing is lost, and a duration that it
/// showed as 0 needs no density there.
const STEP_SHARE: f64 = 1e-4;
/// Points that stand for the values where no law does.
const POINTS: usize = 40;
/// The confidence of intervals.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Durations and what was found of them. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    /// How many there were.
    pub count: u64,
    /// Their mean.
    pub mean_s: f64,
    /// The clock's step that they were seen by.
    pub step_s: f64,
    /// Distinct values with how often, of a sample of at most 2,000.
    pub values: Vec<(f64, u64)>,
    /// All families that could be fitted, the likeliest for its number of parameters first (Akaike).
    pub fits: Vec<Fit>,
    /// The test of the first.
    pub test: Option<Test>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of fitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The law was not refused, and is used.
    Fits,
    /// The law was refused, but is never more than 5 % of the durations off, and is used.
    Near,
    /// No law fits; the values themselves are used.
    NoLaw,
    /// Too few to fit; the values themselves are used.
    TooFew,
}

/// A family with its most likely parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Which.
    pub family: Family,
    /// By name.
    pub parameters: Vec<Parameter>,
    /// ln of the likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion: the less the better.
    pub aic: f64,
}

/// A parameter with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// As in `stats::fit::Family::parameters`.
    pub name: String,
    /// Seconds where it is a time.
    pub value: f64,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// A test of a law, its p-values by parametric bootstrap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// How many durations were tested.
    pub count: u64,
    /// Kolmogorov's distance.
    pub distance: f64,
    /// Where it is that far off, seconds.
    pub at_s: f64,
    /// P(as far).
    pub p_distance: f64,
    /// Anderson's and Darling's A².
    pub anderson: f64,
    /// P(as great).
    pub p_anderson: f64,
    /// Samples redrawn.
    pub rounds: u32,
}

impl From<&Fitted> for Fit {
    fn from(fitted: &Fitted) -> Fit {
        Fit {
            family: fitted.family,
            parameters: fitted
                .parameters
                .iter()
                .map(|parameter| Parameter {
                    name: parameter.name.to_owned(),
                    value: parameter.value,
                    low: parameter.low,
                    high: parameter.high,
                })
                .collect(),
            log_likelihood: fitted.log_likelihood,
            aic: fitted.aic,
        }
    }
}

impl Fit {
    /// The value of a parameter.
    pub fn value(&self, name: &str) -> f64 {
        let found = self
            .parameters
            .iter()
            .find(|parameter| parameter.name == name);
        found.map_or(f64::NAN, |parameter| parameter.value)
    }
}

impl Durations {
    /// The law to use.
    pub fn law(&self) -> Option<&Fit> {
        match self.outcome {
            Outcome::Fits | Outcome::Near => self.fits.first(),
            Outcome::NoLaw | Outcome::TooFew => None,
        }
    }

    /// Values that are alike likely and stand for all: 40 quantiles.
    pub fn points(&self) -> Vec<f64> {
        let total: u64 = self.values.iter().map(|&(_, count)| count).sum();
        let mut points = Vec::with_capacity(POINTS);
        let (mut upto, mut next) = (0, 0);
        for &(value, count) in &self.values {
            upto += count;
            while next < POINTS && (next as f64 + 0.5) / POINTS as f64 * total as f64 <= upto as f64
            {
                points.push(value);
                next += 1;
            }
        }
        points
    }
}

/// The step of the clock that durations of this mean are taken to be shown by.
pub(crate) fn fitted_step(step_s: f64, mean_s: f64) -> f64 {
    step_s.max(mean_s * STEP_SHARE)
}

/// Fits and tests durations: `sample` of the `count` there were.
pub(crate) fn describe(
    sample: &[f64],
    count: u64,
    mean_s: f64,
    step_s: f64,
    seed: u64,
) -> Durations {
    let mut durations = Durations {
        count,
        mean_s,
        step_s,
        values: Vec::new(),
        fits: Vec::new(),
        test: None,
        outcome: Outcome::TooFew,
    };
    let step_s = fitted_step(step_s, mean_s);
    let Ok(observed) = Observed::new(sample, step_s) else {
        return durations;
    };
    durations.values = observed.values().to_vec();
    if count < COUNT_MIN {
        return durations;
    }
    let all = Family::ALL.iter();
    let mut fits: Vec<Fitted> = all
        .filter_map(|&family| fit::fit(family, &observed, CONFIDENCE).ok())
        .filter(|fit| fit.log_likelihood.is_finite())
        .collect();
    fits.sort_by(|a, b| a.aic.total_cmp(&b.aic));
    durations.fits = fits.iter().map(Fit::from).collect();
    let Some(best) = fits.first() else {
        durations.outcome = Outcome::NoLaw;
        return durations;
    };
    // The sample is in no order that means anything.
    let few = &sample[..sample.len().min(TESTED_MAX)];
    let mut rng = Rng::new(seed, 0, Purpose::Resample);
    let tested = Observed::new(few, step_s).ok().and_then(|few| {
        let own = fit::fit(best.family, &few, CONFIDENCE).ok()?;
        Some((few.count(), fit::goodness(&few, &own, ROUNDS, &mut rng)))
    });
    durations.outcome = Outcome::NoLaw;
    if let Some((count, test)) = tested {
        durations.outcome = match test.p_distance.min(test.p_anderson) * 2.0 {
            p if p >= ALPHA => Outcome::Fits,
            _ if test.distance <= NEAR => Outcome::Near,
            _ => Outcome::NoLaw,
        };
        durations.test = Some(Test {
            count,
            distance: test.distance,
            at_s: test.at,
            p_distance: test.p_distance,
            anderson: test.anderson,
            p_anderson: test.p_anderson,
            rounds: test.rounds,
        });
    }
    durations
}

/// A sample of durations of a bounded size, each as likely to be in it (Vitter 1985, algorithm R).
#[derive(Debug, Clone)]
pub(crate) struct Reservoir {
    pub(crate) count: u64,
    pub(crate) sum_s: f64,
    pub(crate) sample: Vec<f64>,
    max: usize,
    rng: Rng,
}

impl Reservoir {
    pub(crate) fn new(max: usize, seed: u64, number: u64) -> Reservoir {
        Reservoir {
            count: 0,
            sum_s: 0.0,
            sample: Vec::new(),
            max,
            rng: Rng::new(seed, number, Purpose::Resample),
        }
    }

    pub(crate) fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.sum_s += seconds;
        if self.sample.len() < self.max {
            self.sample.push(seconds);
        } else {
            let place = self.rng.below(self.count) as usize;
            if place < self.max {
                self.sample[place] = seconds;
            }
        }
    }

    /// The sample in an order that means nothing: its first part is a sample too.
    fn shuffled(&self) -> Vec<f64> {
        let mut sample = self.sample.clone();
        let mut rng = self.rng;
        for last in (1..sample.len()).rev() {
            sample.swap(last, rng.below(last as u64 + 1) as usize);
        }
        sample
    }

    pub(crate) fn describe(&self, step_s: f64, seed: u64) -> Durations {
        let mean_s = self.sum_s / self.count.max(1) as f64;
        describe(&self.shuffled(), self.count, mean_s, step_s, seed)
    }
}
