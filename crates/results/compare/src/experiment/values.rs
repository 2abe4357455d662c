//! The deviation of a few values.

use stats::mean::mean;

pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean(values);
    let square: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (values.len() > 1).then(|| (square / (values.len() - 1) as f64).sqrt())
}
