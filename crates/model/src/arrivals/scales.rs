//! The same counts at several scales: their dispersion, dependence, picture and self-similarity.

use serde::{Deserialize, Serialize};
use stats::counts::dispersion;
use stats::hurst;
use stats::serial::{autocorrelation, dependence};

use super::{Counts, Cycle};

/// Bins put together.
pub(super) const FACTORS: [usize; 4] = [1, 10, 100, 1_000];
/// Windows below which a scale says nothing.
pub(super) const WINDOWS_MIN: usize = 50;
/// Counts of a picture.
const PICTURE_BINS: usize = 300;
/// Lags of the autocorrelation.
const LAGS: usize = 60;
/// Windows for each lag: of fewer the test of dependence refuses what is independent.
const WINDOWS_OF_LAG: usize = 4;
/// Pairs of users that are to be expected a lag apart for the test of dependence to decide: of fewer its
/// statistic is no χ².
const PAIRS_MIN: f64 = 20.0;
/// Users of whose counts self-similarity is told.
const HURST_USERS_MIN: u64 = 50;
/// The series whose self-similarity is estimated has at most so many numbers.
const SERIES_MAX: usize = 1 << 20;
/// Scales of the wavelet estimate, seconds: above the clock's step, below the cycle of the day; from the
/// fourth octave on, since the first three of a series of counts are not yet on the line.
const WAVELET_FROM_S: f64 = 16.0;
const WAVELET_OCTAVE_MIN: u32 = 4;
const WAVELET_UPTO_S: f64 = 4_096.0;
/// The share, as a power, of the frequencies that the local Whittle estimate takes.
const WHITTLE_POWER: f64 = 0.65;
const CONFIDENCE: f64 = 0.95;
/// Users that a silence must be without to be told.
const SILENCE_USERS_MIN: f64 = 30.0;
const SILENCES_TOLD: usize = 5;

/// Counts at one scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Ljung's and Box's test: P(as great).
    pub p_dependence: f64,
    /// Counts about the moment when half of the users have come, for the picture of one scale beside
    /// the others.
    pub picture: Vec<u32>,
}

/// Estimates of Hurst's H.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hurst {
    /// Numbers of the series, and how long each is, seconds.
    pub numbers: usize,
    /// Seconds.
    pub number_s: u64,
    /// Each estimate.
    pub estimates: Vec<HurstEstimate>,
    /// log₂ energy of the wavelet's octaves, with standard error: seconds, energy, error.
    pub octaves: Vec<(f64, f64, f64)>,
}

/// One estimate of H.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HurstEstimate {
    /// `aggregated-variance`, `rescaled-range`, `local-whittle`, `wavelet`.
    pub method: String,
    /// The cycle was taken out of the series before.
    pub about_cycle: bool,
    /// The scales it speaks of, seconds.
    pub from_s: f64,
    /// To so many seconds.
    pub upto_s: f64,
    /// H; not between 0 and 1 where the counts are not stationary at these scales.
    pub h: f64,
    /// Lower bound of its 95 % interval, where the method has one and there is such an H.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// P(octaves as far from a straight line), where the method tells: small where H differs from scale
    /// to scale.
    pub p_straight: Option<f64>,
}

/// A stretch without anybody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// From the recording's beginning, seconds.
    pub from_s: u64,
    /// How long, seconds.
    pub length_s: u64,
}

impl Scale {
    /// The probabilities by which it refuses Poisson: that of the dispersion, and that of dependence where there
    /// is enough to tell it.
    pub(crate) fn deciding(&self) -> impl Iterator<Item = f64> {
        let depends = self.dependence_decides().then_some(self.p_dependence);
        std::iter::once(self.p_dispersion).chain(depends)
    }

    /// Whether the test of dependence has enough users to go by.
    pub(crate) fn dependence_decides(&self) -> bool {
        self.mean * self.mean * self.windows as f64 >= PAIRS_MIN
    }
}

impl HurstEstimate {
    /// Whether it can be of counts that are stationary at these scales.
    pub(crate) fn is_stationary(&self) -> bool {
        is_h(self.h)
    }
}

impl Silence {
    pub(crate) fn holds(&self, second: u64) -> bool {
        (self.from_s..self.from_s + self.length_s).contains(&second)
    }
}

/// Counts in windows of so many bins; what is left at the end is left out.
pub(super) fn put_together(bins: &[u32], factor: usize) -> impl Iterator<Item = u64> + Clone {
    bins.chunks_exact(factor)
        .map(|window| window.iter().map(|&count| u64::from(count)).sum())
}

pub(super) fn scales(counts: &Counts) -> Vec<Scale> {
    let bins = super::between(&counts.bins);
    let scale = |factor: usize| {
        let windows = bins.len() / factor;
        if windows < WINDOWS_MIN {
            return None;
        }
        let together = put_together(bins, factor);
        let found = dispersion(together.clone())?;
        let numbers: Vec<f64> = together.clone().map(|count| count as f64).collect();
        let lags = LAGS.min(windows / WINDOWS_OF_LAG);
        let correlations = autocorrelation(&numbers, lags).unwrap_or_default();
        let depend = dependence(&correlations, windows);
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
            p_dependence: depend.p,
            picture: picture
                .map(|count| u32::try_from(count).unwrap_or(u32::MAX))
                .collect(),
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

/// The rate below which one whole hour in twenty lies, among those in which somebody came; the mean where
/// there are less than a day's.
fn low_rate(counts: &Counts, users: u64) -> f64 {
    let mean = users as f64 / counts.bins.len() as f64 / counts.bin_s as f64;
    let bins_of_hour = (3_600 / counts.bin_s).max(1) as usize;
    let mut hours: Vec<u64> = put_together(&counts.bins, bins_of_hour)
        .filter(|&users| users > 0)
        .collect();
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
    found.truncate(SILENCES_TOLD);
    (found, silent as f64 / bins.len() as f64)
}

pub(super) fn hurst(counts: &Counts, cycle: Option<&Cycle>) -> Option<Hurst> {
    let users: u64 = counts.bins.iter().map(|&count| u64::from(count)).sum();
    if users < HURST_USERS_MIN {
        return None;
    }
    let factor = counts.bins.len().div_ceil(SERIES_MAX).max(1);
    let series: Vec<f64> = put_together(&counts.bins, factor)
        .map(|count| count as f64)
        .collect();
    let number_s = counts.bin_s * factor as u64;
    let mut found = Hurst {
        numbers: series.len(),
        number_s,
        estimates: Vec::new(),
        octaves: Vec::new(),
    };
    estimates(&series, number_s as f64, false, &mut found);
    if let Some(cycle) = cycle {
        // Deviations from the cycle, in its own standard deviations.
        let residuals: Vec<f64> = series
            .iter()
            .enumerate()
            .filter_map(|(number, count)| {
                let rate = cycle.rate_at(counts, number * factor + factor / 2, &[])?;
                let expected = rate * number_s as f64;
                (expected > 0.0).then(|| (count - expected) / expected.sqrt())
            })
            .collect();
        estimates(&residuals, number_s as f64, true, &mut found);
    }
    (!found.estimates.is_empty()).then_some(found)
}

/// Hurst's H of counts that are stationary is between 0 and 1.
fn is_h(h: f64) -> bool {
    h > 0.0 && h < 1.0
}

fn estimates(series: &[f64], number_s: f64, about_cycle: bool, found: &mut Hurst) {
    let length_s = series.len() as f64 * number_s;
    let mut add =
        |method: &str, scales: (f64, f64), estimate: Option<hurst::Estimate>, p_straight| {
            if let Some(estimate) = estimate {
                // What is not between 0 and 1 is no H, and has no interval.
                let bounds = is_h(estimate.h).then_some((estimate.low, estimate.high));
                let (low, high) = bounds.unwrap_or_default();
                found.estimates.push(HurstEstimate {
                    method: method.to_owned(),
                    about_cycle,
                    from_s: scales.0,
                    upto_s: scales.1,
                    h: estimate.h,
                    low,
                    high,
                    p_straight,
                });
            }
        };
    let varies = series.iter().any(|x| *x != series[0]);
    if !varies {
        return;
    }
    add(
        "aggregated-variance",
        (8.0 * number_s, length_s / 10.0),
        hurst::aggregated_variance(series),
        None,
    );
    add(
        "rescaled-range",
        (16.0 * number_s, length_s / 10.0),
        hurst::rescaled_range(series),
        None,
    );
    let frequencies = (series.len() as f64).powf(WHITTLE_POWER) as usize;
    if let Some(whittle) = hurst::local_whittle(series, frequencies, CONFIDENCE) {
        let used_s = whittle.length as f64 * number_s;
        let scales = (used_s / whittle.frequencies as f64, used_s);
        add("local-whittle", scales, Some(whittle.estimate), None);
    }
    let octave = |seconds: f64| (seconds / number_s).log2().round().max(1.0) as u32;
    let (from, upto) = (
        octave(WAVELET_FROM_S).max(WAVELET_OCTAVE_MIN),
        octave(WAVELET_UPTO_S).max(7),
    );
    if let Some(wavelet) = hurst::wavelet(series, from, upto, CONFIDENCE) {
        let span = |octave: u32| number_s * 2_f64.powi(octave as i32);
        let scales = (span(wavelet.used.0), span(wavelet.used.1));
        add(
            "wavelet",
            scales,
            Some(wavelet.estimate),
            Some(wavelet.p_straight),
        );
        if !about_cycle {
            let octaves = wavelet.octaves.iter();
            found.octaves = octaves
                .map(|o| (span(o.octave), o.log_energy, o.error))
                .collect();
        }
    }
}
