//! Densities with a Gaussian kernel, on a grid.

use std::f64::consts::{PI, TAU};

use crate::fft::{Complex, autocovariance, back, transform};
use crate::sample::Sample;

use super::{ModesError, Scale};

/// Places of the grid; a power of two.
const GRID: usize = 1 << 14;
/// Places left free at either end, so that what is blurred beyond one does not come in at the other:
/// twice what the sample takes.
const MARGIN: usize = 2 * (GRID / 5);
/// Bandwidths of fewer places are not resolved.
const BANDWIDTH_MIN: f64 = 2.0;

/// A sample spread over a grid, ready to be blurred with any bandwidth.
///
/// Each number is divided between the two places beside it, in proportion to how near they are:
/// linear binning, of which an estimate is wrong by no more than (place / bandwidth)² / 12 (Jones and
/// Lotwick 1984). Where numbers were visibly rounded, each is spread over all that is rounded to it:
/// else every unit would be a mode.
#[derive(Debug, Clone)]
pub struct Density {
    scale: Scale,
    /// The first place, on the scale.
    start: f64,
    /// Distance between places, on the scale.
    step: f64,
    count: f64,
    /// The standard deviation on the scale.
    deviation: f64,
    /// The lesser of the deviation and the interquartile range of a normal distribution's.
    spread: f64,
    /// The share of the sample at each place.
    shares: Vec<f64>,
    /// Fourier transform of the shares.
    spectrum: Vec<Complex>,
}

impl Density {
    /// The density of a sample; `None` if all its numbers are one value.
    ///
    /// # Errors
    /// If the scale is logarithmic and a number is not above 0.
    pub fn new(sample: &Sample, scale: Scale) -> Result<Option<Density>, ModesError> {
        if scale == Scale::Logarithmic && sample.min() <= 0.0 {
            return Err(ModesError::NotPositive(sample.min()));
        }
        let on = |x: f64| scale.of_number(x);
        let min = on(sample.min());
        let max = on(sample.max());
        let step = (max - min) / (GRID - 2 * MARGIN - 1) as f64;
        if step <= 0.0 {
            return Ok(None);
        }
        let count = sample.count() as f64;
        let start = min - MARGIN as f64 * step;
        let shares = shares(sample, scale, start, step);
        let moment = |power: i32| -> f64 {
            let from_min = |place: usize| (place as f64 - MARGIN as f64).powi(power);
            shares.iter().enumerate().map(|(place, share)| share * from_min(place)).sum()
        };
        let deviation = (moment(2) - moment(1).powi(2)).max(0.0).sqrt() * step;
        let quartiles = on(sample.quantile(0.75)) - on(sample.quantile(0.25));
        let spread = match quartiles / 1.349 {
            // More than half of all numbers may be one.
            spread if spread > 0.0 => spread.min(deviation),
            _ => deviation,
        };
        let mut spectrum: Vec<Complex> = shares.iter().map(|&share| (share, 0.0)).collect();
        transform(&mut spectrum);
        Ok(Some(Density { scale, start, step, count, deviation, spread, shares, spectrum }))
    }

    /// The number at a place of the grid.
    pub fn place(&self, place: usize) -> f64 {
        let x = self.start + place as f64 * self.step;
        if self.scale == Scale::Logarithmic { x.exp() } else { x }
    }

    /// From the least to the greatest number, on the scale.
    pub fn range(&self) -> f64 {
        (GRID - 2 * MARGIN - 1) as f64 * self.step
    }

    /// The density at each place, for this bandwidth on the scale.
    pub fn heights(&self, bandwidth: f64) -> Vec<f64> {
        self.blurred(&self.spectrum, bandwidth)
    }

    /// Multiplies a transform with that of the kernel (Silverman 1982, AS 176).
    fn blurred(&self, spectrum: &[Complex], bandwidth: f64) -> Vec<f64> {
        let turn = TAU / GRID as f64 * bandwidth / self.step;
        let mut product: Vec<Complex> = spectrum
            .iter()
            .enumerate()
            .map(|(k, &(re, im))| {
                let frequency = turn * k.min(GRID - k) as f64;
                let factor = (-0.5 * frequency * frequency).exp();
                (re * factor, im * factor)
            })
            .collect();
        back(&mut product);
        product.iter().map(|x| x.0.max(0.0) / self.step).collect()
    }

    /// The density of another sample on the same grid, given by its counts at the places.
    pub(super) fn heights_of(&self, counts: &[f64], bandwidth: f64) -> Vec<f64> {
        let mut spectrum: Vec<Complex> = counts.iter().map(|&count| (count, 0.0)).collect();
        transform(&mut spectrum);
        self.blurred(&spectrum, bandwidth)
    }

    pub(super) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Least and greatest bandwidth that the grid can show.
    pub(super) fn bandwidths(&self) -> (f64, f64) {
        // Four of the greatest fill the margin: half of the sample's range, which leaves one mode of
        // any two.
        (BANDWIDTH_MIN * self.step, MARGIN as f64 * self.step / 4.0)
    }

    /// The bandwidth of Sheather and Jones, "A reliable data-based bandwidth selection method for
    /// kernel density estimation" (1991): the one that solves the equation for the least mean squared
    /// error, its unknown ∫ f″² being estimated with a bandwidth that depends on the solution. It does
    /// not take the distribution for normal, as rules of thumb do, which blur away the very modes that
    /// are looked for.
    ///
    /// On the scale; at least two places of the grid.
    pub fn sheather_jones(&self) -> f64 {
        let (least, greatest) = self.bandwidths();
        // How many pairs of numbers are this number of places apart, as a share of all n².
        let pairs = autocovariance(&self.shares, GRID - 1);
        let n = self.count;
        let spread = self.spread;
        let first = self.functional(&pairs, 1.23 * spread * n.powf(-1.0 / 9.0), SIXTH);
        let second = self.functional(&pairs, 1.24 * spread * n.powf(-1.0 / 7.0), FOURTH);
        let ratio = 1.357 * (second / -first).abs().powf(1.0 / 7.0);
        let excess = |h: f64| {
            let curvature = self.functional(&pairs, ratio * h.powf(5.0 / 7.0), FOURTH);
            (1.0 / (2.0 * PI.sqrt() * n * curvature.max(0.0))).powf(0.2) - h
        };
        // The greatest that any density of this spread can want (Terrell 1990).
        let mut low = least;
        let mut high = (1.144 * spread * n.powf(-0.2)).clamp(least, greatest);
        if excess(high) >= 0.0 {
            return high;
        }
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            *(if excess(middle) > 0.0 { &mut low } else { &mut high }) = middle;
        }
        high
    }

    /// The mean of a derivative of the density, estimated with bandwidth `h`: the sum over all pairs
    /// of the kernel's derivative at their distance.
    fn functional(&self, pairs: &[f64], h: f64, derivative: Derivative) -> f64 {
        // Beyond, the normal density is 0 to the last bit.
        let lags = ((38.0 * h / self.step) as usize).min(pairs.len() - 1);
        let terms = pairs[..=lags].iter().enumerate().map(|(lag, share)| {
            let square = (lag as f64 * self.step / h).powi(2);
            // Each pair but that of a number with itself was counted once, and stands for two.
            let times = if lag == 0 { 1.0 } else { 2.0 };
            times * share * (-square / 2.0).exp() * (derivative.polynomial)(square)
        });
        let norm = self.count / (self.count - 1.0) / (TAU.sqrt() * h.powi(derivative.order + 1));
        terms.sum::<f64>() * norm
    }
}

impl Scale {
    fn of_number(self, x: f64) -> f64 {
        match self {
            Scale::Logarithmic => x.ln(),
            Scale::Plain => x,
        }
    }
}

/// The share of the sample at each place of the grid. Rounded numbers are spread over what was rounded to them.
fn shares(sample: &Sample, scale: Scale, start: f64, step: f64) -> Vec<f64> {
    let on = |x: f64| scale.of_number(x);
    let count = sample.count() as f64;
    let mut shares = vec![0.0; GRID];
    let rounded_to = rounded_to(sample);
    for (value, times) in sample.iter() {
        let share = times as f64 / count;
        if let Some(unit) = rounded_to {
            let mut low = value - unit / 2.0;
            let high = value + unit / 2.0;
            if scale == Scale::Logarithmic {
                low = low.max(value / 2.0);
            }
            let place = |x: f64| (on(x) - start) / step + 0.5;
            // The places are as wide as a step, with their numbers in the middle.
            let mut before = 0.0;
            let first = place(low) as usize;
            let last = place(high) as usize;
            for (place, held) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
                let end = start + (place as f64 + 0.5) * step;
                let end = if scale == Scale::Logarithmic { end.exp() } else { end };
                let upto = ((end - low) / (high - low)).clamp(0.0, 1.0);
                *held += share * (upto - before);
                before = upto;
            }
        } else {
            let at = (on(value) - start) / step;
            let left = at.floor();
            shares[left as usize] += share * (1.0 - (at - left));
            shares[left as usize + 1] += share * (at - left);
        }
    }
    shares
}

/// An even derivative of the normal density, divided by the density.
#[derive(Clone, Copy)]
struct Derivative {
    order: i32,
    /// The quotient as a polynomial of the argument's square.
    polynomial: fn(f64) -> f64,
}

const FOURTH: Derivative = Derivative { order: 4, polynomial: |s| s * s - 6.0 * s + 3.0 };
const SIXTH: Derivative =
    Derivative { order: 6, polynomial: |s| s * s * s - 15.0 * s * s + 45.0 * s - 15.0 };

/// Fewer distinct values show no unit to which they were rounded.
const ROUNDED_VALUES_MIN: usize = 8;

/// The unit to which the numbers were rounded: where they repeat themselves, and the least distance
/// between two is that of most neighbours.
fn rounded_to(sample: &Sample) -> Option<f64> {
    let values = sample.values();
    if values.len() < ROUNDED_VALUES_MIN || sample.count() < 2 * values.len() as u64 {
        return None;
    }
    let gaps = || values.windows(2).map(|pair| pair[1] - pair[0]);
    let unit = gaps().fold(f64::INFINITY, f64::min);
    let alike = gaps().filter(|gap| gap - unit < 1e-6 * unit).count();
    (2 * alike >= values.len()).then_some(unit)
}
