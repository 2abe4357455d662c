//! Durations beside their fits, for pictures: the distribution function, and the shares in bins. Fits are shown as the
//! log's clock would show them.

use serde::Serialize;
use stats::fit::{Distribution, Family};

use crate::durations::{Durations, Fit, fitted_step};

/// Places of a distribution function, and bars of a histogram, at most.
const PLACES_MAX: usize = 120;
const BARS_MAX: u64 = 40;
/// A histogram ends where this share of the durations does.
const BARS_SHARE: f64 = 0.98;

/// Durations beside their fits.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Curves {
    /// Places, seconds.
    pub at_s: Vec<f64>,
    /// The share of the durations that are no longer.
    pub seen: Vec<f64>,
    /// Shares in bins of equal width; those beyond the last are left out.
    pub bars: Vec<Bar>,
    /// Each fit, the best first.
    pub fits: Vec<FittedCurve>,
}

/// Durations in a bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Bar {
    /// Lower edge, seconds.
    pub from_s: f64,
    /// Upper edge, which is in the next, seconds.
    pub upto_s: f64,
    /// The share of them.
    pub share: f64,
}

/// A fit at the same places.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct FittedCurve {
    /// Which.
    #[ts(type = "string")]
    pub family: Family,
    /// P(no longer), as the clock shows it.
    pub upto: Vec<f64>,
    /// P(in the bin), likewise.
    pub bars: Vec<f64>,
}

impl Fit {
    /// The fitted distribution; `None` if a model's file has invalid parameters.
    pub fn distribution(&self) -> Option<Distribution> {
        let names = self.family.parameters().iter();
        let values: Vec<f64> = names.map(|name| self.value(name)).collect();
        Distribution::from_parameters(self.family, &values)
    }
}

impl Durations {
    /// Curves that pictures of the durations are drawn from; `None` if there are no durations.
    pub fn curves(&self) -> Option<Curves> {
        let total: u64 = self.values.iter().map(|&(_, count)| count).sum();
        if total == 0 {
            return None;
        }
        let step_s = fitted_step(self.step_s, self.mean_s);
        let all = self.cumulative_shares(total);
        let every = all.len().div_ceil(PLACES_MAX);
        // The last place is that of the longest, where all are no longer.
        let first = (all.len() - 1) % every;
        let places: Vec<(f64, f64)> = all.iter().copied().skip(first).step_by(every).collect();
        let edges = edges(&all, step_s);
        let before = |edge: f64| {
            let place = all.partition_point(|&(value, _)| value < edge);
            place.checked_sub(1).map_or(0.0, |last| all[last].1)
        };
        let bars = edges.windows(2).map(|edge| Bar {
            from_s: edge[0],
            upto_s: edge[1],
            share: before(edge[1]) - before(edge[0]),
        });
        let fits = self.fits.iter().filter_map(|fit| {
            let distribution = fit.distribution()?;
            let upto = |x: f64| match step_s > 0.0 {
                _ if x < 0.0 => 0.0,
                true => distribution.shown_upto(x, step_s),
                false => distribution.cdf(x),
            };
            // The last mark of the clock below an edge is half a step before it.
            let before = |edge: f64| upto(edge - step_s / 2.0);
            Some(FittedCurve {
                family: fit.family,
                upto: places.iter().map(|&(x, _)| upto(x)).collect(),
                bars: edges.windows(2).map(|edge| before(edge[1]) - before(edge[0])).collect(),
            })
        });
        Some(Curves {
            at_s: places.iter().map(|place| place.0).collect(),
            seen: places.iter().map(|place| place.1).collect(),
            bars: bars.collect(),
            fits: fits.collect(),
        })
    }

    /// Values with the share of all that are no greater.
    fn cumulative_shares(&self, total: u64) -> Vec<(f64, f64)> {
        let mut upto = 0;
        let values = self.values.iter().map(|&(value, count)| {
            upto += count;
            (value, upto as f64 / total as f64)
        });
        values.collect()
    }
}

/// Edges of bins: multiples of the clock's step, so that no bin holds more of its marks than another.
fn edges(all: &[(f64, f64)], step_s: f64) -> Vec<f64> {
    let last = all.iter().find(|&&(_, share)| share >= BARS_SHARE);
    let last = last.or(all.last()).map_or(0.0, |&(value, _)| value);
    if step_s <= 0.0 {
        let width = last.max(f64::MIN_POSITIVE) * 1.000_001 / BARS_MAX as f64;
        return (0..=BARS_MAX).map(|edge| edge as f64 * width).collect();
    }
    let steps = (last / step_s).round() as u64 + 1;
    let each = steps.div_ceil(BARS_MAX);
    // Half a step before a mark, so that rounding puts no mark on the wrong side.
    let edge = |number: u64| ((number * each) as f64 - 0.5).max(0.0) * step_s;
    (0..=steps.div_ceil(each)).map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durations::describe;
    use stats::rng::{Purpose, Rng};

    fn exponential(step_s: f64) -> Durations {
        let mut rng = Rng::new(1, 0, Purpose::Resample);
        let shown = |x: f64, phase: f64| match step_s > 0.0 {
            true => (x / step_s + phase).floor() * step_s,
            false => x,
        };
        let sample: Vec<f64> = (0..2_000)
            .map(|_| {
                let x = -4.0 * (1.0 - rng.unit()).ln();
                shown(x, rng.unit())
            })
            .collect();
        let mean_s = sample.iter().sum::<f64>() / sample.len() as f64;
        describe(&sample, sample.len() as u64, mean_s, step_s, 1)
    }

    #[test]
    fn fitted_curve_follows_its_own_sample() {
        for step_s in [0.0, 1.0] {
            let curves = exponential(step_s).curves().unwrap();
            assert!(curves.at_s.len() <= PLACES_MAX && curves.bars.len() <= 41);
            assert_eq!(curves.seen.last(), Some(&1.0));
            let fit = curves.fits.iter().find(|fit| fit.family == Family::Exponential);
            let fit = fit.unwrap();
            for (seen, upto) in curves.seen.iter().zip(&fit.upto) {
                assert!((seen - upto).abs() < 0.04, "{seen} {upto} at steps of {step_s}");
            }
            let seen: f64 = curves.bars.iter().map(|bar| bar.share).sum();
            assert!((BARS_SHARE..=1.0).contains(&seen), "{seen}");
            for (bar, share) in curves.bars.iter().zip(&fit.bars) {
                assert!((bar.share - share).abs() < 0.03, "{bar:?} {share}");
            }
        }
    }

    #[test]
    fn empty_sample_has_no_curves() {
        assert_eq!(describe(&[], 0, 0.0, 1.0, 1).curves(), None);
        let few = describe(&[2.0, 3.0], 2, 2.5, 1.0, 1).curves().unwrap();
        assert_eq!((few.at_s, few.fits.len()), (vec![2.0, 3.0], 0));
    }
}
