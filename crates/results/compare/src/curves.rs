//! Curves that pictures of a comparison are drawn from: distribution functions, and how each
//! quantile differs.

use stats::sample::Sample;

use super::unit::Unit;
use super::{Curves, Options, Side, evidence};
use judge::course::shares_of;

/// Runs that have a curve of their own at most; of more only the sides have one.
const RUNS_MAX: usize = 24;

impl Curves {
    pub(crate) fn of(
        runs: &[&Sample],
        sides: &[(Side, Sample)],
        first: &[Unit],
        second: &[Unit],
        options: &Options,
    ) -> Curves {
        let curve = |sample: &Sample| shares_of(sample.count(), |q| sample.quantile(q));
        let shares = match sides {
            [(_, a), (_, b)] => shares(a.count().min(b.count())),
            _ => Vec::new(),
        };
        let mean = |q: f64| {
            let quantiles = first.iter().map(|run| run.sample.quantile(q));
            quantiles.sum::<f64>() / first.len() as f64
        };
        Curves {
            runs: match runs.len() {
                0..=RUNS_MAX => runs.iter().map(|run| curve(run)).collect(),
                _ => Vec::new(),
            },
            sides: sides.iter().map(|(side, all)| (*side, curve(all))).collect(),
            differences: evidence::quantiles(first, second, &shares, options),
            baseline_ns: shares.iter().map(|&q| mean(q)).collect(),
        }
    }
}

/// Each twentieth, then the tail as far as ten operations are beyond it.
fn shares(count: u64) -> Vec<f64> {
    let twentieths = (1..20).map(|n| f64::from(n) / 20.0);
    let tail = [0.99, 0.999].into_iter();
    let tail = tail.filter(|q| (1.0 - q) * count as f64 >= 10.0);
    twentieths.chain(tail).collect()
}
