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
    /// The runs `numbers`, each of which ends when both ends of the interval of the `q`-quantile are within `share` of it.
    pub(super) fn simulate(
        source: Source,
        q: f64,
        share: f64,
        rule: Rule,
        numbers: impl Iterator<Item = u64>,
    ) -> Ended {
        let truth = source.quantile(q);
        let looks = Looks::new(0, LENGTH_S as u64 * SECOND_NS, CONFIDENCE);
        let confidence = match rule {
            Rule::Repeated => looks.confidence(),
            Rule::Plain => CONFIDENCE,
        };
        let mut ended = Ended::default();
        for number in numbers {
            ended.runs += 1;
            let all = source.stretches(LENGTH_S, number);
            for at_ns in looks.times_ns() {
                let seconds = (at_ns / SECOND_NS) as usize;
                if let Some(holds) = known(&all[..seconds], q, share, confidence, truth) {
                    ended.known += 1;
                    ended.wrong += u64::from(!holds);
                    ended.seconds += seconds as u64;
                    break;
                }
            }
        }
        ended
    }

    /// Of all runs, those that were ended by a wrong interval.
    pub(super) fn wrong_share(&self) -> f64 {
        self.wrong as f64 / self.runs.max(1) as f64
    }
}

/// Whether the interval holds the truth, at a look after these seconds; `None`: it is not narrow enough.
fn known(so_far: &[LogHistogram], q: f64, share: f64, confidence: f64, truth: f64) -> Option<bool> {
    let stretches = in_pairs(so_far);
    let mut all = LogHistogram::new();
    stretches.iter().for_each(|hist| all.merge(hist));
    let percentile = all.quantile(q) as f64;
    let interval = interval_at(&stretches, q, confidence);
    let low = interval.low? as f64;
    let high = interval.high?.value() as f64;
    let reach = share * percentile;
    let is_known = percentile - low <= reach && high - percentile <= reach;
    is_known.then_some(low <= truth && truth <= high)
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
