//! Mann's and Whitney's test: how often a number of one sample exceeds one of the other, and by how
//! much it is moved.
//!
//! All take the numbers for independent draws.

mod exact;
mod shift;

pub use shift::{Shift, shift};

use crate::quantile::Interval;
use crate::sample::{Sample, pooled_pair};
use crate::tail::{normal_above, normal_quantile};

/// Samples of no more numbers than this, without ties, get exact p-values and intervals.
const EXACT_MAX: u64 = 50;

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// U: in how many pairs the second sample's number is the greater one, ties as halves.
    pub u: f64,
    /// P(U as far from its middle or farther), both samples being of one distribution.
    pub p: f64,
    /// Whether `p` was counted out, or taken from the normal distribution.
    pub exact: bool,
    /// How far apart the samples are.
    pub effect: Effect,
    /// The share of pairs that are ties. For binned samples half of it is the most by which
    /// [`Effect::superiority`] may be off, either way.
    pub ties_share: f64,
}

/// The size of an effect, apart from how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// A of Vargha and Delaney (2000): the probability that a number of the second sample exceeds
    /// one of the first, ties as halves. 1/2 where neither tends to be greater.
    pub superiority: f64,
    /// Interval of the superiority. In logits by the variance of DeLong, DeLong and Clarke-Pearson (1988); where
    /// samples are too small or too far apart for that, by method 5 of Newcombe, "Confidence intervals for an effect
    /// size measure based on the Mann-Whitney statistic" (2006).
    pub interval: Interval,
}

impl Effect {
    /// Cliff's δ (1993): P(second > first) − P(second < first), in `-1..=1`.
    pub fn cliffs_delta(&self) -> f64 {
        2.0 * self.superiority - 1.0
    }

    /// The interval of Cliff's δ.
    pub fn cliffs_interval(&self) -> Interval {
        let Interval { low, high } = self.interval;
        Interval { low: 2.0 * low - 1.0, high: 2.0 * high - 1.0 }
    }
}

/// The test of Mann and Whitney (1947), with the effect's interval at this confidence.
///
/// The p-value is exact for samples of up to 50 numbers without ties, else that of the normal
/// distribution with ties and continuity corrected (Lehmann, "Nonparametrics", 1975, section 1.4).
///
/// # Panics
/// If the confidence does not lie strictly between 0 and 1.
pub fn mann_whitney(a: &Sample, b: &Sample, confidence: f64) -> MannWhitney {
    let normal = quantile_of_normal(confidence);
    let n = a.count() as f64;
    let m = b.count() as f64;
    let all = n + m;
    let mut cubes = 0.0;
    let mut ties_share = 0.0;
    // Of placements: how much of the other sample lies beyond each number. Less 1/2.
    let mut sum = 0.0;
    let mut a_squares = 0.0;
    let mut b_squares = 0.0;
    let mut a_before = 0;
    let mut b_before = 0;
    pooled_pair(a, b, |_, a_upto, b_upto| {
        let in_a = (a_upto - a_before) as f64;
        let in_b = (b_upto - b_before) as f64;
        let tied = in_a + in_b;
        cubes += tied * tied * tied - tied;
        ties_share += (in_a / n) * (in_b / m);
        let a_place = 0.5 - (b_before as f64 + in_b / 2.0) / m;
        let b_place = (a_before as f64 + in_a / 2.0) / n - 0.5;
        sum += in_b * b_place;
        a_squares += in_a * a_place * a_place;
        b_squares += in_b * b_place * b_place;
        (a_before, b_before) = (a_upto, b_upto);
    });
    let beyond = sum / m;
    let superiority = (0.5 + beyond).clamp(0.0, 1.0);
    let u = superiority * n * m;
    let exact = n.max(m) <= EXACT_MAX as f64 && cubes == 0.0;
    let p = if exact {
        exact::two_sided(u.round() as usize, a.count() as usize, b.count() as usize)
    } else {
        let variance = n * m / 12.0 * ((all + 1.0) - cubes / all / (all - 1.0));
        let apart = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
        let tail = |z: f64| 2.0 * normal_above(z);
        if variance > 0.0 { tail(apart / variance.sqrt()).min(1.0) } else { 1.0 }
    };
    // The mean of both kinds of placements is the same.
    let scatter = |squares: f64, count: f64| {
        ((squares - count * beyond * beyond) / (count - 1.0) / count).max(0.0)
    };
    let variance = if n.min(m) < 2.0 { 0.0 } else { scatter(a_squares, n) + scatter(b_squares, m) };
    MannWhitney {
        u,
        p,
        exact,
        effect: Effect {
            superiority,
            interval: effect_interval(superiority, variance, n, m, normal),
        },
        ties_share,
    }
}

/// The normal distribution's bound of the middle `confidence`.
fn quantile_of_normal(confidence: f64) -> f64 {
    assert!(confidence > 0.0 && confidence < 1.0, "confidence {confidence} is not between 0 and 1");
    normal_quantile(0.5 + confidence / 2.0)
}

fn effect_interval(superiority: f64, variance: f64, n: f64, m: f64, normal: f64) -> Interval {
    let odds = superiority * (1.0 - superiority);
    if variance <= 0.0 || odds <= 0.0 {
        return newcombe(superiority, n, m, normal);
    }
    let middle = (superiority / (1.0 - superiority)).ln();
    let reach = normal * variance.sqrt() / odds;
    let back = |logit: f64| 1.0 / (1.0 + (-logit).exp());
    Interval { low: back(middle - reach), high: back(middle + reach) }
}

/// Newcombe's method 5: the values θ from which the superiority is no more than `normal` standard
/// errors away, these being Hanley's and McNeil's (1982) for θ.
fn newcombe(superiority: f64, n: f64, m: f64, normal: f64) -> Interval {
    let size = (n + m) / 2.0 - 1.0;
    let outside = |theta: f64| {
        let shape = (1.0 - theta) / (2.0 - theta) + theta / (1.0 + theta);
        let variance = theta * (1.0 - theta) * (1.0 + size * shape) / (n * m);
        (superiority - theta).powi(2) > normal * normal * variance
    };
    let bound = |end: f64| {
        if !outside(end) {
            return end;
        }
        // The set of values inside is an interval that holds the superiority.
        let mut inside = superiority;
        let mut out = end;
        for _ in 0..60 {
            let middle = (inside + out) / 2.0;
            *(if outside(middle) { &mut out } else { &mut inside }) = middle;
        }
        inside
    };
    Interval { low: bound(0.0), high: bound(1.0) }
}
