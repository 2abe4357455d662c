//! Distributions to sample from.

use std::sync::Arc;

/// A distribution of real numbers. Durations are in seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Dist {
    Constant(f64),
    /// On `[min, max)`.
    Uniform { min: f64, max: f64 },
    Exponential { mean: f64 },
    Normal { mean: f64, sd: f64 },
    /// Parameters of the logarithm.
    LogNormal { mu: f64, sigma: f64 },
    Weibull { scale: f64, shape: f64 },
    /// Type I: `scale` is the least value.
    Pareto { scale: f64, shape: f64 },
    Gamma { shape: f64, scale: f64 },
    /// Draws one of the values, all alike likely.
    Empirical(Arc<[f64]>),
    /// Draws one of the parts with probability in proportion to its weight, then from it.
    Mixture(Arc<[(f64, Dist)]>),
    /// The inner draw moved to the nearer bound where it lies outside.
    Clamped { inner: Arc<Dist>, min: f64, max: f64 },
}
