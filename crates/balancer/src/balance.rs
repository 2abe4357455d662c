//! A balancer without a clock and a socket: the fleet, a policy and its draws. The forwarder and the simulator
//! both run this.

use stats::rng::{Purpose, Rng};

use crate::fleet::{Fleet, Member};
use crate::policy::{Kind, Policy, Probe, Request};

/// Chooses backends, and knows what they have in flight.
#[derive(Debug)]
pub struct Balancer {
    fleet: Fleet,
    policy: Box<dyn Policy>,
    rng: Rng,
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
        }
    }

    /// What is known of the backends.
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
        let picked = self.policy.pick(&self.fleet, request, &mut self.rng);
        self.fleet.include_all(tried);
        if let Some(at) = picked {
            self.fleet.began(at);
        }
        picked
    }

    /// A request on this backend has ended; with its latency in seconds if that says something of the backend.
    pub fn end(&mut self, at: usize, latency_s: Option<f64>, now_ns: u64) {
        self.fleet.ended(at);
        if let Some(latency_s) = latency_s {
            self.fleet
                .backend_mut(at)
                .latency
                .observe(latency_s, now_ns);
        }
    }

    /// The backends to query for their load beside a request.
    pub fn probes(&mut self) -> Vec<usize> {
        self.policy.probes(&self.fleet, &mut self.rng)
    }

    /// What a backend answered at this time.
    pub fn probed(&mut self, at: usize, probe: Probe, now_ns: u64) {
        self.policy.probed(at, probe, now_ns);
    }
}
