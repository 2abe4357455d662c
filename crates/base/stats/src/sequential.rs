//! Decisions about paired differences that may be looked at after every pair.
//!
//! A test at a level is valid for one look. Whoever looks after each pair and stops at the first p-value below 5 % is wrong far
//! more often than in 5 % of cases. What may be looked at any time is a *test martingale*: the capital of somebody who bets
//! against the hypothesis and cannot expect to win while it holds. It ever reaches 1 / α with probability α at most (Ville
//! 1939; Shafer, "Testing by betting", JRSS A 184, 2021).
//!
//! **Assumption.** The sign of a difference from the shift that is tested is a fair coin, whatever was seen before and whatever
//! the magnitude is. That holds by design where the order in the pair was drawn and the shift is the only thing that the two
//! members do not share: no distribution, no variance and no independence of pairs is assumed, so that heavy tails, groups,
//! autocorrelation and a machine that drifts are no harm. Without a drawn order it holds as far as the differences are
//! distributed symmetrically.
//!
//! **The bet.** A difference is replaced by its sign times its rank among all magnitudes so far, divided by their number
//! (sequential ranks: Reynolds, "A sequential signed-rank test for symmetry", Annals of Statistics 3, 1975). Given the
//! magnitudes, e^(λy) / cosh(λy) = 1 + tanh(λy) has the mean 1 for any stake λ (de la Peña, "A general class of exponential
//! inequalities for martingales and ratios", Annals of Probability 27, 1999, lemma 6.1). The capital is the mean of those of a
//! few stakes, fixed beforehand. One side of the confidence sequence holds the shifts against which less than 2 / α was won
//! (Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of
//! Statistics 49, 2021, on sequences and their inversion). Signed ranks only grow if the shift falls, and so does the capital:
//! the bounds are found by bisection.

use crate::mean::mean;
use crate::quantile::Interval;

/// The stakes of the bet: small ones win by many small shifts, large ones by a few that are clear.
const STAKES: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
/// Steps of a bisection: a bound is as exact as its differences.
const BISECTIONS: u32 = 60;

/// Paired differences in their order, as far as they are known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PairedDifferences {
    all: Vec<f64>,
}

/// In which direction a bet wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// The differences are above the shift.
    Above,
    /// They are below.
    Below,
}

impl PairedDifferences {
    /// No pair yet.
    pub fn new() -> PairedDifferences {
        PairedDifferences::default()
    }

    /// Adds the difference of the next pair; one that is not finite is not added.
    pub fn push(&mut self, difference: f64) {
        if difference.is_finite() {
            self.all.push(difference);
        }
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True before the first pair.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The differences in their order.
    pub fn differences(&self) -> &[f64] {
        &self.all
    }

    /// The median of the means of all pairs of differences, each with itself included: Hodges and Lehmann (1963). `None`
    /// before the first pair.
    pub fn estimate(&self) -> Option<f64> {
        let mut means = Vec::with_capacity(self.all.len() * (self.all.len() + 1) / 2);
        for (place, &one) in self.all.iter().enumerate() {
            means.extend(self.all[place..].iter().map(|&other| one / 2.0 + other / 2.0));
        }
        means.sort_by(f64::total_cmp);
        let middle = means.len() / 2;
        match means.len() % 2 {
            _ if means.is_empty() => None,
            0 => Some(means[middle - 1] / 2.0 + means[middle] / 2.0),
            _ => Some(means[middle]),
        }
    }

    /// The standard deviation of the differences; `None` before the second pair.
    pub fn scatter(&self) -> Option<f64> {
        let mean = mean(&self.all);
        let squares: f64 = self.all.iter().map(|one| (one - mean).powi(2)).sum();
        (self.all.len() > 1).then(|| (squares / (self.all.len() - 1) as f64).sqrt())
    }

    /// The evidence against this shift: an anytime-valid p-value, two-sided. If the shift is the true one, the probability that
    /// this is ever α or less, at any look, is α at most.
    pub fn p(&self, shift: f64) -> f64 {
        let above = self.log_capital(shift, Direction::Above);
        let below = self.log_capital(shift, Direction::Below);
        (2.0 * (-above.max(below)).exp()).min(1.0)
    }

    /// The shifts that are not excluded. Over all looks, the true one is ever outside with a probability of at most 1 −
    /// `confidence`. Infinite on a side on which nothing is excluded yet.
    ///
    /// # Panics
    /// If the confidence does not lie strictly between 0 and 1.
    pub fn interval(&self, confidence: f64) -> Interval {
        Interval {
            low: self.bound(Direction::Above, threshold(confidence)),
            high: self.bound(Direction::Below, threshold(confidence)),
        }
    }

    /// True if the interval lies above this shift.
    ///
    /// # Panics
    /// As [`PairedDifferences::interval`].
    pub fn is_above(&self, shift: f64, confidence: f64) -> bool {
        self.log_capital(shift, Direction::Above) >= threshold(confidence)
    }

    /// True if the interval lies below this shift.
    ///
    /// # Panics
    /// As [`PairedDifferences::interval`].
    pub fn is_below(&self, shift: f64, confidence: f64) -> bool {
        self.log_capital(shift, Direction::Below) >= threshold(confidence)
    }

    /// The decision on a shift that is certain now, if one of `matters` and more does. A shift that is certain but small is
    /// [`Decision::Within`] once that is certain, too.
    ///
    /// # Panics
    /// As [`PairedDifferences::interval`].
    pub fn decision(&self, matters: f64, confidence: f64) -> Decision {
        let Some(estimate) = self.estimate() else {
            return Decision::Undecided;
        };
        if self.is_above(-matters, confidence) && self.is_below(matters, confidence) {
            Decision::Within
        } else if estimate >= matters && self.is_above(0.0, confidence) {
            Decision::Above
        } else if estimate <= -matters && self.is_below(0.0, confidence) {
            Decision::Below
        } else {
            Decision::Undecided
        }
    }

    /// The farthest shift that is excluded in this direction.
    fn bound(&self, direction: Direction, threshold: f64) -> f64 {
        let least = self.all.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = self.all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let margin = (greatest - least).max(greatest.abs()).max(least.abs()) + f64::MIN_POSITIVE;
        let is_excluded = |shift: f64| self.log_capital(shift, direction) >= threshold;
        // All differences are beyond the one, and none beyond the other.
        let (mut excluded, mut held, never) = match direction {
            Direction::Above => (least - margin, greatest, f64::NEG_INFINITY),
            Direction::Below => (greatest + margin, least, f64::INFINITY),
        };
        if self.all.is_empty() || !is_excluded(excluded) {
            return never;
        }
        for _ in 0..BISECTIONS {
            let middle = excluded / 2.0 + held / 2.0;
            *(if is_excluded(middle) { &mut excluded } else { &mut held }) = middle;
        }
        excluded
    }

    /// The logarithm of the capital that was won against this shift.
    fn log_capital(&self, shift: f64, direction: Direction) -> f64 {
        let sign = match direction {
            Direction::Above => 1.0,
            Direction::Below => -1.0,
        };
        let mut logs = [0.0; STAKES.len()];
        let mut magnitudes: Vec<f64> = Vec::with_capacity(self.all.len());
        for &difference in &self.all {
            let from_shift = sign * (difference - shift);
            let magnitude = from_shift.abs();
            // The same magnitude counts as lower, so that pairs that are all alike say most.
            let lower = magnitudes.partition_point(|&other| other <= magnitude);
            magnitudes.insert(lower, magnitude);
            if magnitude == 0.0 {
                continue;
            }
            let rank = (lower + 1) as f64 / magnitudes.len() as f64;
            for (log, stake) in logs.iter_mut().zip(STAKES) {
                *log += (stake * rank * from_shift.signum()).tanh().ln_1p();
            }
        }
        mean_of_logs(&logs)
    }
}

/// The logarithm of the capital that excludes a shift in one direction.
fn threshold(confidence: f64) -> f64 {
    assert!(confidence > 0.0 && confidence < 1.0, "confidence {confidence} is not between 0 and 1");
    (2.0 / (1.0 - confidence)).ln()
}

/// The logarithm of the mean of numbers of which these are the logarithms.
fn mean_of_logs(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
    most + (sum / logs.len() as f64).ln()
}

/// The decision on a shift at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The shift is above 0, and its estimate is as large as what matters.
    Above,
    /// The shift is below 0, and its estimate is as large as what matters.
    Below,
    /// The shift is smaller than what matters, on both sides.
    Within,
    /// None of these is known yet.
    Undecided,
}

/// About how many pairs decide a shift of `matters`, or that there is none, if differences scatter by this deviation. From
/// the mixture bound of Howard et al. (2021, equation 14) for normal differences, whose scale is taken for 1. A guide and no
/// bound: ranks take up to half as many again if few pairs are expected.
pub fn pairs_expected(scatter: f64, matters: f64, confidence: f64) -> f64 {
    let ratio = scatter / matters;
    let level = (2.0 / (1.0 - confidence)).ln();
    // All signs are the same, and all stakes but the largest win nothing.
    let least = (level + (STAKES.len() as f64).ln()) / 2.0_f64.ln();
    let mut pairs = least;
    for _ in 0..20 {
        pairs = least.max(2.0 * ratio * ratio * (level + 0.5 * pairs.ln()));
    }
    pairs.ceil()
}

/// About how many pairs decide all of these, by the one that scatters most; `None` before the second pair.
pub fn most_expected<'a>(
    all: impl IntoIterator<Item = &'a PairedDifferences>,
    matters: f64,
    confidence: f64,
) -> Option<u64> {
    let scatters = all.into_iter().filter_map(PairedDifferences::scatter);
    let most = scatters.max_by(f64::total_cmp)?;
    Some(pairs_expected(most, matters, confidence) as u64)
}

#[cfg(test)]
mod tests;
