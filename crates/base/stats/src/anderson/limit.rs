//! The limiting distribution of the statistic of two samples, as they grow.

use std::f64::consts::PI;

/// The standard deviation of the limit, √(2 (π² − 9) / 3).
pub(super) const DEVIATION: f64 = 0.761_372_966_076_698_2;
/// Points of the quadrature: ten digits are good as far as there are numbers, p = 1e-300.
const POINTS: u32 = 128;
/// Integrals that are added up: for the least x, the last is e⁻¹⁰⁰.
const INTEGRALS_MAX: u32 = 60;
/// Below, the tail is 1 to the last bit: the distribution function is about exp(−1.23/x) there.
const LEAST: f64 = 0.03;

/// P(A² > x) for A² = Σ Z_j² / (j (j + 1)), j = 1, 2, …, Z_j independent standard normal: the limit
/// of Anderson's and Darling's statistic for two samples, and for one against its distribution.
///
/// Smirnov's formula (1937) for weighted sums of squares: (1/π) Σ ± ∫ exp(−ux/2) / (u √|D(u)|) du, the
/// integrals over every second gap between the zeros j (j + 1) of D(u) = Π (1 − u / (j (j + 1))) =
/// −cos(π √(1 + 4u) / 2) / (πu) (Anderson and Darling 1952). Both ends of each are singular like
/// 1/√, which Gauss's and Chebyshev's quadrature takes exactly.
pub fn limit_tail(x: f64) -> f64 {
    if x < LEAST {
        return 1.0;
    }
    let mut p = 0.0;
    for k in 1..=INTEGRALS_MAX {
        let k = f64::from(k);
        let from = (2.0 * k - 1.0) * 2.0 * k;
        let to = 2.0 * k * (2.0 * k + 1.0);
        let middle = (from + to) / 2.0;
        let half = (to - from) / 2.0;
        let points = (0..POINTS).map(|i| {
            let angle = PI * (f64::from(i) + 0.5) / f64::from(POINTS);
            let u = middle + half * angle.cos();
            let product = (PI / 2.0 * (1.0 + 4.0 * u).sqrt()).cos().abs() / (PI * u);
            half * angle.sin() * (-u * x / 2.0).exp() / (u * product.sqrt())
        });
        let integral = points.sum::<f64>() / f64::from(POINTS);
        p += if k % 2.0 == 1.0 { integral } else { -integral };
        if integral < p * 1e-17 {
            break;
        }
    }
    p.clamp(0.0, 1.0)
}
