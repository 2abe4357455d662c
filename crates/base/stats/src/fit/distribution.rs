//! The distributions: their functions, their parameters on a scale without bounds, and where to begin.

use std::sync::Arc;

use libm::{erfc, lgamma, tgamma};

use super::{Family, Observations, STEPS_EXACT};
use crate::dist::Dist;
use crate::special::gamma_p;

/// A second difference below this share of what it is the difference of is mostly rounding.
const CANCELLED: f64 = 1e-9;
/// Gauss's and Legendre's nodes above 0 with their weights, for eight points on −1..1.
const LEGENDRE: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// A distribution with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// F(x) = 1 − exp(−x / mean).
    Exponential {
        /// > 0.
        mean: f64,
    },
    /// F(x) = 1 − exp(−(x / scale)^shape).
    Weibull {
        /// > 0.
        scale: f64,
        /// > 0.
        shape: f64,
    },
    /// Parameters of the logarithm.
    Lognormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm, > 0.
        sigma: f64,
    },
    /// F(x) = 1 − (scale / x)^shape.
    Pareto {
        /// The least value, > 0.
        scale: f64,
        /// > 0.
        shape: f64,
    },
    /// Mean shape · scale.
    Gamma {
        /// > 0.
        shape: f64,
        /// > 0.
        scale: f64,
    },
    /// Exponential with the first mean, with probability `share`, else with the other.
    Hyperexponential {
        /// In `0..=1`.
        share: f64,
        /// The smaller of the means, > 0.
        mean: f64,
        /// The greater, > 0.
        other_mean: f64,
    },
}

impl Distribution {
    /// The distribution whose parameters stand at this place of a space without bounds: logarithms of what is
    /// above 0, the logit of a share.
    pub(super) fn from_unbounded(family: Family, at: &[f64]) -> Distribution {
        match family {
            Family::Exponential => Distribution::Exponential { mean: at[0].exp() },
            Family::Weibull => Distribution::Weibull { scale: at[0].exp(), shape: at[1].exp() },
            Family::Lognormal => Distribution::Lognormal { mu: at[0], sigma: at[1].exp() },
            Family::Pareto => Distribution::Pareto { scale: at[0].exp(), shape: at[1].exp() },
            Family::Gamma => {
                Distribution::Gamma { shape: at[1].exp(), scale: (at[0] - at[1]).exp() }
            }
            Family::Hyperexponential => Distribution::Hyperexponential {
                share: 1.0 / (1.0 + (-at[0]).exp()),
                mean: at[1].exp(),
                other_mean: at[1].exp() + at[2].exp(),
            },
        }
    }

    /// The distribution of a family whose parameters, as [`Family::parameters`] names them, have these values;
    /// `None` where they are too few, or there is no such distribution.
    pub fn from_parameters(family: Family, values: &[f64]) -> Option<Distribution> {
        let above = |place: usize| values.get(place).copied().filter(|x| *x > 0.0 && x.is_finite());
        Some(match family {
            Family::Exponential => Distribution::Exponential { mean: above(0)? },
            Family::Weibull => Distribution::Weibull { scale: above(0)?, shape: above(1)? },
            Family::Lognormal => Distribution::Lognormal { mu: above(0)?.ln(), sigma: above(1)? },
            Family::Pareto => Distribution::Pareto { scale: above(0)?, shape: above(1)? },
            Family::Gamma => Distribution::Gamma { shape: above(1)?, scale: above(0)? / above(1)? },
            Family::Hyperexponential => Distribution::Hyperexponential {
                share: *values.first().filter(|share| (0.0..=1.0).contains(*share))?,
                mean: above(1)?,
                other_mean: above(2)?,
            },
        })
    }

    /// The parameters as [`Family::parameters`] names them, from the place of [`Distribution::from_unbounded`].
    pub(super) fn parameters_from_unbounded(family: Family, at: &[f64]) -> Vec<f64> {
        match Distribution::from_unbounded(family, at) {
            Distribution::Exponential { mean } => vec![mean],
            Distribution::Weibull { scale, shape } | Distribution::Pareto { scale, shape } => {
                vec![scale, shape]
            }
            Distribution::Lognormal { mu, sigma } => vec![mu.exp(), sigma],
            Distribution::Gamma { shape, scale } => vec![shape * scale, shape],
            Distribution::Hyperexponential { share, mean, other_mean } => {
                vec![share, mean, other_mean]
            }
        }
    }

    /// The distribution to draw from.
    pub fn dist(&self) -> Dist {
        match *self {
            Distribution::Exponential { mean } => Dist::Exponential { mean },
            Distribution::Weibull { scale, shape } => Dist::Weibull { scale, shape },
            Distribution::Lognormal { mu, sigma } => Dist::LogNormal { mu, sigma },
            Distribution::Pareto { scale, shape } => Dist::Pareto { scale, shape },
            Distribution::Gamma { shape, scale } => Dist::Gamma { shape, scale },
            Distribution::Hyperexponential { share, mean, other_mean } => {
                Dist::Mixture(Arc::new([
                    (share, Dist::Exponential { mean }),
                    (1.0 - share, Dist::Exponential { mean: other_mean }),
                ]))
            }
        }
    }

    /// The mean; infinite for a Pareto distribution of shape 1 or less.
    pub fn mean(&self) -> f64 {
        match *self {
            Distribution::Exponential { mean } => mean,
            Distribution::Weibull { scale, shape } => scale * tgamma(1.0 + 1.0 / shape),
            Distribution::Lognormal { mu, sigma } => (mu + sigma * sigma / 2.0).exp(),
            Distribution::Pareto { scale, shape } if shape > 1.0 => scale * shape / (shape - 1.0),
            Distribution::Pareto { .. } => f64::INFINITY,
            Distribution::Gamma { shape, scale } => shape * scale,
            Distribution::Hyperexponential { share, mean, other_mean } => {
                share * mean + (1.0 - share) * other_mean
            }
        }
    }

    /// F(x).
    pub fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        match *self {
            Distribution::Exponential { mean } => -(-x / mean).exp_m1(),
            Distribution::Weibull { scale, shape } => -(-(x / scale).powf(shape)).exp_m1(),
            Distribution::Lognormal { mu, sigma } => phi((x.ln() - mu) / sigma),
            Distribution::Pareto { scale, .. } if x <= scale => 0.0,
            Distribution::Pareto { scale, shape } => 1.0 - (scale / x).powf(shape),
            Distribution::Gamma { shape, scale } => gamma_p(shape, x / scale),
            Distribution::Hyperexponential { share, mean, other_mean } => {
                -share * (-x / mean).exp_m1() - (1.0 - share) * (-x / other_mean).exp_m1()
            }
        }
    }

    /// ln f(x); −∞ where there is no density.
    pub(super) fn ln_density(&self, x: f64) -> f64 {
        match *self {
            Distribution::Exponential { mean } => -mean.ln() - x / mean,
            Distribution::Weibull { scale, shape } => {
                let ratio = x / scale;
                (shape / scale).ln() + (shape - 1.0) * ratio.ln() - ratio.powf(shape)
            }
            Distribution::Lognormal { mu, sigma } => {
                let z = (x.ln() - mu) / sigma;
                -x.ln() - sigma.ln() - 0.5 * (std::f64::consts::TAU.ln() + z * z)
            }
            Distribution::Pareto { scale, .. } if x < scale * (1.0 - 1e-12) => f64::NEG_INFINITY,
            Distribution::Pareto { scale, shape } => {
                shape.ln() + shape * scale.ln() - (shape + 1.0) * x.ln()
            }
            Distribution::Gamma { shape, scale } => {
                (shape - 1.0) * x.ln() - x / scale - lgamma(shape) - shape * scale.ln()
            }
            Distribution::Hyperexponential { share, mean, other_mean } => {
                // The greater one is taken out of the sum: far out both are below what a number can be.
                let one = (share / mean).ln() - x / mean;
                let other = ((1.0 - share) / other_mean).ln() - x / other_mean;
                let greater = one.max(other);
                let less = one.min(other);
                greater + (less - greater).exp().ln_1p()
            }
        }
    }

    /// ln P(a clock with this step shows `x`), a multiple of it, for a number of this distribution; −∞ where it cannot.
    pub(super) fn ln_shown(&self, x: f64, step: f64) -> f64 {
        if x >= STEPS_EXACT * step {
            // The integrals' difference is mostly rounding.
            return self.ln_shown_by_density(x, step);
        }
        let upto = self.integral(x + step);
        let before = if x > 0.0 { self.integral(x - step) } else { 0.0 };
        let difference = upto - 2.0 * self.integral(x) + before;
        // Far out the integrals are nearly alike, and what is left of their difference is rounding. Of the first
        // two steps nothing cancels, and the density may have no bound there.
        if x > 1.5 * step && difference < CANCELLED * upto {
            self.ln_shown_by_density(x, step)
        } else {
            (difference / step).ln()
        }
    }

    /// The same by the density: ∫ f(x + t) (1 − |t| / step) dt over a step to both sides, as far as numbers can be.
    fn ln_shown_by_density(&self, x: f64, step: f64) -> f64 {
        let least = (self.least() - x).clamp(-step, step);
        let mut terms = [f64::NEG_INFINITY; 4 * LEGENDRE.len()];
        let sides = [(least.min(0.0), 0.0), (least.max(0.0), step)];
        for (terms, (from, upto)) in terms.chunks_exact_mut(2 * LEGENDRE.len()).zip(sides) {
            let half = (upto - from) / 2.0;
            let places =
                LEGENDRE.iter().flat_map(|&(node, weight)| [(-node, weight), (node, weight)]);
            for (term, (node, weight)) in terms.iter_mut().zip(places) {
                let away = from + half * (1.0 + node);
                let share = half * weight * (1.0 - away.abs() / step);
                *term = share.ln() + self.ln_density(x + away);
            }
        }
        let greatest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if greatest == f64::NEG_INFINITY {
            return greatest;
        }
        let sum: f64 = terms.iter().map(|term| (term - greatest).exp()).sum();
        greatest + sum.ln()
    }

    /// The least possible number.
    pub(super) fn least(&self) -> f64 {
        match *self {
            Distribution::Pareto { scale, .. } => scale,
            _ => 0.0,
        }
    }

    /// P(a clock with this step shows `x` or less).
    pub fn shown_upto(&self, x: f64, step: f64) -> f64 {
        ((self.integral(x + step) - self.integral(x)) / step).clamp(0.0, 1.0)
    }

    /// The mean of numbers of this distribution of which what is above `most` counts as that.
    pub fn mean_upto(&self, most: f64) -> f64 {
        most - self.integral(most)
    }

    /// ∫₀ˣ F = x F(x) − E[X; X ≤ x].
    fn integral(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        let exponential = |mean: f64| x + mean * (-x / mean).exp_m1();
        match *self {
            Distribution::Exponential { mean } => exponential(mean),
            Distribution::Weibull { scale, shape } => {
                let below = gamma_p(1.0 + 1.0 / shape, (x / scale).powf(shape));
                x * self.cdf(x) - scale * tgamma(1.0 + 1.0 / shape) * below
            }
            Distribution::Lognormal { mu, sigma } => {
                let z = (x.ln() - mu) / sigma;
                x * phi(z) - (mu + sigma * sigma / 2.0).exp() * phi(z - sigma)
            }
            Distribution::Pareto { scale, .. } if x <= scale => 0.0,
            Distribution::Pareto { scale, shape } => {
                // E[X; X ≤ x]; near shape 1 its two terms cancel, and the limit is a logarithm.
                let log = (x / scale).ln();
                let off = shape - 1.0;
                let ratio =
                    if (off * log).abs() < 1e-8 { log } else { -(-off * log).exp_m1() / off };
                x * self.cdf(x) - shape * scale * ratio
            }
            Distribution::Gamma { shape, scale } => {
                x * self.cdf(x) - shape * scale * gamma_p(shape + 1.0, x / scale)
            }
            Distribution::Hyperexponential { share, mean, other_mean } => {
                share * exponential(mean) + (1.0 - share) * exponential(other_mean)
            }
        }
    }
}

/// Gauss's distribution function.
fn phi(z: f64) -> f64 {
    0.5 * erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// A place whose distribution spreads twice as far, or has a heavier tail; `None` where the family has no such parameter.
pub(super) fn widened(family: Family, at: &[f64]) -> Option<Vec<f64>> {
    let by = match family {
        Family::Weibull | Family::Gamma | Family::Pareto => -std::f64::consts::LN_2,
        Family::Lognormal => std::f64::consts::LN_2,
        Family::Exponential | Family::Hyperexponential => return None,
    };
    let mut wide = at.to_vec();
    wide[1] += by;
    Some(wide)
}

/// The start of the search: by moments, or the maximum itself if it is known in closed form.
pub(super) fn start(family: Family, observed: &Observations) -> Vec<f64> {
    // What was shown as 0 was something below a step.
    let least = if observed.step > 0.0 { observed.step / 3.0 } else { f64::MIN_POSITIVE };
    let n = observed.count as f64;
    let mean = observed.mean().max(least);
    let logs = observed.sum(|x| x.max(least).ln()) / n;
    let spread = (observed.sum(|x| (x.max(least).ln() - logs).powi(2)) / n).sqrt();
    let spread = spread.max(1e-3);
    match family {
        Family::Exponential => vec![mean.ln()],
        Family::Weibull => {
            // The logarithm of a Weibull number has the deviation π / (√6 shape).
            let shape = std::f64::consts::PI / 6.0_f64.sqrt() / spread;
            vec![(logs + 0.5772 / shape), shape.ln()]
        }
        Family::Lognormal => vec![logs, spread.ln()],
        Family::Pareto => {
            let scale = observed.values[0].0.max(least);
            let shape = 1.0 / (logs - scale.ln()).max(1e-6);
            vec![scale.ln(), shape.ln()]
        }
        Family::Gamma => {
            // Minka, "Estimating a Gamma distribution" (2002): the first guess.
            let s = (mean.ln() - logs).max(1e-6);
            let shape = (3.0 - s + ((s - 3.0).powi(2) + 24.0 * s).sqrt()) / (12.0 * s);
            vec![mean.ln(), shape.ln()]
        }
        Family::Hyperexponential => {
            // Two moments with balanced means (Whitt 1982).
            let variation = observed.variation().powi(2);
            let share = 0.5 * (1.0 + ((variation - 1.0) / (variation + 1.0)).sqrt());
            let small = mean / 2.0 / share;
            let great = mean / 2.0 / (1.0 - share);
            vec![(share / (1.0 - share)).ln(), small.ln(), (great - small).ln()]
        }
    }
}
