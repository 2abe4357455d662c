//! The wavelet estimate of Abry and Veitch, "Wavelet analysis of long-range-dependent traffic" (IEEE
//! Transactions on Information Theory 44, 1998).

use statrs::function::gamma::digamma;

use super::{Estimate, LENGTH_MIN, NoEstimate, Noisy, Power};
use crate::tail::normal_quantile;

/// Daubechies' filter with three vanishing moments ("Ten Lectures on Wavelets", 1992, table 6.1), which
/// does not see trends up to a parabola.
const FILTER: [f64; 6] = [
    0.332_670_552_950_082_5,
    0.806_891_509_311_092_4,
    0.459_877_502_118_491_4,
    -0.135_011_020_010_254_6,
    -0.085_441_273_882_026_7,
    0.035_226_291_885_709_5,
];
/// Octaves with fewer details say nothing.
const DETAILS_MIN: usize = 8;

/// The energy of one octave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Octave {
    /// Number of the octave: details of octave j span 2^j numbers.
    pub octave: u32,
    /// log₂ of the mean squared detail, its bias taken off.
    pub log_energy: f64,
    /// Standard error of `log_energy`.
    pub error: f64,
    /// How many details there are.
    pub details: usize,
    /// Mean square of the details.
    energy: f64,
}

/// The estimate and what it was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Wavelet {
    /// H, from the slope 2H − 1 of the octaves in use.
    pub estimate: Estimate,
    /// First and last octave in use.
    pub used: (u32, u32),
    /// P(octaves as far from a straight line), by χ²: small where there is no one H over these scales.
    pub p_straight: f64,
}

/// H from the octaves `from..=upto` (as far as they have details), with an interval. With a noise it is the most
/// likely one above it.
///
/// # Errors
/// If the series is too short or all noise, or fewer than three octaves are left.
pub fn wavelet(
    series: &[f64],
    from: u32,
    upto: u32,
    noise: f64,
    confidence: f64,
) -> Result<Wavelet, NoEstimate> {
    if series.len() < LENGTH_MIN {
        return Err(NoEstimate::Short);
    }
    let octaves = octaves(series);
    let used: Vec<&Octave> = octaves
        .iter()
        .filter(|octave| (from..=upto).contains(&octave.octave) && octave.log_energy.is_finite())
        .collect();
    let (Some(first), Some(last), 3..) = (used.first(), used.last(), used.len()) else {
        return Err(NoEstimate::None);
    };
    let ends = (first.octave, last.octave);
    let (estimate, off) = match noise > 0.0 {
        true => above(&used, noise, confidence)?,
        false => line(&used, confidence),
    };
    Ok(Wavelet {
        estimate,
        used: ends,
        p_straight: crate::counts::chi_squared_tail(off, (used.len() - 2) as f64),
    })
}

/// The most likely H above a noise, and how far the energies are from it, as χ². A noise has the same energy in all
/// octaves.
fn above(used: &[&Octave], noise: f64, confidence: f64) -> Result<(Estimate, f64), NoEstimate> {
    let powers: Vec<Power> = used
        .iter()
        .map(|octave| Power {
            log: f64::from(octave.octave) * std::f64::consts::LN_2,
            weight: octave.details as f64 / 2.0,
            power: octave.energy,
        })
        .collect();
    let noisy = Noisy::new(&powers, noise);
    let estimate = noisy.estimate(confidence)?;
    Ok((estimate, noisy.deviance(estimate.h)))
}

/// H by weighted least squares of the logarithms, and how far they are from the line, as χ².
fn line(used: &[&Octave], confidence: f64) -> (Estimate, f64) {
    let mut s = 0.0;
    let mut sx = 0.0;
    let mut sxx = 0.0;
    let mut sy = 0.0;
    let mut sxy = 0.0;
    for octave in used {
        let x = f64::from(octave.octave);
        let y = octave.log_energy;
        let w = octave.error.powi(-2);
        s += w;
        sx += w * x;
        sxx += w * x * x;
        sy += w * y;
        sxy += w * x * y;
    }
    let spread = s * sxx - sx * sx;
    let slope = (s * sxy - sx * sy) / spread;
    let level = (sy - slope * sx) / s;
    let off: f64 = used
        .iter()
        .map(|o| ((o.log_energy - level - slope * f64::from(o.octave)) / o.error).powi(2))
        .sum();
    let z = normal_quantile(0.5 + confidence / 2.0);
    let error = (s / spread).sqrt() / 2.0;
    let h = (slope + 1.0) / 2.0;
    let estimate = Estimate { h, low: Some(h - z * error), high: Some(h + z * error) };
    (estimate, off)
}

/// The energies of all octaves that have details enough: the pyramid of Mallat (1989), without the coefficients that
/// would reach beyond the series.
pub fn octaves(series: &[f64]) -> Vec<Octave> {
    let mut smooth = series.to_vec();
    let mut octaves = Vec::new();
    for octave in 1.. {
        if smooth.len() < FILTER.len() {
            break;
        }
        let details = (smooth.len() - FILTER.len()) / 2 + 1;
        if details < DETAILS_MIN {
            break;
        }
        let mut next = Vec::with_capacity(details);
        let mut energy = 0.0;
        for window in smooth.windows(FILTER.len()).step_by(2) {
            let mut low = 0.0;
            let mut high = 0.0;
            for (i, x) in window.iter().enumerate() {
                low += FILTER[i] * x;
                // The quadrature mirror: reversed, with alternating signs.
                let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
                high += sign * FILTER[FILTER.len() - 1 - i] * x;
            }
            energy += high * high;
            next.push(low);
        }
        let half = details as f64 / 2.0;
        let ln2 = std::f64::consts::LN_2;
        octaves.push(Octave {
            octave,
            // The mean of the logarithm of a χ² number is not the logarithm of its mean.
            log_energy: (energy / details as f64).log2() - (digamma(half) - half.ln()) / ln2,
            error: trigamma(half).sqrt() / ln2,
            details,
            energy: energy / details as f64,
        });
        smooth = next;
    }
    octaves
}

/// ψ'(x), by recurrence to where its expansion is exact to ten digits (Abramowitz and Stegun 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    sum + 1.0 / x + y / 2.0 + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)))
}
