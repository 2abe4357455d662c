//! Whether two samples have one mean, whatever their distribution: by permuting their numbers.
//!
//! If both samples have one distribution, every permutation of all numbers to two groups of their sizes is as likely
//! as the observed one: so the test holds its level for tails of any weight, where Student's t does not. The permuted
//! statistic is Welch's t, which makes it a test of the means in large samples even if the distributions differ
//! otherwise (Janssen 1997; Chung and Romano 2013).

use crate::ensemble::welch;
use crate::mean::mean;
use crate::rng::Rng;

/// Maximum number of permutations.
const PERMUTATIONS_MAX: u32 = 9_999;
/// After this many permutations as extreme as the observed one the p-value is precise enough (Besag and Clifford 1991).
const REACHED_MAX: u32 = 20;
/// After this many without a single one, if Welch's own p-value is below [`CLEAR`], more would add nothing.
const PERMUTATIONS_CLEAR: u32 = 999;
const CLEAR: f64 = 1e-9;
/// Two statistics that differ by less than this share are the same one computed in another order.
const SAME: f64 = 1e-9;

/// The means of two samples, and the test's result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoMeans {
    /// Mean of the first sample.
    pub first: f64,
    /// Mean of the second sample.
    pub second: f64,
    /// P(as far apart). If no permutation is, it is Welch's, if that is smaller than what the permutations can resolve.
    pub p: f64,
}

/// Tests whether two samples have one mean. `None` if one has fewer than two numbers, or one that is not finite.
pub fn two_means(first: &[f64], second: &[f64], rng: &mut Rng) -> Option<TwoMeans> {
    let (means, by_welch) = welch(first, second, 0.95).ok()?;
    let by_welch = by_welch.unwrap_or(1.0);
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    let middle = mean(&all);
    for x in &mut all {
        // Sums of squares about the middle lose nothing.
        *x -= middle;
    }
    let whole = Sums::new(&all);
    let seen = statistic(Sums::new(&all[..first.len()]), whole);
    let fewer = first.len().min(second.len());
    let mut permuted = 0;
    let mut reached = 0;
    while permuted < PERMUTATIONS_MAX && reached < REACHED_MAX {
        if permuted == PERMUTATIONS_CLEAR && reached == 0 && by_welch < CLEAR {
            break;
        }
        // The first places of a shuffle are a sample without replacement.
        for place in 0..fewer {
            let other = place as u64 + rng.below((all.len() - place) as u64);
            all.swap(place, other as usize);
        }
        permuted += 1;
        reached += u32::from(statistic(Sums::new(&all[..fewer]), whole) >= seen * (1.0 - SAME));
    }
    let p = match reached {
        0 => by_welch.min(1.0 / f64::from(permuted + 1)),
        REACHED_MAX => f64::from(reached) / f64::from(permuted),
        _ => f64::from(reached + 1) / f64::from(permuted + 1),
    };
    Some(TwoMeans { first: means.first, second: means.second, p })
}

#[derive(Clone, Copy)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn new(values: &[f64]) -> Sums {
        Sums {
            count: values.len() as f64,
            sum: values.iter().sum(),
            squares: values.iter().map(|x| x * x).sum(),
        }
    }

    fn mean(self) -> f64 {
        self.sum / self.count
    }

    /// The variance of the mean.
    fn error(self) -> f64 {
        let about = self.squares - self.sum * self.mean();
        about.max(0.0) / (self.count - 1.0) / self.count
    }
}

/// The magnitude of Welch's t of one group against the rest.
fn statistic(one: Sums, whole: Sums) -> f64 {
    let other = Sums {
        count: whole.count - one.count,
        sum: whole.sum - one.sum,
        squares: whole.squares - one.squares,
    };
    let apart = (one.mean() - other.mean()).abs();
    if apart == 0.0 {
        return 0.0;
    }
    apart / (one.error() + other.error()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Dist;
    use crate::rng::Purpose;

    #[test]
    fn heavy_tails_keep_the_level_of_the_means_test() {
        const TRIES: u64 = 300;
        let drawn = |rng: &mut Rng| -> Vec<f64> {
            (0..120).map(|_| if rng.unit() < 0.01 { 900.0 } else { 3.0 + rng.unit() }).collect()
        };
        let refused = (0..TRIES).filter(|&seed| {
            let mut rng = Rng::new(seed, 0, Purpose::Resample);
            let a = drawn(&mut rng);
            let b = drawn(&mut rng);
            two_means(&a, &b, &mut rng).unwrap().p < 0.05
        });
        // Of 300, 15 ± 4 are expected at most: ties make it fewer.
        let refused = refused.count();
        assert!(refused <= 28, "{refused}");
    }

    #[test]
    fn missing_tail_is_detected() {
        let mut rng = Rng::new(1, 0, Purpose::Resample);
        let exponential = Dist::Exponential { mean: 3.0 };
        let mut all: Vec<f64> = (0..2_000).map(|_| exponential.sample(&mut rng)).collect();
        let cut: Vec<f64> = (0..2_000).map(|_| exponential.sample(&mut rng)).collect();
        assert!(two_means(&all, &cut, &mut rng).unwrap().p > 0.01);
        for x in &mut all[..20] {
            *x = 900.0;
        }
        let found = two_means(&all, &cut, &mut rng).unwrap();
        assert!(found.p < 0.001 && found.first > 3.0 * found.second, "{found:?}");
    }

    #[test]
    fn constants_and_too_little() {
        let mut rng = Rng::new(1, 0, Purpose::Resample);
        let mut p = |a: &[f64], b: &[f64]| two_means(a, b, &mut rng).map(|found| found.p);
        assert_eq!(p(&[2.0; 50], &[2.0; 40]), Some(1.0));
        assert!(p(&[2.0; 50], &[3.0; 40]).unwrap() < 0.001);
        assert_eq!(p(&[2.0], &[3.0; 40]), None);
        assert_eq!(p(&[2.0, f64::NAN], &[3.0; 40]), None);
    }
}
