use stats::power::{detectable, pooled_deviation, power, samples_needed};
use stats::sample::SampleError;
use stats::serial::{SerialError, autocorrelation, effective};

use crate::golden::{assert_near, cases, number, numbers};

#[test]
fn autocorrelation_agrees_with_statsmodels() {
    for case in cases("autocorrelation") {
        let series = numbers(&case["series"]);
        let expected = numbers(&case["acf"]);
        let found = autocorrelation(&series, series.len()).unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12);
        }
        let found = effective(&series).unwrap();
        assert_near(found.count, number(&case["effective"]), 1e-10, "effective");
        assert_near(found.count * found.span, series.len() as f64, 1e-12, "span");
        assert_eq!(autocorrelation(&series, 1).unwrap().len(), 2);
    }
}

#[test]
fn effective_sizes_agree_with_closed_forms() {
    // Each number k times in a row: the sum of all correlations is k, but for both ends.
    let series: Vec<f64> = (0..20_000_u64).map(|i| (i / 8 * 7919 % 10_007) as f64).collect();
    let found = effective(&series).unwrap();
    assert!((found.span - 8.0).abs() < 1.0, "{found:?}");
    assert_eq!(effective(&[4.0; 50]), Err(SerialError::Constant(50)));
    assert_eq!(effective(&[0.1; 3]), Err(SerialError::Constant(3)));
    assert_eq!(effective(&[4.0]), Err(SerialError::Constant(1)));
    assert_eq!(effective(&[]), Err(SerialError::Sample(SampleError::Empty)));
    let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
    assert_eq!(effective(&alternating).unwrap().count, 100.0);
}

#[test]
fn power_agrees_with_statsmodels() {
    for case in cases("power") {
        let [effect, n, m, alpha] = ["effect", "n", "m", "alpha"].map(|key| number(&case[key]));
        let found = power(effect, n as u64, m as u64, alpha);
        assert!((found - number(&case["power"])).abs() < 1e-8, "{case} {found}");
        let expected = number(&case["power"]);
        if expected > alpha + 1e-6 && expected < 0.999 {
            let back = detectable(n as u64, m as u64, alpha, expected).unwrap();
            assert_near(back, effect, 1e-6, "detectable");
        }
    }
    // Far beyond the sum's reach.
    assert_eq!((power(1e5, 50, 50, 0.05), power(1.0, 1, 1, 0.05)), (1.0, 0.0));
    assert_eq!(detectable(1, 1, 0.05, 0.8), None);
}

#[test]
fn numbers_of_samples_agree_with_statsmodels() {
    for case in cases("samples_needed") {
        let [effect, alpha, least] = ["effect", "alpha", "power"].map(|key| number(&case[key]));
        let found = samples_needed(effect, alpha, least, 10_000);
        assert_eq!(found, case["n"].as_u64(), "{case}");
    }
    assert_eq!(samples_needed(0.0, 0.05, 0.8, 10_000), None);
    assert_eq!(samples_needed(1.0, 0.05, 0.8, 3), None);
}

#[test]
fn the_deviation_of_a_figure_from_both_sides() {
    let found = pooled_deviation(&[1.0, 3.0], &[5.0, 5.0, 8.0]).unwrap();
    assert_near(found, (8.0_f64 / 3.0).sqrt(), 1e-15, "pooled");
    assert_eq!(pooled_deviation(&[1.0], &[2.0]), None);
    assert_eq!(pooled_deviation(&[], &[2.0, 3.0, 4.0]), None);
}
