use serde_json::Value;

use super::*;
use crate::rng::Purpose;

/// `testdata/golden/permute.json`, which `checks/golden/permute.py` makes.
pub(crate) fn golden() -> Value {
    let text = include_str!("../../../../../testdata/golden/permute.json");
    serde_json::from_str(text).unwrap()
}

fn rng() -> Rng {
    Rng::new(1, 0, Purpose::Choice)
}

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|v| v.as_f64().unwrap()).collect()
}

fn table(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

#[track_caller]
fn assert_near(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    let near = found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-9);
    assert!(near, "{found:?} is not {wanted:?}");
}

#[test]
fn groups_agree_with_scipy_and_the_definition() {
    for case in golden()["grouped"].as_array().unwrap() {
        let units = table(&case["units"]);
        let first = case["first"].as_u64().unwrap() as usize;
        let permutations = Permutations::of_groups(first, units.len() - first, 1000, &mut rng());
        assert!(permutations.exact);
        let columns: Vec<Vec<f64>> =
            (0..units[0].len()).map(|c| units.iter().map(|unit| unit[c]).collect()).collect();
        let found = max_t(&permutations, |second| {
            let ts = columns.iter().map(|x| two_sample_t(x, second, 0.0).abs());
            ts.collect()
        });
        assert_near(&found.statistics, &numbers(&case["t"]));
        assert_near(&found.p, &numbers(&case["p"]));
        assert_near(&found.p_adjusted, &numbers(&case["p_adjusted"]));
    }
}

#[test]
fn pairs_agree_with_scipy() {
    for case in golden()["paired"].as_array().unwrap() {
        let differences = numbers(&case["differences"]);
        let permutations = Permutations::of_pairs(differences.len(), 5000, &mut rng());
        assert!(permutations.exact);
        let found =
            max_t(&permutations, |swapped| vec![paired_t(&differences, swapped, 0.0).abs()]);
        assert_near(&found.statistics, &[case["t"].as_f64().unwrap().abs()]);
        assert_near(&found.p, &[case["p"].as_f64().unwrap()]);
    }
}

#[test]
fn distances_agree_with_their_definition_and_with_t() {
    for case in golden()["pseudo_f"].as_array().unwrap() {
        let distances = table(&case["distances"]);
        let first = case["first"].as_u64().unwrap() as usize;
        let second: Vec<bool> = (0..distances.len()).map(|i| i >= first).collect();
        assert_near(&[distance_t(&distances, &second, 0.0)], &[case["root_f"].as_f64().unwrap()]);
    }
    let values = [1.0, 4.0, 2.0, 6.0, 5.0, 9.0, 7.5];
    let second = [false, false, false, true, true, true, true];
    let apart = |a: f64| values.iter().map(|b| (a - b).abs()).collect();
    let distances: Vec<Vec<f64>> = values.iter().map(|&a| apart(a)).collect();
    assert_near(
        &[distance_t(&distances, &second, 0.0)],
        &[two_sample_t(&values, &second, 0.0).abs()],
    );
}

#[test]
fn constant_groups_have_t_of_zero_or_infinity() {
    let second = [false, false, true, true];
    assert_eq!(two_sample_t(&[0.1, 0.1, 0.1, 0.1], &second, 0.0), 0.0);
    assert_eq!(two_sample_t(&[2.0, 2.0, 3.0, 3.0], &second, 0.0), f64::INFINITY);
    assert_eq!(two_sample_t(&[3.0, 3.0, 2.0, 2.0], &second, 0.0), f64::NEG_INFINITY);
    // A floor of a half under an error of nothing.
    assert_eq!(two_sample_t(&[2.0, 2.0, 3.0, 3.0], &second, 0.5), 2.0);
    assert_eq!(paired_t(&[0.0, 0.0], &[false, true], 0.0), 0.0);
    assert_eq!(paired_t(&[1.0, 1.0], &[false, false], 0.0), f64::INFINITY);
    assert_eq!(distance_t(&vec![vec![0.0; 4]; 4], &second, 0.0), 0.0);
}

#[test]
fn permutations_are_distinct_and_begin_with_the_observed_one() {
    for (first, second) in [(5, 5), (1, 4), (4, 1), (2, 3), (0, 3), (3, 0)] {
        let permutations = Permutations::of_groups(first, second, 1000, &mut rng());
        let mut all = permutations.all.clone();
        assert_eq!(all[0], [vec![false; first], vec![true; second]].concat());
        let right = |d: &Vec<bool>| d.iter().filter(|&&s| s).count() == second;
        assert!(all.iter().all(right));
        all.sort();
        all.dedup();
        assert_eq!(all.len() as f64, choices(first + second, second));
    }
}

#[test]
fn too_many_permutations_are_drawn() {
    let permutations = Permutations::of_groups(10, 10, 500, &mut rng());
    assert!(!permutations.exact && permutations.all.len() == 500);
    let right = |d: &Vec<bool>| d.iter().filter(|&&s| s).count() == 10;
    assert!(permutations.all.iter().all(right));
    let permutations = Permutations::of_pairs(40, 500, &mut rng());
    assert!(!permutations.exact && permutations.all.len() == 500);
    assert_eq!(permutations.all[0], vec![false; 40]);
}

#[test]
fn values_that_agree_scatter_by_what_is_known() {
    let second = [false, false, true];
    assert!((two_sample_t_of(&[1.0, 1.0, 4.0], &second, 1.5) - 2.0).abs() < 1e-12);
    assert_eq!(two_sample_t_of(&[1.0, 1.0, 4.0], &second, 0.0), f64::INFINITY);
    // Their own scatter is greater: the standard error is the root of 3.
    let own = two_sample_t_of(&[1.0, 3.0, 9.0], &second, 0.1);
    assert!((own - two_sample_t(&[1.0, 3.0, 9.0], &second, 0.0)).abs() < 1e-12);
    assert!((own - 7.0 / 3.0_f64.sqrt()).abs() < 1e-12);
}
