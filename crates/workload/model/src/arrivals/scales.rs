//! Counts at several scales: their dispersion, dependence, picture and self-similarity.

use serde::{Deserialize, Serialize};
use stats::counts::dispersion;
use stats::rng::{Purpose, Rng};
use stats::serial::{PERMUTED_MAX, autocorrelation, dependence, independence};

use super::Counts;

/// Bins of a window.
pub(super) const FACTORS: [usize; 4] = [1, 10, 100, 1_000];
/// Windows below which a scale says nothing.
pub(super) const WINDOWS_MIN: usize = 50;
/// Counts of a picture.
const PICTURE_BINS: usize = 300;
/// Lags of the autocorrelation that is shown, and windows for each.
const LAGS: usize = 60;
const WINDOWS_OF_LAG: usize = 4;
/// Pairs of users that are to be expected a lag apart for the test of dependence to decide. Its p-value is that of
/// permutations, or of χ² where windows are many: that takes more pairs, which coarser windows have.
const PAIRS_MIN: f64 = 20.0;
const PAIRS_CHI_SQUARED_MIN: f64 = 1_000.0;
/// Counts at one scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Scale {
    /// A window's length, seconds.
    pub window_s: u64,
    /// How many.
    pub windows: u64,
    /// Users in a window.
    pub mean: f64,
    /// Variance over mean: 1 for a Poisson process.
    pub index: f64,
    /// P(as far from 1), the counts being Poisson with one rate.
    pub p_dispersion: f64,
    /// Autocorrelation at lags 0, 1, …
    pub autocorrelation: Vec<f64>,
    /// Half the width of the band that holds 95 % of the correlations of independent counts.
    pub band: f64,
    /// How many correlations lie outside of it.
    pub outside: usize,
    /// Ljung's and Box's test of the first ten lags: P(as great).
    pub p_dependence: f64,
    /// Counts about the moment when half of the users have come, for the picture of one scale beside
    /// the others.
    pub picture: Vec<u32>,
}

impl Scale {
    /// The p-values by which it rejects Poisson: that of the dispersion, and that of dependence if there
    /// are enough users for it.
    pub(crate) fn deciding(&self) -> impl Iterator<Item = f64> {
        let depends = self.dependence_decides().then_some(self.p_dependence);
        std::iter::once(self.p_dispersion).chain(depends)
    }

    /// Whether the test of dependence has enough users to go by.
    pub(crate) fn dependence_decides(&self) -> bool {
        let pairs_min = match self.windows as usize > PERMUTED_MAX {
            true => PAIRS_CHI_SQUARED_MIN,
            false => PAIRS_MIN,
        };
        self.mean * self.mean * self.windows as f64 >= pairs_min
    }
}

/// Counts in windows of `factor` bins, without an incomplete window at the end.
pub(super) fn merged_bins(bins: &[u32], factor: usize) -> impl Iterator<Item = u64> + Clone {
    bins.chunks_exact(factor).map(|window| window.iter().map(|&count| u64::from(count)).sum())
}

/// `seed`: of permutations.
pub(super) fn scales(counts: &Counts, seed: u64) -> Vec<Scale> {
    let bins = super::between(&counts.bins);
    let scale = |factor: usize| {
        let windows = bins.len() / factor;
        if windows < WINDOWS_MIN {
            return None;
        }
        let together = merged_bins(bins, factor);
        let found = dispersion(together.clone())?;
        let numbers: Vec<f64> = together.clone().map(|count| count as f64).collect();
        let lags = LAGS.min(windows / WINDOWS_OF_LAG);
        let correlations = autocorrelation(&numbers, lags).unwrap_or_default();
        let depend = dependence(&correlations, windows);
        let mut rng = Rng::new(seed, factor as u64, Purpose::Resample);
        let independent = independence(&numbers, &mut rng);
        let from = middle(&numbers)
            .saturating_sub(PICTURE_BINS / 2)
            .min(windows.saturating_sub(PICTURE_BINS));
        let picture = together.clone().skip(from).take(PICTURE_BINS);
        Some(Scale {
            window_s: counts.bin_s * factor as u64,
            windows: windows as u64,
            mean: numbers.iter().sum::<f64>() / windows as f64,
            index: found.index,
            p_dispersion: found.p,
            autocorrelation: correlations,
            band: depend.band,
            outside: depend.outside,
            p_dependence: independent.map_or(1.0, |found| found.p),
            picture: picture.map(|count| u32::try_from(count).unwrap_or(u32::MAX)).collect(),
        })
    };
    FACTORS.into_iter().filter_map(scale).collect()
}

/// The window in which half of all users have come.
fn middle(counts: &[f64]) -> usize {
    let half = counts.iter().sum::<f64>() / 2.0;
    let mut upto = 0.0;
    let reached = counts.iter().position(|count| {
        upto += count;
        upto >= half
    });
    reached.unwrap_or(0)
}
