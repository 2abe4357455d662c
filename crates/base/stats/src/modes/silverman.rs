//! Silverman's test of the number of modes.

use rand_distr::{Binomial, Distribution};

use crate::rng::Rng;
use crate::sample::Sample;

use super::density::Density;
use super::{ModesError, Scale, peaks};

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Silverman {
    /// The least bandwidth, on the scale, at which the density has at most this many modes.
    pub critical_bandwidth: f64,
    /// The share of samples drawn from that density which have more modes with that bandwidth. Small
    /// where the distribution has more than this many modes.
    pub p: f64,
}

/// Halvings of the bandwidth's logarithm.
const STEPS: u32 = 30;

/// Silverman, "Using kernel density estimates to investigate multimodality" (1981): whether the
/// sample's distribution has more than `modes_max` modes, by `draws` smoothed bootstrap samples. The
/// test is known to err on the side of fewer modes (Mammen, Marron and Fisher 1992).
///
/// `None` of a sample of one value, and where even the finest bandwidth that the grid resolves shows
/// no more than `modes_max` modes: there is nothing to test then.
///
/// # Errors
/// If the scale is logarithmic and a number is not above 0.
///
/// # Panics
/// If `modes_max` or `draws` is 0.
pub fn silverman(
    sample: &Sample,
    scale: Scale,
    modes_max: usize,
    draws: u32,
    rng: &mut Rng,
) -> Result<Option<Silverman>, ModesError> {
    assert!(modes_max > 0 && draws > 0, "{modes_max} modes, {draws} draws");
    let Some(density) = Density::new(sample, scale)? else {
        return Ok(None);
    };
    let Some(critical) = critical_bandwidth(&density, modes_max) else {
        return Ok(None);
    };
    let heights = density.heights(critical);
    // Blurring adds the kernel's variance; samples are shrunk to the variance that was found. A
    // shrunk sample has with a bandwidth the modes that it has unshrunk with one larger by as much.
    let shrunk = (1.0 + (critical / density.deviation()).powi(2)).sqrt();
    let exceeding = (0..draws).filter(|_| {
        let counts = drawn(&heights, sample.count(), rng);
        peaks(&density.heights_of(&counts, critical * shrunk)).len() > modes_max
    });
    Ok(Some(Silverman {
        critical_bandwidth: critical,
        p: exceeding.count() as f64 / f64::from(draws),
    }))
}

/// Modes with a Gaussian kernel never become more as it widens (Silverman 1981). `None` where the
/// grid shows no bandwidth with so few.
fn critical_bandwidth(density: &Density, modes_max: usize) -> Option<f64> {
    let few = |bandwidth: f64| peaks(&density.heights(bandwidth)).len() <= modes_max;
    let (mut many, mut serves) = density.bandwidths();
    if few(many) || !few(serves) {
        return None;
    }
    for _ in 0..STEPS {
        let middle = (many * serves).sqrt();
        *(if few(middle) { &mut serves } else { &mut many }) = middle;
    }
    Some(serves)
}

/// The shares, at each place, of this many numbers drawn from a density: binomial of what is left, one
/// place after the other.
fn drawn(heights: &[f64], count: u64, rng: &mut Rng) -> Vec<f64> {
    let mut weight_left: f64 = heights.iter().sum();
    let mut left = count;
    let counts = heights.iter().map(|&weight| {
        let share = (weight / weight_left).clamp(0.0, 1.0);
        weight_left -= weight;
        if left == 0 || share.is_nan() {
            return 0.0;
        }
        let here = Binomial::new(left, share).map_or(0, |binomial| binomial.sample(rng));
        left -= here;
        here as f64 / count as f64
    });
    counts.collect()
}
