//! H of a series with a noise of known variance, such as counts: those of a Poisson process whose rate varies have
//! the rate's variance, and that of Poisson's distribution, which is their mean. The noise has the same power at all
//! frequencies. Estimates that take it for a part of the rate are drawn to 0.5.
//!
//! Power is taken for s + c · exp((2H − 1) x), if s is that of the noise and x the logarithm of a scale: of a
//! frequency the local Whittle estimate of Hurvich, Moulines and Soulier, "Estimating long memory in volatility"
//! (Econometrica 73, 2005), whose noise is unknown; of an octave the same likelihood of squared details.

use super::{Estimate, NoEstimate, SEARCHED};
use crate::bracket;
use crate::tail::normal_quantile;

/// Half the span of ln c that is searched, about the level of the powers.
const LEVELS: f64 = 25.0;
const LEVEL_PRECISION: f64 = 1e-3;
const H_PRECISION: f64 = 1e-5;
/// Greatest H of a series that is stationary.
const STATIONARY_MAX: f64 = 0.999;
/// Halvings of a bracket.
const HALVINGS: u32 = 16;
/// Steps at which a bound is looked for.
const BOUND_STEP: f64 = 0.02;

/// The power at a scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Power {
    /// Logarithm of the scale.
    pub(super) log: f64,
    /// Half the number of squares whose mean it is.
    pub(super) weight: f64,
    /// Mean square.
    pub(super) power: f64,
}

/// Powers above a noise of this power, which is above 0.
pub(super) struct Noisy<'p> {
    powers: &'p [Power],
    noise: f64,
}

/// An H with its level.
struct Fit {
    h: f64,
    /// The power without noise at the mean scale.
    level: f64,
    loss: f64,
}

impl<'p> Noisy<'p> {
    pub(super) fn new(powers: &'p [Power], noise: f64) -> Noisy<'p> {
        Noisy { powers, noise }
    }

    /// Less the logarithm of the likelihood: powers are gamma numbers whose means `expected` gives.
    fn loss(&self, expected: impl Fn(usize) -> f64) -> f64 {
        let powers = self.powers.iter().enumerate();
        let terms = powers.map(|(place, one)| {
            let mean = expected(place);
            one.weight * (mean.ln() + one.power / mean)
        });
        terms.sum()
    }

    fn middle(&self) -> f64 {
        self.powers.iter().map(|one| one.log).sum::<f64>() / self.powers.len() as f64
    }

    /// The most likely level for this H.
    fn with_h(&self, h: f64) -> Fit {
        let middle = self.middle();
        let powers = self.powers.iter();
        let shape: Vec<f64> =
            powers.map(|one| ((2.0 * h - 1.0) * (one.log - middle)).exp()).collect();
        let weights: f64 = self.powers.iter().map(|one| one.weight).sum();
        let ratios = self.powers.iter().zip(&shape);
        let ratios = ratios.map(|(one, shape)| one.weight * one.power / shape);
        let highest = (ratios.sum::<f64>() / weights).max(f64::MIN_POSITIVE).ln() + 1.0;
        let loss = |level: f64| self.loss(|place| self.noise + level.exp() * shape[place]);
        let level = bracket::least(highest - LEVELS..highest, LEVEL_PRECISION, loss);
        Fit { h, level: level.exp(), loss: loss(level) }
    }

    /// H with the bounds between which the likelihood, the level being the most likely one, has not fallen more than
    /// χ² lets it (Wilks 1938).
    ///
    /// # Errors
    /// [`NoEstimate::Noise`] if the noise alone is not less likely than that: each H is possible.
    pub(super) fn estimate(&self, confidence: f64) -> Result<Estimate, NoEstimate> {
        let z = normal_quantile(0.5 + confidence / 2.0);
        let loss = |h: f64| self.with_h(h).loss;
        let h = bracket::least(SEARCHED, H_PRECISION, loss);
        let limit = loss(h) + z * z / 2.0;
        if self.loss(|_| self.noise) <= limit {
            return Err(NoEstimate::Noise);
        }
        let bound = |end: f64| {
            let mut inside = h;
            while (end - inside).abs() > BOUND_STEP {
                let next = inside + BOUND_STEP.copysign(end - h);
                if loss(next) > limit {
                    return bracket::border(inside, next, HALVINGS, |at| loss(at) <= limit);
                }
                inside = next;
            }
            end
        };
        let low = bound(SEARCHED.start);
        let high = bound(SEARCHED.end);
        Ok(Estimate {
            // The most likely one of a stationary series, if it can be one.
            h: match low < STATIONARY_MAX {
                true => h.min(STATIONARY_MAX),
                false => h,
            },
            low: Some(low),
            high: Some(high),
        })
    }

    /// How far the powers are from their means: the deviance, χ² with two degrees of freedom less than powers.
    pub(super) fn deviance(&self, h: f64) -> f64 {
        let fit = self.with_h(h);
        let middle = self.middle();
        let terms = self.powers.iter().map(|one| {
            let shape = ((2.0 * fit.h - 1.0) * (one.log - middle)).exp();
            let ratio = one.power / (self.noise + fit.level * shape);
            2.0 * one.weight * (ratio - 1.0 - ratio.ln())
        });
        terms.sum()
    }
}
