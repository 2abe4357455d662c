//! Self-similarity: how slowly the variance of a series' means falls as more numbers are put together.
//!
//! Hurst's H is 0.5 where numbers do not depend on each other over long times, and up to 1 where
//! bursts stand on bursts at every scale. Four estimates, since each is misled by something else:
//!
//! | estimate | interval | misled by |
//! |---|---|---|
//! | [`aggregated_variance`] | of its scatter alone | trends and cycles (upwards), short series (downwards) |
//! | [`rescaled_range`] | no | short series (towards 0.6 and more), short-range dependence |
//! | [`local_whittle`] | yes | trends and cycles |
//! | [`wavelet`] | yes | cycles whose length is among its scales |
//!
//! All but the rescaled range take the variance of a noise in the series, each of whose numbers is independent of the
//! others, such as that of counts about their rate; 0 for none.

mod noise;
mod noisy;
mod wavelet;

pub use noise::noise;
pub use wavelet::{Octave, Wavelet, octaves, wavelet};

use std::ops::Range;

use crate::counts::chi_squared_tail;
use crate::mean::mean;
use crate::tail::normal_quantile;
use crate::{bracket, fft};
use noisy::{Noisy, Power};

/// Why there is no estimate of H.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoEstimate {
    /// The series is too short.
    #[error("the series is too short")]
    Short,
    /// It is constant, or its power does not follow any H that is searched.
    #[error("no H is most likely")]
    None,
    /// It varies no more than its noise does.
    #[error("the series varies no more than its noise")]
    Noise,
}

/// An estimate of H.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Hurst's H.
    pub h: f64,
    /// Lower bound of its interval, where the method has one.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// The local Whittle estimate and what it was made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whittle {
    /// H.
    pub estimate: Estimate,
    /// The number of values from the beginning of the series: all of them, or all but less than one in 256.
    pub length: usize,
    /// The number of its lowest frequencies.
    pub frequencies: usize,
}

/// The range in which the local Whittle estimate looks for H, and how near to an end of it no maximum counts as
/// found.
const SEARCHED: Range<f64> = 0.01..1.49;
const AT_END: f64 = 1e-3;
/// Minimum length of a series for an estimate.
pub const LENGTH_MIN: usize = 256;
/// Least number of blocks whose variance or range is taken.
const BLOCKS_MIN: usize = 10;

/// The variance of the means of blocks of one size.
struct BlockVariance {
    /// Logarithm of the size.
    log_size: f64,
    /// Logarithm of the variance less that of the noise.
    log_variance: f64,
    /// The variance, with that of the noise, over the variance without it.
    noisiness: f64,
    /// The number of blocks.
    blocks: f64,
}

/// By the variance of the means of blocks less that of the noise, over blocks of 8 numbers to a tenth of the series: it
/// falls as m^(2H−2) (Beran 1994, section 4.4; Taqqu, Teverovsky and Willinger 1995). Sizes count by how little of their
/// variance is noise.
///
/// The interval is of the variances' scatter, not of the estimate's bias: n independent means have a variance whose
/// logarithm has the variance 2/(n − 1), and that of larger blocks, which are made of the same numbers, differs from it by
/// an independent amount.
///
/// # Errors
/// If the series is too short, fewer than three of the variances are above that of the noise, or none of them is by more
/// than chance.
pub fn aggregated_variance(
    series: &[f64],
    noise: f64,
    confidence: f64,
) -> Result<Estimate, NoEstimate> {
    if series.len() < LENGTH_MIN {
        return Err(NoEstimate::Short);
    }
    let mut points = Vec::new();
    // P(variances as great), if all is noise.
    let mut chances = Vec::new();
    let mut sums: Vec<f64> = series.to_vec();
    let mut size = 1.0;
    while sums.len() >= BLOCKS_MIN {
        let blocks = sums.len() as f64;
        let mean = sums.iter().sum::<f64>() / blocks;
        let variance = sums.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (blocks - 1.0);
        let of_means = variance / size / size;
        let above = of_means - noise / size;
        if size >= 8.0 && noise > 0.0 {
            let statistic = (blocks - 1.0) * of_means * size / noise;
            chances.push(chi_squared_tail(statistic, blocks - 1.0));
        }
        if size >= 8.0 && above > 0.0 {
            points.push(BlockVariance {
                log_size: f64::ln(size),
                log_variance: above.ln(),
                noisiness: of_means / above,
                blocks,
            });
        }
        sums = sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
        size *= 2.0;
    }
    // As many chances as there are sizes (Bonferroni).
    let least = chances.iter().copied().fold(1.0, f64::min) * chances.len() as f64;
    if noise > 0.0 && least > 1.0 - confidence {
        return Err(NoEstimate::Noise);
    }
    let found = decay(&points, normal_quantile(0.5 + confidence / 2.0));
    found.ok_or(match noise > 0.0 {
        true => NoEstimate::Noise,
        false => NoEstimate::None,
    })
}

/// H by the slope of variances over sizes, the smallest first, with `errors` standard errors on both sides; `None` with
/// fewer than three points.
fn decay(points: &[BlockVariance], errors: f64) -> Option<Estimate> {
    if points.len() < 3 {
        return None;
    }
    let weight = |point: &BlockVariance| point.noisiness.powi(-2);
    let weights: f64 = points.iter().map(weight).sum();
    let middle = points.iter().map(|point| weight(point) * point.log_size).sum::<f64>() / weights;
    let spread: f64 =
        points.iter().map(|point| weight(point) * (point.log_size - middle).powi(2)).sum();
    let shares = points.iter().map(|point| weight(point) * (point.log_size - middle) / spread);
    let shares: Vec<f64> = shares.collect();
    let slope: f64 =
        shares.iter().zip(points).map(|(share, point)| share * point.log_variance).sum();
    let mut variance = 0.0;
    for (place, (share, point)) in shares.iter().zip(points).enumerate() {
        let shared = 2.0 / (point.blocks - 1.0) * point.noisiness;
        let own = share * share * shared * point.noisiness;
        // What a size has in common with a larger one is all of its own scatter.
        let larger = shares.iter().zip(points).skip(place + 1);
        let common: f64 =
            larger.map(|(other, larger)| share * other * shared * larger.noisiness).sum();
        variance += own + 2.0 * common;
    }
    let h = 1.0 + slope / 2.0;
    let off = errors * variance.sqrt() / 2.0;
    h.is_finite().then_some(Estimate { h, low: Some(h - off), high: Some(h + off) })
}

/// By Hurst's own rescaled range (1951): the range of the sums' deviations over the standard deviation
/// grows as m^H; the mean of all blocks, for blocks of 16 numbers to a tenth of the series.
pub fn rescaled_range(series: &[f64]) -> Option<Estimate> {
    if series.len() < LENGTH_MIN {
        return None;
    }
    let mut points = Vec::new();
    let mut size = 16;
    while series.len() / size >= BLOCKS_MIN {
        let ranges: Vec<f64> = series.chunks_exact(size).filter_map(range).collect();
        if !ranges.is_empty() {
            points.push(((size as f64).ln(), mean(&ranges).ln()));
        }
        size *= 2;
    }
    without_interval(slope(&points)?)
}

/// R / S of a block; `None` where it is constant.
fn range(block: &[f64]) -> Option<f64> {
    let n = block.len() as f64;
    let mean = block.iter().sum::<f64>() / n;
    let mut sum = 0.0;
    let mut low = 0.0_f64;
    let mut high = 0.0_f64;
    let mut squares = 0.0;
    for x in block {
        sum += x - mean;
        low = low.min(sum);
        high = high.max(sum);
        squares += (x - mean).powi(2);
    }
    let deviation = (squares / n).sqrt();
    (deviation > 0.0).then(|| (high - low) / deviation)
}

fn without_interval(h: f64) -> Option<Estimate> {
    h.is_finite().then_some(Estimate { h, low: None, high: None })
}

/// Slope of the least-squares line; `None` with fewer than three points.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let above: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let below: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    Some(above / below)
}

/// Robinson's Gaussian semiparametric estimate, "Gaussian semiparametric estimation of long range
/// dependence" (Annals of Statistics 23, 1995), of the `frequencies` lowest ones: H minimises
/// ln(mean λ^(2H−1) I(λ)) − (2H−1) mean ln λ, and has the standard error 1 / (2 √Σ(ln λ − mean ln λ)²): the
/// curvature that it has for as many frequencies as there are, of which Robinson's √frequencies is the
/// limit, which is too narrow for some hundreds. With a noise it is the most likely one above it.
///
/// # Errors
/// If the series is too short, constant or all noise, or the least value lies at an end of what is searched: then there
/// is no such H.
pub fn local_whittle(
    series: &[f64],
    frequencies: usize,
    noise: f64,
    confidence: f64,
) -> Result<Whittle, NoEstimate> {
    if series.len() < LENGTH_MIN {
        return Err(NoEstimate::Short);
    }
    let frequencies = frequencies.clamp(8, series.len() / 2 - 1);
    let mean = mean(series);
    let centred: Vec<f64> = series.iter().map(|x| x - mean).collect();
    let (length, powers) = fft::lowest_powers(&centred, frequencies);
    let powers: Vec<Power> = (1..)
        .zip(powers)
        .map(|(j, power)| {
            let frequency = std::f64::consts::TAU * f64::from(j) / length as f64;
            Power { log: -frequency.ln(), weight: 1.0, power: power / length as f64 }
        })
        .collect();
    if powers.iter().all(|one| one.power <= 0.0) {
        return Err(NoEstimate::None);
    }
    let estimate = match noise > 0.0 {
        true => Noisy::new(&powers, noise).estimate(confidence)?,
        false => without_noise(&powers, confidence),
    };
    if estimate.h - SEARCHED.start < AT_END || SEARCHED.end - estimate.h < AT_END {
        return Err(NoEstimate::None);
    }
    Ok(Whittle { estimate, length, frequencies })
}

/// The estimate from powers by scale, all of one weight.
fn without_noise(powers: &[Power], confidence: f64) -> Estimate {
    let count = powers.len() as f64;
    let middle = powers.iter().map(|one| one.log).sum::<f64>() / count;
    let objective = |h: f64| {
        let sum: f64 =
            powers.iter().map(|one| ((1.0 - 2.0 * h) * (one.log - middle)).exp() * one.power).sum();
        (sum / count).ln()
    };
    let h = bracket::least(SEARCHED, 1e-7, objective);
    let spread: f64 = powers.iter().map(|one| (one.log - middle).powi(2)).sum();
    let off = normal_quantile(0.5 + confidence / 2.0) / 2.0 / spread.sqrt();
    Estimate { h, low: Some(h - off), high: Some(h + off) }
}

#[cfg(test)]
mod tests;
