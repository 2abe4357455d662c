use serde_json::Value;

use super::*;
use crate::rng::{Purpose, Rng};

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../../../testdata/golden/analyze.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let all = value.as_array().unwrap().iter();
    all.map(|number| number.as_f64().unwrap()).collect()
}

fn timed(values: &[f64]) -> Vec<(f64, f64)> {
    (0..).map(f64::from).zip(values.iter().copied()).collect()
}

#[track_caller]
fn close(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{what}: {found}, expected {expected}"
    );
}

#[test]
fn scores_slopes_and_variances_agree_with_others() {
    let golden = golden();
    let cases = golden["trend"].as_array().unwrap();
    assert!(cases.len() > 5);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let values = numbers(&case["values"]);
        let n = values.len();
        let found = trend(&timed(&values), 0.95).unwrap();
        let pairs = (n * (n - 1) / 2) as f64;
        close(found.tau * pairs, case["score"].as_f64().unwrap(), name);
        close(variance(&values), case["variance"].as_f64().unwrap(), name);
        close(found.slope, case["slope"].as_f64().unwrap(), name);
        if found.inflation == 1.0 {
            close(found.slope_low, case["slope_low"].as_f64().unwrap(), name);
            close(found.slope_high, case["slope_high"].as_f64().unwrap(), name);
            close(found.p, case["p"].as_f64().unwrap(), name);
        }
        // With the correlations that Hamed and Rao take, those that are significant, the variance is
        // theirs.
        let correlations = numbers(&case["correlations"]);
        let theirs = variance(&values) * inflation(n, |lag| correlations[lag - 1]);
        close(theirs, case["variance_hamed_rao"].as_f64().unwrap(), name);
        // And ours is that of the correlation of neighbours.
        let rest: Vec<f64> = timed(&values).iter().map(|(t, y)| y - found.slope * t).collect();
        close(neighbours(&ranks(&rest)), case["neighbours"].as_f64().unwrap(), name);
    }
}

/// Noise in which neighbours are alike, with or without a slope.
fn wander(seed: u64, n: usize, correlation: f64, slope: f64) -> Vec<(f64, f64)> {
    let mut rng = Rng::new(seed, 0, Purpose::Think);
    // A sum of twelve is normal enough.
    let mut noise = move || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
    let mut state = 0.0;
    let mut step = move || {
        state = correlation * state + noise();
        state
    };
    (0..50).for_each(|_| {
        step();
    });
    (0..n).map(|i| (i as f64, step() + slope * i as f64)).collect()
}

#[test]
fn autocorrelated_noise_keeps_the_level() {
    const TRIES: u64 = 400;
    for (correlation, at_most) in [(0.0, 0.07), (0.3, 0.09), (0.6, 0.10)] {
        let called = (0..TRIES)
            .filter(|&seed| trend(&wander(seed, 60, correlation, 0.0), 0.95).unwrap().p < 0.05)
            .count();
        let share = called as f64 / TRIES as f64;
        assert!(share <= at_most, "{share} of noise with {correlation}");
    }
}

#[test]
fn trend_is_found_in_noise() {
    let found = (0..100)
        .filter(|&seed| {
            let trend = trend(&wander(seed, 60, 0.3, 0.06), 0.95).unwrap();
            trend.p < 0.05 && trend.slope_low > 0.0
        })
        .count();
    assert!(found > 85, "{found} of 100");
}

#[test]
fn constant_series_has_no_trend_or_estimate() {
    let flat = trend(&timed(&[3.0; 30]), 0.95).unwrap();
    assert_eq!((flat.p, flat.slope, flat.tau), (1.0, 0.0, 0.0));
}

#[test]
fn invalid_series_are_errors() {
    assert_eq!(trend(&[], 0.95), Err(TrendError::Count(0)));
    assert_eq!(trend(&timed(&[1.0; 9]), 0.95), Err(TrendError::Count(9)));
    let mut broken = timed(&[1.0; 20]);
    broken[3].1 = f64::INFINITY;
    assert_eq!(trend(&broken, 0.95), Err(TrendError::Unsound));
    broken[3] = (0.0, 1.0);
    assert_eq!(trend(&broken, 0.95), Err(TrendError::Unsound));
}
