//! A worker in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use server::Recent;

use crate::policy::Probe;
use crate::weights::WorkReport;

/// A worker as it is simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerModel {
    /// The weight that balancers give it.
    pub weight: f64,
    /// Region of the worker.
    pub region: Option<&'static str>,
    /// Service times are divided by this; above 0.
    pub speed: f64,
    /// Requests that it works on at once, 1 or more.
    pub concurrency: usize,
    /// Requests that can wait; it refuses further ones at once.
    pub queue: usize,
    /// Share of requests that fail at once.
    pub error_rate: f64,
    /// From this second on, service times are multiplied by the factor.
    pub slow: Option<(f64, f64)>,
}

impl Default for WorkerModel {
    fn default() -> Self {
        Self {
            weight: 1.0,
            region: None,
            speed: 1.0,
            concurrency: 1,
            queue: usize::MAX,
            error_rate: 0.0,
            slow: None,
        }
    }
}

/// A queue in the order of arrival: when a request will leave is known as soon as it comes.
#[derive(Debug)]
pub(super) struct Worker {
    model: WorkerModel,
    /// When each of its servers has worked off what it has been given.
    free_ns: BinaryHeap<Reverse<u64>>,
    in_flight: u32,
    recent: Recent,
    done: u64,
    failed: u64,
    work_ns: u64,
}

impl Worker {
    pub(super) fn new(model: &WorkerModel) -> Self {
        Self {
            free_ns: (0..model.concurrency).map(|_| Reverse(0)).collect(),
            model: model.clone(),
            in_flight: 0,
            recent: Recent::default(),
            done: 0,
            failed: 0,
            work_ns: 0,
        }
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether it has room for a request.
    pub(super) fn has_room(&self) -> bool {
        let waiting = (self.in_flight as usize).saturating_sub(self.model.concurrency);
        self.in_flight < self.model.concurrency as u32 || waiting < self.model.queue
    }

    /// Takes a request; when it will leave, and how long it is worked on; `None`: it fails. `chance` is uniform on [0, 1).
    pub(super) fn arrive(
        &mut self,
        now_ns: u64,
        service_s: f64,
        chance: f64,
    ) -> (u64, Option<u64>) {
        self.in_flight += 1;
        if chance < self.model.error_rate {
            return (now_ns, None);
        }
        let free = self.free_ns.pop().map_or(0, |Reverse(free)| free);
        let begin = free.max(now_ns);
        let slow = match self.model.slow {
            Some((from_s, factor)) if begin as f64 / 1e9 >= from_s => factor,
            _ => 1.0,
        };
        let work_ns = (service_s * slow / self.model.speed * 1e9) as u64;
        self.free_ns.push(Reverse(begin + work_ns));
        (begin + work_ns, Some(work_ns))
    }

    /// A request left: how long it was worked on, if it was; its place in the queue when it came; its latency in seconds.
    pub(super) fn depart(&mut self, work_ns: Option<u64>, then: u32, latency_s: f64) {
        self.in_flight -= 1;
        match work_ns {
            Some(work_ns) => {
                self.done += 1;
                self.work_ns += work_ns;
                self.recent.add(then, latency_s);
            }
            None => self.failed += 1,
        }
    }

    /// The worker's report of its work.
    pub(super) fn report(&self) -> WorkReport {
        WorkReport {
            done: self.done,
            failed: self.failed,
            work_s: self.work_ns as f64 / 1e9,
            concurrency: self.model.concurrency as u32,
        }
    }

    /// The worker's answer to a query for its load.
    pub(super) fn probe(&self) -> Probe {
        Probe {
            in_flight: self.in_flight,
            latency_s: self.recent.latency_at(self.in_flight + 1).unwrap_or(0.0),
        }
    }
}
