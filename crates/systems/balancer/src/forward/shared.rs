//! State of the backends that all threads share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::list::List;
use crate::backends::Backend;
use crate::balance::Balancer;
use crate::fleet::Member;
use crate::health::{Health, Sign};
use crate::options::BalancerOptions;
use crate::policy::{Probe, Request};
use crate::weights::WorkReport;

/// The backends at present, and the requests at them.
#[derive(Debug)]
pub(crate) struct SharedBackends {
    core: Mutex<Core>,
}

#[derive(Debug)]
struct Core {
    list: Arc<List>,
    balancer: Balancer,
    health: Health,
    /// Requests in flight at backends that are not listed any more, by id. They may be listed again.
    away: HashMap<u64, u32>,
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

/// A backend of a list to be queried for its load.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) list: Arc<List>,
    pub(super) at: usize,
}

impl Core {
    /// A list of which nothing is known.
    fn new(list: List, options: &BalancerOptions) -> Self {
        let members: Vec<Member> = list.backends.iter().map(|one| one.member.clone()).collect();
        let health = Health::new(options.health.clone(), members.len());
        let mut balancer = Balancer::new(members, options.policy, options.seed, list.number);
        if let Some(locality) = &options.locality {
            balancer = balancer.within(locality);
        }
        if let Some(learn) = &options.learn {
            balancer = balancer.learning(learn.clone());
        }
        Self { list: Arc::new(list), balancer, health, away: HashMap::new() }
    }

    /// Takes over what another list knows of the backends that are in both, and all requests in flight.
    fn follow(&mut self, before: &Core, now_ns: u64) {
        self.health.follow(&before.health);
        self.away.clone_from(&before.away);
        for (at, id) in self.list.ids.iter().enumerate() {
            if let Some(there) = before.list.place(*id) {
                self.health.take_over(at, &before.health, there);
                self.balancer.take_over(at, &before.balancer, there);
            } else if let Some(in_flight) = self.away.remove(id) {
                self.balancer.take_back(at, in_flight);
            }
        }
        for (there, id) in before.list.ids.iter().enumerate() {
            let in_flight = before.balancer.fleet().in_flight(there);
            if in_flight > 0 && self.list.place(*id).is_none() {
                self.away.insert(*id, in_flight);
            }
        }
        self.balancer.reweigh(now_ns);
        self.tick(now_ns);
    }

    fn tick(&mut self, now_ns: u64) {
        self.health.tick(self.balancer.fleet_mut(), now_ns);
    }

    /// The present position of a backend of a list.
    fn place(&self, list: &List, at: usize) -> Option<usize> {
        match list.number == self.list.number {
            true => Some(at),
            false => self.list.place(list.ids[at]),
        }
    }

    /// Takes the result of a request, and its time.
    fn judge(&mut self, at: usize, sign: Sign, now_ns: u64) {
        let fleet = self.balancer.fleet_mut();
        self.health.requested(fleet, at, sign, now_ns);
    }
}

impl SharedBackends {
    pub(super) fn new(backends: Vec<Backend>, options: &BalancerOptions) -> Self {
        let list = List::new(backends, None);
        Self { core: Mutex::new(Core::new(list, options)) }
    }

    /// Puts another list in force. Requests in progress end where they began, and count there.
    pub(super) fn replace(&self, backends: Vec<Backend>, options: &BalancerOptions, now_ns: u64) {
        let list = List::new(backends, Some(&self.list()));
        // Tables of 10,000 backends take a while.
        let mut next = Core::new(list, options);
        let mut core = self.core();
        next.follow(&core, now_ns);
        *core = next;
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        // Counts of requests in flight may be off by one after a crash, in which the process ends.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list of backends in use.
    pub(super) fn list(&self) -> Arc<List> {
        Arc::clone(&self.core().list)
    }

    /// The backend for a request, that of its session if it can be, and those to query for their load; none of those that
    /// it was `tried` on before, by their ids.
    pub(super) fn begin(
        self: &Arc<Self>,
        request: &Request,
        session: Option<u64>,
        tried: &[u64],
    ) -> Option<(Flight, Vec<Query>)> {
        let mut core = self.core();
        core.tick(request.now_ns);
        let Core { list, balancer, .. } = &mut *core;
        let list = Arc::clone(list);
        let probes = balancer.probes();
        let tried: Vec<usize> = tried.iter().filter_map(|id| list.place(*id)).collect();
        let session = session.and_then(|id| list.place(id));
        let stays = session.filter(|at| !tried.contains(at) && balancer.resume(*at));
        let at = stays.or_else(|| balancer.begin(request, &tried))?;
        drop(core);
        list.counts[at].requests.add(1);
        let query = |at| Query { list: Arc::clone(&list), at };
        let queries = probes.into_iter().map(query).collect();
        let flight =
            Flight { shared: Arc::clone(self), list, at, begun_ns: request.now_ns, ended: None };
        Some((flight, queries))
    }

    /// Takes the sign that a request in flight gave of its backend; with its end, it is in flight no more.
    fn take(&self, flight: &Flight, is_end: bool) {
        let mut core = self.core();
        let place = core.place(&flight.list, flight.at);
        let ended = flight.ended;
        if let Some(at) = place {
            let latency_s =
                ended.map(|(_, now_ns)| now_ns.saturating_sub(flight.begun_ns) as f64 / 1e9);
            let now_ns = ended.map_or(flight.begun_ns, |(_, now_ns)| now_ns);
            match is_end {
                true => core.balancer.end(at, latency_s, now_ns),
                false => core.balancer.observe(at, latency_s, now_ns),
            }
            if let Some((sign, now_ns)) = ended {
                core.judge(at, sign, now_ns);
            }
        } else if is_end {
            let id = flight.id();
            let left = core.away.get(&id).copied().unwrap_or(0).saturating_sub(1);
            match left {
                0 => core.away.remove(&id),
                left => core.away.insert(id, left),
            };
        }
        drop(core);
        if matches!(ended, Some((Sign::Bad, _))) {
            flight.list.counts[flight.at].failures.add(1);
        }
    }

    /// Takes the result of an active check of a backend of a list.
    pub(super) fn checked(&self, list: &List, at: usize, sign: Sign, now_ns: u64) {
        let mut core = self.core();
        core.tick(now_ns);
        if let Some(at) = core.place(list, at) {
            let Core { balancer, health, .. } = &mut *core;
            health.checked(balancer.fleet_mut(), at, sign, now_ns);
        }
    }

    /// Takes a backend's answer to a query.
    pub(super) fn probed(&self, query: &Query, probe: Probe, now_ns: u64) {
        let mut core = self.core();
        if let Some(at) = core.place(&query.list, query.at) {
            core.balancer.probed(at, probe, now_ns);
        }
    }

    /// Takes reports of backends on their work, and puts what follows from them into force.
    pub(super) fn reported(&self, list: &List, reports: &[(usize, WorkReport)], now_ns: u64) {
        let mut core = self.core();
        for (at, report) in reports {
            if let Some(at) = core.place(list, *at) {
                core.balancer.reported(at, *report, now_ns);
            }
        }
        core.balancer.reweigh(now_ns);
    }

    /// Times that a backend was ejected.
    pub(super) fn ejections(&self) -> u64 {
        self.core().health.ejections()
    }

    /// Requests at backends that are not listed any more.
    pub(super) fn away(&self) -> u32 {
        self.core().away.values().sum()
    }

    pub(super) fn states(&self, now_ns: u64) -> Vec<BackendState> {
        let mut core = self.core();
        core.tick(now_ns);
        let Core { list, balancer, health, .. } = &*core;
        let fleet = balancer.fleet();
        let state = |at: usize| BackendState {
            name: list.backends[at].member.name.clone(),
            region: list.backends[at].member.region.clone(),
            up: fleet.is_up(at),
            ejected: health.is_ejected(at),
            in_flight: fleet.in_flight(at),
            weight: fleet.weight(at),
            requests: list.counts[at].requests.get(),
            failures: list.counts[at].failures.get(),
        };
        (0..list.backends.len()).map(state).collect()
    }
}

/// A request in flight at a backend, until this is dropped.
#[derive(Debug)]
pub(super) struct Flight {
    shared: Arc<SharedBackends>,
    list: Arc<List>,
    at: usize,
    begun_ns: u64,
    ended: Option<(Sign, u64)>,
}

impl Flight {
    pub(super) fn backend(&self) -> &Backend {
        &self.list.backends[self.at]
    }

    /// Id of the backend in cookies.
    pub(super) fn id(&self) -> u64 {
        self.list.ids[self.at]
    }

    /// The backend did its part, or did not.
    pub(super) fn ended(&mut self, sign: Sign, now_ns: u64) {
        self.ended = Some((sign, now_ns));
    }

    /// The backend did its part, and is not done: a WebSocket began.
    pub(super) fn goes_on(&mut self) {
        self.shared.take(self, false);
        self.ended = None;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.shared.take(self, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::Source;
    use crate::policy::Kind;

    fn backends(ports: &[u16]) -> (BalancerOptions, Vec<Backend>) {
        let texts = ports.iter().map(|port| format!("http://127.0.0.1:{port} limit=2"));
        let mut options = BalancerOptions::new(Source::Listed(texts.collect()));
        options.policy = Kind::LeastConnections;
        let backends = options.load().unwrap();
        (options, backends)
    }

    fn in_flight(shared: &SharedBackends) -> Vec<u32> {
        let states = shared.states(0);
        states.iter().map(|state| state.in_flight).collect()
    }

    fn begin(shared: &Arc<SharedBackends>) -> Option<Flight> {
        let request = Request { source: 0, now_ns: 0 };
        shared.begin(&request, None, &[]).map(|(flight, _)| flight)
    }

    #[test]
    fn requests_in_flight_outlast_lists() {
        let (options, first) = backends(&[1, 2]);
        let shared = Arc::new(SharedBackends::new(first, &options));
        let mut flights: Vec<Flight> = (0..4).map_while(|_| begin(&shared)).collect();
        assert_eq!(in_flight(&shared), [2, 2]);
        // In another order, and with a new one: the limits of those that stayed are still reached.
        shared.replace(backends(&[3, 2, 1]).1, &options, 0);
        assert_eq!(in_flight(&shared), [0, 2, 2]);
        flights.extend((0..2).map_while(|_| begin(&shared)));
        assert!(begin(&shared).is_none());
        assert_eq!(in_flight(&shared), [2, 2, 2]);
        // One is gone for a while, in which one of its requests ends.
        shared.replace(backends(&[2, 3]).1, &options, 0);
        assert_eq!((in_flight(&shared), shared.away()), (vec![2, 2], 2));
        let gone = flights.iter().position(|one| one.backend().address.port() == 1);
        drop(flights.swap_remove(gone.unwrap()));
        shared.replace(backends(&[1, 2, 3]).1, &options, 0);
        assert_eq!((in_flight(&shared), shared.away()), (vec![1, 2, 2], 0));
        drop(flights);
        assert_eq!(in_flight(&shared), [0, 0, 0]);
    }

    #[test]
    fn ejections_outlast_lists() {
        let (options, first) = backends(&[1, 2]);
        let shared = Arc::new(SharedBackends::new(first, &options));
        for _ in 0..5 {
            let mut flights = [begin(&shared).unwrap(), begin(&shared).unwrap()];
            let bad = flights.iter_mut().find(|one| one.backend().address.port() == 1);
            bad.unwrap().ended(Sign::Bad, 0);
        }
        assert_eq!(shared.ejections(), 1);
        // A request that began on the old list says of the backend what it always did.
        let flight = begin(&shared).unwrap();
        shared.replace(backends(&[2, 1]).1, &options, 0);
        assert_eq!(shared.ejections(), 1);
        assert!(shared.states(0)[1].ejected);
        drop(flight);
        assert_eq!(in_flight(&shared), [0, 0]);
    }

    #[test]
    fn a_websocket_counts_as_answered_while_it_is_open() {
        let (options, first) = backends(&[1]);
        let shared = Arc::new(SharedBackends::new(first, &options));
        let mut flight = begin(&shared).unwrap();
        flight.ended(Sign::Good, 1_000_000);
        flight.goes_on();
        let core = shared.core();
        assert!(core.balancer.fleet().backends()[0].latency.is_known());
        assert_eq!(core.balancer.fleet().in_flight(0), 1);
        drop(core);
        drop(flight);
        assert_eq!(in_flight(&shared), [0]);
    }
}
