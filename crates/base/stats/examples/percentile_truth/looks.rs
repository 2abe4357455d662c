//! Runs that end at the first look at which a percentile is known well enough: how often what ended them is wrong.

use stats::hist::LogHistogram;
use stats::looks::Looks;

use super::recordings::{Source, interval_at};

/// The longest that a run may take: ten looks.
const LENGTH_S: usize = 900;
/// Most stretches that a run in progress is looked at by.
const STRETCHES_MAX: usize = 600;
const SECOND_NS: u64 = 1_000_000_000;
/// Of all looks together.
const CONFIDENCE: f64 = 0.95;

/// What each look's interval has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The confidence of [`Looks`], so that all looks together have 95 %.
    Repeated,
    /// 95 % by itself.
    Plain,
}

/// The percentile so far at a look, and its interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    seconds: u64,
    percentile: f64,
    /// Both ends; `None`: one of them is not known.
    ends: Option<[f64; 2]>,
}

/// All looks at the `number`-th run for its `q`-quantile.
pub(super) fn all_looks(source: Source, q: f64, rule: Rule, number: u64) -> Vec<Look> {
    let looks = Looks::new(0, LENGTH_S as u64 * SECOND_NS, CONFIDENCE);
    let confidence = match rule {
        Rule::Repeated => looks.confidence(),
        Rule::Plain => CONFIDENCE,
    };
    let all = source.stretches(LENGTH_S, number);
    let look = |&at_ns: &u64| {
        let seconds = at_ns / SECOND_NS;
        let stretches = in_pairs(&all[..seconds as usize]);
        let mut so_far = LogHistogram::new();
        stretches.iter().for_each(|hist| so_far.merge(hist));
        let interval = interval_at(&stretches, q, confidence);
        let ends = interval.low.zip(interval.high);
        Look {
            seconds,
            percentile: so_far.quantile(q) as f64,
            ends: ends.map(|(low, high)| [low as f64, high.value() as f64]),
        }
    };
    looks.times_ns().iter().map(look).collect()
}

/// What becomes of runs that end at the first look at which a percentile is known well enough.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ended {
    pub(super) runs: u64,
    /// Runs in which it was known at a look.
    pub(super) known: u64,
    /// Those whose interval does not hold the true percentile.
    pub(super) wrong: u64,
    /// The lengths in seconds of those in which it was known, all together.
    pub(super) seconds: u64,
}

impl Ended {
    /// Adds a run, which ends when both ends of the interval are within `share` of the percentile.
    pub(super) fn add(&mut self, looks: &[Look], truth: f64, share: f64) {
        self.runs += 1;
        for look in looks {
            let reach = share * look.percentile;
            let Some([low, high]) = look.ends else {
                continue;
            };
            if look.percentile - low <= reach && high - look.percentile <= reach {
                self.known += 1;
                self.wrong += u64::from(truth < low || high < truth);
                self.seconds += look.seconds;
                return;
            }
        }
    }

    /// Of all runs, those that were ended by a wrong interval.
    pub(super) fn wrong_share(&self) -> f64 {
        self.wrong as f64 / self.runs.max(1) as f64
    }
}

/// As few stretches as a run in progress has.
fn in_pairs(stretches: &[LogHistogram]) -> Vec<LogHistogram> {
    let each = stretches.len().div_ceil(STRETCHES_MAX).next_power_of_two();
    let parts = stretches.chunks(each).map(|part| {
        let mut sum = LogHistogram::new();
        part.iter().for_each(|hist| sum.merge(hist));
        sum
    });
    parts.collect()
}
