//! The modes of one distribution: its peaks, as far as they are no accident, and what each holds.
//!
//! The density is estimated with a Gaussian kernel ([`density`]), and every valley between two of its
//! peaks counts only if the lower peak is above it by more than chance allows, and by more than is
//! relevant. [`silverman`] tests the same in another way: how wide a kernel must be
//! until no more than k peaks are left.
//!
//! Times are best looked at on a logarithmic scale: a peak at 1 ms and one at 1 s are of like width
//! there, while one bandwidth on the plain scale blurs the first or makes noise of the second.

pub mod density;
mod silverman;

pub use silverman::{Silverman, silverman};

use std::f64::consts::PI;

use crate::sample::Sample;
use crate::tail::normal_quantile;
use density::Density;

/// The scale on which modes are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As the numbers are.
    Plain,
    /// Their logarithms: all must be above 0.
    Logarithmic,
}

/// The rules for what counts as a mode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The scale.
    pub scale: Scale,
    /// The probability with which a distribution of one mode may be given more.
    pub alpha: f64,
    /// The least share of the sample that is called a mode of its own.
    pub share_min: f64,
    /// How far a valley must lie below the lower of its peaks, as a share of that one's height.
    pub depth_min: f64,
    /// How many independent numbers the sample is worth, where that is less than its count.
    pub effective: Option<f64>,
}

impl Default for Rules {
    /// Times: logarithms, 5 %, modes of at least 1 %, valleys a tenth deep.
    fn default() -> Rules {
        Rules {
            scale: Scale::Logarithmic,
            alpha: 0.05,
            share_min: 0.01,
            depth_min: 0.1,
            effective: None,
        }
    }
}

/// One mode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// The place of the greatest density.
    pub at: f64,
    /// The share of the sample between the valleys to both sides.
    pub share: f64,
    /// The valley before it; the sample's least number for the first mode.
    pub from: f64,
    /// The valley behind it; the sample's greatest number for the last.
    pub to: f64,
}

/// Why no modes were looked for.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ModesError {
    /// It has no logarithm.
    #[error("{0} has no logarithm: take the plain scale")]
    NotPositive(f64),
}

/// The modes of a sample from the least to the greatest; one at least.
///
/// A valley counts if the lower of its two peaks is above it by as many standard errors as the
/// level requires at as many places as the sample's range has bandwidths (Bonferroni): the
/// density of n numbers with bandwidth h has the variance f / (2√π n h) (Silverman, "Density
/// Estimation", 1986, section 3.3.1). The least significant valley is filled first.
///
/// # Errors
/// If the scale is logarithmic and a number is not above 0.
///
/// # Panics
/// If `alpha` does not lie strictly between 0 and 1.
pub fn modes(sample: &Sample, rules: &Rules) -> Result<Vec<Mode>, ModesError> {
    let alpha = rules.alpha;
    assert!(alpha > 0.0 && alpha < 1.0, "level {alpha} is not between 0 and 1");
    let min = sample.min();
    let max = sample.max();
    let Some(density) = Density::new(sample, rules.scale)? else {
        return Ok(vec![Mode { at: min, share: 1.0, from: min, to: max }]);
    };
    let bandwidth = density.sheather_jones();
    let heights = density.heights(bandwidth);
    let mut peaks = peaks(&heights);
    let places = (density.range() / bandwidth).max(1.0);
    let errors_min = normal_quantile(1.0 - alpha / places);
    let count = sample.count() as f64;
    let effective = rules.effective.map_or(count, |effective| effective.clamp(1.0, count));
    let per_height = 1.0 / (2.0 * PI.sqrt() * effective * bandwidth);
    // How much of each requirement a valley meets, at its weakest: 1 is enough.
    let merit = |peaks: &[Peak], i: usize| {
        let low = peaks[i].height.min(peaks[i - 1].height);
        let valley = heights[peaks[i].valley];
        let error = ((low + valley) * per_height).sqrt();
        let apart = (low - valley) / error / errors_min;
        let depth = (low - valley) / low / rules.depth_min;
        let bounds = [i - 1, i].map(|i| {
            let from = density.place(peaks[i].valley);
            let to = peaks.get(i + 1).map_or(max, |next| density.place(next.valley));
            let from = if i == 0 { f64::NEG_INFINITY } else { from };
            (sample.count_upto(to) - sample.count_upto(from)) as f64 / count
        });
        let share = bounds[0].min(bounds[1]) / rules.share_min;
        apart.min(depth).min(share)
    };
    while peaks.len() > 1 {
        let merits = (1..peaks.len()).map(|i| (merit(&peaks, i), i));
        let weakest = merits.min_by(|a, b| a.0.total_cmp(&b.0));
        match weakest {
            Some((merit, i)) if merit < 1.0 => {
                let filled = peaks.remove(i);
                if filled.height > peaks[i - 1].height {
                    (peaks[i - 1].at, peaks[i - 1].height) = (filled.at, filled.height);
                }
            }
            _ => break,
        }
    }
    Ok(modes_of_peaks(&peaks, &density, sample))
}

/// The modes at these peaks, from valley to valley.
fn modes_of_peaks(peaks: &[Peak], density: &Density, sample: &Sample) -> Vec<Mode> {
    let min = sample.min();
    let max = sample.max();
    let count = sample.count() as f64;
    let mut from = min;
    let mut before = 0;
    let found = peaks.iter().enumerate().map(|(i, peak)| {
        let to = peaks.get(i + 1).map_or(max, |next| density.place(next.valley));
        let upto = sample.count_upto(to);
        let mode = Mode {
            at: density.place(peak.at).clamp(min, max),
            share: (upto - before) as f64 / count,
            from,
            to,
        };
        (from, before) = (to, upto);
        mode
    });
    found.collect()
}

/// A peak of a density on a grid.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Peak {
    at: usize,
    height: f64,
    /// The lowest place between it and the peak before; for the first one somewhere before all numbers.
    valley: usize,
}

/// Heights less than this apart, beside the greatest, are rounding.
const ROUNDING: f64 = 1e-12;

/// The peaks of a density, in order; flat tops count once.
fn peaks(heights: &[f64]) -> Vec<Peak> {
    let greatest = heights.iter().copied().fold(0.0, f64::max);
    let level = |i: usize| (heights[i] / greatest / ROUNDING).round();
    let mut peaks = Vec::new();
    // Whatever falls from the beginning on came round from the end.
    let mut rising = false;
    let mut top = 0;
    let mut valley = 0;
    for i in 1..heights.len() {
        let before = level(i - 1);
        let now = level(i);
        if now > before {
            if !rising {
                (rising, valley) = (true, i - 1);
            }
            top = i;
        } else if now < before && rising {
            rising = false;
            peaks.push(Peak { at: top, height: heights[top], valley });
        }
    }
    peaks
}

#[cfg(test)]
mod tests;
