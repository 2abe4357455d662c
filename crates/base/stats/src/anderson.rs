//! Anderson's and Darling's test of k samples: the squared distance of distribution functions over
//! their whole length, tails weighted as much as the middle.
//!
//! Scholz and Stephens, "K-sample Anderson-Darling tests", Journal of the American Statistical
//! Association 82 (1987), the version with midranks, which is right with ties. It takes the numbers
//! for independent draws.
//!
//! The p-value of two samples is counted out if they are small or have few distinct values; otherwise it is
//! that of the limit of the statistic, which is another one if many numbers are tied. The published
//! percentiles are those without ties, for samples of five and more.

mod cells;
mod exact;
mod limit;
mod tied;

pub use limit::limit_tail;

use crate::sample::{Sample, pooled, pooled_pair};
use cells::{Cells, weight};

/// Samples with more distinct values than this have too many permutations to be counted out.
const EXACT_VALUES_MAX: usize = 2_000;
/// If fewer pairs of all numbers are tied, their share, the limit without ties is used: the p-value is less
/// than that of the limit with ties by 1 % at 0.05 at most.
const TIES_MIN: f64 = 0.002;

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anderson {
    /// A²_akN, equation 7; about k − 1 where all samples are of one distribution.
    pub statistic: f64,
    /// (A² − (k − 1)) / σ_N, by which p-values are found.
    pub standardised: f64,
    /// The p-value as published, with the range in which it means something.
    pub p_published: TablePValue,
    /// The p-value of two samples: exact, or by the limiting distribution. Good into the far tail,
    /// where corrections for many tests need it. `None` with more samples.
    pub p: Option<f64>,
    /// True if `p` was counted out over all permutations.
    pub exact: bool,
}

/// A p-value interpolated between the published percentiles, and not beyond them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TablePValue {
    /// Below [`PUBLISHED_LEAST`].
    Below,
    /// This p-value.
    Within(f64),
    /// Above [`PUBLISHED_GREATEST`].
    Above,
}

/// The least p-value for which there is a percentile.
pub const PUBLISHED_LEAST: f64 = 0.001;
/// The greatest p-value for which there is a percentile.
pub const PUBLISHED_GREATEST: f64 = 0.25;

/// Why samples were not tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AndersonError {
    /// Nothing to compare with.
    #[error("{0} sample: the test compares two or more")]
    TooFewSamples(usize),
    /// The variance of the statistic is not defined.
    #[error("{0} numbers in all samples together: the test needs four or more")]
    TooFewNumbers(u64),
}

/// The test of two samples.
///
/// # Errors
/// If they have fewer than four numbers together.
pub fn two_samples(a: &Sample, b: &Sample) -> Result<Anderson, AndersonError> {
    let n = a.count() as f64;
    let m = b.count() as f64;
    let all = n + m;
    let mut sum = 0.0;
    let mut a_before = 0.0;
    let mut both_before = 0.0;
    pooled_pair(a, b, |_, in_a, in_b| {
        let a_upto = in_a as f64;
        let both_upto = (in_a + in_b) as f64;
        let a_mid = (a_before + a_upto) / 2.0;
        let both_mid = (both_before + both_upto) / 2.0;
        // The second sample's deviation is the first's with the other sign.
        sum += weighted(all * a_mid - n * both_mid, both_mid, both_upto - both_before, all);
        (a_before, both_before) = (a_upto, both_upto);
    });
    let statistic = sum * (all - 1.0) / all / n / m;
    let found = with_percentiles(statistic, &[a, b])?;
    let cells = Cells::from_samples(a, b, EXACT_VALUES_MAX);
    let exact = cells.and_then(|cells| exact::tail(&cells, statistic));
    Ok(Anderson {
        p: Some(exact.unwrap_or_else(|| limit_p(&found, a, b))),
        exact: exact.is_some(),
        ..found
    })
}

/// The p-value by the limit of the statistic.
fn limit_p(found: &Anderson, a: &Sample, b: &Sample) -> f64 {
    let all = (a.count() + b.count()) as f64;
    let mut tied_pairs = 0.0;
    let mut before = 0;
    pooled_pair(a, b, |_, in_a, in_b| {
        let tied = (in_a + in_b - before) as f64;
        tied_pairs += tied * (tied - 1.0);
        before = in_a + in_b;
    });
    if tied_pairs < TIES_MIN * all * (all - 1.0) {
        return limit_tail(1.0 + found.standardised * limit::DEVIATION);
    }
    let mut tied = Vec::new();
    let mut before = 0;
    pooled_pair(a, b, |_, in_a, in_b| {
        tied.push(in_a + in_b - before);
        before = in_a + in_b;
    });
    // The variance of equation 4 is that without ties; with them the mean is still 1.
    tied::tail(found.statistic, &tied::shares(&tied))
}

/// The test of k samples.
///
/// # Errors
/// If there are fewer than two, or they have fewer than four numbers together.
pub fn k_samples(samples: &[&Sample]) -> Result<Anderson, AndersonError> {
    if let [a, b] = samples {
        return two_samples(a, b);
    }
    let counts: Vec<f64> = samples.iter().map(|sample| sample.count() as f64).collect();
    let all: f64 = counts.iter().sum();
    let mut sums = vec![0.0; samples.len()];
    let mut before = vec![0.0; samples.len()];
    let mut all_before = 0.0;
    pooled(samples, |_, upto| {
        let all_upto = upto.iter().sum::<u64>() as f64;
        let all_mid = (all_before + all_upto) / 2.0;
        for (i, sum) in sums.iter_mut().enumerate() {
            let mid = (before[i] + upto[i] as f64) / 2.0;
            let deviation = all * mid - counts[i] * all_mid;
            *sum += weighted(deviation, all_mid, all_upto - all_before, all);
            before[i] = upto[i] as f64;
        }
        all_before = all_upto;
    });
    let whole: f64 = sums.iter().zip(&counts).map(|(sum, n)| sum / n).sum();
    with_percentiles(whole * (all - 1.0) / (all * all), samples)
}

/// One value's part of the sum: its squared deviation, weighted; `tied` numbers have this value.
#[inline]
fn weighted(deviation: f64, mid: f64, tied: f64, all: f64) -> f64 {
    weight(mid, tied, all) * deviation * deviation
}

fn with_percentiles(statistic: f64, samples: &[&Sample]) -> Result<Anderson, AndersonError> {
    let k = samples.len();
    if k < 2 {
        return Err(AndersonError::TooFewSamples(k));
    }
    let all = samples.iter().map(|sample| sample.count()).sum();
    if all < 4 {
        return Err(AndersonError::TooFewNumbers(all));
    }
    let freedom = (k - 1) as f64;
    let standardised = (statistic - freedom) / variance(samples, all).sqrt();
    Ok(Anderson {
        statistic,
        standardised,
        p_published: published(standardised, freedom),
        p: None,
        exact: false,
    })
}

/// The variance of the statistic, equation 4.
fn variance(samples: &[&Sample], all: u64) -> f64 {
    let k = samples.len() as f64;
    let inverse: f64 = samples.iter().map(|sample| 1.0 / sample.count() as f64).sum();
    let h = harmonic(all - 1);
    let n = all as f64;
    // g = ΣΣ 1/((N − i) j) over 1 ≤ i < j ≤ N − 1. With Σ H(N − m)/m = H(N)² − H₂(N), which the
    // square of −ln(1 − x) shows, it is H₂(N − 1) − 2 H(N − 1)/N.
    let g = harmonic_squares(all - 1) - 2.0 * h / n;
    let a = (4.0 * g - 6.0) * (k - 1.0) + (10.0 - 6.0 * g) * inverse;
    let b = (2.0 * g - 4.0) * k * k + 8.0 * h * k + (2.0 * g - 14.0 * h - 4.0) * inverse - 8.0 * h
        + 4.0 * g
        - 6.0;
    let c = (6.0 * h + 2.0 * g - 2.0) * k * k
        + (4.0 * h - 4.0 * g + 6.0) * k
        + (2.0 * h - 6.0) * inverse
        + 4.0 * h;
    let d = (2.0 * h + 6.0) * k * k - 4.0 * h * k;
    (((a * n + b) * n + c) * n + d) / ((n - 1.0) * (n - 2.0) * (n - 3.0))
}

/// Up to this many terms sums are computed term by term; beyond, their expansions are exact.
const SUMMED_MAX: u64 = 100;

/// 1 + 1/2 + … + 1/n. DLMF 5.11.2.
fn harmonic(n: u64) -> f64 {
    if n <= SUMMED_MAX {
        return (1..=n).map(|i| 1.0 / i as f64).sum();
    }
    const EULER: f64 = 0.577_215_664_901_532_9;
    let n = n as f64;
    n.ln() + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n) + 1.0 / (120.0 * n.powi(4))
}

/// 1 + 1/4 + … + 1/n². DLMF 5.15.8.
fn harmonic_squares(n: u64) -> f64 {
    if n <= SUMMED_MAX {
        return (1..=n).map(|i| 1.0 / (i as f64).powi(2)).sum();
    }
    let n = n as f64;
    std::f64::consts::PI.powi(2) / 6.0 - 1.0 / n + 1.0 / (2.0 * n * n) - 1.0 / (6.0 * n.powi(3))
        + 1.0 / (30.0 * n.powi(5))
}

/// Table 1 of the paper gives percentiles as b₀ + b₁/√m + b₂/m, m = k − 1; those of the last two
/// levels are Scholz's own for the R package kSamples, as SciPy has them. Each row: level, b₀, b₁, b₂.
const PERCENTILES: [[f64; 4]; 7] = [
    [0.25, 0.675, -0.245, -0.105],
    [0.1, 1.281, 0.25, -0.305],
    [0.05, 1.645, 0.678, -0.362],
    [0.025, 1.96, 1.149, -0.391],
    [0.01, 2.326, 1.822, -0.396],
    [0.005, 2.573, 2.364, -0.345],
    [0.001, 3.085, 3.615, -0.154],
];

/// ln p as a quadratic of the standardised statistic, fitted to the percentiles by least squares
/// (section 7 of the paper).
fn published(standardised: f64, freedom: f64) -> TablePValue {
    let points = PERCENTILES
        .map(|[level, b0, b1, b2]| (b0 + b1 / freedom.sqrt() + b2 / freedom, level.ln()));
    if standardised < points[0].0 {
        return TablePValue::Above;
    }
    if standardised > points[6].0 {
        return TablePValue::Below;
    }
    let p = quadratic_fit(&points, standardised).exp();
    TablePValue::Within(p.clamp(PUBLISHED_LEAST, PUBLISHED_GREATEST))
}

/// The value at `x` of the quadratic that fits these points best.
fn quadratic_fit(points: &[(f64, f64)], x: f64) -> f64 {
    let centre = points.iter().map(|point| point.0).sum::<f64>() / points.len() as f64;
    let moment = |power: i32| -> f64 { points.iter().map(|p| (p.0 - centre).powi(power)).sum() };
    let with_y =
        |power: i32| -> f64 { points.iter().map(|p| (p.0 - centre).powi(power) * p.1).sum() };
    let [s0, s1, s2, s3, s4] = [0, 1, 2, 3, 4].map(moment);
    let [y0, y1, y2] = [0, 1, 2].map(with_y);
    // Cramer's rule for the normal equations.
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = determinant([[s0, s1, s2], [s1, s2, s3], [s2, s3, s4]]);
    let c0 = determinant([[y0, s1, s2], [y1, s2, s3], [y2, s3, s4]]) / whole;
    let c1 = determinant([[s0, y0, s2], [s1, y1, s3], [s2, y2, s4]]) / whole;
    let c2 = determinant([[s0, s1, y0], [s1, s2, y1], [s2, s3, y2]]) / whole;
    let x = x - centre;
    c0 + c1 * x + c2 * x * x
}

/// Between which bounds the statistic of the raw samples lies (that without ties, equation 3), where
/// `a` and `b` were made from bins, the same for both: within a bin, numbers may stand in any order.
///
/// The p-value of binned samples holds whatever the bins: samples of one distribution are of one
/// distribution when binned.
pub fn statistic_bounds(a: &Sample, b: &Sample) -> (f64, f64) {
    let n = a.count() as f64;
    let m = b.count() as f64;
    let all = a.count() + b.count();
    let mut least = 0.0;
    let mut greatest = 0.0;
    let mut a_before = 0;
    let mut b_before = 0;
    pooled_pair(a, b, |_, a_upto, b_upto| {
        let deviation = |in_a: u64, in_b: u64| in_a as f64 * m - in_b as f64 * n;
        let before = a_before + b_before;
        let upto = a_upto + b_upto;
        // Σ 1/(j (N − j)) over the bin's ranks; that of rank N is left out.
        let last = upto.min(all - 1);
        let weight = (harmonic(last) - harmonic(before) + harmonic(all - before - 1)
            - harmonic(all - last - 1))
            / all as f64;
        let (low, high) = if upto - before == 1 {
            (deviation(a_upto, b_upto), deviation(a_upto, b_upto))
        } else {
            (deviation(a_before, b_upto), deviation(a_upto, b_before))
        };
        greatest += weight * low.powi(2).max(high.powi(2));
        if low > 0.0 || high < 0.0 {
            least += weight * low.powi(2).min(high.powi(2));
        }
        (a_before, b_before) = (a_upto, b_upto);
    });
    (least / n / m, greatest / n / m)
}
