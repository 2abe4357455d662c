//! Distributions of positive numbers, fitted by maximum likelihood.
//!
//! Numbers are what a clock showed. One that steps (a log of whole seconds) shows the difference of
//! two times as the difference of two numbers that were cut off, and that is what is fitted then: for
//! a gap g that begins anywhere within a step, P(k steps shown) = ∫₀¹ F(k+1−u) − F(k−u) du, the second
//! difference of the integral of F. Nothing is made up between the steps, and a 0 is no trouble.

mod distribution;
mod edge;
mod goodness;
mod minimum;

pub use distribution::Distribution;
pub use goodness::{Goodness, goodness};

use crate::tail::normal_quantile;
use edge::Edge;
use minimum::{hessian, inverse, minimum};

/// Beyond this many steps the density replaces the second difference: they differ by (step/g)²/12.
const STEPS_EXACT: f64 = 64.0;
/// The likelihood of a Pareto distribution is smooth if its least number is below this many steps and at least this
/// many numbers are within one.
const STEPS_SMOOTH: f64 = 4.0;
const NUMBERS_SMOOTH: f64 = 50.0;
/// Above this coefficient of variation two exponentials can be separated.
const HYPER_VARIATION_MIN: f64 = 1.05;
/// Replaces the logarithm of a likelihood of 0.
const IMPOSSIBLE: f64 = 1e300;
/// How often the first guess may be made twice as wide until it explains every number.
const WIDENED_MAX: u32 = 40;

/// The families, in the order of the number of their parameters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// One parameter: the mean.
    Exponential,
    /// Scale and shape.
    Weibull,
    /// Median and the standard deviation of the logarithm.
    Lognormal,
    /// The least value and the tail's exponent (type I).
    Pareto,
    /// Shape and scale.
    Gamma,
    /// Two exponentials, one of them drawn with a probability.
    Hyperexponential,
}

impl Family {
    /// All of them.
    pub const ALL: &[Family] = &[
        Family::Exponential,
        Family::Weibull,
        Family::Lognormal,
        Family::Pareto,
        Family::Gamma,
        Family::Hyperexponential,
    ];

    /// In small letters.
    pub fn name(self) -> &'static str {
        match self {
            Family::Exponential => "exponential",
            Family::Weibull => "weibull",
            Family::Lognormal => "lognormal",
            Family::Pareto => "pareto",
            Family::Gamma => "gamma",
            Family::Hyperexponential => "hyperexponential",
        }
    }

    /// How its parameters are called, in the order of [`FittedDistribution::parameters`].
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Family::Exponential => &["mean"],
            Family::Weibull | Family::Pareto => &["scale", "shape"],
            Family::Lognormal => &["median", "sigma"],
            Family::Gamma => &["mean", "shape"],
            Family::Hyperexponential => &["share", "mean", "other_mean"],
        }
    }
}

/// Numbers at or above 0 as a clock showed them.
#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    step: f64,
    /// Distinct values in order, with how often each was seen.
    values: Vec<(f64, u64)>,
    count: u64,
}

/// Why nothing was fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// No numbers, or too few for the family's parameters.
    #[error("{count} numbers are too few for {needed}")]
    TooFew {
        /// How many there are.
        count: u64,
        /// How many it takes.
        needed: u64,
    },
    /// A number no distribution of positive numbers gives.
    #[error("{0} is not a finite number of at least 0")]
    Negative(f64),
    /// All numbers are one: every family shrinks to a point.
    #[error("all {count} numbers are {value}")]
    Constant {
        /// How many.
        count: u64,
        /// The value of them all.
        value: f64,
    },
    /// A clock that does not step shows a 0 only where two times are one, which no density explains.
    #[error("{0} of the numbers are 0, which this family has no density for")]
    Zeros(u64),
    /// Two exponentials vary more than one does.
    #[error("the numbers vary too little (coefficient of variation {0:.3}) for two exponentials")]
    TooEven(f64),
    /// The likelihood has no maximum that was found.
    #[error("the likelihood has no maximum within reach")]
    NoMaximum,
}

impl Observations {
    /// `step`: that of the clock, of which all numbers are multiples (they are moved to the nearest);
    /// 0 where it is finer than matters.
    ///
    /// # Errors
    /// If a number is negative or not finite, or there are none.
    pub fn new(numbers: &[f64], step: f64) -> Result<Observations, FitError> {
        if let Some(&bad) = numbers.iter().find(|x| !x.is_finite() || **x < 0.0) {
            return Err(FitError::Negative(bad));
        }
        let on_step = |x: f64| {
            if step > 0.0 { (x / step).round() * step } else { x }
        };
        let mut sorted: Vec<f64> = numbers.iter().map(|&x| on_step(x)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut values: Vec<(f64, u64)> = Vec::new();
        for x in sorted {
            match values.last_mut() {
                Some((last, count)) if *last == x => *count += 1,
                _ => values.push((x, 1)),
            }
        }
        if values.is_empty() {
            return Err(FitError::TooFew { count: 0, needed: 1 });
        }
        Ok(Observations { step, values, count: numbers.len() as u64 })
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Distinct values in order, with how often each was seen.
    pub fn values(&self) -> &[(f64, u64)] {
        &self.values
    }

    /// The clock's step; 0 for none.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.sum(|x| x) / self.count as f64
    }

    /// Standard deviation over mean.
    pub fn variation(&self) -> f64 {
        let mean = self.mean();
        (self.sum(|x| (x - mean).powi(2)) / self.count as f64).sqrt() / mean
    }

    fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.values.iter().map(|&(x, n)| f(x) * n as f64).sum()
    }
}

/// A parameter with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// As [`Family::parameters`] calls it.
    pub name: &'static str,
    /// The most likely value.
    pub value: f64,
    /// Lower bound of the interval; `None` if the likelihood is too flat or too narrow.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// A fitted distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedDistribution {
    /// Family of the distribution.
    pub family: Family,
    /// The most likely member of the family.
    pub distribution: Distribution,
    /// The parameters with intervals from the curvature of the likelihood, on the scale of logarithms.
    pub parameters: Vec<Parameter>,
    /// Logarithm of the likelihood at its maximum.
    pub log_likelihood: f64,
    /// Akaike's criterion (1974): the less the better.
    pub aic: f64,
}

/// The most likely member of a family, with intervals of this confidence.
///
/// # Errors
/// If there are too few numbers, or the family cannot have made them.
pub fn fit(
    family: Family,
    observed: &Observations,
    confidence: f64,
) -> Result<FittedDistribution, FitError> {
    let needed = 2 + family.parameters().len() as u64;
    if observed.count < needed {
        let count = observed.count;
        return Err(FitError::TooFew { count, needed });
    }
    if let [(value, count)] = observed.values[..] {
        return Err(FitError::Constant { count, value });
    }
    let zeros = observed.values[0];
    if observed.step == 0.0 && zeros.0 == 0.0 && family != Family::Exponential {
        return Err(FitError::Zeros(zeros.1));
    }
    if family == Family::Hyperexponential && observed.variation() < HYPER_VARIATION_MIN {
        return Err(FitError::TooEven(observed.variation()));
    }
    let start = distribution::start(family, observed);
    let at = maximum(family, observed, &start).ok_or(FitError::NoMaximum)?;
    let distribution = Distribution::from_unbounded(family, &at);
    let log_likelihood = -minus_log_likelihood(&distribution, observed);
    let parameters = intervals(family, observed, &at, confidence);
    Ok(FittedDistribution {
        family,
        distribution,
        parameters,
        log_likelihood,
        aic: 2.0 * at.len() as f64 - 2.0 * log_likelihood,
    })
}

/// The place of the maximum on the scale that [`Distribution::from_unbounded`] takes.
fn maximum(family: Family, observed: &Observations, start: &[f64]) -> Option<Vec<f64>> {
    if family == Family::Pareto && observed.step == 0.0 {
        // The likelihood rises with the scale up to the least number, where it ends.
        return Some(start.to_vec());
    }
    if family == Family::Pareto && observed.values[0].0 >= STEPS_SMOOTH * observed.step {
        let found = Edge::new(observed).maximum()?;
        return Some(vec![found.scale.ln(), found.shape.ln()]);
    }
    let loss =
        |at: &[f64]| minus_log_likelihood(&Distribution::from_unbounded(family, at), observed);
    // Among distributions that cannot have made the numbers there is no way down.
    let mut start = start.to_vec();
    for _ in 0..WIDENED_MAX {
        if loss(&start) < IMPOSSIBLE {
            break;
        }
        start = distribution::widened(family, &start)?;
    }
    let place = minimum(&start, loss);
    let found = place.iter().all(|x| x.is_finite()) && loss(&place) < IMPOSSIBLE;
    found.then_some(place)
}

fn minus_log_likelihood(distribution: &Distribution, observed: &Observations) -> f64 {
    let mut sum = 0.0;
    for &(x, count) in &observed.values {
        // Beside the least number there can be, the density is not that of its whole step.
        let exact_upto = (STEPS_EXACT * observed.step).max(distribution.least() + observed.step);
        let one = if observed.step > 0.0 && x < exact_upto {
            distribution.ln_shown(x, observed.step)
        } else {
            distribution.ln_density(x) + if observed.step > 0.0 { observed.step.ln() } else { 0.0 }
        };
        if one.is_nan() || one == f64::NEG_INFINITY {
            return IMPOSSIBLE;
        }
        sum -= one * count as f64;
    }
    sum.min(IMPOSSIBLE)
}

fn intervals(
    family: Family,
    observed: &Observations,
    at: &[f64],
    confidence: f64,
) -> Vec<Parameter> {
    let values = Distribution::parameters_from_unbounded(family, at);
    let z = normal_quantile(0.5 + confidence / 2.0);
    let n = observed.count as f64;
    let bounds: Vec<Option<(f64, f64)>> = if family == Family::Pareto && observed.step == 0.0 {
        // n · shape · ln(least / scale) is an exponential number, n · shape / its estimate an independent gamma
        // number of shape n − 1 (Malik 1970): n times the former over the latter has this quantile.
        let off = ((1.0 - confidence).powf(-1.0 / (n - 1.0)) - 1.0) / values[1];
        let wide = (z / n.sqrt()).exp();
        vec![
            Some((values[0] * (-off).exp(), values[0])),
            Some((values[1] / wide, values[1] * wide)),
        ]
    } else if family == Family::Pareto && !is_smooth(observed, &values) {
        let edge = Edge::new(observed);
        let place = edge.at(values[0], values[1]);
        vec![edge.scale_bounds(place, confidence), edge.shape_bounds(place, confidence)]
    } else {
        let curved = hessian(at, |at| {
            minus_log_likelihood(&Distribution::from_unbounded(family, at), observed)
        });
        let covariance = inverse(&curved);
        (0..at.len())
            .map(|i| {
                let name = family.parameters()[i];
                let error = error(covariance.as_ref()?, &gradient(family, at, i));
                let place = unbounded(name, values[i]);
                let bound = |by: f64| bounded(name, place + by * error);
                error.is_finite().then(|| (bound(-z), bound(z)))
            })
            .collect()
    };
    let names = family.parameters().iter();
    let all = names.zip(values).zip(bounds);
    all.map(|((name, value), bounds)| Parameter {
        name,
        value,
        low: bounds.map(|b| b.0),
        high: bounds.map(|b| b.1),
    })
    .collect()
}

/// Whether the likelihood of a Pareto distribution has second derivatives over its error, as others have.
fn is_smooth(observed: &Observations, values: &[f64]) -> bool {
    let in_step = observed.count as f64 * values[1] * observed.step / values[0];
    observed.values[0].0 < STEPS_SMOOTH * observed.step && in_step >= NUMBERS_SMOOTH
}

/// A parameter on the scale where its estimates are nearest to normal.
fn unbounded(name: &str, value: f64) -> f64 {
    match name {
        "share" => (value / (1.0 - value)).ln(),
        _ => value.ln(),
    }
}

/// The parameter at a place of that scale.
fn bounded(name: &str, place: f64) -> f64 {
    match name {
        "share" => 1.0 / (1.0 + (-place).exp()),
        _ => place.exp(),
    }
}

/// How the parameter, on its own scale, moves with each number of the place that [`Distribution::from_unbounded`] takes.
fn gradient(family: Family, at: &[f64], parameter: usize) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let name = family.parameters()[parameter];
    let moved = |number: usize, by: f64| {
        let mut moved = at.to_vec();
        moved[number] += by;
        unbounded(name, Distribution::parameters_from_unbounded(family, &moved)[parameter])
    };
    (0..at.len())
        .map(|number| (moved(number, STEP) - moved(number, -STEP)) / (2.0 * STEP))
        .collect()
}

/// The standard error of what moves with this gradient (the delta method); not a number where the
/// variance is negative.
fn error(covariance: &[Vec<f64>], gradient: &[f64]) -> f64 {
    let rows = covariance.iter().zip(gradient);
    let variance = rows.map(|(row, g)| {
        let along: f64 = row.iter().zip(gradient).map(|(v, h)| v * h).sum();
        g * along
    });
    variance.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests;
