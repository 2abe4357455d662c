//! Change points: places at which the level of a series of single values changes, such as a figure of one run after
//! the other.
//!
//! E-divisive of Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of
//! Multivariate Data" (JASA 2014): a series is split where the energy distance between its two parts is
//! greatest; a permutation test decides whether that is more than chance; both parts are treated likewise.
//! As in Daly et al., "The Use of Change Point Detection to Identify Software Performance Regressions"
//! (ICPE 2020), the second part always reaches to the end.
//!
//! Three things differ. Distances are between ranks, of which the greatest is one above the next however far
//! it lies, and no part is shorter than a minimum: so one spike is no change. The place of a change is in the
//! end where the distances to the medians of both parts are least.
//!
//! The permutations are drawn from a fixed seed: the same series has the same changes each time.

use std::ops::Range;

use crate::order::ranks;
use crate::rng::{Purpose, Rng};

/// Seed of the permutations: any fixed number will do.
const SEED: u64 = 20_140_607;
/// Statistics that differ by less than this share are the same one, summed in another order.
const SAME: f64 = 1e-9;

/// How strict the search is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// No part of the series is shorter; at least 2.
    pub least: usize,
    /// Largest p-value of a change.
    pub alpha: f64,
    /// Permutations of each test, the observed order included.
    pub permutations: usize,
}

impl Default for Options {
    /// Three values, 1 %, 1,000 permutations: a change shows after ten runs at the earliest, and in a long
    /// series with its third value.
    fn default() -> Options {
        Options { least: 3, alpha: 0.01, permutations: 1000 }
    }
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level.
    pub at: usize,
    /// The p-value of the test that found it, within the part of the series that it splits.
    pub p: f64,
}

/// The best split of a series into two parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// The first value of the second part.
    pub at: usize,
    /// The scaled energy distance between the parts, of values as given.
    pub statistic: f64,
}

/// The changes of a series, in its order. A series without numbers that are finite has none.
pub fn change_points(values: &[f64], options: &Options) -> Vec<ChangePoint> {
    if values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut rest = vec![(0, values.len())];
    while let Some((from, to)) = rest.pop() {
        let Some((at, p)) = significant(&values[from..to], options) else {
            continue;
        };
        found.push(ChangePoint { at: from + at, p });
        rest.extend([(from, from + at), (from + at, to)]);
    }
    found.sort_by_key(|change| change.at);
    for n in 0..found.len() {
        let from = n.checked_sub(1).map_or(0, |before| found[before].at);
        let to = found.get(n + 1).map_or(values.len(), |after| after.at);
        found[n].at = from + placed(&values[from..to], found[n].at - from, options.least.max(2));
    }
    found
}

/// The place near `at` where two levels fit best: the least sum of distances to the medians of both parts.
/// Ranks decide whether there is a change, and say little of its place among values that are close to it.
fn placed(values: &[f64], at: usize, least: usize) -> usize {
    let distances = |part: &[f64]| -> f64 {
        let mut sorted = part.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        sorted.iter().map(|value| (value - median).abs()).sum()
    };
    let cost = |at: usize| distances(&values[..at]) + distances(&values[at..]);
    let last = values.len() - least;
    let near = at.saturating_sub(least).max(least)..=(at + least).min(last);
    near.min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(at)
}

/// The best split by ranks, if it is significant.
fn significant(values: &[f64], options: &Options) -> Option<(usize, f64)> {
    let mut ranks = ranks(values);
    let seen = best_split(&ranks, options.least)?;
    // Most series have no change, and few permutations show it.
    let most = (options.alpha * options.permutations as f64).floor() as usize;
    let p = p_value(&mut ranks, seen, options, most)?;
    Some((seen.at, p))
}

/// The share of permutations whose best split is at least as good; `None` once they are more than `most`. All values equal: 1.
fn p_value(values: &mut [f64], seen: Split, options: &Options, most: usize) -> Option<f64> {
    let mut rng = Rng::new(SEED, values.len() as u64, Purpose::Resample);
    let mut as_good = 1;
    for _ in 1..options.permutations {
        rng.shuffle(values);
        let found = best_split(values, options.least);
        let is_as_good = found.is_some_and(|f| f.statistic >= seen.statistic * (1.0 - SAME));
        as_good += usize::from(is_as_good);
        if as_good > most {
            return None;
        }
    }
    Some(as_good as f64 / options.permutations.max(1) as f64)
}

/// The split at which the energy distance between the two parts of a series is greatest, the first of equal ones.
/// `None` if the series is shorter than two parts, or all values are equal.
pub fn best_split(values: &[f64], least: usize) -> Option<Split> {
    let n = values.len();
    let least = least.max(2);
    if n < 2 * least {
        return None;
    }
    let distance = |i: usize, j: usize| (values[i] - values[j]).abs();
    let to_others =
        |i: usize, others: Range<usize>| -> f64 { others.map(|j| distance(i, j)).sum() };
    // Sums of distances within the parts, and of all.
    let mut first = 0.0;
    let mut second = (0..n).map(|i| to_others(i, i + 1..n)).sum::<f64>();
    let total = second;
    let mut best: Option<Split> = None;
    for at in 1..=n - least {
        // The value before the split joins the first part.
        first += to_others(at - 1, 0..at - 1);
        second -= to_others(at - 1, at..n);
        if at < least {
            continue;
        }
        let a = at as f64;
        let b = (n - at) as f64;
        let between = 2.0 * (total - first - second) / (a * b);
        let within = 2.0 * first / (a * (a - 1.0)) + 2.0 * second / (b * (b - 1.0));
        let statistic = a * b / (a + b) * (between - within);
        if best.is_none_or(|best| statistic > best.statistic * (1.0 + SAME)) {
            best = Some(Split { at, statistic });
        }
    }
    best.filter(|_| total > 0.0)
}

#[cfg(test)]
mod tests;
