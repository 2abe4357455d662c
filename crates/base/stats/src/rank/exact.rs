//! The exact distribution of U for small samples without ties.

/// P(U = u), u from 0 to n·m, all arrangements of the samples being alike likely.
///
/// The greatest number of all is the first sample's with probability n/(n + m) and then part of no
/// pair; else it is the second's, and greater than n others: Mann and Whitney (1947), equation 4.
/// Nothing cancels.
fn distribution(n: usize, m: usize) -> Vec<f64> {
    // For the current size of the first sample, one row for each size of the second.
    let mut column: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        column[0] = vec![1.0];
        for j in 1..=m {
            let all = (i + j) as f64;
            let mut p = vec![0.0; i * j + 1];
            for (u, share) in column[j].iter().enumerate() {
                p[u] += share * i as f64 / all;
            }
            for (u, share) in column[j - 1].iter().enumerate() {
                p[u + i] += share * j as f64 / all;
            }
            column[j] = p;
        }
    }
    column.swap_remove(m)
}

/// P(U as far from n·m/2 as `u`, or farther).
pub(super) fn two_sided(u: usize, n: usize, m: usize) -> f64 {
    let farther = u.max(n * m - u);
    let tail: f64 = distribution(n, m)[farther..].iter().sum();
    (2.0 * tail).min(1.0)
}

/// The greatest c for which P(U < c) is no more than `tail`.
pub(super) fn lower_rank(n: usize, m: usize, tail: f64) -> u64 {
    let mut below = 0.0;
    let within = distribution(n, m).into_iter().take_while(|p| {
        below += p;
        below <= tail
    });
    within.count() as u64
}
