//! Hodges's and Lehmann's shift: the median of all differences between two samples' numbers.
//!
//! There are n·m differences, too many to be made. Those at or below a number are counted in one
//! walk along both samples, since the differences form a matrix that is sorted along its rows and
//! columns. So a difference of given rank is enclosed by counting at guesses, until so few are left
//! that they can be listed (the idea of Johnson and Mizoguchi 1978, and of Monahan 1984; their
//! pivots are medians of rows, ours come from interpolation, which takes about a third of the walks).

use crate::quantile::Interval;
use crate::sample::Sample;

use super::{EXACT_MAX, exact, quantile_of_normal};

/// The shift that makes two samples most alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median of all differences second − first.
    pub shift: f64,
    /// Where the confidence interval begins and ends; `None` where the samples are too small for it.
    pub interval: Option<Interval>,
}

/// Hodges and Lehmann, "Estimates of location based on rank tests" (1963). The interval holds the
/// shifts that Mann's and Whitney's test does not reject (Hollander and Wolfe, "Nonparametric
/// Statistical Methods", 1999, section 4.3): exact up to 50 numbers a side, whatever the ties;
/// beyond by the normal distribution. It is one for the true shift where the distributions differ
/// by a shift alone.
///
/// # Panics
/// Where the confidence does not lie strictly between 0 and 1.
pub fn shift(a: &Sample, b: &Sample, confidence: f64) -> Shift {
    let normal = quantile_of_normal(confidence);
    let (n, m) = (a.count(), b.count());
    let pairs = u128::from(n) * u128::from(m);
    let differences = Differences { a, b };
    let rank = if n.max(m) <= EXACT_MAX {
        u128::from(exact::lower_rank(
            n as usize,
            m as usize,
            (1.0 - confidence) / 2.0,
        ))
    } else {
        let (n, m) = (n as f64, m as f64);
        let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
        (n * m / 2.0 - normal * spread).floor().max(0.0) as u128
    };
    let middle = [pairs.div_ceil(2), pairs / 2 + 1].map(|rank| differences.of_rank(rank));
    Shift {
        shift: middle[0] / 2.0 + middle[1] / 2.0,
        interval: (rank >= 1).then(|| Interval {
            low: differences.of_rank(rank),
            high: differences.of_rank(pairs + 1 - rank),
        }),
    }
}

/// Numbers by which samples stand for themselves in a first guess.
const SKETCH: u64 = 128;
/// So many differences are listed and sorted.
const LISTED_MAX: usize = 1 << 20;
/// After so many steps only ties can be left, and numbers are halved by their bits.
const EVEN_STEPS: u32 = 60;

struct Differences<'a> {
    a: &'a Sample,
    b: &'a Sample,
}

/// How many differences are at or below a number.
#[derive(Clone, Copy)]
struct Count {
    /// Each as often as it occurs.
    pairs: u128,
    /// Each pair of distinct values once.
    distinct: u128,
}

impl Differences<'_> {
    /// The difference of this rank, from 1 to the number of pairs.
    fn of_rank(&self, rank: u128) -> f64 {
        let (a, b) = (self.a, self.b);
        // Below `low` is less than the rank, up to `high` no less.
        let (mut low, mut high) = ((b.min() - a.max()).next_down(), b.max() - a.min());
        let mut at_low = Count {
            pairs: 0,
            distinct: 0,
        };
        let mut at_high = Count {
            pairs: u128::from(a.count()) * u128::from(b.count()),
            distinct: a.values().len() as u128 * b.values().len() as u128,
        };
        let mut guesses = self.sketched(rank);
        for step in 0.. {
            if at_high.distinct - at_low.distinct <= LISTED_MAX as u128 {
                return self.listed(low, high, rank - at_low.pairs);
            }
            let width = at_high.pairs - at_low.pairs;
            for guess in guesses {
                if low < guess && guess < high {
                    let count = self.count(guess);
                    if count.pairs < rank {
                        (low, at_low) = (guess, count);
                    } else {
                        (high, at_high) = (guess, count);
                    }
                }
            }
            let middle = if step < EVEN_STEPS {
                low + (high - low) / 2.0
            } else {
                halfway(low, high)
            };
            if middle <= low || middle >= high {
                return high;
            }
            // A little to both sides of where the rank should be, if counts rise evenly; where that
            // did not help, in the middle.
            let left = at_high.pairs - at_low.pairs;
            guesses = if step >= EVEN_STEPS || step > 0 && left > width / 2 {
                [middle, middle]
            } else {
                let share = (rank - at_low.pairs) as f64 / left as f64;
                [share - 0.03, share + 0.03].map(|share| low + (high - low) * share)
            };
        }
        unreachable!("halving numbers by their bits ends")
    }

    /// Two guesses around the difference of this rank, by few numbers of each sample.
    fn sketched(&self, rank: u128) -> [f64; 2] {
        let sketch = |sample: &Sample| -> Vec<f64> {
            let step = sample.count() as f64 / SKETCH as f64;
            let ranks = (0..SKETCH).map(|i| ((i as f64 + 0.5) * step).ceil() as u64);
            ranks.map(|rank| sample.at_rank(rank)).collect()
        };
        let (a, b) = (sketch(self.a), sketch(self.b));
        let pairs = b.iter().flat_map(|b| a.iter().map(move |a| b - a));
        let mut pairs: Vec<f64> = pairs.collect();
        pairs.sort_unstable_by(f64::total_cmp);
        let all = self.a.count() as f64 * self.b.count() as f64;
        let place = rank as f64 / all * pairs.len() as f64;
        let slack = pairs.len() as f64 / 200.0;
        [place - slack, place + slack]
            .map(|place| pairs[(place.max(0.0) as usize).min(pairs.len() - 1)])
    }

    fn count(&self, at_most: f64) -> Count {
        let (a, below) = (self.a.values(), self.a.below());
        let mut count = Count {
            pairs: 0,
            distinct: 0,
        };
        let mut i = 0;
        for (b, times) in self.b.iter() {
            while i < a.len() && b - a[i] > at_most {
                i += 1;
            }
            count.pairs += u128::from(self.a.count() - below[i]) * u128::from(times);
            count.distinct += (a.len() - i) as u128;
        }
        count
    }

    /// The difference of this rank among those above `low`, up to `high`.
    fn listed(&self, low: f64, high: f64, rank: u128) -> f64 {
        let (a, below) = (self.a.values(), self.a.below());
        let mut found = Vec::new();
        let (mut from, mut to) = (0, 0);
        for (b, times) in self.b.iter() {
            while from < a.len() && b - a[from] > high {
                from += 1;
            }
            while to < a.len() && b - a[to] > low {
                to += 1;
            }
            for i in from..to {
                let pairs = u128::from(below[i + 1] - below[i]) * u128::from(times);
                found.push((b - a[i], pairs));
            }
        }
        found.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let mut upto = 0;
        let reached = found.iter().find(|(_, pairs)| {
            upto += pairs;
            upto >= rank
        });
        reached.map_or(high, |&(difference, _)| difference)
    }
}

/// Halfway between two numbers in the row of all that there are, so that no more than 64 halvings
/// separate any two. The numbers' bits are their places in that row, but for the sign.
fn halfway(low: f64, high: f64) -> f64 {
    let flipped = |bits: i64| bits ^ (((bits >> 63) as u64) >> 1) as i64;
    let [low, high] = [low, high].map(|x| i128::from(flipped(x.to_bits() as i64)));
    f64::from_bits(flipped(((low + high) >> 1) as i64) as u64)
}
