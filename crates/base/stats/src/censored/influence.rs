//! The influence of single times on the share that takes no longer than some time: how much each of them moves the
//! estimate away from the truth. Sums of it over stretches of a recording show how much the share varies from stretch
//! to stretch.
//!
//! Without censored times it is 1 for a time that is no longer, 0 for one that is, less the share. With
//! them it is the derivative of the product-limit estimate (Reid, "Influence functions for censored data",
//! Annals of Statistics 9, 1981): with `dᵢ` that ended of `rᵢ` at risk, of n, and S that take longer,
//! S · Σ (1{ended at i} − 1{at risk at i} · dᵢ/rᵢ) · n/(rᵢ − dᵢ). Its mean square is n times Greenwood's
//! variance (1926), S² Σ dᵢ/(rᵢ(rᵢ − dᵢ)).

use super::CensoredTimes;
use crate::hist::LogHistogram;

/// The influence of times on the share that takes at most `at`.
#[derive(Debug, Clone)]
pub struct Influence {
    at: u64,
    share: f64,
    variance: f64,
    /// By time at which something ended, up to `at`: the highest time, what ending then adds, and what having
    /// been at risk up to then takes away. Empty where nothing is censored up to `at`.
    steps: Vec<(u64, f64, f64)>,
}

impl Influence {
    pub(super) fn new(times: &CensoredTimes, at: u64) -> Influence {
        let n = times.seen.count();
        let below = times.known.count_at_most(at);
        if times.leaving().count_at_most(at) == below {
            let share = if n == 0 { 0.0 } else { below as f64 / n as f64 };
            return Influence { at, share, variance: share * (1.0 - share), steps: Vec::new() };
        }
        let mut at_risk = n;
        let mut leaving = times.leaving().iter().peekable();
        let mut longer = 1.0;
        let mut greenwood = 0.0;
        let mut taken = 0.0;
        let mut steps = Vec::new();
        for (lowest, highest, ended) in times.known.iter().take_while(|&(low, ..)| low <= at) {
            while let Some((.., count)) = leaving.next_if(|(before, ..)| *before < lowest) {
                at_risk -= count;
            }
            let risk = at_risk as f64;
            let left = (at_risk - ended) as f64;
            longer *= left / risk;
            if left > 0.0 {
                let gain = n as f64 / left;
                taken += ended as f64 / risk * gain;
                greenwood += ended as f64 / (risk * left);
                steps.push((highest, gain, taken));
            }
        }
        for (_, gain, taken) in &mut steps {
            *gain *= longer;
            *taken *= longer;
        }
        Influence {
            at,
            share: 1.0 - longer,
            variance: longer * longer * greenwood * n as f64,
            steps,
        }
    }

    /// The share that takes at most the time.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// The mean square of a time's influence: n times the variance of the share, if times are independent.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The sum over times that are known, each of which is among those of the estimate.
    pub fn of_known(&self, times: &LogHistogram) -> f64 {
        self.sum(times, true)
    }

    /// The sum over times that are censored.
    pub fn of_censored(&self, times: &LogHistogram) -> f64 {
        self.sum(times, false)
    }

    fn sum(&self, times: &LogHistogram, is_known: bool) -> f64 {
        if self.steps.is_empty() {
            let below = if is_known { times.count_at_most(self.at) } else { 0 };
            return below as f64 - self.share * times.count() as f64;
        }
        let mut sum = 0.0;
        let mut step = 0;
        let mut below = 0;
        for (lowest, highest, count) in times.iter().take_while(|&(low, ..)| low <= self.at) {
            // Whoever is given up at a time at which another ended was at risk then.
            while self.steps.get(step).is_some_and(|(end, ..)| *end <= highest) {
                step += 1;
            }
            let last = step.checked_sub(1).map(|last| self.steps[last]);
            let (end, gain, taken) = last.unwrap_or((0, 0.0, 0.0));
            let gain = if is_known && end >= lowest { gain } else { 0.0 };
            sum += count as f64 * (gain - taken);
            below += count;
        }
        let all = self.steps.last().map_or(0.0, |&(.., taken)| taken);
        sum - (times.count() - below) as f64 * all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hist(times: &[u64]) -> LogHistogram {
        let mut hist = LogHistogram::new();
        times.iter().for_each(|&time| hist.record(time));
        hist
    }

    #[test]
    fn without_censored_times_it_is_the_indicator() {
        let known = hist(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let times = CensoredTimes::new(&known, &hist(&[100, 200]));
        let influence = times.influence(3);
        assert_eq!(influence.share(), 0.25);
        assert_eq!(influence.variance(), 0.25 * 0.75);
        assert_eq!(influence.of_known(&hist(&[1, 3, 4])), 2.0 - 0.75);
        assert_eq!(influence.of_censored(&hist(&[100])), -0.25);
        assert_eq!(CensoredTimes::new(&hist(&[]), &hist(&[])).influence(3).share(), 0.0);
    }

    /// Standard errors of the product-limit estimate for Freireich et al. (1963) as R's `survfit` prints them
    /// (Kleinbaum and Klein, "Survival Analysis", 3rd edition, chapter 2).
    #[test]
    fn variances_are_the_published_ones() {
        let known = hist(&[6, 6, 6, 7, 10, 13, 16, 22, 23]);
        let censored = hist(&[6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]);
        let times = CensoredTimes::new(&known, &censored);
        let table = [
            (6, 0.0764),
            (7, 0.0869),
            (10, 0.0963),
            (13, 0.1068),
            (16, 0.1141),
            (22, 0.1282),
            (23, 0.1346),
        ];
        for (at, error) in table {
            let influence = times.influence(at);
            let found = (influence.variance() / 21.0).sqrt();
            assert!((found - error).abs() < 5e-5, "{at}: {found}");
            let sum = influence.of_known(&known) + influence.of_censored(&censored);
            assert!(sum.abs() < 1e-9, "{at}: {sum}");
        }
    }

    /// The influence is the derivative: of a thousand of each time one more or less moves the share by it.
    #[test]
    fn one_more_time_moves_the_share_by_its_influence() {
        let many = |times: &[u64], one: Option<u64>| {
            let mut hist = LogHistogram::new();
            times.iter().for_each(|&time| hist.record_n(time, 1_000_000));
            one.into_iter().for_each(|time| hist.record(time));
            hist
        };
        let known = [3, 3, 5, 8, 9, 20];
        let censored = [4, 5, 8, 30];
        let at = 8;
        let share = |known: &LogHistogram, censored: &LogHistogram| {
            CensoredTimes::new(known, censored).influence(at).share()
        };
        let all_known = many(&known, None);
        let all_censored = many(&censored, None);
        let influence = CensoredTimes::new(&all_known, &all_censored).influence(at);
        let before = share(&all_known, &all_censored);
        let n = 10e6;
        for one in [3, 5, 8, 9, 20] {
            let moved = (share(&many(&known, Some(one)), &all_censored) - before) * n;
            let found = influence.of_known(&hist(&[one]));
            assert!((moved - found).abs() < 1e-4, "{one}: {moved} {found}");
        }
        for one in [1, 3, 4, 5, 7, 8, 9, 25] {
            let moved = (share(&all_known, &many(&censored, Some(one))) - before) * n;
            let found = influence.of_censored(&hist(&[one]));
            assert!((moved - found).abs() < 1e-4, "{one} censored: {moved} {found}");
        }
    }
}
