//! Kolmogorov's and Smirnov's tests: the greatest distance between two distribution functions.
//!
//! Their p-values take the numbers for independent draws; where draws follow on each other
//! ([`crate::serial`]) they are too small. With ties the exact p-value of two samples is that of the
//! permutations of the numbers as they are; the limit takes distributions for continuous, and is
//! then too large rather than too small.

mod exact;
mod kolmogorov;

pub use kolmogorov::kolmogorov_tail;

use crate::sample::{Sample, pooled_pair};

/// Two samples whose sizes multiply to no more than this get an exact p-value.
const EXACT_PAIRS_MAX: u128 = 10_000_000;

/// The result of the test of two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoSample {
    /// The greatest distance D of the two empirical distribution functions, in `0..=1`.
    pub distance: f64,
    /// The number at which they are that far apart.
    pub at: f64,
    /// Whether the first sample's function is the higher one there: its numbers are lower.
    pub first_above: bool,
    /// P(a distance as great or greater), both samples being of one distribution.
    pub p: f64,
    /// Whether `p` was counted out, or taken from the limit.
    pub exact: bool,
}

/// The test of Smirnov (1939) for two samples.
///
/// The p-value is exact where the sizes multiply to at most 10,000,000 (Hodges 1958), else that
/// of Kolmogorov's distribution for n·m/(n+m) numbers, rounded (as SciPy has it).
pub fn two_samples(a: &Sample, b: &Sample) -> TwoSample {
    let n = a.count() as f64;
    let m = b.count() as f64;
    // In units of 1/(n·m), which are whole: exact as long as the product is below 2⁵³.
    let mut widest = 0.0_f64;
    let mut at = a.min().min(b.min());
    pooled_pair(a, b, |x, in_a, in_b| {
        let apart = in_a as f64 * m - in_b as f64 * n;
        if apart.abs() > widest.abs() {
            (widest, at) = (apart, x);
        }
    });
    let distance = (widest.abs() / n / m).min(1.0);
    let exact = u128::from(a.count()) * u128::from(b.count()) <= EXACT_PAIRS_MAX;
    let p = if exact {
        exact::tail(a, b, widest.abs() as u64)
    } else {
        pair_limit(distance, a.count(), b.count())
    };
    TwoSample { distance, at, first_above: widest > 0.0, p, exact }
}

/// The limit's p-value of this distance between samples of `n` and `m` numbers, whatever they are.
pub fn pair_limit(distance: f64, n: u64, m: u64) -> f64 {
    let n = n as f64;
    let m = m as f64;
    kolmogorov_tail((n * (m / (n + m))).round().max(1.0) as u64, distance)
}

/// Between which bounds the distance of the raw samples lies, where `a` and `b` were made from bins
/// (the same for both): within a bin, all numbers of one may stand before all of the other.
///
/// The least is the distance of the binned samples. The p-value of these holds whatever the bins:
/// samples of one distribution are of one distribution when binned.
pub fn distance_bounds(a: &Sample, b: &Sample) -> (f64, f64) {
    let n = a.count() as f64;
    let m = b.count() as f64;
    let mut least = 0.0_f64;
    let mut greatest = 0.0_f64;
    let mut a_before = 0.0;
    let mut b_before = 0.0;
    pooled_pair(a, b, |_, in_a, in_b| {
        let a_upto = in_a as f64 / n;
        let b_upto = in_b as f64 / m;
        least = least.max((a_upto - b_upto).abs());
        greatest = greatest.max(a_upto - b_before).max(b_upto - a_before);
        (a_before, b_before) = (a_upto, b_upto);
    });
    (least, greatest)
}

/// The result of the test of a sample against a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneSample {
    /// The greatest distance D of the empirical from the given distribution function.
    pub distance: f64,
    /// The number at which they are that far apart.
    pub at: f64,
    /// P(a distance as great or greater), the sample being of this distribution. Too large where
    /// parameters of `cdf` were estimated from the sample itself (Lilliefors 1967).
    pub p: f64,
}

/// The test of Kolmogorov (1933) of a sample against a continuous distribution function.
///
/// `cdf` gives the share at or below a number, in `0..=1`; what lies outside is cut.
pub fn one_sample(sample: &Sample, cdf: impl Fn(f64) -> f64) -> OneSample {
    let n = sample.count() as f64;
    let mut distance = 0.0_f64;
    let mut at = sample.min();
    for (i, &x) in sample.values().iter().enumerate() {
        let expected = cdf(x).clamp(0.0, 1.0);
        let before = sample.below()[i] as f64 / n;
        let upto = sample.below()[i + 1] as f64 / n;
        let apart = (expected - before).max(upto - expected);
        if apart > distance {
            (distance, at) = (apart, x);
        }
    }
    OneSample { distance, at, p: kolmogorov_tail(sample.count(), distance) }
}
