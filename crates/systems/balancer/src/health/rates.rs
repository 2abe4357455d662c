//! Backends that fail more of their requests than they may, counted over a window: the outlier detection of Envoy by
//! success rate and by failure percentage (its `outlier_detection`, 2015 and later), with Envoy's constants.
//!
//! One thing differs. Of n backends, one that differs from the others alone is √(n − 1) standard deviations off, by
//! however little it differs: with five of them always beyond Envoy's factor. So it must also be off by a margin.

/// Requests in the window from which on a success rate is compared with others (`success_rate_request_volume`).
const COMPARED_MIN: u64 = 100;
/// Backends with as many requests that are needed for that (`success_rate_minimum_hosts`).
const BACKENDS_MIN: usize = 5;
/// By how many standard deviations it must be below the mean (`success_rate_stdev_factor`).
const DEVIATIONS: f64 = 1.9;
/// And by how much at least.
const MARGIN: f64 = 0.05;
/// Requests in the window from which on the share of failures counts by itself (`failure_percentage_request_volume`).
const COUNTED_MIN: u64 = 50;

/// Requests of one backend in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) good: u64,
    pub(super) bad: u64,
}

impl Counts {
    fn all(self) -> u64 {
        self.good + self.bad
    }

    fn failed(self) -> f64 {
        self.bad as f64 / self.all().max(1) as f64
    }
}

/// The places of those that fail at least this share of their requests, or much more than the others; the worst first.
pub(super) fn outliers(counts: &[Counts], share: f64) -> Vec<usize> {
    let above = above_others(counts);
    let is_outlier = |counts: Counts| {
        let failed = counts.failed();
        counts.bad > 0
            && (counts.all() >= COUNTED_MIN && failed >= share
                || counts.all() >= COMPARED_MIN && above.is_some_and(|above| failed > above))
    };
    let mut found: Vec<usize> = (0..counts.len()).filter(|at| is_outlier(counts[*at])).collect();
    found.sort_by(|left, right| counts[*right].failed().total_cmp(&counts[*left].failed()));
    found
}

/// The share of failures above which a backend is unlike the others, if there are enough of them.
fn above_others(counts: &[Counts]) -> Option<f64> {
    let compared = counts.iter().filter(|counts| counts.all() >= COMPARED_MIN);
    let failed: Vec<f64> = compared.map(|counts| counts.failed()).collect();
    if failed.len() < BACKENDS_MIN {
        return None;
    }
    let count = failed.len() as f64;
    let mean = failed.iter().sum::<f64>() / count;
    let variance = failed.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
    Some(mean + f64::max(DEVIATIONS * variance.sqrt(), MARGIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(failed: &[u64], all: u64) -> Vec<Counts> {
        let counts = failed.iter().map(|bad| Counts { good: all - bad, bad: *bad });
        counts.collect()
    }

    #[test]
    fn a_backend_that_fails_much_more_than_the_others_is_found() {
        // Mean 0.06, standard deviation 0.12: above 0.288.
        assert_eq!(outliers(&counts(&[0, 0, 60, 0, 0], 200), 1.0), [2]);
        // One alone is beyond 1.9 deviations, but by 0.8 percentage points.
        assert!(outliers(&counts(&[0, 0, 2, 0, 0], 200), 1.0).is_empty());
        // All fail alike, too few are compared, and too few requests.
        assert!(outliers(&counts(&[60; 5], 200), 1.0).is_empty());
        assert!(outliers(&counts(&[0, 0, 60, 0], 200), 1.0).is_empty());
        assert!(outliers(&counts(&[0, 0, 30, 0, 0], 99), 1.0).is_empty());
    }

    #[test]
    fn a_backend_that_fails_its_share_is_found_whatever_the_others_do() {
        assert_eq!(outliers(&counts(&[25, 40, 24], 50), 0.5), [1, 0]);
        assert!(outliers(&counts(&[40], 49), 0.5).is_empty());
        assert!(outliers(&counts(&[0], 0), 0.5).is_empty());
    }
}
