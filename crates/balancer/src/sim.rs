//! Workers and balancers in virtual time: the policies of the forwarder, without its sockets.
//!
//! Requests arrive as a Poisson process at balancers that do not know of each other; each goes to a worker, which is a
//! queue in the order of arrival with some servers. The network takes no time. Arrivals and service times depend on
//! the seed and the request's number alone, so all policies are given the same requests.

mod tails;
mod worker;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stats::dist::Dist;
use stats::hist::LogHistogram;
use stats::rng::{Purpose, Rng};

use crate::balance::Balancer;
use crate::fleet::{Locality, Member};
use crate::policy::{Policy, Request};
use tails::Tails;
use worker::Worker;

pub use worker::WorkerModel;

/// What is simulated.
#[derive(Debug)]
pub struct Simulation {
    /// The workers, with the weights that balancers give them.
    pub workers: Vec<WorkerModel>,
    /// Number of balancers, 1 or more; requests are spread over them at random.
    pub balancers: usize,
    /// Where the balancers are, in turn; empty: regions do not matter.
    pub localities: Vec<Locality>,
    /// A policy in its first state, for each balancer.
    pub policy: fn() -> Box<dyn Policy>,
    /// Arrivals a second.
    pub rate: f64,
    /// Service times at speed 1, in seconds.
    pub service: Dist,
    /// Number of clients, 1 or more, of which each sends equally many requests.
    pub clients: u64,
    /// Requests before anything is counted.
    pub warm_up: u64,
    /// Requests that are counted.
    pub requests: u64,
    /// What everything follows from.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Response times of the requests that were served, in nanoseconds.
    pub latency: LogHistogram,
    /// Requests answered without an error, by worker.
    pub served: Vec<u64>,
    /// Requests answered with an error.
    pub failed: u64,
    /// Requests for which no balancer had a backend.
    pub refused: u64,
    /// Share of the time, averaged over workers, in which a worker had at least this many requests; the first
    /// is 1.
    pub tails: Vec<f64>,
    /// Requests that a balancer gave to another region than its own.
    pub spilled: u64,
}

impl Outcome {
    /// Share of the requests that were served.
    #[must_use]
    pub fn share_served(&self) -> f64 {
        let served: u64 = self.served.iter().sum();
        served as f64 / (served + self.failed + self.refused).max(1) as f64
    }

    /// Requests of the worker that got most, over the mean.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        let total: u64 = self.served.iter().sum();
        let most = self.served.iter().max().copied().unwrap_or(0);
        most as f64 * self.served.len() as f64 / total.max(1) as f64
    }
}

/// The end of a request, in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Departure {
    at_ns: u64,
    number: u64,
    worker: u32,
    balancer: u32,
    came_ns: u64,
    /// In flight at the worker when it came, itself among them.
    then: u32,
    failed: bool,
}

/// A simulation at one moment.
struct State<'a> {
    simulation: &'a Simulation,
    balancers: Vec<Balancer>,
    workers: Vec<Worker>,
    departures: BinaryHeap<Reverse<Departure>>,
    tails: Tails,
    outcome: Outcome,
}

impl Simulation {
    /// Runs it to the last departure.
    #[must_use]
    pub fn run(&self) -> Outcome {
        let mut state = State::new(self);
        let mut arrivals = Rng::new(self.seed, 0, Purpose::Arrivals);
        let gaps = Dist::Exponential {
            mean: 1.0 / self.rate,
        };
        let mut now_s = 0.0;
        for number in 0..self.warm_up + self.requests {
            now_s += gaps.sample(&mut arrivals);
            // Below 500 years.
            let now_ns = (now_s * 1e9) as u64;
            state.depart_until(now_ns);
            if number == self.warm_up {
                state.tails.reset(now_ns);
            }
            state.arrive(number, now_ns);
        }
        state.outcome.tails = state.tails.shares((now_s * 1e9) as u64);
        state.depart_until(u64::MAX);
        state.outcome
    }
}

impl<'a> State<'a> {
    fn new(simulation: &'a Simulation) -> Self {
        let members = || {
            let models = simulation.workers.iter().enumerate();
            let member = |(at, model): (usize, &WorkerModel)| Member {
                weight: model.weight,
                region: model.region.map(str::to_owned),
                ..Member::new(format!("worker-{at}"))
            };
            models.map(member).collect::<Vec<_>>()
        };
        let balancer = |number| {
            let policy = (simulation.policy)();
            let balancer = Balancer::with_policy(members(), policy, simulation.seed, number);
            let mut localities = simulation.localities.iter().cycle();
            match localities.nth(number as usize) {
                Some(locality) => balancer.within(locality),
                None => balancer,
            }
        };
        let count = simulation.workers.len();
        Self {
            balancers: (0..simulation.balancers as u64).map(balancer).collect(),
            workers: simulation.workers.iter().map(Worker::new).collect(),
            departures: BinaryHeap::new(),
            tails: Tails::new(count),
            outcome: Outcome {
                latency: LogHistogram::new(),
                served: vec![0; count],
                failed: 0,
                refused: 0,
                tails: Vec::new(),
                spilled: 0,
            },
            simulation,
        }
    }

    fn arrive(&mut self, number: u64, now_ns: u64) {
        let simulation = self.simulation;
        let mut rng = Rng::new(simulation.seed, number, Purpose::Service);
        let client = rng.below(simulation.clients);
        let balancer = rng.below(simulation.balancers as u64) as usize;
        let service_s = simulation.service.sample(&mut rng).max(0.0);
        let chance = rng.unit();
        let request = Request {
            source: crate::hash::mix(client),
            now_ns,
        };
        for at in self.balancers[balancer].probes() {
            let probe = self.workers[at].probe();
            self.balancers[balancer].probed(at, probe, now_ns);
        }
        let Some(at) = self.balancers[balancer].begin(&request, &[]) else {
            self.outcome.refused += u64::from(number >= simulation.warm_up);
            return;
        };
        let is_spilled =
            !simulation.localities.is_empty() && !self.balancers[balancer].fleet().is_own(at);
        self.outcome.spilled += u64::from(number >= simulation.warm_up && is_spilled);
        let worker = &mut self.workers[at];
        let before = worker.in_flight();
        let (at_ns, failed) = worker.arrive(now_ns, service_s, chance);
        self.tails.rose(before, now_ns);
        self.departures.push(Reverse(Departure {
            at_ns,
            number,
            worker: at as u32,
            balancer: balancer as u32,
            came_ns: now_ns,
            then: before + 1,
            failed,
        }));
    }

    fn depart_until(&mut self, now_ns: u64) {
        while let Some(Reverse(next)) = self.departures.peek().copied() {
            if next.at_ns > now_ns {
                return;
            }
            self.departures.pop();
            let latency_ns = next.at_ns - next.came_ns;
            let latency_s = latency_ns as f64 / 1e9;
            let worker = &mut self.workers[next.worker as usize];
            worker.depart((!next.failed).then_some((next.then, latency_s)));
            self.tails.fell(worker.in_flight(), next.at_ns);
            let balancer = &mut self.balancers[next.balancer as usize];
            balancer.end(next.worker as usize, Some(latency_s), next.at_ns);
            if next.number < self.simulation.warm_up {
                continue;
            }
            match next.failed {
                true => self.outcome.failed += 1,
                false => {
                    self.outcome.served[next.worker as usize] += 1;
                    self.outcome.latency.record(latency_ns);
                }
            }
        }
    }
}
