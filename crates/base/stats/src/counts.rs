//! Counts of events: whether they scatter as those of a Poisson process do.

use crate::mean::mean;
use crate::special::gamma_p;
use crate::tail::{chi_squared_above, fisher_above, normal_above};

/// Degrees of freedom from which the cube root of χ² is normal to more digits than are shown.
const FREEDOM_NORMAL: f64 = 10_000.0;

/// How counts scatter about what was expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dispersion {
    /// Σ (count − expected)² / expected.
    pub statistic: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Statistic over freedom: 1 where the counts are Poisson, more where they come in bursts.
    pub index: f64,
    /// P(as far from 1 either way).
    pub p: f64,
}

/// The dispersion test of counts with one unknown mean (Fisher 1950; Cox and Lewis 1966, section 6.3).
/// `None` where there are fewer than two counts, or nothing was counted.
pub fn dispersion(counts: impl Iterator<Item = u64> + Clone) -> Option<Dispersion> {
    let mut windows = 0_u64;
    let mut sum = 0_u64;
    for count in counts.clone() {
        windows += 1;
        sum += count;
    }
    if windows < 2 || sum == 0 {
        return None;
    }
    let mean = sum as f64 / windows as f64;
    let found = about(counts.clone().map(|count| (count, mean)), 1)?;
    if mean >= MEAN_CHI_SQUARED {
        return Some(found);
    }
    let pairs = counts.map(|count| count as f64 * (count as f64 - 1.0) / 2.0);
    Some(Dispersion { p: meetings(pairs.sum(), sum as f64, windows as f64), ..found })
}

/// Counts whose mean is less do not make χ² of the statistic.
const MEAN_CHI_SQUARED: f64 = 1.0;

/// P(as far from the mean either way) of how many pairs among `n` users come in one of `windows`, which is
/// all that the statistic holds, given n. Two pairs do not depend on each other, three do: mean and variance are
/// those of Poisson's distribution, and the skewness is 1 + 2n / windows times as great. Above it is Poisson's
/// in such steps; below, where less skewness says more, in steps of one.
fn meetings(pairs: f64, n: f64, windows: f64) -> f64 {
    let expected = n * (n - 1.0) / 2.0 / windows;
    if expected <= 0.0 {
        return 1.0;
    }
    let step = 1.0 + 2.0 * n / windows;
    let mean = expected / step / step;
    let above = match (pairs - expected) / step + mean {
        at if at > 0.0 => gamma_p(at, mean),
        _ => 1.0,
    };
    let below = 1.0 - gamma_p(pairs + 1.0, expected);
    (2.0 * above.min(below)).min(1.0)
}

/// Whether events come the more often the later it is, or the less.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Their mean time's distance from the middle, in standard deviations: above 0 where they become more.
    pub z: f64,
    /// P(as far either way).
    pub p: f64,
}

/// Laplace's test of a Poisson process of one rate, whose events are spread evenly (Cox and Lewis 1966,
/// section 3.3), by counts in windows of one length. `None` of fewer than two windows, or ten events.
pub fn laplace(counts: &[u32]) -> Option<Trend> {
    const EVENTS_MIN: f64 = 10.0;
    let windows = counts.len() as f64;
    let events = counts.iter().map(|&count| f64::from(count)).sum::<f64>();
    if counts.len() < 2 || events < EVENTS_MIN {
        return None;
    }
    let times = counts.iter().enumerate();
    let sum: f64 = times.map(|(at, &count)| f64::from(count) * (at as f64 + 0.5)).sum();
    // The variance of a whole number that is drawn evenly.
    let deviation = ((windows * windows - 1.0) / 12.0 / events).sqrt();
    let z = (sum / events - windows / 2.0) / deviation;
    let p = 2.0 * normal_above(z.abs());
    Some(Trend { z, p })
}

/// The same about expected counts, of which `fitted` numbers were taken from the counts themselves.
/// Windows without expected events are skipped.
pub fn about(pairs: impl Iterator<Item = (u64, f64)>, fitted: u64) -> Option<Dispersion> {
    let mut windows = 0_u64;
    let mut statistic = 0.0;
    for (count, expected) in pairs.filter(|&(_, expected)| expected > 0.0) {
        windows += 1;
        statistic += (count as f64 - expected).powi(2) / expected;
    }
    let freedom = windows.checked_sub(fitted).filter(|&freedom| freedom > 0)? as f64;
    let above = chi_squared_tail(statistic, freedom);
    Some(Dispersion {
        statistic,
        freedom,
        index: statistic / freedom,
        p: (2.0 * above.min(1.0 - above)).min(1.0),
    })
}

/// P(χ² ≥ `statistic`) with this many degrees of freedom; those of Wilson and Hilferty (1931) where they
/// are many.
pub fn chi_squared_tail(statistic: f64, freedom: f64) -> f64 {
    if statistic <= 0.0 {
        return 1.0;
    }
    if freedom < FREEDOM_NORMAL {
        return chi_squared_above(statistic, freedom);
    }
    let off = 2.0 / (9.0 * freedom);
    normal_above(((statistic / freedom).cbrt() - 1.0 + off) / off.sqrt())
}

/// Whether rows of counts are of one distribution over the columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Homogeneity {
    /// Pearson's χ².
    pub statistic: f64,
    /// Degrees of freedom, after columns were put together.
    pub freedom: f64,
    /// P(as great).
    pub p: f64,
}

/// Least expected count of a cell, on the average of its column (Cochran 1954).
const EXPECTED_MIN: f64 = 5.0;

/// Pearson's test of homogeneity of two rows of counts. Columns in which less than 5 are expected in
/// the smaller row are put together as one. `None` where a row is empty or one column is left.
pub fn two_rows(a: &[u64], b: &[u64]) -> Option<Homogeneity> {
    let total = |row: &[u64]| row.iter().sum::<u64>() as f64;
    let n = total(a);
    let m = total(b);
    if n == 0.0 || m == 0.0 {
        return None;
    }
    let smaller = n.min(m) / (n + m);
    let mut cells = Vec::new();
    let mut rest = (0.0, 0.0);
    for (&x, &y) in a.iter().zip(b) {
        let x = x as f64;
        let y = y as f64;
        if (x + y) * smaller >= EXPECTED_MIN {
            cells.push((x, y));
        } else {
            rest = (rest.0 + x, rest.1 + y);
        }
    }
    if rest.0 + rest.1 > 0.0 {
        cells.push(rest);
    }
    if cells.len() < 2 {
        return None;
    }
    let statistic = cells
        .iter()
        .map(|&(x, y)| {
            let in_a = (x + y) * n / (n + m);
            let in_b = (x + y) * m / (n + m);
            (x - in_a).powi(2) / in_a + (y - in_b).powi(2) / in_b
        })
        .sum();
    let freedom = (cells.len() - 1) as f64;
    Some(Homogeneity { statistic, freedom, p: chi_squared_tail(statistic, freedom) })
}

/// P(a Poisson variable of this mean is `count` or less), by the gamma distribution (Abramowitz and Stegun
/// 1964, 26.4.21).
pub fn poisson_upto(count: u64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    1.0 - gamma_p(count as f64 + 1.0, mean)
}

/// Whether groups of numbers have one mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Groups {
    /// Fisher's F.
    pub f: f64,
    /// P(as great), the numbers being independent and normal within their groups.
    pub p: f64,
    /// The share of the variance that lies between the groups.
    pub explained: f64,
}

/// A larger F is reported as this: groups without variance have no finite one.
const F_MAX: f64 = 1e6;

/// One-way analysis of variance. Empty groups are skipped; `None` where fewer than two are left,
/// or no group has two numbers, or nothing varies, or squares of the numbers are not finite.
pub fn groups(groups: &[Vec<f64>]) -> Option<Groups> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let n: usize = groups.iter().map(|group| group.len()).sum();
    let between_freedom = groups.len().checked_sub(1)?;
    let within_freedom = n.checked_sub(groups.len())?;
    if between_freedom == 0 || within_freedom == 0 {
        return None;
    }
    let grand = groups.iter().flat_map(|group| group.iter()).sum::<f64>() / n as f64;
    let mut between = 0.0;
    let mut within = 0.0;
    for group in groups {
        let mean = mean(group);
        between += group.len() as f64 * (mean - grand).powi(2);
        within += group.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    }
    // Nothing varies, or by more than squares can say.
    let whole = between + within;
    if !whole.is_finite() || whole == 0.0 {
        return None;
    }
    let f = (between / between_freedom as f64) / (within / within_freedom as f64);
    let f = f.min(F_MAX);
    let p = fisher_above(f, between_freedom as f64, within_freedom as f64);
    Some(Groups { f, p, explained: between / whole })
}

#[cfg(test)]
mod tests;
