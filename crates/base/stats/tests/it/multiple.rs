use stats::multiple::{benjamini_hochberg, holm, weighted_holm};

use crate::golden::{assert_near, cases, numbers};

#[test]
fn adjusted_p_values_agree_with_statsmodels_and_scipy() {
    for case in cases("multiple") {
        let p = numbers(&case["p"]);
        for (adjust, key) in
            [(holm as fn(&[f64]) -> Vec<f64>, "holm"), (benjamini_hochberg, "benjamini_hochberg")]
        {
            let expected = numbers(&case[key]);
            let found = adjust(&p);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert_near(*found, expected, 1e-14, key);
            }
        }
    }
    assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
}

/// Worked out on paper: p / weight is 0.01, 0.04 and 0.02; the sums of the weights left are 3.5, 2.5 and 0.5.
#[test]
fn weighted_p_values_are_those_of_holms_third_section() {
    let found = weighted_holm(&[0.02, 0.02, 0.02], &[2.0, 0.5, 1.0]);
    let expected = [0.035, 0.035, 0.035];
    for (found, expected) in found.iter().zip(expected) {
        assert_near(*found, expected, 1e-12, "weighted Holm");
    }
    let found = weighted_holm(&[0.001, 0.2, 0.03], &[1.0, 1.0, 0.1]);
    // 0.001 · 2.1; then 0.2 · 1.1, and 0.03 / 0.1 · 0.1 is less than that.
    for (found, expected) in found.iter().zip([0.0021, 0.22, 0.22]) {
        assert_near(*found, expected, 1e-12, "weighted Holm");
    }
}

#[test]
fn equal_weights_are_no_weights() {
    let p = [0.01, 0.04, 0.03, 0.8, 0.0];
    for (weighted, plain) in weighted_holm(&p, &[0.3; 5]).iter().zip(holm(&p)) {
        assert_near(*weighted, plain, 1e-12, "weighted Holm");
    }
}
