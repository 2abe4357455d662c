//! Held against statsmodels and SciPy (`checks/golden/factorial.py`), and against published
//! tables.

use crate::rng::{Purpose, Rng};
use crate::tail::normal_quantile;
use serde_json::Value;

use super::*;

const GOLDEN: &str = include_str!("../../../../../testdata/golden/factorial.json");

fn golden() -> Value {
    serde_json::from_str(GOLDEN).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, what: &str) {
    let scale = expected.abs().max(1e-9);
    assert!((found - expected).abs() <= 1e-7 * scale, "{what}: {found}, not {expected}");
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn counts(value: &Value) -> Vec<usize> {
    let all = value.as_array().unwrap().iter();
    all.map(|n| n.as_u64().unwrap() as usize).collect()
}

fn analysed(design: &Value, confidence: f64) -> Factorial {
    let values = numbers(&design["values"]);
    let rows = design["levels"].as_array().unwrap().iter().map(counts);
    let observations: Vec<Observation> =
        rows.zip(values).map(|(levels, value)| Observation { levels, value }).collect();
    factorial(&counts(&design["levels_count"]), &observations, confidence).unwrap()
}

fn name(term: &Term) -> String {
    term.factors.iter().map(usize::to_string).collect()
}

#[test]
fn designs_agree_with_statsmodels() {
    let golden = golden();
    let designs = golden["designs"].as_array().unwrap();
    assert!(designs.len() >= 8);
    for design in designs {
        let what = design["name"].as_str().unwrap();
        let found = analysed(design, number(&golden["confidence"]));
        close(found.mean.value, number(&design["mean"]), what);
        close(found.total_ss, number(&design["total_ss"]), what);
        match &found.error {
            Some(error) => {
                close(error.ss, number(&design["error_ss"]), what);
                assert_eq!(error.df as u64, design["error_df"].as_u64().unwrap());
            }
            None => assert_eq!(design["error_df"], 0, "{what}"),
        }
        let terms = design["terms"].as_object().unwrap();
        assert_eq!(found.terms.len(), terms.len(), "{what}");
        for term in &found.terms {
            let what = format!("{what}, term {}", name(term));
            let expected = &terms[&name(term)];
            close(term.ss, number(&expected["ss"]), &what);
            if let Some(effect) = expected.get("effect") {
                close(term.effect.unwrap().value, number(effect), &what);
            }
            if let (Some(test), Some(p)) = (term.f_test, expected["p"].as_f64()) {
                close(test.p, p, &what);
            }
            if let Some(bounds) = expected.get("interval").filter(|bounds| !bounds.is_null()) {
                let interval = term.effect.unwrap().interval.unwrap();
                close(interval.low, number(&bounds[0]), &what);
                close(interval.high, number(&bounds[1]), &what);
            }
        }
        match (&found.trend, design["trend"].is_null()) {
            (None, is_null) => assert!(is_null, "{what}: no trend"),
            (Some(trend), _) => {
                close(trend.statistic, number(&design["trend"]["statistic"]), what);
                close(trend.p, number(&design["trend"]["p"]), what);
            }
        }
        if let Some(effects) = design.get("level_effects") {
            // patsy counts the levels as they are numbered, and so do we.
            for (level, effect) in found.terms[0].level_effects.iter().enumerate() {
                close(effect.value, number(&effects[level]), what);
                let interval = effect.interval.unwrap();
                let mean = found.terms[0].level_means[level];
                close(mean.value, found.mean.value + effect.value, what);
                let bounds = &design["level_intervals"][level];
                close(interval.low, number(&bounds[0]), what);
                close(interval.high, number(&bounds[1]), what);
            }
        }
    }
}

#[test]
fn checks_agree_with_scipy() {
    let tests = &golden()["tests"];
    let agree = |name: &str, test: &dyn Fn(&Value) -> Option<Test>, digits: f64| {
        for case in tests[name].as_array().unwrap() {
            let found = test(case).unwrap();
            close(found.statistic, number(&case["statistic"]), name);
            let p = number(&case["p"]);
            assert!((found.p - p).abs() <= digits * p, "{name}: {}, not {p}", found.p);
        }
    };
    agree("shapiro_wilk", &|case| shapiro_wilk(&numbers(&case["numbers"])), 1e-5);
    agree("spearman", &|case| spearman(&numbers(&case["x"]), &numbers(&case["y"])), 1e-7);
    let groups = |case: &Value| -> Vec<Vec<f64>> {
        case["groups"].as_array().unwrap().iter().map(numbers).collect()
    };
    agree("brown_forsythe", &|case| brown_forsythe(&groups(case)), 1e-7);
}

/// Rows of a sign table, the first factor changing fastest.
fn table(k: usize, times: usize, values: &[f64]) -> Vec<Observation> {
    let cells = (0..1_usize << k).flat_map(|cell| std::iter::repeat_n(cell, times));
    let rows = cells.zip(values).map(|(cell, &value)| Observation {
        levels: (0..k).map(|f| cell >> f & 1).collect(),
        value,
    });
    rows.collect()
}

fn effects(found: &Factorial) -> Vec<f64> {
    found.terms.iter().map(|t| t.effect.unwrap().value).collect()
}

/// Each to this number of decimals.
fn rounded(numbers: impl IntoIterator<Item = f64>, decimals: usize) -> Vec<String> {
    let all = numbers.into_iter().map(|x| format!("{x:.decimals$}"));
    all.collect()
}

#[test]
fn jains_memory_and_cache() {
    // Example 17.1: MIPS of a workstation by memory (A) and cache (B).
    let found = factorial(&[2, 2], &table(2, 1, &[15.0, 45.0, 25.0, 75.0]), 0.9).unwrap();
    close(found.mean.value, 40.0, "q0");
    assert_eq!(rounded(effects(&found), 9), ["20.000000000", "10.000000000", "5.000000000"]);
    let shares = found.terms.iter().map(|term| term.share * 100.0);
    assert_eq!(rounded(shares, 0), ["76", "19", "5"]);
    assert!(found.error.is_none() && found.mean.interval.is_none());
}

#[test]
fn jains_memory_and_cache_repeated() {
    // Examples 18.1 to 18.4.
    let values = [15.0, 18.0, 12.0, 45.0, 48.0, 51.0, 25.0, 28.0, 19.0, 75.0, 75.0, 81.0];
    let found = factorial(&[2, 2], &table(2, 3, &values), 0.9).unwrap();
    assert_eq!(rounded([found.mean.value], 6), ["41.000000"]);
    assert_eq!(rounded(effects(&found), 6), ["21.500000", "9.500000", "5.000000"]);
    let error = found.error.unwrap();
    assert_eq!((rounded([error.ss], 6), error.df), (vec!["102.000000".to_owned()], 8));
    assert_eq!(rounded([found.total_ss], 6), ["7032.000000"]);
    let shares = found.terms.iter().map(|term| term.share * 100.0);
    assert_eq!(rounded(shares, 2), ["78.88", "15.40", "4.27"]);
    assert_eq!(rounded([error.share * 100.0, error.deviation], 2), ["1.45", "3.57"]);
    // The book rounds the standard deviation to 1.03 and t to 1.86 before it multiplies.
    let bounds =
        std::iter::once(&found.mean).chain(found.terms.iter().filter_map(|t| t.effect.as_ref()));
    let bounds = bounds.flat_map(|estimate| {
        let interval = estimate.interval.unwrap();
        [interval.low, interval.high]
    });
    let book = [39.08, 42.91, 19.58, 23.41, 7.58, 11.41, 3.08, 6.91];
    for (found, book) in bounds.zip(book) {
        assert!((found - book).abs() < 0.011, "{found}, not {book}");
    }
    assert!(found.orthogonal);
}

#[test]
fn jains_fraction_of_seven_factors() {
    // Section 19.1: 2^(7-4) with D = AB, E = AC, F = BC, G = ABC.
    let values = [20.0, 35.0, 7.0, 42.0, 36.0, 50.0, 45.0, 82.0];
    let mut rows = table(3, 1, &values);
    for row in &mut rows {
        let sign = |f: usize| if row.levels[f] == 1 { 1 } else { -1 };
        let a = sign(0);
        let b = sign(1);
        let c = sign(2);
        let high = [a * b, a * c, b * c, a * b * c].map(|sign| usize::from(sign > 0));
        row.levels.extend(high);
    }
    let found = factorial(&[2; 7], &rows, 0.9).unwrap();
    // The totals of the sign table's columns, by 8.
    close(found.mean.value * 8.0, 317.0, "I");
    for (effect, total) in effects(&found).iter().zip([101.0, 35.0, 109.0, 43.0, 1.0, 47.0, 3.0]) {
        close(effect * 8.0, total, "a column");
    }
    let shares = found.terms.iter().map(|term| term.share * 100.0);
    let expected = ["37.3", "4.5", "43.4", "6.8", "0.0", "8.1", "0.0"];
    assert_eq!(rounded(shares, 1), expected);
    assert_eq!(found.terms.len(), 7);
    // D = AB and its like: 16 words stand for each column.
    assert!(found.terms.iter().all(|term| term.aliases.len() == 15));
    assert_eq!(found.mean_aliases.len(), 15);
    let of_d = &found.terms[3].aliases[0];
    assert_eq!((of_d.factors.as_slice(), of_d.negative), (&[0, 1][..], false));
}

#[test]
fn the_other_half_has_the_other_sign() {
    // C = −AB.
    let rows = [[0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0]];
    let values = [1.0, 5.0, 2.0, 9.0];
    let observations: Vec<_> = rows
        .iter()
        .zip(values)
        .map(|(levels, value)| Observation { levels: levels.to_vec(), value })
        .collect();
    let found = factorial(&[2; 3], &observations, 0.95).unwrap();
    assert_eq!(found.mean_aliases, [Alias { factors: vec![0, 1, 2], negative: true }]);
    assert_eq!(found.terms[2].aliases, [Alias { factors: vec![0, 1], negative: true }]);
}

#[test]
fn missing_cell_drops_the_highest_interaction() {
    let mut rows = table(2, 2, &[15.0, 18.0, 45.0, 48.0, 25.0, 28.0, 75.0, 75.0]);
    rows.truncate(6);
    let found = factorial(&[2, 2], &rows, 0.95).unwrap();
    assert_eq!((found.order_max, found.terms.len()), (1, 2));
    // Half the way between the means of cells that differ in this factor alone.
    assert_eq!(rounded(effects(&found), 6), ["15.000000", "5.000000"]);
    assert!(!found.orthogonal);
    // Two cells on a diagonal: the effects cannot be separated.
    let diagonal: Vec<_> = [[0, 0], [1, 1]]
        .iter()
        .map(|levels| Observation { levels: levels.to_vec(), value: levels[0] as f64 })
        .collect();
    let found = factorial(&[2, 2], &diagonal, 0.95).unwrap();
    assert_eq!(found.terms.len(), 1);
    assert_eq!(found.terms[0].aliases[0].factors, [1]);
}

#[test]
fn invalid_designs_are_errors() {
    let fails = |levels: &[usize], rows: &[Observation]| factorial(levels, rows, 0.95).unwrap_err();
    let rows = table(1, 2, &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(fails(&[], &rows), FactorialError::Factors(0));
    assert_eq!(fails(&[2; 13], &rows), FactorialError::Factors(13));
    assert_eq!(fails(&[3], &rows), FactorialError::OneLevel { factor: 0 });
    assert_eq!(fails(&[1], &rows), FactorialError::UnknownLevel { factor: 0 });
    assert_eq!(fails(&[2, 2], &rows), FactorialError::UnknownLevel { factor: 1 });
    let with = |values: &[f64]| fails(&[2], &table(1, 2, values));
    assert_eq!(with(&[1.0, f64::NAN, 3.0, 4.0]), FactorialError::NotFinite);
    assert_eq!(with(&[7.0; 4]), FactorialError::Constant);
    // Three levels each, seen along a line.
    let line: Vec<_> =
        (0..3).map(|at| Observation { levels: vec![at, at], value: (at * at) as f64 }).collect();
    assert_eq!(fails(&[3, 3], &line), FactorialError::TooFew);
}

#[test]
fn too_many_interactions_count_as_errors() {
    let values: Vec<f64> = (0..1024).map(|n| f64::from(n % 7)).collect();
    let found = factorial(&[2; 10], &table(10, 1, &values), 0.95).unwrap();
    assert_eq!(found.order_max, 4);
    assert_eq!(found.terms.len(), 10 + 45 + 120 + 210);
    assert_eq!(found.error.unwrap().df, 1024 - 386);
}

#[test]
fn checks_need_numbers_that_vary() {
    assert_eq!(shapiro_wilk(&[1.0, 2.0]), None);
    assert_eq!(shapiro_wilk(&[3.0; 9]), None);
    assert_eq!(shapiro_wilk(&[1.0, f64::NAN, 2.0]), None);
    assert_eq!(brown_forsythe(&[vec![1.0, 2.0, 3.0]]), None);
    assert_eq!(brown_forsythe(&[vec![1.0; 3], vec![2.0; 3]]), None);
    assert_eq!(spearman(&[1.0; 5], &[1.0, 2.0, 3.0, 4.0, 5.0]), None);
    assert_eq!(spearman(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), None);
    let least = spearman(&[1.0, 2.0, 3.0, 4.0], &[2.0, 4.0, 6.0, 8.0]).unwrap();
    assert!(least.statistic > 0.999_999);
    assert_eq!(least.p, 2.0 / 24.0, "rising or falling of 4! pairings");
    // By Student's t it would be 0.
    let rising: Vec<f64> = (0..12).map(f64::from).collect();
    let least = spearman(&rising, &rising).unwrap().p;
    assert!((least * 479_001_600.0 - 2.0).abs() < 1e-9, "{least}");
}

/// How often a check warns of normal errors alone, at 5 %.
fn warns(
    seed: u64,
    cells: usize,
    times: usize,
    check: impl Fn(&[Vec<f64>]) -> Option<Test>,
) -> f64 {
    const ROUNDS: u64 = 2_000;
    let warned = (0..ROUNDS).filter(|round| {
        let mut rng = Rng::new(seed, *round, Purpose::Value);
        let mut number = || normal_quantile(rng.unit().max(f64::MIN_POSITIVE));
        let groups: Vec<Vec<f64>> =
            (0..times).map(|_| (0..cells).map(|_| 100.0 + number()).collect()).collect();
        check(&groups).is_some_and(|test| test.p < 0.05)
    });
    warned.count() as f64 / ROUNDS as f64
}

#[test]
fn trend_test_keeps_its_level() {
    for (seed, cells, times) in [(1, 2, 2), (2, 4, 2), (3, 8, 2), (4, 2, 3), (5, 4, 5)] {
        // Each repetition of all cells is a block, as experiments are run.
        let share = warns(seed, cells, times, |blocks| {
            let rows = blocks.iter().flat_map(|block| block.iter().enumerate());
            let rows = rows.map(|(cell, &value)| Observation { levels: vec![cell], value });
            factorial(&[cells], &rows.collect::<Vec<_>>(), 0.95).unwrap().trend
        });
        // Four standard deviations about the level, which is met exactly.
        assert!((0.03..0.07).contains(&share), "{cells} × {times}: {share}");
    }
}

#[test]
fn values_whose_squares_overflow_or_vanish_are_refused() {
    let of = |values: [f64; 6]| {
        let values = values.into_iter().enumerate();
        let rows = values.map(|(at, value)| Observation { levels: vec![at % 2], value });
        factorial(&[2], &rows.collect::<Vec<_>>(), 0.95)
    };
    assert_eq!(of([1e200, 3.0, -1e200, 4.0, 2e200, 5.0]), Err(FactorialError::NotFinite));
    assert_eq!(of([0.0, 1e-300, 0.0, 2e-300, 0.0, 1e-300]), Err(FactorialError::Constant));
    let great = of([1e100, -1e100, 2e99, -3e99, 1e98, 0.0]).unwrap();
    assert!(great.terms.iter().all(|term| term.f_test.is_some_and(|test| test.p < 1.0)));
}

#[test]
fn true_trend_is_detected() {
    let rows: Vec<Observation> = (0..24)
        .map(|at| Observation {
            levels: vec![at % 4],
            value: f64::from(at as u32) + if at % 3 == 0 { 4.0 } else { 0.0 },
        })
        .collect();
    let trend = factorial(&[4], &rows, 0.95).unwrap().trend.unwrap();
    assert!(trend.statistic > 0.9 && trend.p < 1e-6, "{trend:?}");
    // One observation of each cell: its place says its cell.
    let once = factorial(&[4], &rows[..4], 0.95).unwrap();
    assert_eq!(once.trend, None);
}
