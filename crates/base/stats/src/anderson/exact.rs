//! The exact distribution of the statistic of two small samples.
//!
//! Under the hypothesis, each choice of the first sample's numbers from all of them is as likely as any
//! other. Numbers that are tied cannot be distinguished, so what is counted out is how many of each value
//! the first sample has, each such table with its probability (multivariate hypergeometric). Samples with
//! few distinct values have few tables, even if they are large.

use super::cells::Cells;

/// Tables that are gone through at most.
const TABLES_MAX: f64 = 100_000.0;
/// Statistics that differ by less than this share are the same one, computed in another order.
const SAME: f64 = 1e-9;

/// P(a statistic of `statistic` or more), all permutations counted; `None` if there are too many.
/// `statistic` is that of [`super::two_samples`].
pub(super) fn tail(cells: &Cells, statistic: f64) -> Option<f64> {
    if cells.first() as f64 > TABLES_MAX || tables(cells) > TABLES_MAX {
        return None;
    }
    let search = Search::new(cells, statistic);
    let mut p = 0.0;
    search.visit(0, 0, 0.0, -search.ln_all, &mut p);
    Some(p.min(1.0))
}

/// How many tables there are; a number above [`TABLES_MAX`] if they are more than that.
fn tables(cells: &Cells) -> f64 {
    let n = cells.first();
    // By numbers of the first sample so far: ways to have come to that. Each can be completed if what is
    // left fits into the cells that are left, so there are never more ways than tables.
    let mut ways = vec![1.0_f64];
    let mut left = cells.all();
    for &tied in cells.tied() {
        left -= tied;
        let longest = (ways.len() as u64 - 1 + tied).min(n);
        let mut next = vec![0.0; longest as usize + 1];
        let mut within = 0.0;
        for (upto, way) in next.iter_mut().enumerate() {
            within += ways.get(upto).copied().unwrap_or(0.0);
            if let Some(gone) = upto.checked_sub(tied as usize + 1) {
                within -= ways.get(gone).copied().unwrap_or(0.0);
            }
            if n - upto as u64 <= left {
                *way = within;
            }
        }
        ways = next;
        let all: f64 = ways.iter().sum();
        if all > TABLES_MAX {
            return all;
        }
    }
    ways.last().copied().unwrap_or(0.0)
}

/// Sums over the cells that the search needs at each step.
struct Search<'a> {
    cells: &'a Cells,
    /// By cell and number of the first sample's in it: the logarithm of the ways to choose these.
    ln_ways: Vec<Vec<f64>>,
    /// The logarithm of the ways to choose the first sample.
    ln_all: f64,
    /// The sum over a cell and all after it if the first sample ends before it.
    ended: Vec<f64>,
    /// Numbers in a cell and all after it.
    left: Vec<u64>,
    /// Sums of this or more count.
    least: f64,
}

impl Search<'_> {
    fn new(cells: &Cells, statistic: f64) -> Search<'_> {
        let n = cells.first();
        let count = cells.tied().len();
        let mut ended = vec![0.0; count + 1];
        let mut left = vec![0; count + 1];
        for cell in (0..count).rev() {
            ended[cell] = ended[cell + 1] + cells.part(cell, n as f64);
            left[cell] = left[cell + 1] + cells.tied()[cell];
        }
        let ln_ways = cells.tied().iter().map(|&tied| ln_choices(tied, n));
        Search {
            cells,
            ln_ways: ln_ways.collect(),
            ln_all: ln_choices(cells.all(), n).last().copied().unwrap_or(0.0),
            ended,
            left,
            least: statistic / cells.scale() * (1.0 - SAME),
        }
    }

    /// Adds to `p` the probability of all tables that agree in the cells before `cell`, in which the
    /// first sample has `before` numbers and the sum is `sum`.
    fn visit(&self, cell: usize, before: u64, sum: f64, ln_weight: f64, p: &mut f64) {
        let wanted = self.cells.first() - before;
        if wanted == 0 {
            if sum + self.ended[cell] >= self.least {
                *p += ln_weight.exp();
            }
            return;
        }
        let fewest = wanted.saturating_sub(self.left[cell + 1]);
        let most = wanted.min(self.cells.tied()[cell]);
        for number in fewest..=most {
            let middle = before as f64 + number as f64 / 2.0;
            self.visit(
                cell + 1,
                before + number,
                sum + self.cells.part(cell, middle),
                ln_weight + self.ln_ways[cell][number as usize],
                p,
            );
        }
    }
}

/// ln C(n, k) for k = 0, 1, … up to `most` or n.
fn ln_choices(n: u64, most: u64) -> Vec<f64> {
    let mut ln = 0.0;
    let next = (0..n.min(most)).map(|k| {
        ln += ((n - k) as f64 / (k + 1) as f64).ln();
        ln
    });
    std::iter::once(0.0).chain(next).collect()
}
