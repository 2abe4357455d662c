//! Special functions behind distribution functions: the incomplete gamma and beta functions.
//!
//! Both after Press et al., "Numerical Recipes", 3rd edition, sections 6.2 and 6.4: a series or
//! a continued fraction by Lentz's method, whichever converges fast.

use libm::lgamma;

/// Relative size below which a further term changes nothing.
const EPSILON: f64 = 1e-15;
/// Stands for 0 in denominators of Lentz's method.
const TINY: f64 = 1e-300;
/// More terms than any argument of ours needs: they grow with the root of the largest argument.
const TERMS_MAX: u32 = 1_000_000;

/// The regularised lower incomplete gamma function P(a, x), the distribution function of the
/// gamma distribution with shape `a` and scale 1. `a` > 0; 0 where `x` ≤ 0.
pub(crate) fn gamma_p(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x == f64::INFINITY {
        return 1.0;
    }
    let front = (a * x.ln() - x - lgamma(a)).exp();
    if x < a + 1.0 { front * gamma_series(a, x) } else { 1.0 - front * gamma_fraction(a, x) }
}

/// Numerical Recipes, equation 6.2.5.
fn gamma_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for n in 1..TERMS_MAX {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * EPSILON {
            break;
        }
    }
    sum
}

/// Numerical Recipes, equation 6.2.7.
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for n in 1..TERMS_MAX {
        let n = f64::from(n);
        let factor = -n * (n - a);
        b += 2.0;
        d = 1.0 / away_from_zero(factor * d + b);
        c = away_from_zero(b + factor / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < EPSILON {
            break;
        }
    }
    fraction
}

/// The regularised incomplete beta function I(a, b, x). `a`, `b` > 0 and `x` in `0..=1`.
pub(crate) fn beta_i(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// Numerical Recipes, equation 6.4.5.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..TERMS_MAX {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < EPSILON {
            break;
        }
    }
    fraction
}

fn away_from_zero(x: f64) -> f64 {
    if x.abs() < TINY { TINY } else { x }
}
