//! Stretches in which nobody came.

use serde::{Deserialize, Serialize};

use super::Counts;
use super::scales::merged_bins;

/// Minimum number of missing users of a silence.
const SILENCE_USERS_MIN: f64 = 30.0;
const SILENCES_MAX: usize = 5;
/// Users behind a silence at the end that are stragglers, at most: a number, and a share of all.
const STRAGGLERS_MAX: u64 = 3;
const STRAGGLERS_SHARE: f64 = 0.01;

/// A stretch without anybody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Silence {
    /// Start of the silence, in seconds from the recording's beginning.
    pub from_s: u64,
    /// How long, seconds.
    pub length_s: u64,
}

impl Silence {
    pub(crate) fn holds(&self, second: u64) -> bool {
        (self.from_s..self.from_s + self.length_s).contains(&second)
    }
}

/// The rate below which one whole hour in twenty lies, among those in which somebody came; the mean where
/// there are less than a day's.
fn low_rate(counts: &Counts, users: u64) -> f64 {
    let mean = users as f64 / counts.bins.len() as f64 / counts.bin_s as f64;
    let bins_of_hour = (3_600 / counts.bin_s).max(1) as usize;
    let mut hours: Vec<u64> =
        merged_bins(&counts.bins, bins_of_hour).filter(|&users| users > 0).collect();
    if hours.len() < 24 {
        return mean;
    }
    hours.sort_unstable();
    let hour_s = bins_of_hour as f64 * counts.bin_s as f64;
    mean.min(hours[hours.len() / 20] as f64 / hour_s)
}

/// Users that came long after all others and are no part of the arrivals, such as one who left a page open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
pub struct Stragglers {
    /// How many.
    pub users: u64,
    /// How long after the others the first of them came, seconds.
    pub after_s: u64,
}

/// The end of arrivals behind which stragglers came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArrivalsEnd {
    /// The number of bins up to it.
    pub(crate) bins: usize,
    pub(crate) stragglers: Stragglers,
}

/// The end before stragglers; `None`: there are none.
pub(crate) fn end_before_stragglers(counts: &Counts) -> Option<ArrivalsEnd> {
    let bins = &counts.bins;
    let users: u64 = bins.iter().map(|&count| u64::from(count)).sum();
    if users == 0 {
        return None;
    }
    let most = STRAGGLERS_MAX.min((users as f64 * STRAGGLERS_SHARE) as u64);
    let least = least_silence(counts, users);
    let mut behind = 0;
    let mut end = bins.len();
    for stretch in bins.chunk_by(|a, b| (*a == 0) == (*b == 0)).rev() {
        let own: u64 = stretch.iter().map(|&count| u64::from(count)).sum();
        end -= stretch.len();
        if own == 0 && behind > 0 && stretch.len() >= least {
            let after_s = (stretch.len() as u64 + 1) * counts.bin_s;
            let stragglers = Stragglers { users: behind, after_s };
            return Some(ArrivalsEnd { bins: end, stragglers });
        }
        behind += own;
        if behind > most {
            return None;
        }
    }
    None
}

/// Bins in which thirty users would have come at a low rate.
fn least_silence(counts: &Counts, users: u64) -> usize {
    let least_s = SILENCE_USERS_MIN / low_rate(counts, users);
    (least_s / counts.bin_s as f64).ceil() as usize
}

/// Stretches in which thirty users or more would have come at a low rate, and nobody did.
pub(super) fn silences(counts: &Counts) -> (Vec<Silence>, f64) {
    let bins = &counts.bins;
    let users: u64 = bins.iter().map(|&count| u64::from(count)).sum();
    if users == 0 {
        return (Vec::new(), 0.0);
    }
    let least = least_silence(counts, users);
    let mut found = Vec::new();
    let mut silent = 0;
    let mut at = 0;
    for stretch in bins.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        if stretch[0] == 0 && stretch.len() >= least {
            silent += stretch.len();
            found.push(Silence {
                from_s: at as u64 * counts.bin_s,
                length_s: stretch.len() as u64 * counts.bin_s,
            });
        }
        at += stretch.len();
    }
    found.sort_by_key(|silence| (std::cmp::Reverse(silence.length_s), silence.from_s));
    found.truncate(SILENCES_MAX);
    (found, silent as f64 / bins.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(bins: Vec<u32>) -> Counts {
        Counts { bins, bin_s: 1, local_s: 0 }
    }

    #[test]
    fn who_comes_long_after_all_others_is_a_straggler() {
        let mut bins = vec![1; 1_000];
        bins.extend([0; 2_999]);
        bins.push(1);
        let end = |users: u64| {
            let stragglers = Stragglers { users, after_s: 3_000 };
            Some(ArrivalsEnd { bins: 1_000, stragglers })
        };
        assert_eq!(end_before_stragglers(&counts(bins.clone())), end(1));
        // Three are stragglers, four come again.
        bins.extend([0, 2]);
        assert_eq!(end_before_stragglers(&counts(bins.clone())), end(3));
        bins.push(1);
        assert_eq!(end_before_stragglers(&counts(bins)), None);
    }

    #[test]
    fn a_short_pause_leaves_no_stragglers() {
        let mut bins = vec![1; 1_000];
        bins.extend([0; 20]);
        bins.push(1);
        assert_eq!(end_before_stragglers(&counts(bins)), None);
        // One of fifty is more than one in a hundred.
        let mut few = vec![1; 50];
        few.extend([0; 500]);
        few.push(1);
        assert_eq!(end_before_stragglers(&counts(few)), None);
        assert_eq!(end_before_stragglers(&counts(vec![0; 10])), None);
    }
}
