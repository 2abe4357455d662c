//! How much blocks scatter, compared with independent times.

use crate::censored::Influence;
use crate::counts::chi_squared_tail;
use crate::long_run::{self, LongRun};
use crate::serial;
use crate::student::two_sided_t;
use crate::tail::normal_quantile;

use super::BLOCKS_MIN;

/// Below this p-value of either test, at the percentile or at the median, times count as dependent. So one in
/// five recordings of independent times does, whose intervals are then somewhat wider than they have to be.
const P_MIN: f64 = 0.05;

/// The scatter of the blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spread {
    /// True if they scatter as those of independent times do.
    pub(super) is_independent: bool,
    /// The effective size if times are independent: their count, less where some are censored.
    pub(super) size_independent: f64,
    /// Over how many blocks dependence makes itself felt.
    pub(super) span: f64,
    /// The number of blocks from the first with a time to the last.
    pub(super) length: f64,
    /// The sums of influences by block; empty if nothing varies.
    series: Vec<f64>,
    /// The variance of each block if times are independent.
    each: f64,
    /// The least that dependence multiplies this by: what single blocks show, and what is left after an autoregression.
    factor_min: f64,
}

impl Spread {
    /// The effective size where dependence lasts for `span` blocks, made smaller for the uncertainty of the variance that
    /// it comes from: the longer it lasts, the fewer frequencies show that.
    pub(super) fn size(&self, span: f64, confidence: f64) -> f64 {
        let Some(found) = long_run::cosines_at_most(&self.series, self.length / span) else {
            return self.size_independent;
        };
        let factor = (found.variance / self.each).max(self.factor_min);
        let normal = normal_quantile(0.5 + confidence / 2.0);
        let widening = two_sided_t(confidence, found.degrees) / normal;
        self.size_independent / (factor * widening * widening)
    }
}

/// `None` if there are fewer than [`BLOCKS_MIN`] blocks.
///
/// Two tests: the sum of squares of the blocks (are times within a block alike?), and the low frequencies
/// (are blocks alike?). Both are chi-squared if times are independent; the degrees of freedom of the first
/// allow for the kurtosis of binomial numbers, which is large where a block holds few times above a high
/// percentile.
pub(super) fn estimate(blocks: &[(f64, u64)], influence: &Influence) -> Option<Spread> {
    let used = |&(_, count): &(f64, u64)| count > 0;
    let first = blocks.iter().position(used)?;
    let last = blocks.iter().rposition(used)?;
    let blocks = &blocks[first..=last];
    if blocks.len() < BLOCKS_MIN {
        return None;
    }
    let length = blocks.len() as f64;
    let count = blocks.iter().map(|&(_, count)| count as f64).sum::<f64>();
    let share = influence.share();
    let variance = influence.variance();
    let binomial = share * (1.0 - share);
    // All times in one bucket: there is nothing that could vary.
    if variance <= 0.0 || binomial <= 0.0 {
        return Some(Spread {
            is_independent: true,
            size_independent: count,
            span: 1.0,
            length,
            series: Vec::new(),
            each: 0.0,
            factor_min: 1.0,
        });
    }
    let size_independent = count * binomial / variance;
    let series: Vec<f64> = blocks.iter().map(|&(sum, _)| sum).collect();
    let dispersion = Dispersion::measure(blocks, count, binomial, variance);
    let each = count * variance / length;
    let plain = long_run::cosines(&series)?;
    let is_wide = |found: &LongRun| {
        chi_squared_tail(found.degrees * found.variance / each, found.degrees) < P_MIN
    };
    let white = long_run::prewhitened(&series).map_or(0.0, |found| found.variance / each);
    Some(Spread {
        is_independent: dispersion.p >= P_MIN && !is_wide(&plain),
        size_independent,
        span: serial::effective(&series).map_or(1.0, |found| found.span),
        length,
        series,
        each,
        factor_min: white.max(dispersion.ratio).max(1.0),
    })
}

/// The scatter of single blocks.
struct Dispersion {
    /// Sum of squares by what independent times would make it.
    ratio: f64,
    /// The probability of as much scatter if times are independent.
    p: f64,
}

impl Dispersion {
    fn measure(blocks: &[(f64, u64)], count: f64, binomial: f64, variance: f64) -> Dispersion {
        let counts = || blocks.iter().map(|&(_, n)| n as f64);
        let squares: f64 = blocks.iter().map(|(sum, _)| sum * sum).sum();
        // The share is estimated from the same blocks.
        let expected: f64 = counts().map(|n| variance * n * (1.0 - n / count)).sum();
        if expected <= 0.0 {
            return Dispersion { ratio: 1.0, p: 1.0 };
        }
        let ratio = squares / expected;
        // The square of a binomial number's deviation has the variance 2v² + v(1 − 6pq).
        let total: f64 = count * binomial;
        let of_squares = counts().map(|n| {
            let v = n * binomial;
            2.0 * v * v + v * (1.0 - 6.0 * binomial)
        });
        let degrees = (2.0 * total * total / of_squares.sum::<f64>() - 1.0).max(1.0);
        Dispersion { ratio, p: chi_squared_tail(ratio * degrees, degrees) }
    }
}
