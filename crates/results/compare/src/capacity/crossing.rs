//! The load at which a measured figure crosses its limit: a line through the runs near the knee, by
//! load. One run scatters, and the loads that a search tried are no interval; the line uses all
//! runs near the knee.
//!
//! How a figure bends there is not known. Response times of queues rise faster than the logarithm's line near
//! saturation, and their reciprocals fall on a line (of M/M/1 exactly: a quantile is proportional to
//! 1/(μ − λ)), but not where the service is most of the time. So there are two lines, through the logarithm
//! of figure over limit and through 1 − limit over figure, and the interval covers those of both.
//!
//! The interval of a line is that of inverse regression (Fieller 1954; Draper and Smith, "Applied Regression
//! Analysis" (1998), section 3.2): the loads for which the line's value may be 0.

use stats::student::two_sided_t;

use super::trial::{Outcome, Trial, longer_broke};

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;
/// Trials whose load differs by at most this share from the knee are on a line.
const NEAR: f64 = 0.3;
/// Fewer trials have no scatter to speak of.
const TRIALS_MIN: usize = 5;

/// The load at which the limit is crossed: estimate, lower and upper bound. `None` where the trials near
/// `knee` do not show a figure that rises through its limit.
pub fn crossing(trials: &[Trial], knee: f64) -> Option<(f64, f64, f64)> {
    let lines = by_threshold(trials, knee).into_iter().filter_map(|points| both_lines(&points));
    // The threshold that is reached first decides.
    lines.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// True if a run at this load broke a threshold: the target was not only found to fall behind.
pub(super) fn breaks_threshold(trials: &[Trial], load: f64) -> bool {
    let mut broken = trials.iter().filter(|trial| trial.load == load && trial.breaks());
    broken.any(|trial| {
        let is_beyond = |margin: &Option<f64>| margin.is_some_and(|margin| margin > 0.0);
        trial.margins.iter().any(is_beyond) || trial.thresholds.iter().any(|one| !one.passed)
    })
}

/// True where more runs near `knee` may show a crossing that these do not: a threshold's figure was on both sides of
/// its limit, and the runs scatter too much to say where it passes it. `runs_max`: near the knee.
pub fn is_unclear(trials: &[Trial], knee: f64, runs_max: usize) -> bool {
    let thresholds = by_threshold(trials, knee);
    let crosses = |points: &Vec<(f64, f64)>| {
        points.iter().any(|point| point.1 < 0.0) && points.iter().any(|point| point.1 > 0.0)
    };
    near(trials, knee).count() < runs_max
        && crossing(trials, knee).is_none()
        && thresholds.iter().any(crosses)
}

/// The trials near the knee that say something about the target. What a load does to shorter ones is not known from them if a
/// longer one broke where they held.
fn near(trials: &[Trial], knee: f64) -> impl Iterator<Item = &Trial> {
    let is_by_longer = longer_broke(trials);
    trials
        .iter()
        .filter(|trial| trial.outcome != Outcome::Untrusted)
        .filter(move |trial| !is_by_longer || trial.is_longer)
        .filter(move |trial| (trial.load / knee - 1.0).abs() <= NEAR)
}

/// The loads near the knee and their margins, for each threshold.
fn by_threshold(trials: &[Trial], knee: f64) -> Vec<Vec<(f64, f64)>> {
    let thresholds = near(trials, knee).map(|trial| trial.margins.len()).max();
    let points = |number: usize| {
        near(trials, knee)
            .filter_map(|trial| Some((trial.load, (*trial.margins.get(number)?)?)))
            .collect()
    };
    (0..thresholds.unwrap_or(0)).map(points).collect()
}

/// The crossing and its interval from both lines together.
fn both_lines(points: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let (estimate, low, high) = through_zero(points)?;
    let reciprocal: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x, -(-y).exp_m1())).collect();
    let other = through_zero(&reciprocal)?;
    Some(((estimate + other.0) / 2.0, low.min(other.1), high.max(other.2)))
}

fn through_zero(points: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let n = points.len();
    if n < TRIALS_MIN {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n as f64;
    let x_mean = mean(|p| p.0);
    let y_mean = mean(|p| p.1);
    let sxx: f64 = points.iter().map(|p| (p.0 - x_mean).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| (p.0 - x_mean) * (p.1 - y_mean)).sum();
    let slope = sxy / sxx;
    let rest: f64 = points.iter().map(|p| (p.1 - y_mean - slope * (p.0 - x_mean)).powi(2)).sum();
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
        let points: Vec<(f64, f64)> =
            [90.0, 95.0, 100.0, 105.0, 110.0].map(|x| (x, 0.1 * (x - 101.0))).to_vec();
        let (estimate, low, high) = through_zero(&points).unwrap();
        for bound in [estimate, low, high] {
            assert!((bound - 101.0).abs() < 1e-6, "{bound}");
        }
    }

    #[test]
    fn the_interval_contains_the_loads_that_fit() {
        let points = [(90.0, -0.2), (95.0, -0.1), (100.0, 0.02), (105.0, 0.08), (110.0, 0.21)];
        let (estimate, low, high) = through_zero(&points).unwrap();
        assert!((estimate - 99.9).abs() < 0.1, "{estimate}");
        // By definition, at a bound the line is t standard errors from 0.
        let t = two_sided_t(0.95, 3.0);
        for bound in [low, high] {
            let slope = 0.02;
            let y_mean = 0.002;
            let sxx = 250.0;
            let rest: f64 =
                points.iter().map(|p| (p.1 - y_mean - slope * (p.0 - 100.0)).powi(2)).sum();
            let off = bound - 100.0;
            let error = (rest / 3.0 * (0.2 + off * off / sxx)).sqrt();
            assert!(((y_mean + slope * off).abs() / error - t).abs() < 1e-9);
        }
    }

    #[test]
    fn the_interval_covers_a_line_through_reciprocals_too() {
        // p95 of M/M/1 with 200/s passes 50 ms at 200 − ln 20/0.05 s = 140.1/s, on a line of reciprocals.
        let load = |n: i32| 110.0 + 8.0 * f64::from(n);
        let margin = |load: f64| (20f64.ln() / (200.0 - load) / 0.05).ln();
        let points: Vec<_> = (0..8).map(|n| (load(n), margin(load(n)))).collect();
        let (estimate, low, high) = both_lines(&points).unwrap();
        let truth = 200.0 - 20f64.ln() / 0.05;
        assert!(low <= truth + 1e-6 && truth - 1e-6 <= high, "{low} {high}");
        assert!((estimate / truth - 1.0).abs() < 0.02, "{estimate}");
    }

    #[test]
    fn a_search_is_unclear_where_its_runs_scatter_too_much_for_a_line() {
        let trial = |load: f64, margin: Option<f64>| Trial {
            margins: vec![margin],
            ..Trial::new(load, Outcome::Holds)
        };
        let scattered: Vec<Trial> =
            [(100.0, 0.1), (100.0, -0.3), (103.0, 0.2), (103.0, -0.2), (103.0, 0.1)]
                .map(|(load, margin)| trial(load, Some(margin)))
                .to_vec();
        assert!(is_unclear(&scattered, 101.5, 9));
        assert!(!is_unclear(&scattered, 101.5, 5), "there were enough runs");
        let clear: Vec<Trial> = (0..6)
            .map(|n| 90.0 + 4.0 * f64::from(n))
            .map(|load| trial(load, Some(0.01 * (load - 101.0))))
            .collect();
        assert!(!is_unclear(&clear, 101.0, 9));
        // Nothing was answered above the limit: no run there has a figure.
        let dead: Vec<Trial> = (0..6).map(|n| trial(100.0, (n % 2 == 0).then_some(-0.1))).collect();
        assert!(!is_unclear(&dead, 101.0, 9));
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
