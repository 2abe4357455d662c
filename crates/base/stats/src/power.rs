//! How many samples a side would show a difference, by Student's test of two means.
//!
//! A difference is given in standard deviations of one sample's figure: Cohen, "Statistical Power
//! Analysis for the Behavioral Sciences" (1988), chapter 2.

use libm::lgamma;

use crate::ensemble::student;
use crate::mean::mean;
use crate::special::beta_i;
use crate::tail::normal_below;

/// The probability that a two-sided test at level `alpha` of `n` against `m` figures shows a
/// difference of `effect` standard deviations. 0 where either side has none, or both have one.
///
/// # Panics
/// If `alpha` does not lie strictly between 0 and 1.
pub fn power(effect: f64, n: u64, m: u64, alpha: f64) -> f64 {
    assert!(alpha > 0.0 && alpha < 1.0, "level {alpha} is not between 0 and 1");
    if n == 0 || m == 0 || n + m < 3 {
        return 0.0;
    }
    let n = n as f64;
    let m = m as f64;
    let degrees = n + m - 2.0;
    let shift = effect.abs() * (n * m / (n + m)).sqrt();
    let critical = student(degrees, alpha / 2.0);
    let missed = noncentral_t(critical, degrees, shift) - noncentral_t(-critical, degrees, shift);
    (1.0 - missed).clamp(0.0, 1.0)
}

/// The least number of samples a side, up to `most`, that shows a difference of `effect` standard
/// deviations with probability `power_min`. `None` where even `most` would not.
///
/// # Panics
/// If `alpha` does not lie strictly between 0 and 1.
pub fn samples_needed(effect: f64, alpha: f64, power_min: f64, most: u64) -> Option<u64> {
    let shows = |n: u64| power(effect, n, n, alpha) >= power_min;
    if most < 2 || !shows(most) {
        return None;
    }
    let mut fails = 1;
    let mut serves = most;
    while serves - fails > 1 {
        let middle = fails + (serves - fails) / 2;
        *(if shows(middle) { &mut serves } else { &mut fails }) = middle;
    }
    Some(serves)
}

/// A difference above which this many standard deviations are not searched for.
const EFFECT_MAX: f64 = 1e6;

/// The least difference in standard deviations that `n` against `m` figures show with probability
/// `power_min`. `None` where they show none: without two figures on one side at least.
///
/// # Panics
/// If `alpha` does not lie strictly between 0 and 1.
pub fn detectable(n: u64, m: u64, alpha: f64, power_min: f64) -> Option<f64> {
    let shows = |effect: f64| power(effect, n, m, alpha) >= power_min;
    let mut serves = 1.0;
    while !shows(serves) {
        serves *= 2.0;
        if serves > EFFECT_MAX {
            return None;
        }
    }
    let mut fails = 0.0;
    for _ in 0..60 {
        let middle = (fails + serves) / 2.0;
        *(if shows(middle) { &mut serves } else { &mut fails }) = middle;
    }
    Some(serves)
}

/// The standard deviation of one figure, from both sides' scatter around their own means. `None`
/// where neither side has two.
pub fn pooled_deviation(a: &[f64], b: &[f64]) -> Option<f64> {
    let degrees = (a.len() + b.len()).saturating_sub(2);
    if degrees == 0 || a.is_empty() || b.is_empty() {
        return None;
    }
    let squares = |figures: &[f64]| -> f64 {
        let mean = mean(figures);
        figures.iter().map(|x| (x - mean).powi(2)).sum()
    };
    Some(((squares(a) + squares(b)) / degrees as f64).sqrt())
}

/// Beyond this the normal distribution serves; the sum would have 50,000 terms and more.
const SHIFT_MAX: f64 = 300.0;

/// P(T ≤ t) of the noncentral t distribution: Lenth, "Algorithm AS 243" (1989).
fn noncentral_t(t: f64, degrees: f64, shift: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - noncentral_t_above(-t, degrees, -shift);
    }
    noncentral_t_above(t, degrees, shift)
}

/// P(T ≤ t) for t ≥ 0.
fn noncentral_t_above(t: f64, degrees: f64, shift: f64) -> f64 {
    if shift.abs() > SHIFT_MAX {
        // Abramowitz and Stegun, 26.7.10.
        let scale = (1.0 + t * t / (2.0 * degrees)).sqrt();
        return normal_below((t * (1.0 - 1.0 / (4.0 * degrees)) - shift) / scale);
    }
    let x = t * t / (t * t + degrees);
    let half = shift * shift / 2.0;
    let mut sum = normal_below(-shift);
    if half == 0.0 {
        return sum + beta_i(0.5, degrees / 2.0, x) / 2.0;
    }
    // Poisson's weights are negligible beyond nine standard deviations from their middle.
    let last = half + 9.0 * half.sqrt() + 20.0;
    let mut j = (half - 9.0 * half.sqrt()).floor().max(0.0);
    while j <= last {
        let even = (-half + j * half.ln() - lgamma(j + 1.0)).exp();
        let odd = shift / 2_f64.sqrt() * (-half + j * half.ln() - lgamma(j + 1.5)).exp();
        sum += 0.5 * even * beta_i(j + 0.5, degrees / 2.0, x);
        sum += 0.5 * odd * beta_i(j + 1.0, degrees / 2.0, x);
        j += 1.0;
    }
    sum.clamp(0.0, 1.0)
}
