//! Student's t distribution: p-values of statistics, and intervals of differences of means.

use crate::ensemble;
use crate::finite::is_measurable;
use crate::tail;

/// The two-sided p-value of a t with this many degrees of freedom; 1 if there are none, or the t is NaN.
pub fn two_sided_p(t: f64, degrees: f64) -> f64 {
    let p = 2.0 * tail::student_above(t.abs(), degrees);
    // Nothing is shown by a t that is no number, or has no degrees of freedom.
    if p.is_nan() { 1.0 } else { p.min(1.0) }
}

/// The t that is exceeded in magnitude with probability 1 − `confidence`; infinite where there are
/// no degrees of freedom.
pub fn two_sided_t(confidence: f64, degrees: f64) -> f64 {
    let t = tail::student_quantile(0.5 + confidence / 2.0, degrees);
    if t.is_nan() { f64::INFINITY } else { t }
}

/// A confidence interval of the second mean minus the first. The variances may differ (Welch 1947)
/// where both groups have two numbers or more; where one has a single number the other's stands for
/// both. `None` if the scatter of the numbers is unknown, or one of them is not finite.
pub fn difference_interval(first: &[f64], second: &[f64], confidence: f64) -> Option<(f64, f64)> {
    if let Ok((found, _)) = ensemble::welch(first, second, confidence) {
        return Some((found.interval.low, found.interval.high));
    }
    let a = Group::new(first)?;
    let b = Group::new(second)?;
    let (variance, n) = match (a.variance, b.variance) {
        (Some(variance), None) => (variance, a.n),
        (None, Some(variance)) => (variance, b.n),
        _ => return None,
    };
    let error = (variance * (1.0 + 1.0 / n)).sqrt();
    Some(around(b.mean - a.mean, error, n - 1.0, confidence))
}

/// A confidence interval of a mean; `None` of fewer than two numbers, or if one is not finite.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let group = Group::new(values)?;
    let error = (group.variance? / group.n).sqrt();
    Some(around(group.mean, error, group.n - 1.0, confidence))
}

/// All alike have no degrees of freedom to be computed, and need none.
fn around(middle: f64, error: f64, degrees: f64, confidence: f64) -> (f64, f64) {
    let half = if error > 0.0 { two_sided_t(confidence, degrees) * error } else { 0.0 };
    (middle - half, middle + half)
}

struct Group {
    n: f64,
    mean: f64,
    /// `None` of a single number.
    variance: Option<f64>,
}

impl Group {
    fn new(values: &[f64]) -> Option<Group> {
        let n = values.len() as f64;
        if values.is_empty() || !values.iter().all(|value| is_measurable(*value)) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let variance = (values.len() > 1).then(|| squares / (n - 1.0));
        Some(Group { n, mean, variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_agree_with_scipy() {
        let golden = crate::permute::golden();
        for case in golden["student"].as_array().unwrap() {
            let list = |name: &str| -> Vec<f64> {
                let values = case[name].as_array().unwrap().iter();
                values.map(|v| v.as_f64().unwrap()).collect()
            };
            let a = list("a");
            let b = list("b");
            let found = difference_interval(&a, &b, 0.95).unwrap();
            let wanted = list("welch_interval");
            assert!((found.0 - wanted[0]).abs() < 1e-9, "{found:?} {wanted:?}");
            assert!((found.1 - wanted[1]).abs() < 1e-9, "{found:?} {wanted:?}");
            let found = mean_interval(&a, 0.9).unwrap();
            let wanted = list("mean_interval");
            assert!((found.0 - wanted[0]).abs() < 1e-9, "{found:?} {wanted:?}");
            let values: Vec<f64> = a.iter().chain(&b).copied().collect();
            let second: Vec<bool> = (0..values.len()).map(|i| i >= a.len()).collect();
            let t = crate::permute::two_sample_t(&values, &second, 0.0);
            let p = two_sided_p(t, values.len() as f64 - 2.0);
            assert!((t - case["t"].as_f64().unwrap()).abs() < 1e-9);
            assert!((p - case["p"].as_f64().unwrap()).abs() < 1e-9);
        }
    }

    #[test]
    fn constant_and_empty_groups_have_defined_results() {
        assert_eq!(difference_interval(&[], &[1.0], 0.95), None);
        assert_eq!(difference_interval(&[1.0], &[2.0], 0.95), None);
        assert_eq!(difference_interval(&[1.0, 1.0], &[2.0, 2.0], 0.95), Some((1.0, 1.0)));
        let (low, high) = difference_interval(&[0.0, 2.0], &[5.0], 0.95).unwrap();
        // 4 ± t(1) · √(2 · (1 + 1/2)), t(1) = 12.706.
        assert!((low + 18.008).abs() < 1e-3 && (high - 26.008).abs() < 1e-3, "{low} {high}");
        assert_eq!(two_sided_p(f64::INFINITY, 3.0), 0.0);
        assert_eq!(two_sided_p(1.0, 0.0), 1.0);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
    }
}
