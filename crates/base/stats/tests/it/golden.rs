//! The golden file, and how near to it is near enough.

use std::sync::LazyLock;

use serde_json::Value;
use stats::sample::Sample;

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../../../testdata/golden/compare.json");
    serde_json::from_str(text).expect("the golden file is JSON")
});

/// The cases of a topic; at least one.
pub(crate) fn cases(topic: &str) -> &'static [Value] {
    let cases = GOLDEN[topic].as_array();
    let cases = cases.unwrap_or_else(|| panic!("no {topic} in the golden file"));
    assert!(!cases.is_empty(), "{topic} has no cases");
    cases
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap_or_else(|| panic!("{value} is no list"));
    list.iter().map(number).collect()
}

pub(crate) fn sample(value: &Value) -> Sample {
    Sample::new(numbers(value)).expect("golden samples are sound")
}

/// The sample [n, step, modulo, shift]: i · step mod modulo + shift, for i below n.
pub(crate) fn lattice(value: &Value) -> Sample {
    let parts: Vec<u64> = numbers(value).iter().map(|&x| x as u64).collect();
    let [n, step, modulo, shift] = parts[..] else {
        panic!("{value} is no lattice");
    };
    let points = (0..n).map(|i| (i * step % modulo + shift) as f64);
    Sample::new(points.collect()).expect("lattices are sound")
}

/// Equal within this share of the greater, or within 1e-300.
#[track_caller]
pub(crate) fn assert_near(found: f64, expected: f64, share: f64, of: &str) {
    let apart = (found - expected).abs();
    assert!(
        apart <= share * found.abs().max(expected.abs()).max(1e-300 / share),
        "{of}: found {found:e}, expected {expected:e}, apart by {:e} of it",
        apart / expected.abs()
    );
}
