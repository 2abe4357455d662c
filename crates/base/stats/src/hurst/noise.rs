//! Fractional Gaussian noise: a series whose H is known.

use rand_distr::{Distribution, StandardNormal};

use crate::fft;
use crate::rng::Rng;

/// `count` numbers of fractional Gaussian noise with variance 1, exactly: by the circulant matrix of
/// Davies and Harte (1987), as Wood and Chan (1994) show it to work for every H in (0, 1).
///
/// # Panics
/// If `h` does not lie between 0 and 1.
pub fn noise(h: f64, count: usize, rng: &mut Rng) -> Vec<f64> {
    assert!(h > 0.0 && h < 1.0, "H is {h}, not between 0 and 1");
    let half = count.next_power_of_two().max(2);
    let covariance = |lag: usize| {
        let k = lag as f64;
        let power = |x: f64| x.abs().powf(2.0 * h);
        0.5 * (power(k + 1.0) - 2.0 * power(k) + power(k - 1.0))
    };
    let mut row: Vec<fft::Complex> =
        (0..2 * half).map(|j| (covariance(j.min(2 * half - j)), 0.0)).collect();
    fft::transform(&mut row);
    let length = row.len() as f64;
    // The eigenvalues are real and not negative but for rounding.
    let mut x: Vec<fft::Complex> = row
        .iter()
        .map(|&(eigenvalue, _)| {
            let scale = (eigenvalue.max(0.0) / length).sqrt();
            let re: f64 = StandardNormal.sample(rng);
            let im: f64 = StandardNormal.sample(rng);
            (scale * re, scale * im)
        })
        .collect();
    fft::transform(&mut x);
    x.iter().take(count).map(|x| x.0).collect()
}
