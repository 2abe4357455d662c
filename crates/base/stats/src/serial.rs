//! How much the numbers of a series depend on those before them, and what that leaves of their count.
//!
//! Tests take numbers for independent draws. Where each resembles its predecessors, n numbers say no
//! more than some fewer independent ones would: the effective sample size.

use crate::fft::autocovariance;
use crate::rng::Rng;
use crate::sample::{SampleError, finite};

/// Lags of the test of independence (Hyndman and Athanasopoulos, "Forecasting", 2021, section 5.4): with more, χ²
/// is not the distribution of its statistic.
const LAGS_MAX: usize = 10;
/// Numbers of a series for each lag.
const NUMBERS_OF_LAG: usize = 5;
/// Longer series are not permuted: χ² serves for them.
pub const PERMUTED_MAX: usize = 5_000;
/// Permutations of a test, and the number of greater statistics among them that ends it.
const PERMUTATIONS_MAX: u32 = 1_999;
const GREATER_MAX: u32 = 20;
/// Between these p-values of χ² there is something to decide by permutations.
const P_UNDECIDED: (f64, f64) = (1e-8, 0.1);

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
/// If there are no numbers, one is not finite, or all are the same.
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

/// The size of a series of independent numbers that would be worth as much.
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
/// If there are no numbers, one is not finite, or all are the same.
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
    Ok(Effective { count: count / span, span })
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

/// The test of independence of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Independence {
    /// Ljung's and Box's Q of the lags.
    pub statistic: f64,
    /// How many lags.
    pub lags: usize,
    /// P(as great), the numbers being in any order.
    pub p: f64,
}

/// Whether the numbers of a series are in any order, by Ljung's and Box's statistic of its first ten lags (of fewer
/// than 50 numbers a fifth of them).
///
/// With few numbers χ² gives p-values that are too small, the more so the smaller they are: with 100 numbers 0.1 %
/// are three times as frequent, with a lag for each four numbers six times. If it matters and there are at most 5,000
/// numbers, the p-value is that of random permutations, which is exact; they end at twenty statistics as great (Besag
/// and Clifford, "Sequential Monte Carlo p-values", Biometrika 78, 1991).
///
/// # Errors
/// If there are no numbers, one is not finite, or all are the same.
pub fn independence(series: &[f64], rng: &mut Rng) -> Result<Independence, SerialError> {
    let lags = LAGS_MAX.min(series.len() / NUMBERS_OF_LAG);
    let found = dependence(&autocorrelation(series, lags)?, series.len());
    let undecided = P_UNDECIDED.0 < found.p && found.p < P_UNDECIDED.1;
    let p = match undecided && series.len() <= PERMUTED_MAX {
        true => permuted(series, lags, rng),
        false => found.p,
    };
    Ok(Independence { statistic: found.statistic, lags, p })
}

/// The share of random orders whose statistic is as great as that of the series.
fn permuted(series: &[f64], lags: usize, rng: &mut Rng) -> f64 {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let mut numbers: Vec<f64> = series.iter().map(|x| x - mean).collect();
    // The variance is that of all orders.
    let statistic = |x: &[f64]| -> f64 {
        let of_lag = |lag: usize| {
            let sum: f64 = x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum();
            sum * sum / (x.len() - lag) as f64
        };
        (1..=lags).map(of_lag).sum()
    };
    let own = statistic(&numbers) * (1.0 - 1e-12);
    let mut greater = 0;
    for round in 1..=PERMUTATIONS_MAX {
        for place in (1..numbers.len()).rev() {
            numbers.swap(place, rng.below(place as u64 + 1) as usize);
        }
        greater += u32::from(statistic(&numbers) >= own);
        if greater == GREATER_MAX {
            return f64::from(greater) / f64::from(round);
        }
    }
    f64::from(greater + 1) / f64::from(PERMUTATIONS_MAX + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    /// Counts of a Poisson process (Knuth's product, 1969).
    fn counts(number: usize, mean: f64, rng: &mut Rng) -> Vec<f64> {
        let limit = (-mean).exp();
        let mut one = || {
            let mut product = rng.unit();
            let mut count = 0.0;
            while product > limit {
                product *= rng.unit();
                count += 1.0;
            }
            count
        };
        (0..number).map(|_| one()).collect()
    }

    #[test]
    fn independent_counts_keep_small_levels() {
        const ROUNDS: u64 = 4_000;
        // Rejected at 0.5 %: 20 ± 4.5 of 4,000. χ² with a lag for each four numbers rejects 60 and more.
        for (number, mean) in [(50, 0.7), (143, 0.4), (143, 50.0)] {
            let mut rng = Rng::new(number as u64, 3, Purpose::Resample);
            let rejected = (0..ROUNDS).filter(|_| {
                let series = counts(number, mean, &mut rng);
                independence(&series, &mut rng).is_ok_and(|found| found.p < 0.005)
            });
            let rejected = rejected.count();
            assert!((8..=34).contains(&rejected), "{rejected} of {number} counts of {mean}");
        }
    }

    #[test]
    fn dependence_is_found_and_its_lags_are_few() {
        let mut rng = Rng::new(5, 3, Purpose::Resample);
        // The rate changes every eight counts.
        let series: Vec<f64> = (0..20)
            .flat_map(|part| counts(8, if part % 2 == 0 { 2.0 } else { 6.0 }, &mut rng))
            .collect();
        let found = independence(&series, &mut rng).unwrap();
        assert!(found.lags == 10 && found.p <= 0.001, "{found:?}");
        let few = independence(&series[..30], &mut rng).unwrap();
        assert_eq!(few.lags, 6);
        let same = independence(&[2.0; 60], &mut rng);
        assert_eq!(same, Err(SerialError::Constant(60)));
    }

    /// Deviations −2, −1 and 3 sum to 0: the neighbours' products sum to less the square of the middle one, which is
    /// 4, 1 or 9 in a third of the orders each.
    #[test]
    fn p_of_permutations_is_the_share_of_orders() {
        let mut rng = Rng::new(6, 3, Purpose::Resample);
        for (series, exact) in
            [([0.0, 1.0, 5.0], 1.0), ([1.0, 0.0, 5.0], 2.0 / 3.0), ([0.0, 5.0, 1.0], 1.0 / 3.0)]
        {
            let rounds = 400;
            let sum: f64 = (0..rounds).map(|_| permuted(&series, 1, &mut rng)).sum();
            let mean = sum / f64::from(rounds);
            // To end at twenty makes the mean a few percent greater.
            assert!((mean / exact - 1.0).abs() < 0.08, "{mean} and {exact}");
        }
    }
}
