//! Workers and balancers in virtual time: the policies of the forwarder, without its sockets.
//!
//! Requests arrive as a Poisson process, alone or several at once, or from users who wait for each answer, at balancers that
//! do not know of each other; each goes to a worker, which is a queue in the order of arrival with some servers. The network takes no time. Arrivals and
//! service times depend on the seed and the request's number alone, so all policies are given the same requests.

mod tails;
mod users;
mod worker;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stats::dist::Dist;
use stats::hist::LogHistogram;
use stats::rng::{Purpose, Rng};

use crate::balance::Balancer;
use crate::fleet::{Locality, Member};
use crate::policy::{Policy, Request};
use crate::weights::LearnOptions;
use tails::Tails;
use users::UserSchedule;
use worker::Worker;

pub use users::Users;
pub use worker::WorkerModel;

/// A system to simulate.
#[derive(Debug)]
pub struct Simulation {
    /// The workers, with the weights that balancers give them.
    pub workers: Vec<WorkerModel>,
    /// Number of balancers, 1 or more; requests are spread over them at random.
    pub balancers: usize,
    /// Regions of the balancers, in turn; empty: regions do not matter.
    pub localities: Vec<Locality>,
    /// How balancers learn weights from reports of the workers; `None`: they go by those of the workers' models.
    pub learn: Option<LearnOptions>,
    /// A policy in its first state, for each balancer.
    pub policy: fn() -> Box<dyn Policy>,
    /// Users who wait for each answer; `None`: requests come at the rate, whatever becomes of them. Of users all requests
    /// are counted, each is a client, and `rate`, `batch`, `clients`, `warm_up` and `requests` mean nothing.
    pub users: Option<Users>,
    /// Requests a second.
    pub rate: f64,
    /// Requests that arrive at once, 1 or more.
    pub batch: u64,
    /// Service times at speed 1, in seconds.
    pub service: Dist,
    /// Number of clients, 1 or more, of which each sends equally many requests.
    pub clients: u64,
    /// Requests before anything is counted.
    pub warm_up: u64,
    /// Requests that are counted.
    pub requests: u64,
    /// Seed of all draws.
    pub seed: u64,
}

/// Results of a simulation.
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
    /// Requests that a worker refused because its queue was full.
    pub rejected: u64,
    /// Share of the time, averaged over workers, in which a worker had at least this many requests; the first
    /// is 1.
    pub tails: Vec<f64>,
    /// The weights that the first balancer gave the workers at the end.
    pub weights: Vec<f64>,
    /// Requests that a balancer gave to another region than its own.
    pub spilled: u64,
}

impl Outcome {
    /// Share of the requests that were served.
    #[must_use]
    pub fn share_served(&self) -> f64 {
        let served: u64 = self.served.iter().sum();
        served as f64 / (served + self.failed + self.refused + self.rejected).max(1) as f64
    }

    /// Requests of the worker that got most, over the mean.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        let total: u64 = self.served.iter().sum();
        let most = self.served.iter().max().copied().unwrap_or(0);
        most as f64 * self.served.len() as f64 / total.max(1) as f64
    }
}

/// A request at a worker.
#[derive(Debug, Clone, Copy)]
struct Job {
    came_ns: u64,
    worker: u32,
    balancer: u32,
    /// In flight at the worker when it came, itself among them.
    then: u32,
    /// Work on the request; `None`: it fails.
    work_ns: Option<u64>,
    is_counted: bool,
    /// The user who waits for it, if anybody does.
    user: Option<u64>,
}

/// A request that comes.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    /// Number from which the service time follows.
    number: u64,
    now_ns: u64,
    user: Option<u64>,
}

/// A simulation at one moment.
struct State<'a> {
    simulation: &'a Simulation,
    balancers: Vec<Balancer>,
    workers: Vec<Worker>,
    coming: UserSchedule,
    /// When which job ends. Jobs stay where they are while ends are sorted.
    departures: BinaryHeap<Reverse<(u64, u32)>>,
    jobs: Vec<Job>,
    free_jobs: Vec<u32>,
    /// When workers report next.
    report_ns: u64,
    tails: Tails,
    outcome: Outcome,
}

impl Simulation {
    /// Runs it to the last departure.
    #[must_use]
    pub fn run(&self) -> Outcome {
        let mut state = State::new(self);
        let end_ns = match &self.users {
            Some(users) => state.serve(users),
            None => state.take_all(),
        };
        state.outcome.tails = state.tails.shares(end_ns);
        state.depart_until(u64::MAX);
        let fleet = state.balancers[0].fleet();
        state.outcome.weights = (0..self.workers.len()).map(|at| fleet.weight(at)).collect();
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
            let mut balancer = Balancer::with_policy(members(), policy, simulation.seed, number);
            let mut localities = simulation.localities.iter().cycle();
            if let Some(locality) = localities.nth(number as usize) {
                balancer = balancer.within(locality);
            }
            match &simulation.learn {
                Some(learn) => balancer.learning(learn.clone()),
                None => balancer,
            }
        };
        let count = simulation.workers.len();
        Self {
            balancers: (0..simulation.balancers as u64).map(balancer).collect(),
            workers: simulation.workers.iter().map(Worker::new).collect(),
            coming: UserSchedule::default(),
            departures: BinaryHeap::new(),
            jobs: Vec::new(),
            free_jobs: Vec::new(),
            report_ns: 0,
            tails: Tails::new(count),
            outcome: Outcome {
                latency: LogHistogram::new(),
                served: vec![0; count],
                failed: 0,
                refused: 0,
                rejected: 0,
                tails: Vec::new(),
                weights: Vec::new(),
                spilled: 0,
            },
            simulation,
        }
    }

    /// Takes requests that come at the rate; when the last one came.
    fn take_all(&mut self) -> u64 {
        let simulation = self.simulation;
        let mut arrivals = Rng::new(simulation.seed, 0, Purpose::Arrivals);
        let gaps = Dist::Exponential { mean: simulation.batch as f64 / simulation.rate };
        let mut now_s = 0.0;
        for number in 0..simulation.warm_up + simulation.requests {
            if number % simulation.batch == 0 {
                now_s += gaps.sample(&mut arrivals);
            }
            // Below 500 years.
            let now_ns = (now_s * 1e9) as u64;
            self.report_until(now_ns);
            self.depart_until(now_ns);
            if number == simulation.warm_up {
                self.tails.reset(now_ns);
            }
            self.arrive(Arrival { number, now_ns, user: None });
        }
        (now_s * 1e9) as u64
    }

    /// Serves users; when the last request ended.
    fn serve(&mut self, users: &Users) -> u64 {
        self.coming = UserSchedule::new(users, self.simulation.seed);
        let mut now_ns = 0;
        loop {
            let departs_ns = self.departures.peek().map(|Reverse((at_ns, _))| *at_ns);
            let comes_ns = self.coming.next_ns();
            let Some(next_ns) = [departs_ns, comes_ns].into_iter().flatten().min() else {
                return now_ns;
            };
            now_ns = next_ns;
            self.report_until(now_ns);
            // An end first: it makes room.
            if departs_ns == Some(now_ns) {
                self.depart_until(now_ns);
            } else if let Some((now_ns, user, number)) = self.coming.take(users) {
                self.arrive(Arrival { number, now_ns, user: Some(user) });
            }
        }
    }

    /// A user, if it is one's, knows what became of a request.
    fn answered(&mut self, user: Option<u64>, at_ns: u64) {
        if let (Some(users), Some(user)) = (&self.simulation.users, user) {
            self.coming.answered(users, user, at_ns);
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        let Arrival { number, now_ns, user } = arrival;
        let simulation = self.simulation;
        let mut rng = Rng::new(simulation.seed, number, Purpose::Service);
        let service_s = simulation.service.sample(&mut rng).max(0.0);
        let chance = rng.unit();
        let mut one_of = |count| if count > 1 { rng.below(count) } else { 0 };
        let balancer = one_of(simulation.balancers as u64) as usize;
        let request = Request {
            source: crate::hash::mix(user.unwrap_or_else(|| one_of(simulation.clients))),
            now_ns,
        };
        let is_counted = user.is_some() || number >= simulation.warm_up;
        for at in self.balancers[balancer].probes() {
            let probe = self.workers[at].probe();
            self.balancers[balancer].probed(at, probe, now_ns);
        }
        let Some(at) = self.balancers[balancer].begin(&request, &[]) else {
            self.outcome.refused += u64::from(is_counted);
            self.answered(user, now_ns);
            return;
        };
        let is_spilled =
            !simulation.localities.is_empty() && !self.balancers[balancer].fleet().is_own(at);
        self.outcome.spilled += u64::from(is_counted && is_spilled);
        let worker = &mut self.workers[at];
        if !worker.has_room() {
            self.outcome.rejected += u64::from(is_counted);
            self.balancers[balancer].end(at, Some(0.0), now_ns);
            self.answered(user, now_ns);
            return;
        }
        let before = worker.in_flight();
        let (at_ns, work_ns) = worker.arrive(now_ns, service_s, chance);
        self.tails.rose(before, now_ns);
        let job = Job {
            came_ns: now_ns,
            worker: at as u32,
            balancer: balancer as u32,
            then: before + 1,
            work_ns,
            is_counted,
            user,
        };
        let place = match self.free_jobs.pop() {
            Some(place) => {
                self.jobs[place as usize] = job;
                place
            }
            None => {
                self.jobs.push(job);
                self.jobs.len() as u32 - 1
            }
        };
        self.departures.push(Reverse((at_ns, place)));
    }

    fn depart_until(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, place))) = self.departures.peek().copied() {
            if at_ns > now_ns {
                return;
            }
            self.departures.pop();
            self.free_jobs.push(place);
            let job = self.jobs[place as usize];
            let latency_ns = at_ns - job.came_ns;
            let latency_s = latency_ns as f64 / 1e9;
            let worker = &mut self.workers[job.worker as usize];
            worker.depart(job.work_ns, job.then, latency_s);
            self.tails.fell(worker.in_flight(), at_ns);
            let balancer = &mut self.balancers[job.balancer as usize];
            balancer.end(job.worker as usize, Some(latency_s), at_ns);
            self.answered(job.user, at_ns);
            if !job.is_counted {
                continue;
            }
            match job.work_ns {
                None => self.outcome.failed += 1,
                Some(_) => {
                    self.outcome.served[job.worker as usize] += 1;
                    self.outcome.latency.record(latency_ns);
                }
            }
        }
    }

    /// Has workers report their work to all balancers, each time that is due.
    fn report_until(&mut self, now_ns: u64) {
        let Some(learn) = &self.simulation.learn else {
            return;
        };
        while self.report_ns <= now_ns {
            let at_ns = self.report_ns;
            self.depart_until(at_ns);
            for balancer in &mut self.balancers {
                for (at, worker) in self.workers.iter().enumerate() {
                    balancer.reported(at, worker.report(), at_ns);
                }
                balancer.reweigh(at_ns);
            }
            self.report_ns += learn.every.as_nanos() as u64;
        }
    }
}
