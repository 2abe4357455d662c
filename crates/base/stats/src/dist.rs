//! Distributions to sample from.

use std::sync::Arc;

use rand_distr::{Distribution, Gamma, StandardNormal};

use crate::rng::Rng;

mod moments;

/// A distribution of real numbers. Durations are in seconds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum Dist {
    /// Always this number.
    Constant(f64),
    /// On `[min, max)`.
    Uniform {
        /// Least number.
        min: f64,
        /// All numbers are below it; where it equals `min`, all numbers are `min`.
        max: f64,
    },
    /// Gaps of a Poisson process.
    Exponential {
        /// Mean, > 0.
        mean: f64,
    },
    /// Gauss's.
    Normal {
        /// Mean of the numbers.
        mean: f64,
        /// Standard deviation, ≥ 0.
        sd: f64,
    },
    /// Parameters of the logarithm.
    LogNormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm, ≥ 0.
        sigma: f64,
    },
    /// F(x) = 1 − exp(−(x / scale)^shape).
    Weibull {
        /// The 63.2 % quantile, > 0.
        scale: f64,
        /// Below 1 the tail is heavy; > 0.
        shape: f64,
    },
    /// Type I: F(x) = 1 − (scale / x)^shape.
    Pareto {
        /// The least value, > 0.
        scale: f64,
        /// The tail's exponent, > 0; at or below 1 the mean is infinite.
        shape: f64,
    },
    /// The sum of `shape` exponential gaps, for any real `shape`.
    Gamma {
        /// > 0.
        shape: f64,
        /// Mean divided by shape, > 0.
        scale: f64,
    },
    /// Draws one of the values, all alike likely.
    Empirical(Arc<[f64]>),
    /// Draws one of the parts with probability in proportion to its weight, then from it.
    Mixture(Arc<[(f64, Dist)]>),
    /// The inner draw moved to the nearer bound where it lies outside.
    Clamped {
        /// The distribution that is clamped.
        inner: Arc<Dist>,
        /// Least number; −∞ for none.
        min: f64,
        /// Greatest number; ∞ for none.
        max: f64,
    },
}

/// A problem with a distribution's parameters.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DistError {
    /// A parameter lies outside of its range.
    #[error("{dist}: {parameter} must be {expected}, not {value}")]
    Parameter {
        /// The distribution, in small letters.
        dist: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// The condition that it must meet.
        expected: &'static str,
        /// Value as given.
        value: f64,
    },
    /// The least number lies above the greatest.
    #[error("{dist}: min must be at most max, but {min} is above {max}")]
    Order {
        /// The distribution, in small letters.
        dist: &'static str,
        /// As given.
        min: f64,
        /// As given.
        max: f64,
    },
    /// No value to draw, or no part with a weight.
    #[error("{dist}: needs at least one {needs}")]
    Empty {
        /// The distribution, in small letters.
        dist: &'static str,
        /// The missing part.
        needs: &'static str,
    },
}

impl Dist {
    /// Draws a number. The same stream at the same place gives the same number. Only for
    /// parameters that [`validate`](Self::validate) accepts; else the result means nothing.
    ///
    /// # Panics
    /// If `validate` would refuse a gamma, empirical or clamped distribution or a mixture.
    pub fn sample(&self, rng: &mut Rng) -> f64 {
        match self {
            Dist::Constant(value) => *value,
            Dist::Uniform { min, max } => uniform(*min, *max, rng.unit()),
            Dist::Exponential { mean } => mean * exponential(rng),
            Dist::Normal { mean, sd } => mean + sd * normal(rng),
            Dist::LogNormal { mu, sigma } => (mu + sigma * normal(rng)).exp(),
            Dist::Weibull { scale, shape } => scale * exponential(rng).powf(1.0 / shape),
            Dist::Pareto { scale, shape } => scale * (exponential(rng) / shape).exp(),
            Dist::Gamma { shape, scale } => Gamma::new(*shape, *scale)
                .expect("validate() lets only positive, finite parameters pass")
                .sample(rng),
            Dist::Empirical(values) => values[rng.below(values.len() as u64) as usize],
            Dist::Mixture(parts) => pick(parts, rng.unit()).sample(rng),
            Dist::Clamped { inner, min, max } => inner.sample(rng).clamp(*min, *max),
        }
    }

    /// Checks the parameters, those of inner distributions too.
    ///
    /// # Errors
    /// The first parameter that is not what it must be.
    pub fn validate(&self) -> Result<(), DistError> {
        match self {
            Dist::Constant(value) => finite("constant", "value", *value),
            Dist::Uniform { min, max } => {
                finite("uniform", "min", *min)?;
                finite("uniform", "max", *max)?;
                ordered("uniform", *min, *max)
            }
            Dist::Exponential { mean } => positive("exponential", "mean", *mean),
            Dist::Normal { mean, sd } => {
                finite("normal", "mean", *mean)?;
                not_negative("normal", "sd", *sd)
            }
            Dist::LogNormal { mu, sigma } => {
                finite("lognormal", "mu", *mu)?;
                not_negative("lognormal", "sigma", *sigma)
            }
            Dist::Weibull { scale, shape } => {
                positive("weibull", "scale", *scale)?;
                positive("weibull", "shape", *shape)
            }
            Dist::Pareto { scale, shape } => {
                positive("pareto", "scale", *scale)?;
                positive("pareto", "shape", *shape)
            }
            Dist::Gamma { shape, scale } => {
                positive("gamma", "shape", *shape)?;
                positive("gamma", "scale", *scale)
            }
            Dist::Empirical(values) => validate_empirical(values),
            Dist::Mixture(parts) => validate_mixture(parts),
            Dist::Clamped { inner, min, max } => {
                not_nan("clamp", "min", *min)?;
                not_nan("clamp", "max", *max)?;
                ordered("clamp", *min, *max)?;
                inner.validate()
            }
        }
    }
}

/// `min + unit · (max − min)`, kept below `max` where rounding would reach it.
fn uniform(min: f64, max: f64, unit: f64) -> f64 {
    let value = min + unit * (max - min);
    if value < max { value } else { min.max(max.next_down()) }
}

/// Exponential with mean 1, by inversion: one draw, never infinite.
fn exponential(rng: &mut Rng) -> f64 {
    -(-rng.unit()).ln_1p()
}

fn normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// The part in whose share of the whole weight `unit` falls.
fn pick(parts: &[(f64, Dist)], unit: f64) -> &Dist {
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let mut left = unit * total;
    for (weight, part) in parts {
        if left < *weight {
            return part;
        }
        left -= weight;
    }
    // Rounding may leave a trifle: it belongs to the last part that has a weight.
    let last = parts.iter().rfind(|(weight, _)| *weight > 0.0);
    &last.expect("validate() lets only mixtures with a positive weight pass").1
}

fn validate_empirical(values: &[f64]) -> Result<(), DistError> {
    if values.is_empty() {
        return Err(DistError::Empty { dist: "empirical", needs: "value" });
    }
    values.iter().try_for_each(|&value| finite("empirical", "value", value))
}

fn validate_mixture(parts: &[(f64, Dist)]) -> Result<(), DistError> {
    for (weight, part) in parts {
        not_negative("mixture", "weight", *weight)?;
        part.validate()?;
    }
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    if total == 0.0 {
        return Err(DistError::Empty { dist: "mixture", needs: "part with a positive weight" });
    }
    finite("mixture", "sum of weights", total)
}

fn finite(dist: &'static str, parameter: &'static str, value: f64) -> Result<(), DistError> {
    require(value.is_finite(), dist, parameter, "finite", value)
}

fn positive(dist: &'static str, parameter: &'static str, value: f64) -> Result<(), DistError> {
    let holds = value.is_finite() && value > 0.0;
    require(holds, dist, parameter, "finite and above 0", value)
}

fn not_negative(dist: &'static str, parameter: &'static str, value: f64) -> Result<(), DistError> {
    let holds = value.is_finite() && value >= 0.0;
    require(holds, dist, parameter, "finite and at least 0", value)
}

fn not_nan(dist: &'static str, parameter: &'static str, value: f64) -> Result<(), DistError> {
    require(!value.is_nan(), dist, parameter, "a number", value)
}

fn require(
    holds: bool,
    dist: &'static str,
    parameter: &'static str,
    expected: &'static str,
    value: f64,
) -> Result<(), DistError> {
    if holds { Ok(()) } else { Err(DistError::Parameter { dist, parameter, expected, value }) }
}

fn ordered(dist: &'static str, min: f64, max: f64) -> Result<(), DistError> {
    if min <= max { Ok(()) } else { Err(DistError::Order { dist, min, max }) }
}

#[cfg(test)]
mod tests;
