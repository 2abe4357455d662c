//! Self-similarity of the counts: estimates of Hurst's H.

use serde::{Deserialize, Serialize};
use stats::hurst;

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
    /// Upper end of the scales, seconds.
    pub upto_s: f64,
    /// H; not between 0 and 1 where the counts are not stationary at these scales.
    pub h: f64,
    /// Lower bound of its 95 % interval, where the method has one and there is such an H.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// P(octaves as far from a straight line), if the method has it: small if H differs between
    /// scales.
    pub p_straight: Option<f64>,
}

impl HurstEstimate {
    /// Whether it can be of counts that are stationary at these scales.
    pub(crate) fn is_stationary(&self) -> bool {
        is_h(self.h)
    }
}

pub(super) fn hurst(counts: &Counts, cycle: Option<&Cycle>) -> Option<Hurst> {
    let users: u64 = counts.bins.iter().map(|&count| u64::from(count)).sum();
    if users < HURST_USERS_MIN {
        return None;
    }
    let factor = counts.bins.len().div_ceil(SERIES_MAX).max(1);
    let series: Vec<f64> = merged_bins(&counts.bins, factor)
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
