//! Quantiles of times of which some are only known to be at least that long: who gave up after 10 s, or was
//! cut off, would have waited longer. Such a time is censored from the right, and where it is left out, or
//! counted as if it had ended there, every quantile comes out too small.
//!
//! Kaplan and Meier, "Nonparametric Estimation from Incomplete Observations" (1958): the share that takes
//! longer than `t` is the product of `1 − dᵢ/nᵢ` over all times up to `t` at which something ended, with
//! `dᵢ` that ended then and `nᵢ` that had neither ended nor been given up before. Who is given up at a time
//! at which another ended counts among `nᵢ`. Without censored times it is the empirical distribution.

mod influence;

use crate::hist::LogHistogram;

pub use influence::Influence;

/// A quantile, or what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantile {
    /// The value itself.
    At(u64),
    /// It falls among the censored times, and is at least this.
    AtLeast(u64),
}

impl Quantile {
    /// The value or the bound.
    pub fn value(self) -> u64 {
        match self {
            Quantile::At(value) | Quantile::AtLeast(value) => value,
        }
    }

    /// True if it is only known to be at least its value.
    pub fn is_bound(self) -> bool {
        matches!(self, Quantile::AtLeast(_))
    }
}

/// The distribution of times of which some are censored.
#[derive(Debug, Clone)]
pub struct CensoredTimes {
    /// Those that are known.
    known: LogHistogram,
    /// All: those that are censored as if they had ended where they were given up.
    seen: LogHistogram,
    /// The share that takes longer than a time, for each time at which something ended, ascending. Empty if
    /// nothing is censored.
    survival: Vec<(u64, f64)>,
    count_censored: u64,
}

/// Products of shares are exact to about this.
const ROUNDING: f64 = 1e-12;

impl CensoredTimes {
    /// The distribution of `known` times and of those that took at least as long as in `censored`.
    pub fn new(known: &LogHistogram, censored: &LogHistogram) -> CensoredTimes {
        let mut seen = known.clone();
        seen.merge(censored);
        let mut survival = Vec::new();
        if !censored.is_empty() {
            let mut given_up = censored.iter().peekable();
            let mut at_risk = seen.count();
            let mut share = 1.0;
            for (lowest, highest, ended) in known.iter() {
                while let Some((.., count)) = given_up.next_if(|(before, ..)| *before < lowest) {
                    at_risk -= count;
                }
                share *= 1.0 - ended as f64 / at_risk as f64;
                at_risk -= ended;
                survival.push((highest.min(known.max()), share));
            }
        }
        CensoredTimes { known: known.clone(), seen, survival, count_censored: censored.count() }
    }

    /// All times, known and censored.
    pub fn count(&self) -> u64 {
        self.seen.count()
    }

    /// Those that are censored.
    pub fn count_censored(&self) -> u64 {
        self.count_censored
    }

    /// True if there is no time at all.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The share of all that takes longer than every time that is known: quantiles above one minus it are
    /// bounds. 0 if all of the distribution is known.
    pub fn share_beyond(&self) -> f64 {
        match self.survival.last() {
            _ if self.count_censored == 0 => 0.0,
            None => 1.0,
            Some(&(_, share)) if share <= ROUNDING => 0.0,
            Some(&(_, share)) => share,
        }
    }

    /// The least time that a share `q` does not exceed; within a bucket its greatest time, as in
    /// [`LogHistogram::quantile`]. Where it falls among the censored times, the bound is that of the times
    /// seen, which no distribution of what is not known can undercut, and no less than the longest known
    /// time.
    pub fn quantile(&self, q: f64) -> Quantile {
        if self.count_censored == 0 {
            return Quantile::At(self.known.quantile(q));
        }
        if q <= 0.0 && !self.known.is_empty() {
            return Quantile::At(self.known.min());
        }
        let reached = |&&(_, share): &&(u64, f64)| share <= 1.0 - q + ROUNDING;
        match self.survival.iter().find(reached) {
            Some(&(time, _)) => Quantile::At(time),
            None => Quantile::AtLeast(self.seen.quantile(q).max(self.known.max())),
        }
    }

    /// The influence of single times on the share that takes at most `at`.
    pub fn influence(&self, at: u64) -> Influence {
        Influence::new(self, at)
    }

    /// The least time; a bound if nothing is known.
    pub fn min(&self) -> Quantile {
        match self.known.is_empty() {
            true => Quantile::AtLeast(self.seen.min()),
            false => Quantile::At(self.known.min()),
        }
    }

    /// The greatest time; a bound if a censored one is greater than all that are known.
    pub fn max(&self) -> Quantile {
        match self.share_beyond() > 0.0 {
            true => Quantile::AtLeast(self.seen.max()),
            false => Quantile::At(self.known.max()),
        }
    }

    /// The mean: the area below the share that takes longer, up to the greatest time seen. A bound, as
    /// [`max`](Self::max) is, if some take longer than that.
    pub fn mean(&self) -> f64 {
        if self.count_censored == 0 {
            return self.known.mean();
        }
        let middles = self.known.iter().map(|(lowest, highest, _)| {
            let highest = highest.min(self.known.max());
            lowest as f64 + (highest - lowest.min(highest)) as f64 / 2.0
        });
        let mut before = 1.0;
        let mut mean = 0.0;
        for (middle, &(_, share)) in middles.zip(&self.survival) {
            mean += (before - share) * middle;
            before = share;
        }
        mean + before * self.seen.max() as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hist(times: &[u64]) -> LogHistogram {
        let mut hist = LogHistogram::new();
        times.iter().for_each(|&time| hist.record(time));
        hist
    }

    #[test]
    fn without_censored_times_it_is_the_histogram() {
        let known = hist(&[5, 1, 9, 9, 300, 70_000]);
        let all = CensoredTimes::new(&known, &LogHistogram::new());
        for q in [0.0, 0.1, 0.5, 0.9, 1.0] {
            assert_eq!(all.quantile(q), Quantile::At(known.quantile(q)));
        }
        assert_eq!((all.mean(), all.share_beyond()), (known.mean(), 0.0));
        assert_eq!(all.max(), Quantile::At(70_000));
    }

    /// Freireich et al. (1963): weeks of remission under 6-mercaptopurine, the standard example (Cox and
    /// Oakes, "Analysis of Survival Data", 1984, table 1.1; S(t) as in Kalbfleisch and Prentice).
    #[test]
    fn agrees_with_the_published_example() {
        let known = hist(&[6, 6, 6, 7, 10, 13, 16, 22, 23]);
        let censored = hist(&[6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]);
        let found = CensoredTimes::new(&known, &censored);
        let table = [
            (6, 0.857),
            (7, 0.807),
            (10, 0.753),
            (13, 0.690),
            (16, 0.627),
            (22, 0.538),
            (23, 0.448),
        ];
        assert_eq!(found.survival.len(), table.len());
        for (&(time, share), (at, published)) in found.survival.iter().zip(table) {
            assert_eq!(time, at);
            assert!((share - published).abs() < 5e-4, "{time}: {share}");
        }
        assert_eq!(found.quantile(0.5), Quantile::At(23));
        assert_eq!(found.quantile(0.6), Quantile::AtLeast(23));
        assert_eq!(found.quantile(0.99), Quantile::AtLeast(35));
        assert!((found.share_beyond() - 0.448).abs() < 5e-4);
    }

    #[test]
    fn half_that_gave_up_after_a_second_waited_at_least_that_long() {
        let known = hist(&[100; 54]);
        let censored = hist(&[1000; 46]);
        let found = CensoredTimes::new(&known, &censored);
        assert_eq!(found.quantile(0.5), Quantile::At(100));
        assert_eq!(found.quantile(0.55), Quantile::AtLeast(1000));
        assert_eq!(found.max(), Quantile::AtLeast(1000));
        assert!((found.mean() - 514.0).abs() < 1e-9);
        let nobody = CensoredTimes::new(&LogHistogram::new(), &censored);
        assert_eq!(nobody.quantile(0.01), Quantile::AtLeast(1000));
        assert_eq!(nobody.min(), Quantile::AtLeast(1000));
    }

    /// The estimate of each time by redistribution to the right (Efron 1967): a censored time hands its
    /// share equally to all that are greater. Another way to the same distribution.
    fn redistributed(known: &[u64], censored: &[u64], q: f64) -> Option<u64> {
        let mut all: Vec<(u64, bool)> = known.iter().map(|&time| (time, false)).collect();
        all.extend(censored.iter().map(|&time| (time, true)));
        all.sort();
        let mut mass = vec![1.0 / all.len() as f64; all.len()];
        for at in 0..all.len() {
            let after = all.len() - at - 1;
            if all[at].1 && after > 0 {
                let each = mass[at] / after as f64;
                mass[at + 1..].iter_mut().for_each(|share| *share += each);
                mass[at] = 0.0;
            }
        }
        let mut below = 0.0;
        for (&(time, is_censored), share) in all.iter().zip(mass) {
            below += if is_censored { 0.0 } else { share };
            if !is_censored && below >= q - 1e-9 {
                return Some(time);
            }
        }
        None
    }

    proptest! {
        #[test]
        fn redistribution_to_the_right_is_the_same(
            known in proptest::collection::vec(0u64..2048, 0..60),
            censored in proptest::collection::vec(0u64..2048, 1..60),
            q in 1u32..1000,
        ) {
            let q = f64::from(q) / 1000.0;
            let found = CensoredTimes::new(&hist(&known), &hist(&censored)).quantile(q);
            // A quantile at the very edge of a step is decided by the last bit.
            let near = redistributed(&known, &censored, q - 1e-9) == redistributed(&known, &censored, q + 1e-7);
            prop_assume!(near);
            match redistributed(&known, &censored, q) {
                Some(time) => prop_assert_eq!(found, Quantile::At(time)),
                None => {
                    prop_assert!(found.is_bound());
                    let mut seen = [known.clone(), censored.clone()].concat();
                    seen.sort();
                    let rank = ((q * seen.len() as f64).ceil() as usize).max(1);
                    let least = known.iter().copied().max().unwrap_or(0).max(seen[rank - 1]);
                    prop_assert_eq!(found.value(), least);
                }
            }
        }
    }
}
