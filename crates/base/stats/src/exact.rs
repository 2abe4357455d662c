//! Counts held against what was stated of them, without any approximation: intervals of a Poisson mean and
//! of a share, their p-values, and how many of many intervals may miss.
//!
//! An interval holds a stated value exactly where twice the smaller tail at that value is not below
//! 1 − confidence, so intervals and p-values never contradict each other.

use crate::special::{beta_i, gamma_p};

/// Halvings after which a bound is as near as a number can be.
const HALVINGS: u32 = 200;

/// A count's distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CountDistribution {
    /// Poisson with this mean.
    Poisson(f64),
    /// Binomial: of this many, each with this probability.
    Binomial(u64, f64),
}

impl CountDistribution {
    /// P(count ≤ `k`).
    pub fn at_most(self, k: u64) -> f64 {
        1.0 - self.at_least(k.saturating_add(1))
    }

    /// P(count ≥ `k`).
    pub fn at_least(self, k: u64) -> f64 {
        match self {
            _ if k == 0 => 1.0,
            CountDistribution::Poisson(mean) => gamma_p(k as f64, mean),
            CountDistribution::Binomial(of, _) if k > of => 0.0,
            CountDistribution::Binomial(of, p) => beta_i(k as f64, (of - k + 1) as f64, p),
        }
    }

    /// P(a count as far out as `k`): twice the smaller tail, 1 at most.
    pub fn p(self, k: u64) -> f64 {
        (2.0 * self.at_most(k).min(self.at_least(k))).min(1.0)
    }

    /// The probability that the interval about the count misses this distribution's own parameter: 1 − confidence at
    /// most, less where counts are few, and 0 where no count would be far enough out.
    pub fn miss(self, confidence: f64) -> f64 {
        let tail = (1.0 - confidence) / 2.0;
        let last = match self {
            CountDistribution::Poisson(mean) => (mean + 40.0 * (mean.sqrt() + 1.0)) as u64,
            CountDistribution::Binomial(of, _) => of,
        };
        // The first count that is not too low, and the first that is too high: both tails only move one way.
        let low = first(0, last + 1, |k| self.at_most(k) >= tail);
        let high = first(low, last + 1, |k| self.at_least(k) < tail);
        let below = if low == 0 { 0.0 } else { self.at_most(low - 1) };
        below + self.at_least(high)
    }
}

/// The least number from `low` on of which this is true, `high` where it is of none below; it is true of all
/// above one of which it is.
fn first(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The confidence interval of a Poisson mean (Garwood, "Fiducial limits for the Poisson distribution", 1936).
pub fn mean_interval(count: u64, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let far = count as f64 + 40.0 * ((count as f64).sqrt() + 1.0);
    let low = root(0.0, far, |mean| CountDistribution::Poisson(mean).at_least(count) >= tail);
    let high = root(0.0, far, |mean| CountDistribution::Poisson(mean).at_most(count) < tail);
    (if count == 0 { 0.0 } else { low }, high)
}

/// The confidence interval of a share (Clopper and Pearson, "The use of confidence or fiducial limits
/// illustrated in the case of the binomial", 1934); all of 0 to 1 where there is nothing.
pub fn share_interval(count: u64, of: u64, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let low = root(0.0, 1.0, |p| CountDistribution::Binomial(of, p).at_least(count) >= tail);
    let high = root(0.0, 1.0, |p| CountDistribution::Binomial(of, p).at_most(count) < tail);
    (if count == 0 { 0.0 } else { low }, if count >= of { 1.0 } else { high })
}

/// The place between `low` and `high` at which `holds` becomes true.
fn root(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// P(at least `count` of these happen), each by itself with its own probability: the Poisson binomial distribution,
/// summed up term by term.
pub fn at_least_of(probabilities: &[f64], count: usize) -> f64 {
    if count > probabilities.len() {
        return 0.0;
    }
    // Of the first ones, the probability that this many happen; the last place holds `count` and more.
    let mut happen = vec![0.0; count + 1];
    happen[0] = 1.0;
    for &p in probabilities {
        happen[count] += if count > 0 { happen[count - 1] * p } else { 0.0 };
        for k in (1..count).rev() {
            happen[k] = happen[k] * (1.0 - p) + happen[k - 1] * p;
        }
        if count > 0 {
            happen[0] *= 1.0 - p;
        }
    }
    happen[count].min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_are_reproduced() {
        // Nothing seen: −ln(α/2), and 1 − (α/2)^(1/n).
        let (low, high) = mean_interval(0, 0.95);
        assert!(low == 0.0 && (high - 40.0_f64.ln()).abs() < 1e-12, "{high}");
        let (low, high) = share_interval(0, 20, 0.95);
        let expected = 1.0 - 0.025_f64.powf(0.05);
        assert!(low == 0.0 && (high - expected).abs() < 1e-12, "{high}");
        assert_eq!(share_interval(0, 0, 0.95), (0.0, 1.0));
        assert_eq!(share_interval(20, 20, 0.95).1, 1.0);
        // Of two coins: neither, or both.
        assert!((CountDistribution::Binomial(2, 0.5).p(0) - 0.5).abs() < 1e-15);
        assert_eq!(CountDistribution::Binomial(2, 0.5).p(1), 1.0);
        // 1 of 3 and more: all but none.
        let all = at_least_of(&[0.1, 0.2, 0.3], 1);
        assert!((all - (1.0 - 0.9 * 0.8 * 0.7)).abs() < 1e-15, "{all}");
        assert_eq!(at_least_of(&[0.1], 0), 1.0);
        assert_eq!(at_least_of(&[0.1], 2), 0.0);
    }

    #[test]
    fn impossible_counts_are_rejected_and_certain_ones_are_not() {
        assert_eq!(CountDistribution::Binomial(10, 0.0).p(1), 0.0);
        assert_eq!(CountDistribution::Binomial(10, 0.0).p(0), 1.0);
        assert_eq!(CountDistribution::Binomial(10, 1.0).p(10), 1.0);
        assert_eq!(CountDistribution::Binomial(10, 1.0).p(9), 0.0);
        assert_eq!(CountDistribution::Poisson(0.0).p(0), 1.0);
        assert_eq!(CountDistribution::Poisson(0.0).p(1), 0.0);
        assert_eq!(CountDistribution::Binomial(3, 0.5).miss(0.95), 0.0, "too few to be missed");
        assert_eq!(CountDistribution::Binomial(0, 0.5).miss(0.95), 0.0);
    }

    #[test]
    fn miss_probability_is_that_of_counts_outside_the_interval() {
        for distribution in [CountDistribution::Poisson(7.3), CountDistribution::Binomial(60, 0.15)]
        {
            let parameter = match distribution {
                CountDistribution::Poisson(mean) => mean,
                CountDistribution::Binomial(_, p) => p,
            };
            let outside = |k: u64| {
                let (low, high) = match distribution {
                    CountDistribution::Poisson(_) => mean_interval(k, 0.95),
                    CountDistribution::Binomial(of, _) => share_interval(k, of, 0.95),
                };
                let outside = parameter < low || parameter > high;
                assert_eq!(outside, distribution.p(k) < 0.05, "{distribution:?}: {k}");
                outside
            };
            let missed: f64 = (0..=60)
                .filter(|&k| outside(k))
                .map(|k| distribution.at_least(k) - distribution.at_least(k + 1))
                .sum();
            assert!((missed - distribution.miss(0.95)).abs() < 1e-9, "{distribution:?}: {missed}");
        }
    }
}
