//! The exact distribution of Smirnov's distance between two small samples.

use crate::sample::{Sample, pooled_pair};

/// P(the distance of a random arrangement is at least `widest`/(n·m)), n and m being the sizes.
///
/// An arrangement of the pooled numbers is a path on a grid from (0, 0) to (n, m), all alike likely.
/// The distance is looked at where a tie ends only. Let u(i, j) be the share of paths to (i, j) that
/// have been too far apart: 1 where (i, j) itself is, else the mean of its two predecessors,
/// weighted by how many paths come from each: u(i, j) = (i·u(i−1, j) + j·u(i, j−1)) / (i + j).
/// Hodges, "The significance probability of the Smirnov two-sample test" (1958); for ties Schröer
/// and Trenkler, "Exact and randomization distributions of Kolmogorov-Smirnov tests two or three
/// samples" (1995). Nothing cancels, so small probabilities are as exact as large ones.
pub(super) fn tail(a: &Sample, b: &Sample, widest: u64) -> f64 {
    if widest == 0 {
        return 1.0;
    }
    let n = a.count();
    let m = b.count();
    let mut ends = vec![false; (n + m) as usize + 1];
    pooled_pair(a, b, |_, in_a, in_b| ends[(in_a + in_b) as usize] = true);
    // One row of the grid is kept: let it be the shorter side.
    let long = n.max(m);
    let short = n.min(m);
    let mut row = vec![0.0; short as usize + 1];
    for i in 0..=long {
        let mut left = 0.0;
        for (j, cell) in row.iter_mut().enumerate() {
            let j = j as u64;
            *cell = if ends[(i + j) as usize] && (i * short).abs_diff(j * long) >= widest {
                1.0
            } else if i + j == 0 {
                0.0
            } else {
                (i as f64 * *cell + j as f64 * left) / (i + j) as f64
            };
            left = *cell;
        }
    }
    row[short as usize]
}
