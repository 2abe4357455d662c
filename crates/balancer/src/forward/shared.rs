//! What all threads know of one list of backends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use server::metrics::Counter;

use crate::backends::Backend;
use crate::balance::Balancer;
use crate::fleet::Member;
use crate::hash::hash_text;
use crate::health::{Health, Sign};
use crate::options::BalancerOptions;
use crate::policy::{Probe, Request};
use crate::weights::WorkReport;

/// What is counted of a backend.
#[derive(Debug, Default)]
pub(super) struct BackendCounts {
    /// Requests sent to it.
    pub(super) requests: Counter,
    /// Those that it did not answer as it should.
    pub(super) failures: Counter,
}

/// One list of backends. A reload makes another, and requests end where they began.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) backends: Vec<Backend>,
    pub(super) counts: Vec<Arc<BackendCounts>>,
    /// Places by the ids that cookies have.
    places: HashMap<u64, usize>,
    core: Mutex<Core>,
}

#[derive(Debug)]
struct Core {
    balancer: Balancer,
    health: Health,
}

/// A backend as operators see it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BackendState {
    pub(super) name: String,
    pub(super) region: Option<String>,
    pub(super) up: bool,
    pub(super) ejected: bool,
    pub(super) in_flight: u32,
    pub(super) weight: f64,
    pub(super) requests: u64,
    pub(super) failures: u64,
}

impl Shared {
    /// A list in its first state. Those of one process have different numbers.
    pub(super) fn new(backends: Vec<Backend>, options: &BalancerOptions, number: u64) -> Self {
        let members: Vec<Member> = backends.iter().map(|one| one.member.clone()).collect();
        let health = Health::new(options.health.clone(), members.len());
        let mut balancer = Balancer::new(members, options.policy, options.seed, number);
        if let Some(locality) = &options.locality {
            balancer = balancer.within(locality);
        }
        if let Some(learn) = &options.learn {
            balancer = balancer.learning(learn.clone());
        }
        let ids = backends.iter().map(|one| hash_text(&one.member.name));
        Self {
            counts: backends.iter().map(|_| Arc::default()).collect(),
            places: ids.zip(0..).collect(),
            core: Mutex::new(Core { balancer, health }),
            backends,
        }
    }

    /// What this list of backends knows of those that were in the other one too.
    pub(super) fn take_over(&mut self, other: &Shared, now_ns: u64) {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        let before = other.core();
        for (at, backend) in self.backends.iter().enumerate() {
            let name = &backend.member.name;
            let mut others = other.backends.iter();
            if let Some(there) = others.position(|other| other.member.name == *name) {
                core.health.take_over(at, &before.health, there);
                core.balancer.take_over(at, &before.balancer, there);
                self.counts[at] = Arc::clone(&other.counts[there]);
            }
        }
        let Core { balancer, health } = &mut *core;
        balancer.reweigh(now_ns);
        health.tick(balancer.fleet_mut(), now_ns);
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        // Counts of requests in flight may be off by one after a crash, in which the process ends.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The backend for a request, that of its session if it can be, and those to query for their load.
    pub(super) fn begin(
        self: &Arc<Self>,
        request: &Request,
        session: Option<u64>,
        tried: &[usize],
    ) -> Option<(Flight, Vec<usize>)> {
        let mut core = self.core();
        let Core { balancer, health } = &mut *core;
        health.tick(balancer.fleet_mut(), request.now_ns);
        let probes = balancer.probes();
        let session = session.and_then(|id| self.places.get(&id).copied());
        let stays = session.filter(|at| !tried.contains(at) && balancer.resume(*at));
        let at = stays.or_else(|| balancer.begin(request, tried))?;
        drop(core);
        self.counts[at].requests.add(1);
        let flight = Flight {
            shared: Arc::clone(self),
            at,
            begun_ns: request.now_ns,
            ended: None,
        };
        Some((flight, probes))
    }

    fn end(&self, flight: &Flight) {
        let mut core = self.core();
        let Core { balancer, health } = &mut *core;
        let Some((sign, now_ns)) = flight.ended else {
            // It says nothing of the backend.
            balancer.end(flight.at, None, flight.begun_ns);
            return;
        };
        let latency_s = now_ns.saturating_sub(flight.begun_ns) as f64 / 1e9;
        balancer.end(flight.at, Some(latency_s), now_ns);
        health.requested(balancer.fleet_mut(), flight.at, sign, now_ns);
        drop(core);
        if sign == Sign::Bad {
            self.counts[flight.at].failures.add(1);
        }
    }

    pub(super) fn checked(&self, at: usize, sign: Sign, now_ns: u64) {
        let mut core = self.core();
        let Core { balancer, health } = &mut *core;
        health.tick(balancer.fleet_mut(), now_ns);
        health.checked(balancer.fleet_mut(), at, sign, now_ns);
    }

    pub(super) fn probed(&self, at: usize, probe: Probe, now_ns: u64) {
        self.core().balancer.probed(at, probe, now_ns);
    }

    /// Takes reports of backends on their work, and puts what follows from them into force.
    pub(super) fn reported(&self, reports: &[(usize, WorkReport)], now_ns: u64) {
        let mut core = self.core();
        for (at, report) in reports {
            core.balancer.reported(*at, *report, now_ns);
        }
        core.balancer.reweigh(now_ns);
    }

    /// Times that a backend was ejected.
    pub(super) fn ejections(&self) -> u64 {
        self.core().health.ejections()
    }

    pub(super) fn states(&self, now_ns: u64) -> Vec<BackendState> {
        let mut core = self.core();
        let Core { balancer, health } = &mut *core;
        health.tick(balancer.fleet_mut(), now_ns);
        let fleet = balancer.fleet();
        let state = |at: usize| BackendState {
            name: self.backends[at].member.name.clone(),
            region: self.backends[at].member.region.clone(),
            up: fleet.is_up(at),
            ejected: health.is_ejected(at),
            in_flight: fleet.in_flight(at),
            weight: fleet.weight(at),
            requests: self.counts[at].requests.get(),
            failures: self.counts[at].failures.get(),
        };
        (0..self.backends.len()).map(state).collect()
    }
}

/// A request in flight at a backend, until this is dropped.
#[derive(Debug)]
pub(super) struct Flight {
    shared: Arc<Shared>,
    pub(super) at: usize,
    begun_ns: u64,
    ended: Option<(Sign, u64)>,
}

impl Flight {
    pub(super) fn backend(&self) -> &Backend {
        &self.shared.backends[self.at]
    }

    /// What cookies call the backend: a hash of its name, the same in every balancer and after a restart.
    pub(super) fn id(&self) -> u64 {
        hash_text(&self.backend().member.name)
    }

    /// The backend did its part, or did not.
    pub(super) fn ended(&mut self, sign: Sign, now_ns: u64) {
        self.ended = Some((sign, now_ns));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.shared.end(self);
    }
}
