//! Confidence intervals that assume nothing about the distribution.

use crate::special::beta_i;

/// The rank (1: the least) of the `q`-quantile among `n` sorted numbers: ⌈`q` · n⌉, at least 1
/// and at most `n`; 0 where `n` is 0. `q` is cut to `0..=1`.
pub fn quantile_rank(n: u64, q: f64) -> u64 {
    // Without the shave, 0.07 · 100 = 7.000000000000001 would give rank 8.
    let shaved = q.clamp(0.0, 1.0) * n as f64 * (1.0 - 2.0 * f64::EPSILON);
    (shaved.ceil() as u64).max(1).min(n)
}

/// Ranks (lower, upper) such that the numbers of these ranks among `n` independent ones, sorted,
/// enclose the true `q`-quantile with at least this confidence, whatever the distribution.
///
/// The number of values at or below the quantile is binomial with (n, q); the ranks cut at most
/// half of 1 − confidence off each of its tails. Hahn and Meeker, "Statistical Intervals" (1991),
/// section 5.2; David and Nagaraja, "Order Statistics" (2003), section 7.1.
///
/// `None` where `n` numbers are too few: then a bound would lie outside of them all.
///
/// # Panics
/// If `q` or `confidence` does not lie strictly between 0 and 1.
pub fn quantile_interval(n: u64, q: f64, confidence: f64) -> Option<(u64, u64)> {
    let (lower, upper) = quantile_ranks(n, q, confidence);
    lower.zip(upper)
}

/// As [`quantile_interval`], each rank by itself: one may exist where the other does not.
///
/// # Panics
/// If `q` or `confidence` does not lie strictly between 0 and 1.
pub fn quantile_ranks(n: u64, q: f64, confidence: f64) -> (Option<u64>, Option<u64>) {
    assert!(q > 0.0 && q < 1.0, "quantile {q} is not between 0 and 1");
    assert!(confidence > 0.0 && confidence < 1.0, "confidence {confidence} is not between 0 and 1");
    let tail = (1.0 - confidence) / 2.0;
    let lower = binomial_quantile(n, q, tail);
    let upper = binomial_quantile(n, q, 1.0 - tail) + 1;
    ((lower >= 1).then_some(lower), (upper <= n).then_some(upper))
}

/// The least k for which a binomial number with (n, p) is at or below k with this probability.
fn binomial_quantile(n: u64, p: f64, probability: f64) -> u64 {
    let mut least = 0;
    let mut greatest = n;
    while least < greatest {
        let middle = least + (greatest - least) / 2;
        if binomial_cdf(middle, n, p) >= probability {
            greatest = middle;
        } else {
            least = middle + 1;
        }
    }
    least
}

/// P(B ≤ k) for binomial B; `k` < `n`. DLMF 8.17.5.
fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    beta_i((n - k) as f64, k as f64 + 1.0, 1.0 - p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_does_not_change_ranks() {
        for n in 1_u64..=1000 {
            for percent in 1..=100 {
                let exact = (n * percent).div_ceil(100);
                assert_eq!(quantile_rank(n, percent as f64 / 100.0), exact, "{percent} % of {n}");
            }
        }
        assert_eq!(quantile_rank(0, 0.5), 0);
    }

    #[test]
    fn ranks_agree_with_scipy() {
        for line in include_str!("../testdata/intervals.csv").lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let [q, confidence] = [1, 2].map(|i| cells[i].parse::<f64>().unwrap());
            let expected = cells[3].parse().ok().zip(cells[4].parse().ok());
            let found = quantile_interval(cells[0].parse().unwrap(), q, confidence);
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn too_few_numbers_have_no_interval() {
        assert_eq!(quantile_interval(0, 0.5, 0.95), None);
        assert_eq!(quantile_interval(5, 0.5, 0.95), None);
        assert_eq!(quantile_interval(1000, 0.999, 0.95), None);
    }
}
