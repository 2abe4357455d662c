//! Means: of numbers, and of a series whose numbers depend on those before them, with its interval.

use crate::finite::is_measurable;
use crate::serial;
use crate::tail;

/// Arithmetic mean; 0 of no numbers.
pub fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// A mean and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesMean {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard error: that of as many independent numbers as `effective` says.
    pub error: f64,
    /// How many independent numbers would know it as well; see [`serial::effective`].
    pub effective: f64,
}

impl SeriesMean {
    /// The mean of at least two numbers that are finite, as their squares are; else `None`.
    pub fn compute(values: &[f64]) -> Option<SeriesMean> {
        if values.len() < 2 || !values.iter().all(|value| is_measurable(*value)) {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // The numbers of a constant are known, whatever they depend on.
        let effective = serial::effective(values).map_or(n, |effective| effective.count);
        // One number alone has no interval, however much it stands for.
        let effective = effective.max(2.0);
        Some(SeriesMean { mean, error: (variance / effective).sqrt(), effective })
    }

    /// Bounds of the long-run mean with this confidence, by Student's t.
    ///
    /// # Panics
    /// If `confidence` does not lie strictly between 0 and 1.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        assert!(
            confidence > 0.0 && confidence < 1.0,
            "confidence {confidence} is not between 0 and 1"
        );
        let t = tail::student_quantile(0.5 + confidence / 2.0, self.effective - 1.0);
        (self.mean - t * self.error, self.mean + t * self.error)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn means_are_arithmetic() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert_eq!(mean(&[]), 0.0);
    }

    #[test]
    fn means_errors_and_bounds_agree_with_statsmodels_and_scipy() {
        let golden: Value =
            serde_json::from_str(include_str!("../../../../testdata/golden/analyze.json")).unwrap();
        for case in golden["mean"].as_array().unwrap() {
            let values: Vec<f64> = (case["values"].as_array().unwrap().iter())
                .map(|value| value.as_f64().unwrap())
                .collect();
            let found = SeriesMean::compute(&values).unwrap();
            let (low, high) = found.interval(0.95);
            let all = [
                ("mean", found.mean),
                ("effective", found.effective),
                ("error", found.error),
                ("low", low),
                ("high", high),
            ];
            for (key, found) in all {
                let expected = case[key].as_f64().unwrap();
                assert!(
                    (found - expected).abs() <= 1e-8 * expected.abs().max(1.0),
                    "{} {key}: {found}, expected {expected}",
                    case["name"]
                );
            }
        }
    }

    #[test]
    fn intervals_of_autocorrelated_series_keep_their_coverage() {
        const TRIES: u64 = 500;
        let held = (0..TRIES).filter(|&seed| {
            let mut rng = Rng::new(seed, 0, Purpose::Think);
            let mut state = 0.0;
            let mut step = || {
                state = 0.5 * state + (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                state
            };
            (0..30).for_each(|_| {
                step();
            });
            let values: Vec<f64> = (0..150).map(|_| step()).collect();
            let (low, high) = SeriesMean::compute(&values).unwrap().interval(0.95);
            low <= 0.0 && 0.0 <= high
        });
        let share = held.count() as f64 / TRIES as f64;
        // Without allowing for it, three in four would.
        assert!(share > 0.91, "{share}");
    }

    #[test]
    fn constants_and_too_little() {
        let flat = SeriesMean::compute(&[4.0; 10]).unwrap();
        assert_eq!((flat.mean, flat.error, flat.effective), (4.0, 0.0, 10.0));
        assert_eq!(flat.interval(0.95), (4.0, 4.0));
        assert_eq!(SeriesMean::compute(&[1.0]), None);
        assert_eq!(SeriesMean::compute(&[1.0, f64::NAN]), None);
    }
}
