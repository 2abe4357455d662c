//! Which of several groups has the greatest mean, and how sure that is.
//!
//! Values are positive and scatter in proportion to their size, as rates and times do: everything is computed on
//! logarithms (Jain, "The Art of Computer Systems Performance Analysis" (1991), section 18.8), with one scatter
//! pooled from all groups. Means are therefore geometric.

use crate::rng::{Purpose, Rng};
use crate::student::two_sided_t;

/// Resamples of the bootstrap.
pub const RESAMPLES: usize = 10_000;

/// A figure with its interval; `None` where no group has two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// The estimate.
    pub value: f64,
    /// Lower and upper bound.
    pub bounds: Option<(f64, f64)>,
}

/// Groups, in an order that means something, and the one with the greatest mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Greatest {
    /// Mean logarithm and number of values of each group.
    groups: Vec<(f64, usize)>,
    /// Standard deviation of the logarithms within groups, times t; `None` without repetitions.
    half_width: Option<f64>,
    /// The group with the greatest mean.
    pub place: usize,
    /// The first and the last group that the greatest may be, by the bootstrap; `None` without repetitions.
    pub range: Option<(usize, usize)>,
}

impl Greatest {
    /// Finds the group with the greatest mean. Its range are the central `confidence` of the places it takes in
    /// resamples of the residuals, scaled to the scatter that they estimate (Davison and Hinkley, "Bootstrap Methods
    /// and their Application" (1997), section 6.2.3). `None` where there are no groups, an empty one, or a value that
    /// is no positive finite number.
    ///
    /// # Panics
    /// If `confidence` does not lie strictly between 0 and 1.
    pub fn find(groups: &[Vec<f64>], confidence: f64, seed: u64) -> Option<Greatest> {
        Greatest::with(groups, confidence, seed, RESAMPLES)
    }

    fn with(groups: &[Vec<f64>], confidence: f64, seed: u64, resamples: usize) -> Option<Greatest> {
        assert!(
            confidence > 0.0 && confidence < 1.0,
            "confidence {confidence} is not between 0 and 1"
        );
        let mut all = groups.iter().flatten();
        let is_sound = all.all(|value| value.is_finite() && *value > 0.0);
        if !is_sound || groups.iter().any(Vec::is_empty) {
            return None;
        }
        let means: Vec<(f64, usize)> = groups.iter().map(|group| mean_logarithm(group)).collect();
        let place = highest(means.iter().map(|group| group.0))?;
        let residuals = residuals(groups, &means);
        let freedom: usize = means.iter().map(|group| group.1 - 1).sum();
        let half_width = (freedom > 0).then(|| {
            let squares: f64 = groups
                .iter()
                .zip(&means)
                .map(|(group, (mean, _))| squares_about(*mean, group))
                .sum();
            (squares / freedom as f64).sqrt() * two_sided_t(confidence, freedom as f64)
        });
        let range = (!residuals.is_empty()).then(|| {
            let counts = places(&means, &residuals, seed, resamples);
            central(&counts, resamples, confidence)
        });
        Some(Greatest { groups: means, half_width, place, range })
    }

    /// The geometric mean of a group.
    pub fn mean(&self, group: usize) -> MeanEstimate {
        let (mean, count) = self.groups[group];
        self.around(mean, (1.0 / count as f64).sqrt())
    }

    /// A group's mean as a share of the greatest.
    pub fn share(&self, group: usize) -> MeanEstimate {
        let ((mean, count), (best, of_best)) = (self.groups[group], self.groups[self.place]);
        self.around(mean - best, (1.0 / count as f64 + 1.0 / of_best as f64).sqrt())
    }

    fn around(&self, logarithm: f64, errors: f64) -> MeanEstimate {
        let bound = |half_width: f64| {
            let half = half_width * errors;
            ((logarithm - half).exp(), (logarithm + half).exp())
        };
        MeanEstimate { value: logarithm.exp(), bounds: self.half_width.map(bound) }
    }
}

fn mean_logarithm(group: &[f64]) -> (f64, usize) {
    let sum: f64 = group.iter().map(|value| value.ln()).sum();
    (sum / group.len() as f64, group.len())
}

fn squares_about(mean: f64, group: &[f64]) -> f64 {
    group.iter().map(|value| (value.ln() - mean).powi(2)).sum()
}

/// Differences of logarithms from the means of their groups, for groups with two values or more. They are scaled up
/// to the scatter of single values, since a mean follows its own values.
fn residuals(groups: &[Vec<f64>], means: &[(f64, usize)]) -> Vec<f64> {
    let repeated = groups.iter().zip(means).filter(|(group, _)| group.len() > 1);
    let scaled = repeated.flat_map(|(group, (mean, count))| {
        let n = *count as f64;
        let scale = (n / (n - 1.0)).sqrt();
        group.iter().map(move |value| (value.ln() - mean) * scale)
    });
    scaled.collect()
}

/// How often each group has the greatest mean in resamples.
fn places(means: &[(f64, usize)], residuals: &[f64], seed: u64, resamples: usize) -> Vec<usize> {
    let mut counts = vec![0; means.len()];
    for resample in 0..resamples {
        let mut draws = Rng::new(seed, resample as u64, Purpose::Resample);
        let drawn = means.iter().map(|&(mean, count)| {
            let sum: f64 =
                (0..count).map(|_| residuals[draws.below(residuals.len() as u64) as usize]).sum();
            mean + sum / count as f64
        });
        if let Some(place) = highest(drawn) {
            counts[place] += 1;
        }
    }
    counts
}

/// The places within which this share of all lies, with as little of the rest below as above.
fn central(counts: &[usize], all: usize, share: f64) -> (usize, usize) {
    let outside = (1.0 - share) / 2.0 * all as f64;
    let first_beyond = |counts: &mut dyn Iterator<Item = &usize>| {
        let mut sum = 0;
        counts
            .take_while(|count| {
                sum += **count;
                sum as f64 <= outside
            })
            .count()
    };
    let low = first_beyond(&mut counts.iter());
    let high = counts.len() - 1 - first_beyond(&mut counts.iter().rev());
    (low, high)
}

/// The place of the greatest; the first of equal ones.
fn highest(values: impl Iterator<Item = f64>) -> Option<usize> {
    let first = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    values.enumerate().reduce(first).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Dist;
    use crate::usl::throughput;

    /// Peak at 21.8: λ 1,000, σ 0.05, κ 0.002.
    const LOADS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];

    fn measured(scatter: f64, repetitions: usize, seed: u64) -> Vec<Vec<f64>> {
        let noise = Dist::LogNormal { mu: 0.0, sigma: scatter };
        let mut rng = Rng::new(seed, 0, Purpose::Value);
        let group = |load: &f64| {
            let truth = throughput(1000.0, 0.05, 0.002, *load);
            (0..repetitions).map(|_| truth * noise.sample(&mut rng)).collect()
        };
        LOADS.iter().map(group).collect()
    }

    #[test]
    fn means_shares_and_their_intervals_are_those_of_paper() {
        // Logarithms 0 and 2, 3 and 5: one scatter of √2 with two degrees of freedom; t = 4.3027.
        let e = |x: f64| x.exp();
        let groups = [vec![e(0.0), e(2.0)], vec![e(3.0), e(5.0)]];
        let found = Greatest::find(&groups, 0.95, 1).unwrap();
        assert_eq!(found.place, 1);
        let close = |a: f64, b: f64| assert!((a.ln() - b).abs() < 1e-3, "{} {b}", a.ln());
        let mean = found.mean(0);
        close(mean.value, 1.0);
        close(mean.bounds.unwrap().0, 1.0 - 4.3027);
        close(mean.bounds.unwrap().1, 1.0 + 4.3027);
        let share = found.share(0);
        close(share.value, -3.0);
        close(share.bounds.unwrap().0, -3.0 - 4.3027 * 2f64.sqrt());
        close(found.share(1).value, 0.0);
    }

    #[test]
    fn without_repetitions_there_are_no_intervals() {
        let found = Greatest::find(&[vec![1.0], vec![5.0], vec![2.0]], 0.95, 1).unwrap();
        assert_eq!((found.place, found.range), (1, None));
        assert_eq!(found.mean(1).bounds, None);
        assert_eq!(Greatest::find(&[], 0.95, 1), None);
        assert_eq!(Greatest::find(&[vec![1.0], vec![]], 0.95, 1), None);
        assert_eq!(Greatest::find(&[vec![0.0]], 0.95, 1), None);
        assert_eq!(Greatest::find(&[vec![f64::INFINITY]], 0.95, 1), None);
    }

    #[test]
    fn equal_groups_leave_open_which_is_greatest_and_distinct_ones_do_not() {
        let equal = vec![vec![9.0, 10.0, 11.0]; 5];
        assert_eq!(Greatest::find(&equal, 0.95, 1).unwrap().range, Some((0, 4)));
        let same = vec![vec![10.0, 10.0], vec![11.0, 11.0], vec![10.5, 10.5]];
        assert_eq!(Greatest::find(&same, 0.95, 1).unwrap().range, Some((1, 1)));
    }

    #[test]
    fn the_range_of_known_curves_has_the_true_place() {
        // At 24 the curve is at 7,376, at 16 at 7,175: 2.7 % less.
        let truth = highest(LOADS.iter().map(|load| throughput(1000.0, 0.05, 0.002, *load)));
        assert_eq!(truth, Some(6));
        for (scatter, right_min, width_max) in [(0.01, 190, 1.3), (0.03, 190, 2.4), (0.1, 190, 3.6)]
        {
            let mut right = 0;
            let mut width = 0;
            for seed in 0..200 {
                let groups = measured(scatter, 3, seed);
                let found = Greatest::with(&groups, 0.95, seed, 1_000).unwrap();
                let (low, high) = found.range.unwrap();
                right += usize::from((low..=high).contains(&6));
                width += high - low + 1;
            }
            let width = width as f64 / 200.0;
            assert!(right >= right_min, "{scatter}: {right} of 200");
            assert!(width <= width_max, "{scatter}: {width}");
        }
    }
}
