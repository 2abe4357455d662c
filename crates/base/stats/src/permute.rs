//! Permutation tests of two groups of units, many statistics at once.
//!
//! Under the hypothesis that the groups do not differ, every assignment of the units to the groups is
//! as likely as the observed one. The p-value is the share of permutations whose statistic is at least
//! as extreme as the observed one: exact for any distribution, if the units are exchangeable.
//!
//! Several statistics are corrected by their maximum in each permutation (max-T, step-down: Westfall
//! and Young, "Resampling-Based Multiple Testing" (1993), algorithm 4.1). This uses their dependence
//! and so loses less power than a correction that assumes the worst case.

use crate::rng::Rng;

/// Two statistics that differ by less than this share are the same one computed in another order.
const SAME: f64 = 1e-9;

/// Assignments of units to two groups: for each unit, true if it is in the second one (in paired
/// designs: true if the pair is swapped). The first is always the observed assignment.
#[derive(Debug, Clone)]
pub struct Permutations {
    /// The assignments.
    pub all: Vec<Vec<bool>>,
    /// True if these are all that exist; else all but the observed one are drawn at random.
    pub exact: bool,
}

impl Permutations {
    /// Assignments of `first` + `second` units, of which the first ones were observed in the first group: all C(n,
    /// second) if these are at most `most`, else `most` with random ones.
    pub fn of_groups(first: usize, second: usize, most: usize, rng: &mut Rng) -> Permutations {
        let n = first + second;
        let seen: Vec<bool> = (0..n).map(|unit| unit >= first).collect();
        if choices(n, second) <= most as f64 {
            let mut all = vec![seen.clone()];
            let mut permutation: Vec<bool> = (0..n).map(|unit| unit < second).collect();
            loop {
                if permutation != seen {
                    all.push(permutation.clone());
                }
                if !next_combination(&mut permutation) {
                    return Permutations { all, exact: true };
                }
            }
        }
        let mut all = vec![seen.clone()];
        let mut permutation = seen;
        while all.len() < most {
            rng.shuffle(&mut permutation);
            all.push(permutation.clone());
        }
        Permutations { all, exact: false }
    }

    /// Swaps of this many pairs: all 2ⁿ if these are at most `most`, else `most` with random ones.
    pub fn of_pairs(pairs: usize, most: usize, rng: &mut Rng) -> Permutations {
        if pairs < 63 && 1_u64 << pairs <= most as u64 {
            let bits = |number: u64| (0..pairs).map(|pair| number >> pair & 1 == 1).collect();
            let all = (0..1_u64 << pairs).map(bits).collect();
            return Permutations { all, exact: true };
        }
        let mut all = vec![vec![false; pairs]];
        while all.len() < most {
            all.push((0..pairs).map(|_| rng.below(2) == 1).collect());
        }
        Permutations { all, exact: false }
    }
}

/// The number of assignments of `n` units with `second` in the second group: C(n, second).
pub fn choices(n: usize, second: usize) -> f64 {
    let k = second.min(n.saturating_sub(second));
    (0..k).fold(1.0, |all, i| all * (n - i) as f64 / (i + 1) as f64)
}

/// The next assignment with as many units in the second group; false after the last, which has them
/// all at the end.
fn next_combination(permutation: &mut [bool]) -> bool {
    // The last chosen unit that can move on by one, moved; those behind it follow it closely.
    let n = permutation.len();
    let movable = (0..n.saturating_sub(1)).rfind(|&i| permutation[i] && !permutation[i + 1]);
    let Some(place) = movable else { return false };
    let behind = permutation[place + 1..].iter().filter(|&&chosen| chosen).count();
    permutation[place] = false;
    for (i, chosen) in permutation[place + 1..].iter_mut().enumerate() {
        *chosen = i <= behind;
    }
    true
}

/// The result of [`max_t`], in the order of the statistics.
#[derive(Debug, Clone, PartialEq)]
pub struct MaxT {
    /// The observed statistics.
    pub statistics: Vec<f64>,
    /// P-value of each statistic alone.
    pub p: Vec<f64>,
    /// Corrected: rejecting those at or below α rejects any true hypothesis with probability α at
    /// most.
    pub p_adjusted: Vec<f64>,
}

/// Permutation p-values of all statistics that `statistics` computes of a permutation. Greater is more
/// extreme, and none may be NaN: for two-sided tests, pass magnitudes.
pub fn max_t(permutations: &Permutations, mut statistics: impl FnMut(&[bool]) -> Vec<f64>) -> MaxT {
    let mut rows = permutations.all.iter();
    let seen = rows.next().map_or(Vec::new(), |permutation| statistics(permutation));
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by(|&a, &b| seen[b].total_cmp(&seen[a]));
    let reached = |value: f64, place: usize| value >= seen[place] * (1.0 - SAME);

    let mut alone = vec![1_u64; seen.len()];
    let mut together = vec![1_u64; seen.len()];
    for permutation in rows {
        let row = statistics(permutation);
        let mut greatest = f64::NEG_INFINITY;
        // From the least seen up: each is compared with the greatest of those not above it.
        for &place in order.iter().rev() {
            greatest = greatest.max(row[place]);
            alone[place] += u64::from(reached(row[place], place));
            together[place] += u64::from(reached(greatest, place));
        }
    }
    let all = permutations.all.len().max(1) as f64;
    let mut p_adjusted = vec![0.0; seen.len()];
    let mut greatest = 0.0_f64;
    for &place in &order {
        greatest = greatest.max(together[place] as f64 / all);
        p_adjusted[place] = greatest;
    }
    MaxT { p: alone.iter().map(|&n| n as f64 / all).collect(), p_adjusted, statistics: seen }
}

/// Student's t of the second group's mean minus the first's, variance pooled: 0 where the means are
/// the same, infinite where they differ and nothing else does. Needs three values, one a group.
///
/// `floor` is added to the standard error, so that a statistic which hardly scatters does not drown
/// the others when permutations are searched for the greatest of all (Tusher, Tibshirani and Chu,
/// "Significance analysis of microarrays", PNAS 98, 2001); 0 leaves Student's t as it is.
pub fn two_sample_t(values: &[f64], second: &[bool], floor: f64) -> f64 {
    let (difference, error, scale) = pooled(values, second);
    ratio(difference, error, floor, scale)
}

/// As [`two_sample_t`], with a standard error of at least `error_min`: what is known of the scatter without these
/// values. A few values may agree by chance, as the counts of rare things do.
pub fn two_sample_t_of(values: &[f64], second: &[bool], error_min: f64) -> f64 {
    let (difference, error, scale) = pooled(values, second);
    ratio(difference, error.max(error_min), 0.0, scale)
}

/// The difference of the groups' means, its standard error, and the size of the means.
fn pooled(values: &[f64], second: &[bool]) -> (f64, f64, f64) {
    let mut sums = [(0.0, 0.0_f64); 2];
    for (&value, &group) in values.iter().zip(second) {
        let (n, sum) = &mut sums[usize::from(group)];
        *n += 1.0;
        *sum += value;
    }
    let [(n1, sum1), (n2, sum2)] = sums;
    let means = [sum1 / n1, sum2 / n2];
    let squares: f64 = values
        .iter()
        .zip(second)
        .map(|(&value, &group)| (value - means[usize::from(group)]).powi(2))
        .sum();
    let error = (squares / (n1 + n2 - 2.0) * (1.0 / n1 + 1.0 / n2)).sqrt();
    let scale = means[0].abs() + means[1].abs();
    (means[1] - means[0], error, scale)
}

/// Student's t of the mean of paired differences, those of the swapped pairs negated.
/// Needs two values. `floor` as in [`two_sample_t`].
pub fn paired_t(differences: &[f64], swapped: &[bool], floor: f64) -> f64 {
    let n = differences.len() as f64;
    let signed = differences.iter().zip(swapped);
    let signed = signed.map(|(&d, &swapped)| if swapped { -d } else { d });
    let mean = signed.clone().sum::<f64>() / n;
    let squares: f64 = signed.map(|d| (d - mean).powi(2)).sum();
    let scale = differences.iter().map(|d| d.abs()).sum::<f64>() / n;
    ratio(mean, (squares / (n - 1.0) / n).sqrt(), floor, scale)
}

/// The root of Anderson's pseudo-F (2001, "A new method for non-parametric multivariate analysis of
/// variance", equation 4): how much farther units of different groups are from each other than units
/// of one. Where the distances are differences of single numbers it is the magnitude of
/// [`two_sample_t`]. `distances` is symmetric, by unit and unit; `floor` as there.
pub fn distance_t(distances: &[Vec<f64>], second: &[bool], floor: f64) -> f64 {
    let sizes = [false, true].map(|group| second.iter().filter(|&&g| g == group).count() as f64);
    let mut total = 0.0;
    let mut within = 0.0;
    for (i, row) in distances.iter().enumerate() {
        for (j, distance) in row.iter().enumerate().take(i) {
            total += distance * distance;
            if second[i] == second[j] {
                within += distance * distance / sizes[usize::from(second[i])];
            }
        }
    }
    let n = second.len() as f64;
    // In the unit of the distances, as a difference of two means and its standard error are.
    let spread = (1.0 / sizes[0] + 1.0 / sizes[1]).sqrt();
    let between = (total / n - within).max(0.0).sqrt() * spread;
    let error = (within / (n - 2.0)).sqrt() * spread;
    ratio(between, error, floor, (total / n).sqrt())
}

/// A difference over its error, where both may be nothing but rounding of numbers of this scale.
fn ratio(difference: f64, error: f64, floor: f64, scale: f64) -> f64 {
    let noise = 1e-12 * scale;
    if difference.abs() <= noise {
        0.0
    } else if error + floor <= noise {
        f64::INFINITY.copysign(difference)
    } else {
        difference / (error + floor)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::golden;
