//! The long-run variance of a series: n times the variance of its mean, whatever its numbers have to do with
//! each other. Of independent numbers it is their variance, of dependent ones the variance times
//! 1 + 2 Σ ρ_k.
//!
//! Estimated from the lowest frequencies, as the mean square of the first cosine coefficients: each is about
//! normal and independent of the others, so that the estimate has as many degrees of freedom as there are
//! coefficients, and Student's t with them holds in short series, too (Müller, "HAC corrections for strongly
//! autocorrelated time series", 2014; Lazarus, Lewis, Stock and Watson, "HAR inference: recommendations for
//! practice", Journal of Business and Economic Statistics 36, 2018, whose number of coefficients this is).

use std::f64::consts::PI;

/// The number of coefficients is this times the length to the power 2/3.
const COEFFICIENTS: f64 = 0.41;
/// The least number of coefficients.
const COEFFICIENTS_MIN: f64 = 2.0;
/// Greatest correlation of neighbours that is filtered out; closer to 1, the variance would be invented.
const CORRELATION_MAX: f64 = 0.97;

/// A long-run variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongRun {
    /// In the square of the series' unit.
    pub variance: f64,
    /// Degrees of freedom of the estimate.
    pub degrees: f64,
}

/// The number of coefficients for a series of this length, and the degrees of freedom.
pub fn degrees(length: usize) -> f64 {
    (COEFFICIENTS * (length as f64).powf(2.0 / 3.0)).round().max(COEFFICIENTS_MIN)
}

/// The mean square of the first coefficients √(2/n) Σ x_t cos(πj(t + ½)/n), j from 1 on. The mean of the
/// series does not matter. `None` of fewer than three numbers.
pub fn cosines(series: &[f64]) -> Option<LongRun> {
    cosines_of(series, degrees(series.len()))
}

/// The same of no more coefficients than this, and of two at least. Where correlations last for long, the variance at
/// higher frequencies is smaller than the one that is looked for: a series that is ten times as long as what its
/// numbers have in common has about ten coefficients of lower ones.
pub fn cosines_at_most(series: &[f64], degrees_max: f64) -> Option<LongRun> {
    let fewest = degrees(series.len()).min(degrees_max.floor());
    cosines_of(series, fewest.max(COEFFICIENTS_MIN))
}

fn cosines_of(series: &[f64], degrees: f64) -> Option<LongRun> {
    let n = series.len();
    if n < 3 {
        return None;
    }
    // The angles are multiples of π/2n: a turn has 4n of them.
    let turn: Vec<f64> = (0..4 * n).map(|k| (PI * k as f64 / (2 * n) as f64).cos()).collect();
    let squares = (1..=degrees as usize).map(|j| {
        let terms = series.iter().enumerate();
        let sum: f64 = terms.map(|(t, x)| x * turn[j * (2 * t + 1) % (4 * n)]).sum();
        sum * sum * 2.0 / n as f64
    });
    Some(LongRun { variance: squares.sum::<f64>() / degrees, degrees })
}

/// The same of what an autoregression on the number before leaves, divided by (1 − φ)²: series whose
/// correlations last for a good part of their length would have too small a variance otherwise (Andrews and
/// Monahan, "An improved heteroskedasticity and autocorrelation consistent covariance matrix estimator",
/// Econometrica 60, 1992). φ is corrected for its bias of −(1 + 3φ)/n (Kendall 1954) and cut to 0..=0.97.
/// The series has the mean 0. `None` where it is too short, or all is 0.
pub fn prewhitened(series: &[f64]) -> Option<LongRun> {
    let n = series.len();
    let squares: f64 = series.iter().map(|x| x * x).sum();
    if n < 4 || squares <= 0.0 {
        return None;
    }
    let products: f64 = series.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = products / squares;
    let phi =
        if raw > 0.0 { (raw + (1.0 + 3.0 * raw) / n as f64).min(CORRELATION_MAX) } else { 0.0 };
    let left: Vec<f64> = series.windows(2).map(|pair| pair[1] - phi * pair[0]).collect();
    let found = cosines_of(&left, degrees(n))?;
    Some(LongRun { variance: found.variance / (1.0 - phi).powi(2), ..found })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn variances_agree_with_scipys_cosine_transform() {
        let golden: Value =
            serde_json::from_str(include_str!("../../../../testdata/golden/percentile.json"))
                .unwrap();
        let cases = golden["long_run"].as_array().unwrap();
        assert!(cases.len() > 3);
        for case in cases {
            let number = |name: &str| case[name].as_f64().unwrap();
            let series = case["series"].as_array().unwrap().iter();
            let series: Vec<f64> = series.map(|x| x.as_f64().unwrap()).collect();
            let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 1e-9;
            let plain = cosines(&series).unwrap();
            assert!(near(plain.variance, number("cosines")), "{plain:?}");
            assert_eq!(plain.degrees, number("degrees"));
            let white = prewhitened(&series).unwrap();
            assert!(near(white.variance, number("prewhitened")), "{white:?}");
        }
    }

    /// A slow wave is all of the variance at the frequency of the whole series, and nothing of it at others.
    #[test]
    fn the_fewest_coefficients_see_the_slowest_changes() {
        let wave: Vec<f64> = (0..100).map(|t| (PI * (f64::from(t) + 0.5) / 100.0).cos()).collect();
        let found = cosines_at_most(&wave, 1.5).unwrap();
        assert_eq!(found.degrees, COEFFICIENTS_MIN);
        // Σ cos² = 50 of the first coefficient, and the factor 2/100.
        assert!((found.variance - 50.0 * 50.0 * 0.02 / 2.0).abs() < 1e-9, "{found:?}");
        assert_eq!(cosines_at_most(&wave, 5.9).unwrap().degrees, 5.0);
        assert_eq!(cosines_at_most(&wave, f64::INFINITY), cosines(&wave));
    }

    #[test]
    fn too_little_has_no_variance() {
        assert_eq!(cosines(&[1.0, 2.0]), None);
        assert_eq!(cosines_at_most(&[1.0, 2.0], 9.0), None);
        assert_eq!(prewhitened(&[1.0, -1.0, 0.0]), None);
        assert_eq!(prewhitened(&[0.0; 20]), None);
    }
}
