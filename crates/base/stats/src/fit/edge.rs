//! The Pareto distribution of numbers that a clock showed in steps, which begins at a scale between two of them.
//!
//! If many numbers fall into the step where it begins, their shares locate the scale within that step, and the
//! likelihood is smooth. If few do, the least number locates it, as that of an exact clock does: n · shape ·
//! ln(least / scale) is an exponential number. Bounds are those where the likelihood, the other parameter being the
//! most likely one, has fallen by a threshold, which leads from one case to the other.

use std::ops::Range;

use super::{Distribution, Observations, STEPS_EXACT};
use crate::bracket::{self, border};
use crate::tail::normal_quantile;

/// Steps above the least number from which on the density replaces what a clock shows: the scale is below them.
const STEPS_OF_EDGE: f64 = 3.0;
/// Numbers in the step of the scale at which its threshold lies halfway between that of an exact clock and that of a
/// smooth likelihood: found by simulation, as are the levels in docs/modelling-reference.md.
const NUMBERS_HALFWAY: f64 = 2.0;
/// Halvings of a bracket, and how often a bracket may be doubled before.
const HALVINGS: u32 = 20;
const DOUBLINGS: u32 = 60;
/// To which share of a bracket a maximum is found: if its place matters, and if only its height does.
const FINE: f64 = 1e-7;
const ROUGH: f64 = 1e-4;
/// The logarithm of the shape is searched this far to both sides of a first guess.
const SHAPE_REACH: f64 = 2.5;

/// The likelihood of a sample by scale and shape.
pub(super) struct Edge<'o> {
    observed: &'o Observations,
    /// Distinct numbers whose shown probabilities are computed, with their counts.
    near: &'o [(f64, u64)],
    /// How many numbers are greater, and the sum of their logarithms.
    far: f64,
    far_logs: f64,
    /// Σ ln of all numbers, those below a third of a step as that.
    logs: f64,
}

/// A place of the likelihood.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) scale: f64,
    pub(super) shape: f64,
    ln_likelihood: f64,
}

impl<'o> Edge<'o> {
    /// The edge of numbers in steps.
    pub(super) fn new(observed: &'o Observations) -> Edge<'o> {
        let step = observed.step;
        let least = observed.values[0].0;
        let far_from = (STEPS_EXACT * step).max(least + STEPS_OF_EDGE * step);
        let place = observed.values.partition_point(|&(x, _)| x < far_from);
        let (near, far) = observed.values.split_at(place);
        let sum = |values: &[(f64, u64)]| -> f64 {
            let logs = values.iter();
            logs.map(|&(x, count)| x.max(step / 3.0).ln() * count as f64).sum()
        };
        Edge {
            observed,
            near,
            far: far.iter().map(|&(_, count)| count as f64).sum(),
            far_logs: sum(far),
            logs: sum(near) + sum(far),
        }
    }

    fn ln_likelihood(&self, scale: f64, shape: f64) -> f64 {
        let step = self.observed.step;
        let distribution = Distribution::Pareto { scale, shape };
        let near = self.near.iter();
        let near = near.map(|&(x, count)| distribution.ln_shown(x, step) * count as f64);
        let far = self.far * (shape.ln() + shape * scale.ln() + step.ln())
            - (shape + 1.0) * self.far_logs;
        let sum = near.sum::<f64>() + far;
        if sum.is_nan() { f64::NEG_INFINITY } else { sum }
    }

    /// The most likely shape for this scale.
    fn with_scale(&self, scale: f64, precision: f64) -> Estimate {
        let count = self.observed.count as f64;
        let guess = (count / (self.logs - count * scale.ln()).max(1e-6)).ln();
        let ln_likelihood = |ln_shape: f64| self.ln_likelihood(scale, ln_shape.exp());
        let reach = guess - SHAPE_REACH..guess + SHAPE_REACH;
        let shape = highest(reach, precision, ln_likelihood).exp();
        self.at(scale, shape)
    }

    /// The most likely scale for this shape. It is less than a step from the least number: further below, the
    /// likelihood rises with it.
    fn with_shape(&self, shape: f64) -> Estimate {
        let ln_likelihood = |scale: f64| self.ln_likelihood(scale, shape);
        let scale = highest(self.scales(), ROUGH, ln_likelihood);
        self.at(scale, shape)
    }

    fn scales(&self) -> Range<f64> {
        let least = self.observed.values[0].0;
        let step = self.observed.step;
        (least - step).max(step * 1e-6)..least + step
    }

    /// The place of the likelihood with this scale and shape.
    pub(super) fn at(&self, scale: f64, shape: f64) -> Estimate {
        Estimate { scale, shape, ln_likelihood: self.ln_likelihood(scale, shape) }
    }

    /// The maximum; `None` if the likelihood has none.
    pub(super) fn maximum(&self) -> Option<Estimate> {
        let ln_likelihood = |scale: f64| self.with_scale(scale, ROUGH).ln_likelihood;
        let scale = highest(self.scales(), FINE, ln_likelihood);
        let found = self.with_scale(scale, FINE);
        found.ln_likelihood.is_finite().then_some(found)
    }

    /// Bounds of the scale. The threshold of an exact clock includes that the shape is an estimate (Malik 1970:
    /// scale and shape are independent, gamma numbers both).
    pub(super) fn scale_bounds(&self, at: Estimate, confidence: f64) -> Option<(f64, f64)> {
        let count = self.observed.count as f64;
        let exact = -(1.0 - confidence).ln() * count / (count - 1.0);
        let smooth = smooth_threshold(confidence);
        let in_step = count * at.shape * self.observed.step / at.scale;
        let threshold = smooth + (exact - smooth) / (1.0 + in_step / NUMBERS_HALFWAY);
        let likely = |scale: f64| {
            self.with_scale(scale, ROUGH).ln_likelihood >= at.ln_likelihood - threshold
        };
        let high = border(at.scale, self.scales().end, HALVINGS, likely);
        let reach = (self.observed.step / at.scale).min(1.0 / count / at.shape);
        let below = unlikely(reach, |off| likely(at.scale * (-off).exp()))?;
        let low = border(0.0, below, HALVINGS, |off| likely(at.scale * (-off).exp()));
        Some((at.scale * (-low).exp(), high))
    }

    /// Bounds of the shape.
    pub(super) fn shape_bounds(&self, at: Estimate, confidence: f64) -> Option<(f64, f64)> {
        let threshold = smooth_threshold(confidence);
        let likely = |off: f64| {
            let place = self.with_shape(at.shape * off.exp());
            place.ln_likelihood >= at.ln_likelihood - threshold
        };
        let reach = 1.0 / (self.observed.count as f64).sqrt();
        let up = border(0.0, unlikely(reach, likely)?, HALVINGS, likely);
        let down = border(0.0, unlikely(reach, |off| likely(-off))?, HALVINGS, |off| likely(-off));
        Some((at.shape * (-down).exp(), at.shape * up.exp()))
    }
}

/// Half the quantile of χ² with one degree of freedom (Wilks 1938).
fn smooth_threshold(confidence: f64) -> f64 {
    let z = normal_quantile(0.5 + confidence / 2.0);
    z * z / 2.0
}

/// `reach` or the first of its doubles that is not likely.
fn unlikely(mut reach: f64, likely: impl Fn(f64) -> bool) -> Option<f64> {
    for _ in 0..DOUBLINGS {
        if !likely(reach) {
            return Some(reach);
        }
        reach *= 2.0;
    }
    None
}

/// The place of the maximum of a function with one peak, to this share of the bracket. The function may be −∞ on the
/// right, as the likelihood is for scales above the least number.
fn highest(bracket: Range<f64>, precision: f64, f: impl Fn(f64) -> f64) -> f64 {
    let width = bracket.end - bracket.start;
    bracket::least(bracket, width * precision, |at| -f(at))
}
