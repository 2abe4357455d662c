//! Statistics and p-values are those of another implementation; rates of errors are simulated.

use serde_json::Value;

use super::*;

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

/// Noise around 100, the same each time.
fn noise(series: u64, n: usize) -> Vec<f64> {
    let mut rng = Rng::new(11, series, Purpose::Value);
    let uniform = |rng: &mut Rng| rng.below(1 << 32) as f64 / 2_f64.powi(32);
    // The sum of four is near a normal one, and has a scatter of 5.8.
    (0..n).map(|_| 80.0 + (0..4).map(|_| 10.0 * uniform(&mut rng)).sum::<f64>()).collect()
}

fn places(values: &[f64]) -> Vec<usize> {
    let changes = change_points(values, &Options::default());
    changes.iter().map(|change| change.at).collect()
}

#[test]
fn splits_agree_with_the_definition() {
    let text = include_str!("../../../../../testdata/golden/change_points.json");
    let golden: Value = serde_json::from_str(text).unwrap();
    for case in golden["splits"].as_array().unwrap() {
        let values = numbers(&case["values"]);
        let least = case["least"].as_u64().unwrap() as usize;
        let found = best_split(&values, least).unwrap();
        let wanted = numbers(&case["statistics"]);
        let greatest = wanted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(found.at as u64, case["at"].as_u64().unwrap(), "{case}");
        assert!((found.statistic - greatest).abs() < 1e-9 * greatest.abs().max(1.0));

        let mut ranks = ranks(&values);
        let found = best_split(&ranks, least).unwrap();
        assert_eq!(found.at as u64, case["rank_at"].as_u64().unwrap(), "{case}");
        let statistic = case["rank_statistic"].as_f64().unwrap();
        assert!((found.statistic - statistic).abs() < 1e-9, "{case}");
        let options = Options { least, ..Options::default() };
        let p = p_value(&mut ranks, found, &options, options.permutations).unwrap();
        let exact = case["p"].as_f64().unwrap();
        // Four standard errors of a thousand draws, and the observed order itself.
        let error = 4.0 * (exact * (1.0 - exact) / 1000.0).sqrt() + 0.001;
        assert!((p - exact).abs() < error, "{p} and not {exact}");
    }
}

#[test]
fn a_step_is_found_where_it_is() {
    for (series, n, at, by) in [(1, 40, 25, 25.0), (2, 12, 6, 40.0), (1, 40, 37, -30.0)] {
        let mut values = noise(series, n);
        values[at..].iter_mut().for_each(|value| *value += by);
        assert_eq!(places(&values), [at], "{values:?}");
        // Levels matter, not units.
        let others: Vec<f64> = values.iter().map(|value| 1e6 * value + 7.0).collect();
        assert_eq!(places(&others), [at]);
        assert_eq!(places(&values), places(&values), "the same each time");
    }
}

#[test]
fn a_level_that_returns_is_two_changes() {
    let mut values = noise(4, 60);
    values[20..40].iter_mut().for_each(|value| *value += 30.0);
    assert_eq!(places(&values), [20, 40]);
}

#[test]
fn single_spikes_are_no_change_wherever_they_are() {
    for series in 0..20 {
        let n = 15 + 2 * series as usize;
        for at in [0, 1, n / 2, n - 2, n - 1] {
            let mut values = noise(series, n);
            let before = places(&values);
            values[at] *= 100.0;
            assert_eq!(places(&values), before, "a spike at {at} of {n}");
        }
    }
}

#[test]
fn series_without_a_change_have_none_at_the_stated_level() {
    let found = (100..500).filter(|&series| !places(&noise(series, 20)).is_empty());
    let found = found.count();
    // Four are expected of 400, and more than 12 with a probability of 0.0003.
    assert!(found <= 12, "{found} of 400");
}

/// A team that looks after each run sees a change that is none in some looks, which are alike: of 100 histories of 40 runs a
/// seventh at most, and 99.9 % of binomials with (100, 1/7) are below 26.
#[test]
fn looks_after_each_run_raise_few_false_alarms() {
    let alarmed = |series: u64| {
        let all = noise(1_000 + series, 40);
        (10..=40).any(|runs| !places(&all[..runs]).is_empty())
    };
    let alarmed = (0..100).filter(|&series| alarmed(series)).count();
    assert!(alarmed < 26, "{alarmed} of 100");
}

#[test]
fn short_equal_and_damaged_series_have_no_change() {
    assert!(places(&[]).is_empty());
    assert!(places(&[1.0, 1.0, 1.0, 9.0, 9.0]).is_empty());
    assert!(places(&[7.0; 50]).is_empty());
    assert_eq!(best_split(&[7.0; 50], 3), None);
    let mut values = noise(5, 40);
    values[20..].iter_mut().for_each(|value| *value += 50.0);
    values[3] = f64::NAN;
    assert!(places(&values).is_empty());
}
