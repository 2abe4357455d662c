//! Searches for the capacity of simulated queues whose capacity theory gives: how often is it in the interval?
//!
//! Poisson arrivals at c servers, first come, first served. The load that is searched is the rate at which p95 of the
//! response passes a limit. Formulas: Erlang (1909, 1917), as in Gross et al., "Fundamentals of Queueing Theory"
//! (2008), chapter 2.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::capacity::{LONGER_TIMES, crossing};
use stats::rng::{Purpose, Rng};

use super::*;

/// All servers of a queue together do this many a second.
const MOST: f64 = 200.0;
const SEARCHES: u64 = 24;

#[derive(Clone, Copy)]
struct Queue {
    servers: u32,
    is_random: bool,
    limit_s: f64,
    /// Long against the time in which the queue forgets that it was empty at first.
    run_s: f64,
}

impl Queue {
    /// p95 of the responses of one run.
    fn p95_s(&self, rate: f64, rng: &mut Rng) -> f64 {
        let mut responses = self.responses(rate, rng);
        let rank = (0.95 * responses.len() as f64) as usize;
        let (_, p95_ns, _) = responses.select_nth_unstable(rank);
        *p95_ns as f64 / 1e9
    }

    /// The responses of one run, from an empty queue on.
    fn responses(&self, rate: f64, rng: &mut Rng) -> Vec<u64> {
        let mut exponential = |mean: f64| -(1.0 - rng.unit()).ln() * mean;
        let service_s = f64::from(self.servers) / MOST;
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let mut free: BinaryHeap<Reverse<u64>> = (0..self.servers).map(|_| Reverse(0)).collect();
        let mut now = 0.0;
        let mut responses = Vec::new();
        loop {
            now += exponential(1.0 / rate);
            if now > self.run_s {
                break;
            }
            let service = match self.is_random {
                true => exponential(service_s),
                false => service_s,
            };
            let Reverse(begin) = free.pop().unwrap();
            let done = begin.max(ns(now)) + ns(service);
            free.push(Reverse(done));
            responses.push(done - ns(now));
        }
        responses
    }

    /// The chance that a response takes longer than the limit, in the steady state.
    fn later(&self, rate: f64) -> f64 {
        if self.is_random { self.later_mmc(rate) } else { self.later_md1(rate) }
    }

    fn later_mmc(&self, rate: f64) -> f64 {
        let servers = f64::from(self.servers);
        let time = self.limit_s;
        let mu = MOST / servers;
        let offered = rate / mu;
        let mut term = 1.0;
        let mut total = 1.0;
        for n in 1..self.servers {
            term *= offered / f64::from(n);
            total += term;
        }
        term *= offered / servers * servers / (servers - offered);
        let waits = term / (total + term);
        let rest = servers - 1.0 - offered;
        (-mu * time).exp() * (1.0 + waits * (1.0 - (-mu * rest * time).exp()) / rest)
    }

    fn later_md1(&self, rate: f64) -> f64 {
        let work = 1.0 / MOST;
        let wait = self.limit_s - work;
        let mut total = 0.0;
        let mut factorial = 1.0;
        for k in 0..=(wait / work) as i32 {
            factorial *= f64::from(k.max(1));
            let x = rate * (wait - f64::from(k) * work);
            total += (-x).powi(k) / factorial * x.exp();
        }
        1.0 - (1.0 - rate * work) * total
    }

    /// The rate at which p95 passes the limit.
    fn capacity(&self) -> f64 {
        let mut low = 0.01 * MOST;
        let mut high = MOST;
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            match self.later(middle) < 0.05 {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// The interval that one search states.
    fn searched(&self, seed: u64) -> (f64, f64) {
        let bounds = Bounds {
            from: 0.4 * MOST,
            at_most: f64::INFINITY,
            growth: 1.5,
            within: 0.05,
            repeat: 3,
            steps: 100,
            is_whole: false,
            can_be_longer: true,
        };
        let mut trials: Vec<Trial> = Vec::new();
        while let Ok(WantedRun { load, is_longer }) = next(&bounds, &trials).wanted_run() {
            let times = if is_longer { LONGER_TIMES as f64 } else { 1.0 };
            let queue = Queue { run_s: times * self.run_s, ..*self };
            let mut rng = Rng::new(seed, trials.len() as u64, Purpose::Resample);
            let margin = (queue.p95_s(load, &mut rng) / self.limit_s).ln();
            let outcome = match margin < 0.0 {
                true => Outcome::Holds,
                false => Outcome::Breaks,
            };
            let trial = Trial { margins: vec![Some(margin)], ..Trial::new(load, outcome) };
            trials.push(Trial { is_longer, ..trial });
        }
        let levels = Level::all(&trials, bounds.repeat);
        let bad = levels.iter().position(|l| l.verdict != Verdict::Holds).unwrap();
        let good = levels[bad - 1].load;
        let bad = levels[bad].load;
        match crossing(&trials, f64::midpoint(good, bad)) {
            Some((_, low, high)) => (low, high),
            None => (good, bad),
        }
    }
}

/// The share of searches whose interval contains the capacity, and the median width of their intervals as a share
/// of it.
fn right(queue: &Queue) -> (f64, f64) {
    let truth = queue.capacity();
    let intervals: Vec<(f64, f64)> = (0..SEARCHES).map(|seed| queue.searched(seed)).collect();
    let within = intervals.iter().filter(|(low, high)| (*low..=*high).contains(&truth));
    let right = within.count() as f64 / SEARCHES as f64;
    let mut widths: Vec<f64> = intervals.iter().map(|(low, high)| (high - low) / truth).collect();
    widths.sort_by(f64::total_cmp);
    (right, widths[widths.len() / 2])
}

#[test]
fn nearly_all_intervals_contain_the_capacity_of_a_queue() {
    let queue = |servers, is_random, limit_s, run_s| Queue { servers, is_random, limit_s, run_s };
    for (name, queue, known) in [
        // ln 20 / (μ − λ) = limit.
        ("M/M/1", queue(1, true, 0.050, 30.0), 200.0 - 20f64.ln() / 0.050),
        ("M/M/4", queue(4, true, 0.100, 30.0), 163.0),
        ("M/M/16", queue(16, true, 0.288, 60.0), 179.6),
        ("M/D/1", queue(1, false, 0.030, 30.0), 149.1),
    ] {
        let capacity = queue.capacity();
        assert!((capacity - known).abs() < 0.05, "{name}: {capacity}");
        let (right, width) = right(&queue);
        // Of intervals that are right in 93 of 100 searches, 20 of 24 or more are in 49 of 50 tests.
        assert!(right >= 0.83 && width < 0.2, "{name}: {right} right, {width} wide");
    }
}

/// The scalability law of M/M/1 is exact: N = ρ/(1 − ρ) gives X(N) = μN/(1 + N), which is λN/(1 + σ(N − 1)) with
/// λ = μ/2 and σ = 1/2. λ is the throughput with one in flight on average, half of what one after the other would be.
#[test]
fn the_law_of_a_queue_is_found() {
    let mut right = [0; 3];
    for seed in 0..SEARCHES {
        let queue = Queue { servers: 1, is_random: true, limit_s: 0.05, run_s: 60.0 };
        let loads = [60.0, 80.0, 100.0, 120.0, 140.0, 150.0, 160.0, 170.0];
        let points: Vec<(f64, f64)> = (0..2 * loads.len())
            .map(|run| {
                let mut rng = Rng::new(seed, run as u64, Purpose::Resample);
                let responses = queue.responses(loads[run / 2], &mut rng);
                let total_ns: u64 = responses.iter().sum();
                let per_s = responses.len() as f64 / queue.run_s;
                (total_ns as f64 / 1e9 / queue.run_s, per_s)
            })
            .collect();
        let law = stats::usl::Usl::fit(&points, 0.95).unwrap();
        let parameters = [(law.lambda, MOST / 2.0), (law.sigma, 0.5), (law.kappa, 0.0)];
        for (count, (found, truth)) in right.iter_mut().zip(parameters) {
            *count += usize::from((found.low..=found.high).contains(&truth));
        }
    }
    assert!(right.iter().all(|count| *count >= 20), "{right:?}");
}
