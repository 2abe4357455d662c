//! Empirical distribution functions on a common grid, so that samples are compared bin by bin.

use crate::sample::{Sample, SampleError};
use crate::spline::{Kind, Spline};

/// Points at equal distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// The first one, a multiple of `step`.
    pub start: f64,
    /// From one to the next, > 0.
    pub step: f64,
    /// How many.
    pub points: usize,
}

/// A grid of more points than this is refused.
const POINTS_MAX: f64 = 10_000_000.0;

/// Why there is no grid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum GridError {
    /// The range is too wide for the step, or the step is no width.
    #[error("bins of {step} from {min} to {max} would be more than {POINTS_MAX}: take wider ones")]
    TooFine {
        /// The step.
        step: f64,
        /// The least number.
        min: f64,
        /// The greatest.
        max: f64,
    },
}

impl Grid {
    /// The multiples of `step` that enclose all of the samples.
    ///
    /// # Errors
    /// If that would be more than 10,000,000 points, or `step` is not above 0.
    pub fn enclosing(samples: &[&Sample], step: f64) -> Result<Grid, GridError> {
        let min = samples.iter().map(|s| s.min()).fold(f64::INFINITY, f64::min);
        let max = samples.iter().map(|s| s.max()).fold(f64::NEG_INFINITY, f64::max);
        let first = (min / step).floor();
        let last = (max / step).ceil();
        let points = last - first + 1.0;
        if !(step > 0.0 && points <= POINTS_MAX) {
            return Err(GridError::TooFine { step, min, max });
        }
        Ok(Grid { start: first * step, step, points: points as usize })
    }

    /// The point of this number, from 0.
    pub fn at(&self, point: usize) -> f64 {
        self.start + point as f64 * self.step
    }
}

/// The share of the sample at or below each point of the grid, by a curve through its empirical
/// distribution function; 0 before its least number and 1 from its greatest on. A natural spline
/// swings beyond 0 and 1 where the function has a corner; it is cut there.
pub fn shares(sample: &Sample, grid: Grid, kind: Kind) -> Vec<f64> {
    let count = sample.count() as f64;
    let upto = sample.below()[1..].iter().map(|&upto| upto as f64 / count);
    let curve = Spline::through(sample.values(), upto.collect(), kind);
    let points = (0..grid.points).map(|point| {
        let x = grid.at(point);
        if x < sample.min() { 0.0 } else { curve.value(x).clamp(0.0, 1.0) }
    });
    points.collect()
}

/// A sample of `count` numbers on the points of the grid that is distributed as `shares` say, as near
/// as whole numbers are. Where a spline fell, the share stays.
///
/// # Errors
/// If nothing is left to count: `count` is 0, or no share is above 0.
pub fn resampled(shares: &[f64], grid: Grid, count: u64) -> Result<Sample, SampleError> {
    let mut upto = 0;
    let pairs = shares.iter().enumerate().map(|(point, share)| {
        let before = upto;
        upto = upto.max((share * count as f64).round() as u64);
        (grid.at(point), upto - before)
    });
    Sample::counted(pairs.collect())
}

/// The greatest distance between two functions on one grid.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    apart.fold(0.0, f64::max)
}
