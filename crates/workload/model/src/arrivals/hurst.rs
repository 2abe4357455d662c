//! Self-similarity of the counts: estimates of Hurst's H.
//!
//! Counts of users scatter about their rate as Poisson counts do, with a variance that is their mean. Only what is
//! above it is the rate's own.

use serde::{Deserialize, Serialize};
use stats::hurst::{self, NoEstimate};
use stats::mean::mean;

use super::Counts;
use super::cycle::Cycle;
use super::scales::merged_bins;

/// Minimum number of users for an estimate.
const HURST_USERS_MIN: u64 = 50;
/// Maximum length of the series.
const SERIES_MAX: usize = 1 << 20;
/// Scales of the wavelet estimate, seconds: above the clock's step, below the cycle of the day; from the
/// fourth octave on, since the first three of a series of counts are not yet on the line.
const WAVELET_FROM_S: f64 = 16.0;
const WAVELET_OCTAVE_MIN: u32 = 4;
const WAVELET_UPTO_S: f64 = 4_096.0;
/// The share, as a power, of the frequencies that the local Whittle estimate takes.
const WHITTLE_POWER: f64 = 0.65;
const CONFIDENCE: f64 = 0.95;
/// Counts whose variance is below that of Poisson's by more than this number of its standard errors are not scattered
/// as such: they come evenly, and nothing is subtracted.
const EVEN_ERRORS: f64 = 3.0;

/// Estimates of Hurst's H.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Hurst {
    /// Numbers of the series, and how long each is, seconds.
    pub numbers: usize,
    /// Seconds.
    pub number_s: u64,
    /// Each estimate.
    pub estimates: Vec<HurstEstimate>,
    /// Scatter that the counts' Poisson noise hides.
    #[serde(default)]
    pub hidden: Vec<HurstHidden>,
    /// log₂ energy of the wavelet's octaves, with standard error: seconds, energy, error.
    pub octaves: Vec<(f64, f64, f64)>,
}

/// One estimate of H.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct HurstEstimate {
    /// `aggregated-variance`, `rescaled-range`, `local-whittle`, `wavelet`.
    pub method: String,
    /// The cycle was taken out of the series before.
    pub about_cycle: bool,
    /// The scales it speaks of, seconds.
    pub from_s: f64,
    /// Upper end of the scales, seconds.
    pub upto_s: f64,
    /// H; not between 0 and 1 where the counts are not stationary at these scales, or too few.
    pub h: f64,
    /// Lower bound of its 95 % interval, where the method has one.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// P(octaves as far from a straight line), if the method has it: small if H differs between
    /// scales.
    pub p_straight: Option<f64>,
}

/// An estimate that could not be made: the counts vary no more than those of a Poisson process of one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct HurstHidden {
    /// As of an estimate.
    pub method: String,
    /// The cycle was taken out of the series before.
    pub about_cycle: bool,
}

impl HurstEstimate {
    /// False if it is not of counts that are stationary at these scales: no H between 0 and 1 is in its interval. An
    /// estimate without an interval decides nothing.
    pub(crate) fn is_stationary(&self) -> bool {
        self.low.is_none_or(|low| low < 1.0) && self.high.is_none_or(|high| high > 0.0)
    }
}

pub(super) fn hurst(counts: &Counts, cycle: Option<&Cycle>) -> Option<Hurst> {
    let users: u64 = counts.bins.iter().map(|&count| u64::from(count)).sum();
    if users < HURST_USERS_MIN {
        return None;
    }
    let factor = counts.bins.len().div_ceil(SERIES_MAX).max(1);
    let series: Vec<f64> = merged_bins(&counts.bins, factor).map(|count| count as f64).collect();
    let number_s = counts.bin_s * factor as u64;
    let mut found = Hurst {
        numbers: series.len(),
        number_s,
        estimates: Vec::new(),
        hidden: Vec::new(),
        octaves: Vec::new(),
    };
    let mean = mean(&series);
    Series {
        numbers: &series,
        number_s: number_s as f64,
        noise: noise(&series, mean),
        about_cycle: false,
    }
    .estimates(&mut found);
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
        Series {
            numbers: &residuals,
            number_s: number_s as f64,
            noise: noise(&residuals, 1.0),
            about_cycle: true,
        }
        .estimates(&mut found);
    }
    (!found.estimates.is_empty()).then_some(found)
}

/// The variance of the counts about their rate: `poisson`, unless they scatter less.
fn noise(series: &[f64], poisson: f64) -> f64 {
    let count = series.len() as f64;
    let mean = series.iter().sum::<f64>() / count;
    let variance = series.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    match variance < poisson * (1.0 - EVEN_ERRORS * (2.0 / count).sqrt()) {
        true => 0.0,
        false => poisson,
    }
}

/// An estimate, and the scales that it holds for.
struct ScaledEstimate {
    estimate: hurst::Estimate,
    /// Least and greatest scale, seconds.
    scales_s: (f64, f64),
    /// P(as far from a straight line), for estimates that fit one.
    p_straight: Option<f64>,
}

/// Counts one after the other.
struct Series<'n> {
    numbers: &'n [f64],
    /// How long each is, seconds.
    number_s: f64,
    /// Their variance about their rate.
    noise: f64,
    about_cycle: bool,
}

impl Series<'_> {
    fn estimates(&self, found: &mut Hurst) {
        let series = self.numbers;
        let noise = self.noise;
        if series.iter().all(|x| *x == series[0]) {
            return;
        }
        let length_s = series.len() as f64 * self.number_s;
        let aggregated = hurst::aggregated_variance(series, noise, CONFIDENCE);
        let in_blocks = |estimate: hurst::Estimate, least: f64| ScaledEstimate {
            estimate,
            scales_s: (least * self.number_s, length_s / 10.0),
            p_straight: None,
        };
        self.add("aggregated-variance", aggregated.map(|estimate| in_blocks(estimate, 8.0)), found);
        let rescaled = hurst::rescaled_range(series).ok_or(NoEstimate::None);
        self.add("rescaled-range", rescaled.map(|estimate| in_blocks(estimate, 16.0)), found);
        let frequencies = (series.len() as f64).powf(WHITTLE_POWER) as usize;
        let whittle = hurst::local_whittle(series, frequencies, noise, CONFIDENCE);
        let whittle = whittle.map(|whittle| {
            let used_s = whittle.length as f64 * self.number_s;
            ScaledEstimate {
                estimate: whittle.estimate,
                scales_s: (used_s / whittle.frequencies as f64, used_s),
                p_straight: None,
            }
        });
        self.add("local-whittle", whittle, found);
        let octave = |seconds: f64| (seconds / self.number_s).log2().round().max(1.0) as u32;
        let from = octave(WAVELET_FROM_S).max(WAVELET_OCTAVE_MIN);
        let upto = octave(WAVELET_UPTO_S).max(7);
        let span = |octave: u32| self.number_s * 2_f64.powi(octave as i32);
        let wavelet = hurst::wavelet(series, from, upto, noise, CONFIDENCE);
        if !self.about_cycle && series.len() >= hurst::LENGTH_MIN {
            let octaves = hurst::octaves(series);
            let octaves = octaves.iter();
            found.octaves = octaves.map(|o| (span(o.octave), o.log_energy, o.error)).collect();
        }
        let wavelet = wavelet.map(|wavelet| ScaledEstimate {
            estimate: wavelet.estimate,
            scales_s: (span(wavelet.used.0), span(wavelet.used.1)),
            p_straight: Some(wavelet.p_straight),
        });
        self.add("wavelet", wavelet, found);
    }

    fn add(&self, method: &str, estimate: Result<ScaledEstimate, NoEstimate>, found: &mut Hurst) {
        let method = method.to_owned();
        let about_cycle = self.about_cycle;
        let ScaledEstimate { estimate, scales_s, p_straight } = match estimate {
            Ok(estimate) => estimate,
            Err(NoEstimate::Noise) => {
                found.hidden.push(HurstHidden { method, about_cycle });
                return;
            }
            Err(NoEstimate::Short | NoEstimate::None) => return,
        };
        found.estimates.push(HurstEstimate {
            method,
            about_cycle,
            from_s: scales_s.0,
            upto_s: scales_s.1,
            h: estimate.h,
            low: estimate.low,
            high: estimate.high,
            p_straight,
        });
    }
}
