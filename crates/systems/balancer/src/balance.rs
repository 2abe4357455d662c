//! A balancer without a clock and a socket: the fleet, a policy and its draws. The forwarder and the simulator
//! both run this.

use stats::rng::{Purpose, Rng};

use crate::fleet::{Fleet, Locality, Member};
use crate::latency::PeakEwma;
use crate::policy::{Kind, Policy, Probe, Request};
use crate::weights::{LearnOptions, Learner, WorkReport};

/// Chooses backends, and knows what they have in flight.
#[derive(Debug)]
pub struct Balancer {
    fleet: Fleet,
    policy: Box<dyn Policy>,
    rng: Rng,
    learner: Option<Learner>,
}

impl Balancer {
    /// A balancer of this policy. Balancers of one seed and different numbers draw independently.
    #[must_use]
    pub fn new(members: Vec<Member>, kind: Kind, seed: u64, number: u64) -> Self {
        Self::with_policy(members, kind.policy(), seed, number)
    }

    /// [`new`](Self::new) with a policy of the caller's.
    #[must_use]
    pub fn with_policy(
        members: Vec<Member>,
        policy: Box<dyn Policy>,
        seed: u64,
        number: u64,
    ) -> Self {
        Self {
            fleet: Fleet::new(members),
            policy,
            rng: Rng::new(seed, number, Purpose::Balance),
            learner: None,
        }
    }

    /// The same, not yet used, in a region: it prefers the backends there.
    #[must_use]
    pub fn within(mut self, locality: &Locality) -> Self {
        let backends = self.fleet.backends().iter();
        let members = backends.map(|backend| backend.member.clone());
        self.fleet = Fleet::around(members.collect(), Some(locality));
        self
    }

    /// The same with weights that are learned from reports.
    #[must_use]
    pub fn learning(mut self, options: LearnOptions) -> Self {
        self.learner = Some(Learner::new(options, self.fleet.len()));
        self
    }

    /// The backends and their state.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    pub(crate) fn fleet_mut(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    /// The backend for a request, which is in flight there from now on until [`end`](Self::end); none of those that it
    /// was `tried` on before.
    pub fn begin(&mut self, request: &Request, tried: &[usize]) -> Option<usize> {
        self.fleet.exclude(tried);
        self.fleet.narrow();
        let picked = self.policy.pick(&self.fleet, request, &mut self.rng);
        self.fleet.widen();
        self.fleet.include_all(tried);
        if let Some(at) = picked {
            self.fleet.began(at);
        }
        picked
    }

    /// Gives a request to the backend that its session is on, as [`begin`](Self::begin) does to any; `false` if it cannot
    /// be given any.
    pub fn resume(&mut self, at: usize) -> bool {
        let has_room = self.fleet.has_room(at);
        if has_room {
            self.fleet.began(at);
        }
        has_room
    }

    /// A request on this backend has ended; with its latency in seconds if that says something of the backend.
    pub fn end(&mut self, at: usize, latency_s: Option<f64>, now_ns: u64) {
        self.fleet.ended(at);
        self.observe(at, latency_s, now_ns);
    }

    /// A request on this backend, which may go on, had this latency.
    pub(crate) fn observe(&mut self, at: usize, latency_s: Option<f64>, now_ns: u64) {
        if let Some(latency_s) = latency_s {
            self.fleet.backend_mut(at).latency.observe(latency_s, now_ns);
        }
    }

    /// The backends to query for their load beside a request.
    pub fn probes(&mut self) -> Vec<usize> {
        self.fleet.narrow();
        let probes = self.policy.probes(&self.fleet, &mut self.rng);
        self.fleet.widen();
        probes
    }

    /// Takes a backend's report of its work.
    pub fn reported(&mut self, at: usize, report: WorkReport, now_ns: u64) {
        if let Some(learner) = &mut self.learner {
            learner.reported(at, report, now_ns);
        }
    }

    /// Puts what was learned into force.
    pub fn reweigh(&mut self, now_ns: u64) {
        if let Some(learner) = &self.learner {
            let backends = self.fleet.backends().iter();
            let listed: Vec<f64> = backends.map(|backend| backend.member.weight).collect();
            let weights = learner.weights(&listed, now_ns);
            self.fleet.set_learned(weights.as_deref());
        }
    }

    /// Takes over what is known of a backend in another list.
    pub(crate) fn take_over(&mut self, at: usize, other: &Balancer, there: usize) {
        let latency = other.fleet.backends()[there].latency;
        self.fleet.take_over(at, other.fleet.in_flight(there), latency);
        if let (Some(learner), Some(other)) = (&mut self.learner, &other.learner) {
            learner.take_over(at, other, there);
        }
    }

    /// This many requests are in flight at a backend from before it was listed.
    pub(crate) fn take_back(&mut self, at: usize, in_flight: u32) {
        self.fleet.take_over(at, in_flight, PeakEwma::default());
    }

    /// Takes a backend's answer to a probe.
    pub fn probed(&mut self, at: usize, probe: Probe, now_ns: u64) {
        self.policy.probed(at, probe, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A balancer in a region, and all that is known of its backends by counting.
    struct Case {
        balancer: Balancer,
        members: Vec<Member>,
        spill_at: f64,
        up: Vec<bool>,
        flying: Vec<usize>,
    }

    impl Case {
        fn random(kind: Kind, rng: &mut Rng) -> Case {
            let regions = [Some("own"), Some("own"), Some("other"), None];
            let member = |at: u64| Member {
                weight: 0.5 + 3.0 * rng.unit(),
                limit: 1 + rng.below(6) as u32,
                region: regions[rng.below(4) as usize].map(str::to_owned),
                ..Member::new(at.to_string())
            };
            let members: Vec<Member> = (0..9).map(member).collect();
            let locality = Locality { region: "own".to_owned(), spill_at: 0.3 + 2.0 * rng.unit() };
            let balancer = Balancer::new(members.clone(), kind, rng.next_u64(), 0);
            Case {
                balancer: balancer.within(&locality),
                up: vec![true; members.len()],
                members,
                spill_at: locality.spill_at,
                flying: Vec::new(),
            }
        }

        fn in_flight(&self, at: usize) -> usize {
            self.flying.iter().filter(|other| **other == at).count()
        }

        fn is_own(&self, at: usize) -> bool {
            self.members[at].region.as_deref() == Some("own")
        }

        /// Whether a request may go to the own region, or to the others, before it goes anywhere.
        fn takes(&self, own: bool) -> (bool, bool) {
            let places = (0..self.up.len()).filter(|at| self.up[*at] && self.is_own(*at) == own);
            let places: Vec<usize> = places.collect();
            let weight: f64 = places.iter().map(|at| self.members[*at].weight).sum();
            let in_flight: usize = places.iter().map(|at| self.in_flight(*at)).sum();
            let has_room = |at: &usize| self.in_flight(*at) < self.members[*at].limit as usize;
            let usable = places.iter().any(has_room);
            (usable, usable && (in_flight as f64) < self.spill_at * weight)
        }
    }

    #[test]
    fn a_region_takes_all_below_its_load_and_no_request_is_refused_that_can_be_served() {
        let mut rng = Rng::new(3, 0, Purpose::Value);
        for kind in Kind::all() {
            let mut counts = [0_u32; 3];
            for _ in 0..4 {
                let mut case = Case::random(kind, &mut rng);
                for now_ns in 0..150 {
                    // Rarely: tables of hashing policies are built again each time.
                    if rng.unit() < 0.05 {
                        let at = rng.below(9) as usize;
                        case.up[at] = rng.unit() < 0.7;
                        case.balancer.fleet_mut().set_up(at, case.up[at]);
                    }
                    while !case.flying.is_empty() && rng.unit() < 0.45 {
                        let nth = rng.below(case.flying.len() as u64) as usize;
                        case.balancer.end(case.flying.swap_remove(nth), Some(0.1), now_ns);
                    }
                    let source = rng.next_u64();
                    for at in case.balancer.probes() {
                        let in_flight = case.in_flight(at) as u32;
                        let latency_s = 0.1;
                        case.balancer.probed(at, Probe { in_flight, latency_s }, now_ns);
                    }
                    let own = case.takes(true);
                    let others = case.takes(false);
                    let picked = case.balancer.begin(&Request { source, now_ns }, &[]);
                    assert_eq!(picked.is_some(), own.0 || others.0, "{}", kind.name());
                    let Some(at) = picked else {
                        continue;
                    };
                    let has_room = case.in_flight(at) < case.members[at].limit as usize;
                    assert!(case.up[at] && has_room, "{}", kind.name());
                    match (own.1, others.1) {
                        (true, _) => assert!(case.is_own(at), "{}", kind.name()),
                        (false, true) => assert!(!case.is_own(at), "{}", kind.name()),
                        (false, false) => {}
                    }
                    counts[if own.1 { 0 } else { 1 + usize::from(others.1) }] += 1;
                    case.flying.push(at);
                }
            }
            // All three cases were there.
            assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
        }
    }
}
