//! Fits, counts and Hurst's H beside SciPy, statsmodels and NumPy: `checks/golden/fit.py` wrote the values.

use std::sync::LazyLock;

use serde_json::Value;
use stats::counts;
use stats::fit::{Family, Observations, fit, goodness};
use stats::hurst;
use stats::rng::{Purpose, Rng};
use stats::serial::{autocorrelation, dependence};

use crate::golden::{number, numbers};

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../../../testdata/golden/fit.json");
    serde_json::from_str(text).expect("the golden file is JSON")
});

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let off = (found - expected).abs() / expected.abs().max(1e-3);
    assert!(off < tolerance, "{what}: {found} instead of {expected}");
}

fn whole(value: &Value) -> Vec<u64> {
    numbers(value).iter().map(|&x| x as u64).collect()
}

fn family(name: &str) -> Family {
    let found = Family::ALL.iter().find(|family| family.name() == name);
    *found.unwrap_or_else(|| panic!("no family {name}"))
}

#[test]
fn fitted_parameters_agree_with_scipy() {
    let cases = GOLDEN["fits"].as_array().unwrap();
    assert_eq!(cases.len(), 17);
    for case in cases {
        let name = case["family"].as_str().unwrap();
        let step = number(&case["step"]);
        let what = format!("{name} in steps of {step}");
        let observed = Observations::new(&numbers(&case["values"]), step).unwrap();
        let fitted = fit(family(name), &observed, 0.95).unwrap();
        near(fitted.log_likelihood, number(&case["log_likelihood"]), 1e-5, &what);
        for (parameter, expected) in fitted.parameters.iter().zip(numbers(&case["parameters"])) {
            near(parameter.value, expected, 2e-4, &format!("{what}: {}", parameter.name));
            let low = parameter.low.unwrap();
            let high = parameter.high.unwrap();
            assert!(
                low < parameter.value * 1.000_001 && high > parameter.value * 0.999_999,
                "{what}"
            );
        }
        for (parameter, bounds) in
            fitted.parameters.iter().zip(case["intervals"].as_array().into_iter().flatten())
        {
            let expected = numbers(bounds);
            let what = format!("{what}: interval of {}", parameter.name);
            near(parameter.low.unwrap(), expected[0], 1e-3, &what);
            near(parameter.high.unwrap(), expected[1], 1e-3, &what);
        }
        if step == 0.0 {
            let test = goodness(&observed, &fitted, 0, &mut Rng::new(1, 0, Purpose::Resample));
            near(test.distance, number(&case["distance"]), 2e-3, &what);
            if name != "pareto" {
                near(test.anderson, number(&case["anderson"]), 2e-2, &what);
            }
        }
    }
}

#[test]
fn tests_of_counts_agree_with_scipy() {
    let counted = &GOLDEN["counts"];
    for case in counted["dispersion"].as_array().unwrap() {
        let found = counts::dispersion(whole(&case["counts"]).into_iter()).unwrap();
        near(found.statistic, number(&case["statistic"]), 1e-9, "dispersion");
        near(found.p, number(&case["p"]), 1e-6, "its p");
    }
    for case in counted["tails"].as_array().unwrap() {
        let case = numbers(case);
        near(counts::chi_squared_tail(case[0], case[1]), case[2], 1e-3, "tail");
    }
    let rows = &counted["rows"];
    let found = counts::two_rows(&whole(&rows["a"]), &whole(&rows["b"])).unwrap();
    near(found.statistic, number(&rows["statistic"]), 1e-9, "rows");
    near(found.p, number(&rows["p"]), 1e-6, "their p");
    let groups = &counted["groups"];
    let lists: Vec<Vec<f64>> = groups["groups"].as_array().unwrap().iter().map(numbers).collect();
    let found = counts::groups(&lists).unwrap();
    near(found.f, number(&groups["f"]), 1e-9, "F");
    near(found.p, number(&groups["p"]), 1e-6, "its p");
}

#[test]
fn dependence_test_agrees_with_statsmodels() {
    let case = &GOLDEN["counts"]["box"];
    let series = numbers(&case["series"]);
    let correlations = autocorrelation(&series, number(&case["lags"]) as usize).unwrap();
    let found = dependence(&correlations, series.len());
    near(found.statistic, number(&case["statistic"]), 1e-8, "Ljung and Box");
    near(found.p, number(&case["p"]), 1e-6, "its p");
    assert!((found.band - 1.96 / 200_f64.sqrt()).abs() < 1e-4);
}

#[test]
fn hurst_estimates_follow_the_definitions() {
    for case in GOLDEN["hurst"].as_array().unwrap() {
        let series = numbers(&case["series"]);
        let whittle = hurst::local_whittle(&series, 90, 0.0, 0.95).unwrap();
        assert_eq!((whittle.length, whittle.frequencies), (1024, 90));
        near(whittle.estimate.h, number(&case["whittle"]), 1e-5, "Whittle");
        // As many as are no power of two are used as well.
        let fewer = hurst::local_whittle(&series[..1_000], 90, 0.0, 0.95).unwrap();
        assert_eq!(fewer.length, 1_000);
        near(fewer.estimate.h, number(&case["whittle_of_1000"]), 1e-5, "Whittle of 1,000");
        let wavelet = hurst::wavelet(&series, 2, 6, 0.0, 0.95).unwrap();
        near(wavelet.estimate.h, number(&case["wavelet"]), 1e-9, "wavelet");
        let half = wavelet.estimate.high.unwrap() - wavelet.estimate.h;
        near(half, 1.959_964 * number(&case["wavelet_error"]), 1e-5, "its interval");
    }
}

#[test]
fn hurst_estimates_above_a_noise_agree_with_scipy() {
    for case in GOLDEN["hurst_of_counts"].as_array().unwrap() {
        let series = numbers(&case["counts"]);
        let noise = series.iter().sum::<f64>() / series.len() as f64;
        let whittle = hurst::local_whittle(&series, 150, noise, 0.95).unwrap();
        let wavelet = hurst::wavelet(&series, 2, 7, noise, 0.95).unwrap();
        for (found, expected) in [
            (whittle.estimate, numbers(&case["whittle"])),
            (wavelet.estimate, numbers(&case["wavelet"])),
        ] {
            near(found.h, expected[0], 1e-3, "H");
            near(found.low.unwrap(), expected[1], 2e-3, "its lower bound");
            near(found.high.unwrap(), expected[2], 2e-3, "its upper bound");
        }
    }
}

/// The rates at which tests refuse what is true, and at which intervals miss it.
#[test]
fn levels_and_coverage_are_as_stated() {
    const ROUNDS: u32 = 200;
    let mut missed = 0;
    let mut refused = 0;
    let mut refused_other = 0;
    for round in 0..ROUNDS {
        let mut rng = Rng::new(u64::from(round), 7, Purpose::Resample);
        let dist = stats::dist::Dist::Exponential { mean: 4.0 };
        let shown: Vec<f64> =
            (0..150).map(|_| (dist.sample(&mut rng) + rng.unit()).floor()).collect();
        let observed = Observations::new(&shown, 1.0).unwrap();
        let fitted = fit(Family::Exponential, &observed, 0.95).unwrap();
        let parameter = &fitted.parameters[0];
        missed += u32::from(parameter.low.unwrap() > 4.0 || parameter.high.unwrap() < 4.0);
        let test = goodness(&observed, &fitted, 39, &mut rng);
        refused += u32::from(test.p_distance <= 0.05);
        let even = stats::dist::Dist::Gamma { shape: 3.0, scale: 1.3 };
        let shown: Vec<f64> =
            (0..150).map(|_| (even.sample(&mut rng) + rng.unit()).floor()).collect();
        let observed = Observations::new(&shown, 1.0).unwrap();
        let fitted = fit(Family::Exponential, &observed, 0.95).unwrap();
        refused_other += u32::from(goodness(&observed, &fitted, 39, &mut rng).p_anderson <= 0.05);
    }
    // Of 200, 10 ± 3 are expected.
    assert!((2..=20).contains(&missed), "{missed} of 200 intervals missed");
    assert!((2..=20).contains(&refused), "{refused} of 200 true distributions were refused");
    assert!(refused_other > 190, "only {refused_other} of 200 false distributions were refused");
}

#[test]
fn estimates_recover_the_h_of_noise() {
    for h in [0.5, 0.7, 0.9] {
        let mut rng = Rng::new(5, 0, Purpose::Resample);
        let series = hurst::noise(h, 1 << 15, &mut rng);
        let correlations = autocorrelation(&series, 1).unwrap();
        let expected = 2_f64.powf(2.0 * h - 1.0) - 1.0;
        assert!((correlations[1] - expected).abs() < 0.06, "{h}: {}", correlations[1]);
        let estimates = [
            hurst::aggregated_variance(&series, 0.0, 0.95).unwrap().h,
            hurst::rescaled_range(&series).unwrap().h,
            hurst::local_whittle(&series, 860, 0.0, 0.95).unwrap().estimate.h,
            hurst::wavelet(&series, 3, 10, 0.0, 0.95).unwrap().estimate.h,
        ];
        for (estimate, tolerance) in estimates.into_iter().zip([0.12, 0.12, 0.06, 0.06]) {
            assert!((estimate - h).abs() < tolerance, "{h}: {estimates:?}");
        }
    }
    assert!(hurst::local_whittle(&[1.0; 300], 20, 0.0, 0.95).is_err());
    assert!(hurst::wavelet(&[1.0; 20], 1, 5, 0.0, 0.95).is_err());
}
