//! Stretches in which nobody came.

use serde::{Deserialize, Serialize};

use super::Counts;
use super::scales::merged_bins;

/// Minimum number of missing users of a silence.
const SILENCE_USERS_MIN: f64 = 30.0;
const SILENCES_MAX: usize = 5;

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

/// Stretches in which thirty users or more would have come at a low rate, and nobody did.
pub(super) fn silences(counts: &Counts) -> (Vec<Silence>, f64) {
    let bins = &counts.bins;
    let users: u64 = bins.iter().map(|&count| u64::from(count)).sum();
    if users == 0 {
        return (Vec::new(), 0.0);
    }
    let least_s = SILENCE_USERS_MIN / low_rate(counts, users);
    let least = (least_s / counts.bin_s as f64).ceil() as usize;
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
