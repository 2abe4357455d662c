//! Hodges's and Lehmann's shift: the median of all differences between two samples' numbers.
//!
//! There are n·m differences, too many to be made. Those at or below a number are counted in one
//! walk along both samples, since the differences form a matrix that is sorted along its rows and
//! columns. So a difference of given rank is enclosed by counting at guesses, until so few are left
//! that they can be listed, or none but one value is left (the idea of Johnson and Mizoguchi 1978, and
//! of Monahan 1984; their pivots are medians of rows, ours come from interpolation).

use crate::quantile::Interval;
use crate::sample::Sample;

use super::{EXACT_MAX, exact, quantile_of_normal};

/// The shift that makes two samples most alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median of all differences second − first.
    pub shift: f64,
    /// Confidence interval of the shift; `None` where the samples are too small for it.
    pub interval: Option<Interval>,
}

/// Hodges and Lehmann, "Estimates of location based on rank tests" (1963). The interval holds the
/// shifts that Mann's and Whitney's test does not reject (Hollander and Wolfe, "Nonparametric
/// Statistical Methods", 1999, section 4.3): exact up to 50 numbers a side, beyond by the
/// normal distribution; with ties it is too wide rather than too narrow. It is one for the true shift where the distributions differ
/// by a shift alone.
///
/// # Panics
/// If the confidence does not lie strictly between 0 and 1.
pub fn shift(a: &Sample, b: &Sample, confidence: f64) -> Shift {
    let normal = quantile_of_normal(confidence);
    let n = a.count();
    let m = b.count();
    let pairs = u128::from(n) * u128::from(m);
    let mut differences = Differences::new(a, b);
    let rank = if n.max(m) <= EXACT_MAX {
        u128::from(exact::lower_rank(n as usize, m as usize, (1.0 - confidence) / 2.0))
    } else {
        let n = n as f64;
        let m = m as f64;
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
/// How far the first guesses lie to both sides, as a share of all ranks.
const SKETCH_SLACK: f64 = 0.01;
/// The same for later ones, as a share of the ranks that are left.
const SLACK: f64 = 0.01;
/// The maximum number of differences that are listed and sorted.
const LISTED_MAX: u128 = 1 << 17;
/// After this many steps numbers are halved by their bits, so that they end.
const EVEN_STEPS: u32 = 60;

struct Differences<'a> {
    a: &'a Sample,
    b: &'a Sample,
    /// Counts so far: later ranks begin with them.
    counted: Vec<Count>,
}

/// How many differences are at or below a number.
#[derive(Debug, Clone, Copy)]
struct Count {
    at_most: f64,
    /// Each as often as it occurs.
    pairs: u128,
    /// Each pair of distinct values once.
    distinct: u128,
    /// The greatest difference of these.
    last: f64,
    /// The least of the others.
    next: f64,
}

impl Differences<'_> {
    fn new<'a>(a: &'a Sample, b: &'a Sample) -> Differences<'a> {
        let least = b.min() - a.max();
        let greatest = b.max() - a.min();
        let none = Count {
            at_most: least.next_down(),
            pairs: 0,
            distinct: 0,
            last: f64::NEG_INFINITY,
            next: least,
        };
        let all = Count {
            at_most: greatest,
            last: greatest,
            next: f64::INFINITY,
            pairs: u128::from(a.count()) * u128::from(b.count()),
            distinct: a.values().len() as u128 * b.values().len() as u128,
        };
        Differences { a, b, counted: vec![none, all] }
    }

    /// The difference of this rank, from 1 to the number of pairs.
    fn of_rank(&mut self, rank: u128) -> f64 {
        if self.counted.len() == 2 {
            let guesses = self.sketched(rank);
            self.look_at(guesses);
        }
        let mut left_before = u128::MAX;
        for step in 0.. {
            let (low, high) = self.around(rank);
            if low.next == high.last {
                return high.last;
            }
            if high.distinct - low.distinct <= LISTED_MAX {
                return self.listed(low.at_most, high.at_most, rank - low.pairs);
            }
            let from = low.at_most;
            let width = high.at_most - low.at_most;
            let middle =
                if step < EVEN_STEPS { from + width / 2.0 } else { halfway(from, high.at_most) };
            // A little to both sides of where the rank should be, if counts rise evenly; where that
            // did not help, in the middle.
            let left = high.pairs - low.pairs;
            if step >= EVEN_STEPS || left > left_before / 2 {
                self.look_at([middle, middle]);
            } else {
                let share = (rank - low.pairs) as f64 / left as f64;
                self.look_at([share - SLACK, share + SLACK].map(|share| from + width * share));
            }
            left_before = left;
        }
        unreachable!("halving numbers by their bits ends")
    }

    /// The nearest counts below this rank, and at or above it.
    fn around(&self, rank: u128) -> (Count, Count) {
        let right = self.counted.partition_point(|count| count.pairs < rank);
        (self.counted[right - 1], self.counted[right])
    }

    /// Counts at these numbers, where it is not known already.
    fn look_at(&mut self, guesses: [f64; 2]) {
        for guess in guesses {
            let place = self.counted.partition_point(|count| count.at_most < guess);
            let known = self.counted.get(place).is_none_or(|count| count.at_most == guess);
            if place > 0 && !known {
                let count = self.count(guess);
                self.counted.insert(place, count);
            }
        }
    }

    /// Two guesses around the difference of this rank, by few numbers of each sample.
    fn sketched(&self, rank: u128) -> [f64; 2] {
        let sketch = |sample: &Sample| -> Vec<f64> {
            let step = sample.count() as f64 / SKETCH as f64;
            let ranks = (0..SKETCH).map(|i| ((i as f64 + 0.5) * step).ceil() as u64);
            ranks.map(|rank| sample.at_rank(rank)).collect()
        };
        let a = sketch(self.a);
        let b = sketch(self.b);
        let pairs = b.iter().flat_map(|b| a.iter().map(move |a| b - a));
        let mut pairs: Vec<f64> = pairs.collect();
        pairs.sort_unstable_by(f64::total_cmp);
        let all = self.a.count() as f64 * self.b.count() as f64;
        let place = rank as f64 / all * pairs.len() as f64;
        let slack = pairs.len() as f64 * SKETCH_SLACK;
        [place - slack, place + slack]
            .map(|place| pairs[(place.max(0.0) as usize).min(pairs.len() - 1)])
    }

    fn count(&self, at_most: f64) -> Count {
        let ((a, below), b) = ((self.a.values(), self.a.below()), self.b.values());
        let upto = self.b.below();
        let mut pairs = 0;
        let mut distinct = 0;
        let mut last = f64::NEG_INFINITY;
        let mut next = f64::INFINITY;
        let mut i = 0;
        let mut j = 0;
        while i < a.len() && j < b.len() {
            // Without a branch, as in a walk along both samples. For b[j] all of a from i on serve.
            let difference = b[j] - a[i];
            let serves = difference <= at_most;
            last = last.max(if serves { difference } else { last });
            next = next.min(if serves { next } else { difference });
            let here = self.a.count() - below[i];
            let times = upto[j + 1] - upto[j];
            pairs += u128::from(here) * u128::from(if serves { times } else { 0 });
            distinct += if serves { (a.len() - i) as u128 } else { 0 };
            i += usize::from(!serves);
            j += usize::from(serves);
        }
        Count { at_most, pairs, distinct, last, next }
    }

    /// The difference of this rank among those above `low`, up to `high`.
    fn listed(&self, low: f64, high: f64, rank: u128) -> f64 {
        let a = self.a.values();
        let below = self.a.below();
        let mut found = Vec::new();
        let mut from = 0;
        let mut to = 0;
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
