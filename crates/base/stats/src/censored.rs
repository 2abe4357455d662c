//! Quantiles of times of which some are only known to be at least that long: who gave up after 10 s, or was
//! cut off, would have waited longer. Such a time is censored from the right, and where it is left out, or
//! counted as if it had ended there, every quantile comes out too small.
//!
//! Kaplan and Meier, "Nonparametric Estimation from Incomplete Observations" (1958): the share that takes
//! longer than `t` is the product of `1 − dᵢ/nᵢ` over all times up to `t` at which something ended, with
//! `dᵢ` that ended then and `nᵢ` that had neither ended nor been given up before. Who is given up at a time
//! at which another ended counts among `nᵢ`. Without censored times it is the empirical distribution.
//!
//! That holds if who is given up at a time is like those that wait on. Where a queue grows to the end of a recording, those
//! cut off there are not: each of them would have waited for longer than all before it. They *outlast* the times that are
//! known, and stay among `nᵢ` to the end.

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
    /// Those of `seen` that leave the ones at risk where they ended or were given up; `None`: all do.
    leaving: Option<LogHistogram>,
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
        CensoredTimes::outlasted(known, censored, &LogHistogram::new())
    }

    /// The same with those of the `censored` that outlast every known time, `outlasting`.
    pub fn outlasted(
        known: &LogHistogram,
        censored: &LogHistogram,
        outlasting: &LogHistogram,
    ) -> CensoredTimes {
        let mut seen = known.clone();
        seen.merge(censored);
        let given_up = (!outlasting.is_empty()).then(|| without(censored, outlasting));
        let survival = match censored.is_empty() {
            true => Vec::new(),
            false => survival(known, given_up.as_ref().unwrap_or(censored), seen.count()),
        };
        let leaving = given_up.map(|mut leaving| {
            leaving.merge(known);
            leaving
        });
        CensoredTimes {
            known: known.clone(),
            seen,
            leaving,
            survival,
            count_censored: censored.count(),
        }
    }

    /// Those that leave the ones at risk at their times.
    fn leaving(&self) -> &LogHistogram {
        self.leaving.as_ref().unwrap_or(&self.seen)
    }

    /// The number of those that are to be expected still to wait, of the ones that began in these stretches of time: each
    /// with the age of the youngest and of the oldest, and how many began evenly between. Ages rise from stretch to
    /// stretch.
    pub fn expected_waiting(&self, begun: impl IntoIterator<Item = (f64, f64, f64)>) -> f64 {
        let all;
        let survival = match self.count_censored {
            0 => {
                all = survival(&self.known, &LogHistogram::new(), self.known.count());
                &all
            }
            _ => &self.survival,
        };
        let mut waited =
            WaitIntegral { steps: survival.iter().peekable(), at: 0.0, share: 1.0, sum: 0.0 };
        let begun = begun.into_iter().filter(|(youngest, oldest, _)| youngest < oldest);
        let expected = begun.map(|(youngest, oldest, count)| {
            let before = waited.until(youngest);
            count * (waited.until(oldest) - before) / (oldest - youngest)
        });
        expected.sum()
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

/// The share that takes longer than each time at which something ended, of this `count` at first.
fn survival(known: &LogHistogram, given_up: &LogHistogram, count: u64) -> Vec<(u64, f64)> {
    let mut given_up = given_up.iter().peekable();
    let mut at_risk = count;
    let mut share = 1.0;
    let steps = known.iter().map(|(lowest, highest, ended)| {
        while let Some((.., count)) = given_up.next_if(|(before, ..)| *before < lowest) {
            at_risk -= count;
        }
        share *= 1.0 - ended as f64 / at_risk as f64;
        at_risk -= ended;
        (highest.min(known.max()), share)
    });
    steps.collect()
}

/// The numbers of `all` without those of a `part` of them.
fn without(all: &LogHistogram, part: &LogHistogram) -> LogHistogram {
    let mut part = part.iter().peekable();
    let mut rest = LogHistogram::new();
    for (lowest, highest, count) in all.iter() {
        let own = part.next_if(|(bucket, ..)| *bucket == lowest).map_or(0, |(.., own)| own);
        rest.record_n(highest.min(all.max()), count.saturating_sub(own));
    }
    rest
}

/// The time for which something waits on average until an age that only rises.
struct WaitIntegral<I: Iterator> {
    /// Times at which something ended, with the share that takes longer.
    steps: std::iter::Peekable<I>,
    /// The age so far, with the share that takes longer and the time waited.
    at: f64,
    share: f64,
    sum: f64,
}

impl<'a, I: Iterator<Item = &'a (u64, f64)>> WaitIntegral<I> {
    /// The time waited until this age: the integral of the share that takes longer.
    fn until(&mut self, age: f64) -> f64 {
        while let Some(&(time, share)) = self.steps.next_if(|(time, _)| *time as f64 <= age) {
            self.sum += self.share * (time as f64 - self.at).max(0.0);
            self.at = self.at.max(time as f64);
            self.share = share;
        }
        self.sum + self.share * (age - self.at).max(0.0)
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

    /// A server that does 100 a second and gets 112: from 0 on, each waits 0.12 s longer than the one a second before it. Of
    /// 60 s, those of the last 6.4 s are cut off at 60 s, when the others have taken up to 6.43 s.
    #[test]
    fn a_queue_that_grows_cuts_off_those_that_would_have_waited_longest() {
        let mut known = LogHistogram::new();
        let mut cut_off = LogHistogram::new();
        for n in 0..6720_u64 {
            let due_us = n * 1_000_000 / 112;
            let done_us = (n + 1) * 10_000;
            match done_us <= 60_000_000 {
                true => known.record(done_us - due_us),
                false => cut_off.record(60_000_000 - due_us),
            }
        }
        assert_eq!((known.count(), cut_off.count()), (6000, 720));
        let truth = |q: f64| q * 6720.0 * (10_000.0 - 1e6 / 112.0) + 10_000.0;
        let found = CensoredTimes::outlasted(&known, &cut_off, &cut_off);
        for q in [0.1, 0.5, 0.8, 0.89] {
            let Quantile::At(time) = found.quantile(q) else { panic!("{q} is known") };
            assert!((time as f64 / truth(q) - 1.0).abs() < 0.003, "{q}: {time}");
        }
        for q in [0.9, 0.95, 0.99] {
            let quantile = found.quantile(q);
            assert!(quantile.is_bound() && quantile.value() as f64 <= truth(q), "{q}");
        }
        assert!((found.share_beyond() - 720.0 / 6720.0).abs() < 1e-9);
        assert!(found.max().is_bound());
        // As if they were like the others that waited as long, they seem faster, and p95 known.
        let alike = CensoredTimes::new(&known, &cut_off);
        assert!((alike.quantile(0.8).value() as f64) < 0.95 * truth(0.8));
        assert!(!alike.quantile(0.95).is_bound());
        let second = |n: u32| (f64::from(n) * 1e6, f64::from(n + 1) * 1e6, 112.0);
        let expected = alike.expected_waiting((0..60).map(second));
        assert!(
            (300.0..500.0).contains(&expected),
            "{expected}: more are cut off than wait usually"
        );
    }

    /// Little's law: at 100 a second of which half take 10 ms and half 3 s, 150.5 are waited for.
    #[test]
    fn as_many_wait_as_began_while_they_last() {
        let ages = |seconds: std::ops::Range<u32>| {
            seconds.map(|n| (f64::from(n) * 1e6, f64::from(n + 1) * 1e6, 100.0))
        };
        let waiting = |slow: u64, cut_off: u64, seconds| {
            let mut known = hist(&[10_000; 50]);
            let mut censored = LogHistogram::new();
            known.record_n(3_000_000, slow);
            censored.record_n(1_000_000, cut_off);
            CensoredTimes::new(&known, &censored).expected_waiting(ages(seconds))
        };
        // Ten of the slow ones may be cut off before their end.
        for (slow, cut_off) in [(50, 0), (40, 10)] {
            let found = waiting(slow, cut_off, 0..10);
            assert!((found - 150.5).abs() < 0.2, "{found}");
            // After a drain of 2 s the last of them are left.
            let found = waiting(slow, cut_off, 2..12);
            assert!((found - 50.0).abs() < 0.2, "{found}");
        }
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
