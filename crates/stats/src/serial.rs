//! How much the numbers of a series depend on those before them, and what that leaves of their count.
//!
//! Tests take numbers for independent draws. Where each resembles its predecessors, n numbers say no
//! more than some fewer independent ones would: the effective sample size.

use crate::fft::autocovariance;
use crate::sample::{SampleError, finite};

/// Why nothing is said of a series.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SerialError {
    /// It has no numbers, or one that is none.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// All its numbers are one: nothing varies that could be alike.
    #[error(
        "all {0} numbers of the series are the same: how they depend on each other is undefined"
    )]
    Constant(usize),
}

/// The autocorrelation of the series at lags 0 to `lags_max` (at most its length less one), divided
/// by n whatever the lag (Box and Jenkins, "Time Series Analysis", 1976, section 2.1.5).
///
/// # Errors
/// Where there are no numbers, one is not finite, or all are the same.
pub fn autocorrelation(series: &[f64], lags_max: usize) -> Result<Vec<f64>, SerialError> {
    finite(series.iter().copied())?;
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let centred: Vec<f64> = series.iter().map(|x| x - mean).collect();
    let varies = series.iter().any(|&x| x != series[0]);
    let covariances = autocovariance(&centred, lags_max.min(series.len() - 1));
    if !varies || covariances[0] <= 0.0 {
        return Err(SerialError::Constant(series.len()));
    }
    Ok(covariances.iter().map(|c| c / covariances[0]).collect())
}

/// What dependence leaves of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effective {
    /// How many independent numbers would give the mean as precisely; from 1 to the series' own count.
    pub count: f64,
    /// Over how many numbers one makes itself felt: count of the series / effective count.
    pub span: f64,
}

/// The effective sample size for the mean: n / (1 + 2 Σ ρ_k), the sum cut where noise begins. That is
/// Geyer's initial monotone sequence, "Practical Markov chain Monte Carlo" (Statistical Science 7,
/// 1992): sums of two neighbouring correlations, as long as they are positive, none above the one
/// before. Numbers that balance each other count as independent, no more.
///
/// # Errors
/// Where there are no numbers, one is not finite, or all are the same.
pub fn effective(series: &[f64]) -> Result<Effective, SerialError> {
    let correlations = autocorrelation(series, series.len())?;
    let mut least = f64::INFINITY;
    let mut sum = 0.0;
    for pair in correlations.chunks_exact(2) {
        let pair = pair[0] + pair[1];
        if pair <= 0.0 {
            break;
        }
        least = least.min(pair);
        sum += least;
    }
    let count = series.len() as f64;
    let span = (2.0 * sum - 1.0).clamp(1.0, count);
    Ok(Effective {
        count: count / span,
        span,
    })
}

/// Whether the numbers of a series depend on those shortly before them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dependence {
    /// Ljung's and Box's Q.
    pub statistic: f64,
    /// P(as great), the numbers being independent.
    pub p: f64,
    /// Half the width of the band that holds 95 % of the correlations of independent numbers.
    pub band: f64,
    /// How many of the correlations lie outside of it.
    pub outside: usize,
}

/// The test of Ljung and Box (1978) of the correlations at lags 1 and up (`correlations[0]` is that at
/// lag 0) of a series of `count` numbers; the band is Bartlett's ±1.96 / √n.
pub fn dependence(correlations: &[f64], count: usize) -> Dependence {
    let n = count as f64;
    let lags = correlations.iter().enumerate().skip(1);
    let sum: f64 = lags.clone().map(|(k, r)| r * r / (n - k as f64)).sum();
    let statistic = n * (n + 2.0) * sum;
    let band = 1.959_963_984_540_054 / n.sqrt();
    Dependence {
        statistic,
        p: crate::counts::chi_squared_tail(statistic, correlations.len().saturating_sub(1) as f64),
        band,
        outside: lags.filter(|(_, r)| r.abs() > band).count(),
    }
}
