//! Distribution functions and means in closed form.

use libm::{erfc, tgamma};

use super::Dist;
use crate::special::gamma_p;

impl Dist {
    /// The mean; infinite for a Pareto distribution with shape at or below 1.
    pub fn mean(&self) -> f64 {
        match self {
            Dist::Constant(value) => *value,
            Dist::Uniform { min, max } => min + (max - min) / 2.0,
            Dist::Exponential { mean } | Dist::Normal { mean, .. } => *mean,
            Dist::LogNormal { mu, sigma } => (mu + sigma * sigma / 2.0).exp(),
            Dist::Weibull { scale, shape } => scale * tgamma(1.0 + 1.0 / shape),
            Dist::Pareto { scale, shape } if *shape > 1.0 => scale * shape / (shape - 1.0),
            Dist::Pareto { .. } => f64::INFINITY,
            Dist::Gamma { shape, scale } => shape * scale,
            Dist::Empirical(values) => values.iter().sum::<f64>() / values.len() as f64,
            Dist::Mixture(parts) => weighted(parts, Dist::mean),
            Dist::Clamped { inner, min, max } => inner.clamped_mean(*min, *max),
        }
    }

    /// The distribution function: the probability of a number at or below `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        match self {
            Dist::Constant(value) => f64::from(*value <= x),
            Dist::Uniform { min, max } if min < max => ((x - min) / (max - min)).clamp(0.0, 1.0),
            Dist::Uniform { min, .. } => f64::from(*min <= x),
            Dist::Exponential { mean } => -(-x.max(0.0) / mean).exp_m1(),
            Dist::Normal { mean, sd } => normal_cdf(x - mean, *sd),
            Dist::LogNormal { mu, sigma } if x > 0.0 => normal_cdf(x.ln() - mu, *sigma),
            Dist::LogNormal { .. } => 0.0,
            Dist::Weibull { scale, shape } => -(-(x.max(0.0) / scale).powf(*shape)).exp_m1(),
            Dist::Pareto { scale, shape } if x > *scale => 1.0 - (scale / x).powf(*shape),
            Dist::Pareto { .. } => 0.0,
            Dist::Gamma { shape, scale } => gamma_p(*shape, x / scale),
            Dist::Empirical(values) => {
                values.iter().filter(|&&value| value <= x).count() as f64 / values.len() as f64
            }
            Dist::Mixture(parts) => weighted(parts, |part| part.cdf(x)),
            Dist::Clamped { min, .. } if x < *min => 0.0,
            Dist::Clamped { max, .. } if x >= *max => 1.0,
            Dist::Clamped { inner, .. } => inner.cdf(x),
        }
    }

    /// The mean of a draw moved into `[a, b]`.
    fn clamped_mean(&self, a: f64, b: f64) -> f64 {
        match self {
            Dist::Empirical(values) => {
                values.iter().map(|value| value.clamp(a, b)).sum::<f64>() / values.len() as f64
            }
            Dist::Mixture(parts) => weighted(parts, |part| part.clamped_mean(a, b)),
            Dist::Clamped { inner, min, max } => {
                inner.clamped_mean(min.clamp(a, b), max.clamp(a, b))
            }
            _ => {
                // E = a·P(X ≤ a) + E[X; a < X ≤ b] + b·P(X > b), without the terms of no bound.
                let below = if a == f64::NEG_INFINITY { 0.0 } else { a * self.cdf(a) };
                let above = if b == f64::INFINITY { 0.0 } else { b * (1.0 - self.cdf(b)) };
                below + above + self.partial_mean(b) - self.partial_mean(a)
            }
        }
    }

    /// E\[X; X ≤ t\]: the part of the mean that numbers at or below `t` make.
    fn partial_mean(&self, t: f64) -> f64 {
        if t == f64::INFINITY {
            return self.mean();
        }
        if t == f64::NEG_INFINITY {
            return 0.0;
        }
        match self {
            Dist::Uniform { min, max } if min < max => {
                let t = t.clamp(*min, *max);
                (t - min) * (t + min) / (2.0 * (max - min))
            }
            Dist::Exponential { mean } => mean * gamma_p(2.0, t / mean),
            Dist::Normal { mean, sd } if *sd > 0.0 => {
                let z = (t - mean) / sd;
                mean * self.cdf(t) - sd * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
            }
            Dist::LogNormal { mu, sigma } if t > 0.0 => {
                self.mean() * normal_cdf(t.ln() - mu - sigma * sigma, *sigma)
            }
            Dist::Weibull { scale, shape } => {
                self.mean() * gamma_p(1.0 + 1.0 / shape, (t.max(0.0) / scale).powf(*shape))
            }
            Dist::Pareto { scale, shape } => pareto_partial_mean(*scale, *shape, t),
            Dist::Gamma { shape, scale } => self.mean() * gamma_p(shape + 1.0, t / scale),
            // What is left is a single number, or nothing.
            _ => {
                if self.cdf(t) > 0.0 {
                    self.mean()
                } else {
                    0.0
                }
            }
        }
    }
}

fn pareto_partial_mean(scale: f64, shape: f64, t: f64) -> f64 {
    let ratio = (t / scale).max(1.0);
    if shape == 1.0 {
        return scale * ratio.ln();
    }
    scale * shape / (shape - 1.0) * (1.0 - ratio.powf(1.0 - shape))
}

/// The distribution function at `distance` from the mean.
fn normal_cdf(distance: f64, sd: f64) -> f64 {
    if sd == 0.0 {
        return f64::from(distance >= 0.0);
    }
    erfc(-distance / sd / std::f64::consts::SQRT_2) / 2.0
}

fn weighted(parts: &[(f64, Dist)], figure: impl Fn(&Dist) -> f64) -> f64 {
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let shares = parts.iter().filter(|(weight, _)| *weight > 0.0);
    shares.map(|(weight, part)| weight / total * figure(part)).sum()
}
