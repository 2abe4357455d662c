//! Where a measured figure crosses its limit: a line through the logarithm of figure over limit, by load,
//! near the knee. One run scatters, and the loads that a search tried are no interval; the line uses all
//! runs near the knee.
//!
//! The interval is that of inverse regression (Fieller 1954; Draper and Smith, "Applied Regression
//! Analysis" (1998), section 3.2): the loads for which the line's value may be 0.

use stats::student::two_sided_t;

use super::trial::{Outcome, Trial};

/// Of the interval.
const CONFIDENCE: f64 = 0.95;
/// Trials whose load differs by at most this share from the knee are on a line.
const NEAR: f64 = 0.3;
/// Fewer trials have no scatter to speak of.
const TRIALS_MIN: usize = 5;

/// The load at which the limit is crossed: estimate, lower and upper bound. `None` where the trials near
/// `knee` do not show a figure that rises through its limit.
pub(super) fn crossing(trials: &[Trial], knee: f64) -> Option<(f64, f64, f64)> {
    let near: Vec<&Trial> = trials
        .iter()
        .filter(|trial| trial.outcome != Outcome::Untrusted)
        .filter(|trial| (trial.load / knee - 1.0).abs() <= NEAR)
        .collect();
    let thresholds = near.iter().map(|trial| trial.margins.len()).max()?;
    let lines = (0..thresholds).filter_map(|number| {
        let points = near
            .iter()
            .filter_map(|trial| Some((trial.load, (*trial.margins.get(number)?)?)));
        through_zero(&points.collect::<Vec<_>>())
    });
    // The threshold that is reached first decides.
    lines.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn through_zero(points: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let n = points.len();
    if n < TRIALS_MIN {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n as f64;
    let (x_mean, y_mean) = (mean(|p| p.0), mean(|p| p.1));
    let sxx: f64 = points.iter().map(|p| (p.0 - x_mean).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| (p.0 - x_mean) * (p.1 - y_mean)).sum();
    let slope = sxy / sxx;
    let rest: f64 = points
        .iter()
        .map(|p| (p.1 - y_mean - slope * (p.0 - x_mean)).powi(2))
        .sum();
    let variance = rest / (n - 2) as f64;
    let t = two_sided_t(CONFIDENCE, (n - 2) as f64);
    // How much of the slope may be chance; from 1 on the loads have no bound.
    let g = t * t * variance / (slope * slope * sxx);
    if slope.is_nan() || slope <= 0.0 || g >= 1.0 {
        return None;
    }
    let estimate = x_mean - y_mean / slope;
    let off = estimate - x_mean;
    let middle = x_mean + off / (1.0 - g);
    let half =
        t * variance.sqrt() / (slope * (1.0 - g)) * ((1.0 - g) / n as f64 + off * off / sxx).sqrt();
    Some((estimate, middle - half, middle + half))
}

#[cfg(test)]
mod tests {
    use stats::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn exact_points_cross_where_the_line_does() {
        let points: Vec<(f64, f64)> = [90.0, 95.0, 100.0, 105.0, 110.0]
            .map(|x| (x, 0.1 * (x - 101.0)))
            .to_vec();
        let (estimate, low, high) = through_zero(&points).unwrap();
        for bound in [estimate, low, high] {
            assert!((bound - 101.0).abs() < 1e-6, "{bound}");
        }
    }

    #[test]
    fn the_interval_contains_the_loads_that_fit() {
        let points = [
            (90.0, -0.2),
            (95.0, -0.1),
            (100.0, 0.02),
            (105.0, 0.08),
            (110.0, 0.21),
        ];
        let (estimate, low, high) = through_zero(&points).unwrap();
        assert!((estimate - 99.9).abs() < 0.1, "{estimate}");
        // By definition, at a bound the line is t standard errors from 0.
        let t = two_sided_t(0.95, 3.0);
        for bound in [low, high] {
            let (slope, y_mean, sxx) = (0.02, 0.002, 250.0);
            let rest: f64 = points
                .iter()
                .map(|p| (p.1 - y_mean - slope * (p.0 - 100.0)).powi(2))
                .sum();
            let off = bound - 100.0;
            let error = (rest / 3.0 * (0.2 + off * off / sxx)).sqrt();
            assert!(((y_mean + slope * off).abs() / error - t).abs() < 1e-9);
        }
    }

    #[test]
    fn a_figure_that_does_not_rise_crosses_nothing() {
        let flat: Vec<(f64, f64)> = (0..6).map(|n| (f64::from(n), 0.3)).collect();
        assert_eq!(through_zero(&flat), None);
        assert_eq!(through_zero(&[(1.0, -1.0), (2.0, 1.0)]), None);
    }

    /// Of many samples with normal errors, 95 % of the intervals contain the true load.
    #[test]
    fn the_interval_holds_its_level() {
        let mut rng = Rng::new(7, 0, Purpose::Resample);
        let mut normal = || -> f64 {
            let uniform: f64 = (0..12).map(|_| rng.unit()).sum();
            uniform - 6.0
        };
        let runs = 2_000;
        let within = (0..runs).filter(|_| {
            let points: Vec<(f64, f64)> = (0..8)
                .map(|n| 90.0 + 3.0 * f64::from(n))
                .map(|x| (x, 0.05 * (x - 100.0) + 0.1 * normal()))
                .collect();
            through_zero(&points).is_some_and(|(_, low, high)| low <= 100.0 && 100.0 <= high)
        });
        let share = within.count() as f64 / f64::from(runs);
        assert!((0.93..=0.97).contains(&share), "{share}");
    }
}
