//! A sample as all tests of this crate take it: its distinct values in order, and how many numbers
//! stand at or below each.
//!
//! Raw measurements and histograms are the same to a test then: a histogram is a sample with many
//! ties. The effect of binning is bounded by a second evaluation: whatever cannot fall when numbers rise
//! (a quantile, a shift) lies between what the lowest and the highest numbers of the bins give; the
//! statistics of ranks have functions of their own for their bounds.
//!
//! Sixteen bytes a distinct value.

mod pooled;

use crate::hist::LogHistogram;
use crate::interval::quantile_rank;

pub(crate) use pooled::{pooled, pooled_pair};

/// Numbers in order, at least one, all finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Strictly rising.
    values: Vec<f64>,
    /// One longer than `values`: before each value, how many numbers are less; at the end, all.
    below: Vec<u64>,
}

/// Why numbers make no sample.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// No number at all.
    #[error("the sample is empty: nothing can be said of it")]
    Empty,
    /// NaN or an infinity.
    #[error("number {place} of the sample is {value}, which cannot be put in order with others")]
    NotFinite {
        /// The place of the number among those given, from 1.
        place: usize,
        /// The number itself.
        value: f64,
    },
    /// More numbers than can be counted.
    #[error("the sample counts more than 2^53 numbers")]
    TooMany,
}

/// More than these cannot be counted exactly in a real number.
const COUNT_MAX: u64 = 1 << 53;

/// Which of a bin's numbers stands for all that were counted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The lowest number of the bin.
    Lowest,
    /// Halfway between lowest and highest.
    Middle,
    /// The highest number of the bin.
    Highest,
}

impl Sample {
    /// A sample of these numbers, in any order.
    ///
    /// # Errors
    /// If there are none, or one is not finite.
    pub fn new(mut numbers: Vec<f64>) -> Result<Sample, SampleError> {
        finite(numbers.iter().copied())?;
        if !numbers.is_sorted() {
            numbers.sort_unstable_by(f64::total_cmp);
        }
        let mut below = Vec::with_capacity(numbers.len() + 1);
        below.push(0);
        for (i, pair) in numbers.windows(2).enumerate() {
            if pair[0] < pair[1] {
                below.push(i as u64 + 1);
            }
        }
        below.push(numbers.len() as u64);
        numbers.dedup();
        Ok(Sample { values: numbers, below })
    }

    /// A sample of (number, how often), in any order. Counts of 0 are left out.
    ///
    /// # Errors
    /// If nothing is counted, a number is not finite, or the counts add up to more than 2⁵³.
    pub fn counted(mut pairs: Vec<(f64, u64)>) -> Result<Sample, SampleError> {
        pairs.retain(|&(_, count)| count > 0);
        finite(pairs.iter().map(|&(value, _)| value))?;
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut values = Vec::new();
        let mut below = vec![0];
        let mut upto = 0_u64;
        for (value, count) in pairs {
            upto = upto.checked_add(count).ok_or(SampleError::TooMany)?;
            if values.last() == Some(&value) {
                below.pop();
            } else {
                values.push(value);
            }
            below.push(upto);
        }
        if upto > COUNT_MAX {
            return Err(SampleError::TooMany);
        }
        Ok(Sample { values, below })
    }

    /// The numbers that the histogram counted, each moved to this place of its bin.
    ///
    /// Two histograms have the same bins, so that numbers of one bin become ties.
    ///
    /// # Errors
    /// If nothing was recorded, or more than 2⁵³ numbers.
    pub fn of_histogram(hist: &LogHistogram, edge: Edge) -> Result<Sample, SampleError> {
        let pairs = hist.iter().map(|(lowest, highest, count)| {
            let value = match edge {
                Edge::Lowest => lowest as f64,
                Edge::Middle => lowest as f64 + (highest - lowest) as f64 / 2.0,
                Edge::Highest => highest as f64,
            };
            (value, count)
        });
        Sample::counted(pairs.collect())
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.below[self.values.len()]
    }

    /// The distinct values, rising.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Before each distinct value, how many numbers are less; one more entry holds the count.
    pub(crate) fn below(&self) -> &[u64] {
        &self.below
    }

    /// Each distinct value with how often it occurs.
    pub fn iter(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let counts = self.below.windows(2).map(|pair| pair[1] - pair[0]);
        self.values.iter().copied().zip(counts)
    }

    /// The least number.
    pub fn min(&self) -> f64 {
        self.values[0]
    }

    /// The greatest number.
    pub fn max(&self) -> f64 {
        self.values[self.values.len() - 1]
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> f64 {
        let count = self.count() as f64;
        self.iter().map(|(value, n)| value * (n as f64 / count)).sum()
    }

    /// The number of this rank, 1 the least; ranks outside of `1..=count` are moved to its ends.
    pub fn at_rank(&self, rank: u64) -> f64 {
        let rank = rank.clamp(1, self.count());
        self.values[self.below.partition_point(|&below| below < rank) - 1]
    }

    /// The `q`-quantile: the number of rank ⌈`q` · count⌉. `q` is cut to `0..=1`.
    pub fn quantile(&self, q: f64) -> f64 {
        self.at_rank(quantile_rank(self.count(), q))
    }

    /// How many numbers are at or below `x`.
    pub fn count_upto(&self, x: f64) -> u64 {
        self.below[self.values.partition_point(|&value| value <= x)]
    }
}

/// That there are numbers, and all are finite.
pub(crate) fn finite(numbers: impl Iterator<Item = f64>) -> Result<(), SampleError> {
    let mut seen = 0;
    for value in numbers {
        seen += 1;
        if !value.is_finite() {
            return Err(SampleError::NotFinite { place: seen, value });
        }
    }
    if seen == 0 {
        return Err(SampleError::Empty);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
