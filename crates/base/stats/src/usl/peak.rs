//! The load with the greatest throughput, and its interval.
//!
//! A peak p fixes κ = (1 − σ)/p²; then λ is linear, and only σ has to be searched.

/// Values of σ that are tried before the best of them is refined: the squares may have several minima.
const SIGMAS: u32 = 64;
/// Steps of the golden section; each leaves 0.618 of the range.
const STEPS: u32 = 60;
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// The least squares with a peak at this load, which may be infinite: throughput never falls then.
pub(super) fn squares_with(points: &[(f64, f64)], peak: f64) -> f64 {
    let of = |sigma: f64| squares(points, sigma, (1.0 - sigma) / (peak * peak));
    let step = 1.0 / f64::from(SIGMAS);
    let best = (0..=SIGMAS)
        .map(|number| f64::from(number) * step)
        .min_by(|a, b| of(*a).total_cmp(&of(*b)))
        .unwrap_or_default();
    let mut low = (best - step).max(0.0);
    let mut high = (best + step).min(1.0);
    for _ in 0..STEPS {
        let left = high - GOLDEN * (high - low);
        let right = low + GOLDEN * (high - low);
        if of(left) < of(right) {
            high = right;
        } else {
            low = left;
        }
    }
    of(best).min(of(low)).min(of(high))
}

/// The sum of squares with the best λ.
fn squares(points: &[(f64, f64)], sigma: f64, kappa: f64) -> f64 {
    let shape = |n: f64| super::throughput(1.0, sigma, kappa, n);
    let both: f64 = points.iter().map(|&(n, x)| x * shape(n)).sum();
    let own: f64 = points.iter().map(|&(n, _)| shape(n).powi(2)).sum();
    let lambda = both / own;
    points.iter().map(|&(n, x)| (x - lambda * shape(n)).powi(2)).sum()
}
