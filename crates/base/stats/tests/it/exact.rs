//! Exact intervals beside SciPy's: `checks/golden/exact.py` wrote the values.

use std::sync::LazyLock;

use serde_json::Value;
use stats::exact::{CountDistribution, at_least_of, mean_interval, share_interval};

use crate::golden::{assert_near, number, numbers};

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../../../testdata/golden/exact.json");
    serde_json::from_str(text).expect("the golden file is JSON")
});

/// Of numbers as large as a million the logarithms of factorials leave this many digits.
const NEAR: f64 = 1e-7;

fn whole(value: &Value) -> u64 {
    value.as_u64().expect("counts are whole numbers")
}

#[test]
fn poisson_means_have_scipys_intervals() {
    for case in GOLDEN["poisson"].as_array().unwrap() {
        let count = whole(&case["count"]);
        let mean = number(&case["mean"]);
        let what = format!("{count} of {mean}");
        let interval = numbers(&case["interval"]);
        let (low, high) = mean_interval(count, 0.95);
        assert_near(low, interval[0], NEAR, &what);
        assert_near(high, interval[1], NEAR, &what);
        assert_near(CountDistribution::Poisson(mean).p(count), number(&case["p"]), NEAR, &what);
        assert_near(
            CountDistribution::Poisson(mean).miss(0.95),
            number(&case["miss"]),
            NEAR,
            &what,
        );
    }
}

#[test]
fn shares_have_scipys_intervals() {
    for case in GOLDEN["binomial"].as_array().unwrap() {
        let count = whole(&case["count"]);
        let of = whole(&case["of"]);
        let distribution = CountDistribution::Binomial(of, number(&case["probability"]));
        let what = format!("{count} of {of}");
        let interval = numbers(&case["interval"]);
        let (low, high) = share_interval(count, of, 0.95);
        assert_near(low, interval[0], NEAR, &what);
        assert_near(high, interval[1], NEAR, &what);
        assert_near(distribution.p(count), number(&case["p"]), NEAR, &what);
        assert_near(distribution.miss(0.95), number(&case["miss"]), NEAR, &what);
    }
}

#[test]
fn poisson_binomial_agrees_with_a_convolution() {
    for case in GOLDEN["several"].as_array().unwrap() {
        let probabilities = numbers(&case["probabilities"]);
        let found = at_least_of(&probabilities, whole(&case["count"]) as usize);
        assert_near(found, number(&case["at_least"]), 1e-12, "several");
    }
}
