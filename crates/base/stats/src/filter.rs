//! A filter for outliers of a series.

use crate::sample::{SampleError, finite};

/// A series without its outliers.
#[derive(Debug, Clone, PartialEq)]
pub struct FilteredSeries {
    /// As many numbers as there were.
    pub values: Vec<f64>,
    /// How many of them stand for an outlier.
    pub replaced: usize,
}

/// Replaces each number by the median of the window around it, where it is more than `sigmas`
/// standard deviations of the window away from that.
///
/// The window of `width` numbers begins `width / 2` before the number and holds it; at the ends of
/// the series it is cut off. O'Dwyer, "Analysis and Load Testing of a Real-World Cloud Deployed
/// Distributed System" (2016), section 3.4.2, with 20 numbers and 2σ. It is not said there whose
/// standard deviation is meant; here it is the window's, with its count as divisor, so that a slow
/// drift is no outlier. The series must be in the order in which it was measured.
///
/// # Errors
/// If there are no numbers, or one is not finite.
///
/// # Panics
/// If `width` is 0.
pub fn median_filter(
    series: &[f64],
    width: usize,
    sigmas: f64,
) -> Result<FilteredSeries, SampleError> {
    assert!(width > 0, "a window of no numbers");
    finite(series.iter().copied())?;
    let mut sorted: Vec<f64> = Vec::with_capacity(width);
    let mut from = 0;
    let mut to = 0;
    let mut replaced = 0;
    let values = (0..series.len()).map(|i| {
        let first = i.saturating_sub(width / 2);
        let end = (i + width - width / 2).min(series.len());
        for &entering in &series[to..end] {
            let place = sorted.partition_point(|&x| x < entering);
            sorted.insert(place, entering);
        }
        for &leaving in &series[from..first] {
            let place = sorted.partition_point(|&x| x < leaving);
            sorted.remove(place);
        }
        (from, to) = (first, end);
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        if (series[i] - median).abs() > sigmas * deviation(&sorted) {
            replaced += 1;
            median
        } else {
            series[i]
        }
    });
    Ok(FilteredSeries { values: values.collect(), replaced })
}

fn deviation(numbers: &[f64]) -> f64 {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / n).sqrt()
}
