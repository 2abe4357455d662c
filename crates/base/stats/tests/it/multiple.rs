use stats::multiple::{benjamini_hochberg, holm};

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
