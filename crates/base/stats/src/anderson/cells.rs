//! Two samples as the test takes them: the distinct values of both, and how often each occurs.

use crate::sample::{Sample, pooled_pair};

/// The distinct values of two samples pooled, rising.
pub(super) struct Cells {
    /// How many numbers have each value.
    tied: Vec<u64>,
    /// By value: the weight of its squared deviation; 0 if all numbers have one value.
    weights: Vec<f64>,
    /// By value: how many numbers are less, and half of those that have it.
    middles: Vec<f64>,
    /// Numbers of the smaller sample, which is the first here.
    first: u64,
    all: u64,
}

impl Cells {
    /// The cells of two samples in any order; `None` if they have more than `most` distinct values.
    pub(super) fn from_samples(a: &Sample, b: &Sample, most: usize) -> Option<Cells> {
        if a.values().len().max(b.values().len()) > most {
            return None;
        }
        let first = a.count().min(b.count());
        let all = a.count() + b.count();
        let mut cells =
            Cells { tied: Vec::new(), weights: Vec::new(), middles: Vec::new(), first, all };
        let mut before = 0;
        pooled_pair(a, b, |_, in_a, in_b| {
            let tied = in_a + in_b - before;
            let middle = before as f64 + tied as f64 / 2.0;
            cells.tied.push(tied);
            cells.middles.push(middle);
            cells.weights.push(weight(middle, tied as f64, all as f64));
            before += tied;
        });
        (cells.tied.len() <= most).then_some(cells)
    }

    pub(super) fn tied(&self) -> &[u64] {
        &self.tied
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    pub(super) fn all(&self) -> u64 {
        self.all
    }

    /// A value's part of the sum, if the first sample has `middle` numbers up to it, half of those that
    /// have it counted.
    pub(super) fn part(&self, cell: usize, middle: f64) -> f64 {
        let deviation = self.all as f64 * middle - self.first as f64 * self.middles[cell];
        self.weights[cell] * deviation * deviation
    }

    /// The factor between the sum and the statistic.
    pub(super) fn scale(&self) -> f64 {
        let n = self.first as f64;
        let all = self.all as f64;
        (all - 1.0) / all / n / (all - n)
    }
}

/// The weight of a value's squared deviation, Scholz and Stephens (1987), equation 7: `tied` of `all`
/// numbers have the value, `middle` are less, half of those that have it counted. 0 if all have it.
#[inline]
pub(super) fn weight(middle: f64, tied: f64, all: f64) -> f64 {
    let spread = middle * (all - middle) - all * tied / 4.0;
    if spread > 0.0 { tied / spread } else { 0.0 }
}
