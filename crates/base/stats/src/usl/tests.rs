use serde_json::Value;

use super::*;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../../../testdata/golden/usl.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let all = value.as_array().unwrap().iter();
    all.map(|number| number.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let scale = expected.abs().max(1e-9);
    assert!((found - expected).abs() <= tolerance * scale, "{what}: {found}, expected {expected}");
}

#[test]
fn fits_and_intervals_agree_with_scipy() {
    for case in golden()["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let n = numbers(&case["n"]);
        let x = numbers(&case["x"]);
        let points: Vec<_> = n.into_iter().zip(x).collect();
        let fit = Usl::fit(&points, 0.95).unwrap();
        for (key, found) in [("lambda", fit.lambda), ("sigma", fit.sigma), ("kappa", fit.kappa)] {
            let expected = numbers(&case[key]);
            let what = format!("{name} {key}");
            close(found.value, expected[0], 1e-5, &what);
            close(found.low, expected[1], 1e-4, &format!("{what} low"));
            close(found.high, expected[2], 1e-4, &format!("{what} high"));
        }
        let bound = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
        let found = [fit.peak.value, fit.peak.low, fit.peak.high];
        for (found, expected) in found.into_iter().zip(case["peak"].as_array().unwrap()) {
            if bound(expected).is_finite() {
                close(found, bound(expected), 1e-4, &format!("{name} peak"));
            } else {
                assert!(found.is_infinite(), "{name}: peak {found}");
            }
        }
        close(fit.squares, case["squares"].as_f64().unwrap(), 1e-6, name);
    }
}

/// What the R package `usl` prints for its own data (its tests' saved output).
#[test]
fn published_coefficients_come_out() {
    let golden = golden();
    for case in golden["cases"].as_array().unwrap() {
        let Some(published) = case.get("published") else {
            continue;
        };
        let n = numbers(&case["n"]);
        let x = numbers(&case["x"]);
        let points: Vec<_> = n.into_iter().zip(x).collect();
        let fit = Usl::fit(&points, 0.95).unwrap();
        let printed = |key: &str, found: f64| {
            let Some(text) = published.get(key).and_then(Value::as_str) else {
                return;
            };
            let decimals = text.split_once('.').map_or(0, |(_, rest)| rest.len());
            assert_eq!(format!("{found:.decimals$}"), text, "{key}");
        };
        printed("lambda", fit.lambda.value);
        printed("sigma", fit.sigma.value);
        printed("kappa", fit.kappa.value);
        printed("peak", fit.peak().unwrap_or(0.0));
    }
}

#[test]
fn fit_recovers_exact_data() {
    let points: Vec<_> = [1.0, 2.0, 5.0, 10.0, 30.0, 80.0]
        .iter()
        .map(|&n| (n, throughput(500.0, 0.03, 0.000_2, n)))
        .collect();
    let fit = Usl::fit(&points, 0.95).unwrap();
    close(fit.lambda.value, 500.0, 1e-7, "lambda");
    close(fit.sigma.value, 0.03, 1e-6, "sigma");
    close(fit.kappa.value, 0.000_2, 1e-6, "kappa");
    close(fit.peak().unwrap(), (0.97f64 / 0.000_2).sqrt(), 1e-5, "peak");
    close(fit.r_squared, 1.0, 1e-12, "share explained");
}

#[test]
fn invalid_loads_are_errors() {
    let few = [(1.0, 1.0), (2.0, 2.0), (2.0, 2.1), (3.0, 3.0)];
    assert_eq!(Usl::fit(&few, 0.95), Err(UslError::TooFew(3)));
    assert_eq!(Usl::fit(&[], 0.95), Err(UslError::TooFew(0)));
    let bad = [(1.0, 1.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, 3.0)];
    assert_eq!(Usl::fit(&bad, 0.95), Err(UslError::NotPositive));
}

#[test]
fn limit_exists_for_flat_not_for_linear_throughput() {
    let line: Vec<_> = (1..=8).map(|n| (f64::from(n), 50.0 * f64::from(n))).collect();
    let fit = Usl::fit(&line, 0.95).unwrap();
    assert_eq!(fit.peak(), None);
    close(fit.lambda.value, 50.0, 1e-6, "lambda");
    let flat: Vec<_> = (1..=8).map(|n| (f64::from(n), 50.0)).collect();
    let fit = Usl::fit(&flat, 0.95).unwrap();
    close(fit.limit().unwrap(), 50.0, 1e-6, "limit");
    close(fit.sigma.value, 1.0, 1e-6, "sigma");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    #[test]
    fn no_points_panic(points in proptest::collection::vec((1e-3..1e6f64, 1e-3..1e9f64), 0..12)) {
        if let Ok(fit) = Usl::fit(&points, 0.9) {
            for estimate in [fit.lambda, fit.sigma, fit.kappa] {
                proptest::prop_assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
                proptest::prop_assert!(estimate.low >= 0.0);
            }
        }
    }
}
