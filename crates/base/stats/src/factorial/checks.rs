//! Whether what a model leaves over looks like errors.

use crate::finite::is_measurable;
use crate::mean::mean;
use crate::order::{median, ranks};
use crate::tail;

/// A test's statistic and the probability of one as extreme by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The statistic.
    pub statistic: f64,
    /// The p-value.
    pub p: f64,
}

/// Fewest and most numbers that [`shapiro_wilk`] was made for.
const SHAPIRO_WILK_COUNT: std::ops::RangeInclusive<usize> = 3..=5000;

/// The test of Shapiro and Wilk (1965) for normality: Royston, "Remark AS R94" (Applied
/// Statistics 44, 1995). `None` for fewer than 3 or more than 5,000 numbers, where they are
/// all the same, and where squares of their differences are not finite or vanish.
pub fn shapiro_wilk(numbers: &[f64]) -> Option<Test> {
    let n = numbers.len();
    if !SHAPIRO_WILK_COUNT.contains(&n) || !numbers.iter().all(|x| is_measurable(*x)) {
        return None;
    }
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted[0] == sorted[n - 1] {
        return None;
    }
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let scatter: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
    if !scatter.is_normal() {
        return None;
    }
    let weights = shapiro_wilk_weights(n)?;
    let spread: f64 =
        weights.iter().enumerate().map(|(i, a)| a * (sorted[n - 1 - i] - sorted[i])).sum();
    let w = (spread * spread / scatter).min(1.0);
    Some(Test { statistic: w, p: shapiro_wilk_p(w, n)? })
}

/// The weights of the upper half of the sorted numbers, the outermost first.
fn shapiro_wilk_weights(n: usize) -> Option<Vec<f64>> {
    if n == 3 {
        return Some(vec![std::f64::consts::FRAC_1_SQRT_2]);
    }
    // Blom's approximation of the order statistics' means, the greatest first.
    let m: Vec<f64> = (1..=n / 2)
        .map(|i| -tail::normal_quantile((i as f64 - 0.375) / (n as f64 + 0.25)))
        .collect();
    let square = 2.0 * m.iter().map(|m| m * m).sum::<f64>();
    let root = square.sqrt();
    let x = 1.0 / (n as f64).sqrt();
    let first = m[0] / root
        + polynomial(&[0.0, 0.221_157, -0.147_981, -2.071_19, 4.434_685, -2.706_056], x);
    let mut weights = vec![first];
    let mut left = square - 2.0 * m[0] * m[0];
    let mut share = 1.0 - 2.0 * first * first;
    if n > 5 {
        let second = m[1] / root
            + polynomial(&[0.0, 0.042_981, -0.293_762, -1.752_461, 5.682_633, -3.582_633], x);
        weights.push(second);
        left -= 2.0 * m[1] * m[1];
        share -= 2.0 * second * second;
    }
    let factor = (left / share).sqrt();
    weights.extend(m[weights.len()..].iter().map(|m| m / factor));
    Some(weights)
}

fn shapiro_wilk_p(w: f64, n: usize) -> Option<f64> {
    if n == 3 {
        let least = 0.75_f64.sqrt().asin();
        return Some((6.0 / std::f64::consts::PI * (w.sqrt().asin() - least)).clamp(0.0, 1.0));
    }
    let count = n as f64;
    let log = (1.0 - w).ln();
    let (y, mean, deviation) = if n <= 11 {
        let gamma = polynomial(&[-2.273, 0.459], count);
        if log >= gamma {
            return Some(0.0);
        }
        (
            -(gamma - log).ln(),
            polynomial(&[0.544, -0.399_78, 0.025_054, -6.714e-4], count),
            polynomial(&[1.3822, -0.778_57, 0.062_767, -0.002_032_2], count).exp(),
        )
    } else {
        let x = count.ln();
        (
            log,
            polynomial(&[-1.5861, -0.310_82, -0.083_751, 0.003_891_5], x),
            polynomial(&[-0.4803, -0.082_676, 0.003_030_2], x).exp(),
        )
    };
    Some(tail::normal_above((y - mean) / deviation)).filter(|p| p.is_finite())
}

/// Coefficients of rising powers.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The test of Brown and Forsythe (1974) for equal variances: Levene's with medians. `None` for
/// fewer than two groups of at least three numbers, and where none of them varies.
pub fn brown_forsythe(groups: &[Vec<f64>]) -> Option<Test> {
    if groups.len() < 2 || groups.iter().any(|group| group.len() < 3) {
        return None;
    }
    let away: Vec<Vec<f64>> = groups
        .iter()
        .map(|group| {
            // No group is empty.
            let middle = median(group).unwrap_or_default();
            group.iter().map(|x| (x - middle).abs()).collect()
        })
        .collect();
    let all: Vec<f64> = away.concat();
    let whole = mean(&all);
    let between: f64 =
        away.iter().map(|group| group.len() as f64 * (mean(group) - whole).powi(2)).sum();
    let within: f64 = away
        .iter()
        .flat_map(|group| {
            let own = mean(group);
            group.iter().map(move |x| (x - own).powi(2))
        })
        .sum();
    if within <= 0.0 {
        return None;
    }
    let df = (groups.len() - 1) as f64;
    let error_df = (all.len() - groups.len()) as f64;
    let statistic = (between / df) / (within / error_df);
    let p = tail::fisher_above(statistic, df, error_df);
    p.is_finite().then_some(Test { statistic, p })
}

/// Most pairs of which [`spearman`] looks at every pairing: 9! are looked at in a moment.
const SPEARMAN_EXACT_MAX: usize = 9;

/// Spearman's rank correlation (1904). Its p-value is the share of all pairings whose correlation
/// is as far from 0, ties as they are; of many pairs it is that of Student's t with n − 2 degrees of
/// freedom. `None` for fewer than four pairs, and where one side does not vary.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<Test> {
    if x.len() != y.len() || x.len() < 4 {
        return None;
    }
    let x = ranks(x);
    let y = ranks(y);
    let statistic = correlation(&x, &y)?;
    let p = if x.len() <= SPEARMAN_EXACT_MAX {
        share_of_pairings(&x, &y)
    } else {
        // Not even the two extreme pairings are rarer than two of all.
        let least = (1..=x.len()).fold(2.0, |p, n| p / n as f64);
        correlation_p(statistic, x.len() - 2)?.max(least)
    };
    Some(Test { statistic, p })
}

/// The probability of a correlation as far from 0, by Student's t with this many degrees of freedom.
pub(super) fn correlation_p(r: f64, df: usize) -> Option<f64> {
    let df = df as f64;
    let t = r.abs() * (df / ((1.0 - r) * (1.0 + r)).max(f64::MIN_POSITIVE)).sqrt();
    Some(2.0 * tail::student_above(t, df)).filter(|p| p.is_finite())
}

/// The share of pairings of these ranks whose correlation is as far from 0 as that of the one given,
/// by looking at each. Ranks are halves at most, so that all sums are whole numbers.
fn share_of_pairings(x: &[f64], y: &[f64]) -> f64 {
    let twice = |ranks: &[f64]| -> Vec<i64> { ranks.iter().map(|r| (2.0 * r) as i64).collect() };
    let x = twice(x);
    let mut y = twice(y);
    let n = x.len() as i64;
    let expected = x.iter().sum::<i64>() * y.iter().sum::<i64>();
    let far = |sum: i64| (n * sum - expected).abs();
    let seen = far(x.iter().zip(&y).map(|(x, y)| x * y).sum());
    let mut extreme = 0_u64;
    let mut all = 0_u64;
    each_pairing(&x, &mut y, 0, &mut |sum| {
        all += 1;
        extreme += u64::from(far(sum) >= seen);
    });
    extreme as f64 / all as f64
}

/// Hands over the sum of products of each pairing; `sum` is that of the pairs before those that are
/// left.
fn each_pairing(x: &[i64], y: &mut [i64], sum: i64, found: &mut impl FnMut(i64)) {
    let Some((first, others)) = x.split_first() else {
        return found(sum);
    };
    for place in 0..y.len() {
        y.swap(0, place);
        let so_far = sum + first * y[0];
        each_pairing(others, &mut y[1..], so_far, found);
        y.swap(0, place);
    }
}

fn correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let middle_x = mean(x);
    let middle_y = mean(y);
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        let pairs = x.iter().zip(y);
        pairs.map(|(x, y)| of(x - middle_x, y - middle_y)).sum()
    };
    let xx = sum(&|x, _| x * x);
    let yy = sum(&|_, y| y * y);
    (xx > 0.0 && yy > 0.0).then(|| (sum(&|x, y| x * y) / (xx * yy).sqrt()).clamp(-1.0, 1.0))
}
