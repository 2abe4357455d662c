//! Numbers at the ends of what there is, alone and among others: statistics of them are refused or sound, and
//! nothing panics.

use proptest::prelude::*;
use stats::counts::groups;
use stats::ensemble::welch;
use stats::factorial::{Observation, brown_forsythe, factorial, shapiro_wilk, spearman};
use stats::mean::SeriesMean;
use stats::student::{difference_interval, mean_interval, two_sided_p, two_sided_t};
use stats::trend::trend;
use stats::usl::Usl;

/// Extreme numbers, and ordinary ones.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
        Just(1e308),
        Just(-1e200),
        Just(1e100),
        Just(1e-100),
        Just(-1e-308),
        Just(5e-324),
        Just(0.0),
        Just(12.5),
        -1e3..1e3,
    ]
}

/// None, one, two or more numbers, or one number often.
fn numbers() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        3 => proptest::collection::vec(number(), 0..12),
        1 => number().prop_flat_map(|x| (0_usize..12).prop_map(move |n| vec![x; n])),
    ]
}

fn is_probability(p: f64) -> bool {
    (0.0..=1.0).contains(&p)
}

/// The two levels of one factor in turn.
fn design(values: &[f64]) -> Vec<Observation> {
    let values = values.iter().enumerate();
    values.map(|(at, &value)| Observation { levels: vec![at % 2], value }).collect()
}

proptest! {
    // Pairings of a few numbers are tried one by one.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn designs_of_any_numbers_are_analysed_or_refused(values in numbers()) {
        if let Ok(found) = factorial(&[2], &design(&values), 0.95) {
            prop_assert!(found.mean.value.is_finite() && found.total_ss.is_finite());
            for test in found.terms.iter().filter_map(|term| term.f_test) {
                prop_assert!(test.p.is_nan() || is_probability(test.p), "{}", test.p);
            }
            prop_assert!(found.trend.is_none_or(|test| is_probability(test.p)));
            shapiro_wilk(&found.residuals);
        }
    }

    #[test]
    fn tests_of_any_numbers_have_probabilities_or_none(a in numbers(), b in numbers()) {
        let tests = [
            shapiro_wilk(&a),
            brown_forsythe(&[a.clone(), b.clone()]),
            spearman(&a, &b[..a.len().min(b.len())]),
            spearman(&a, &a),
        ];
        for test in tests.into_iter().flatten() {
            prop_assert!(is_probability(test.p), "{test:?}");
        }
        if let Some(found) = groups(&[a.clone(), b.clone()]) {
            prop_assert!(is_probability(found.p), "{found:?}");
        }
        if let Ok((found, p)) = welch(&a, &b, 0.95) {
            prop_assert!(p.is_none_or(is_probability), "{found:?} {p:?}");
            prop_assert!(found.interval.low <= found.interval.high, "{found:?}");
        }
        difference_interval(&a, &b, 0.95);
        mean_interval(&a, 0.95);
    }

    #[test]
    fn series_of_any_numbers_have_means_and_trends_or_none(values in numbers()) {
        if let Some(mean) = SeriesMean::compute(&values) {
            let bounds = mean.interval(0.95);
            prop_assert!(bounds.0 <= bounds.1, "{mean:?}");
        }
        let points: Vec<(f64, f64)> =
            values.iter().enumerate().map(|(at, &y)| (at as f64, y)).collect();
        if let Ok(found) = trend(&points, 0.95) {
            prop_assert!(is_probability(found.p), "{found:?}");
        }
    }

    #[test]
    fn students_t_of_any_numbers_is_defined(t in number(), degrees in number()) {
        prop_assert!(is_probability(two_sided_p(t, degrees)));
        prop_assert!(two_sided_t(0.95, degrees) > 0.0);
    }
}

proptest! {
    // A fit of the law is a search.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn laws_of_any_numbers_are_fitted_or_refused(loads in numbers(), throughputs in numbers()) {
        let points: Vec<(f64, f64)> = loads.into_iter().zip(throughputs).collect();
        if let Ok(law) = Usl::fit(&points, 0.95) {
            prop_assert!(law.lambda.value >= 0.0 || law.lambda.value.is_nan());
        }
    }
}
