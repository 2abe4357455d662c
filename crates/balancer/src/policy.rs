//! Policies: each a function of the fleet, the request, its own state and a stream of random draws.
//!
//! None of them has a clock or a socket, so that the balancer and the simulator run the same code. Adding one takes a
//! file here and a line in the table `KINDS`.

mod least_connections;
mod maglev;
mod prequal;
mod random;
mod ring_hash;
mod round_robin;
mod shortest_queue;
mod source_hash;
mod two_choices;

use stats::rng::Rng;

use crate::fleet::Fleet;

pub use least_connections::LeastConnections;
pub use maglev::Maglev;
pub use prequal::Prequal;
pub use random::Random;
pub use ring_hash::RingHash;
pub use round_robin::{RoundRobin, WeightedRoundRobin};
pub use shortest_queue::ShortestQueue;
pub use source_hash::SourceHash;
pub use two_choices::{Load, TwoChoices};

/// A request as policies see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Hash of the address of its client.
    pub source: u64,
    /// When it is sent on, in nanoseconds since any time.
    pub now_ns: u64,
}

/// What a backend answered when it was queried for its load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Requests that it has not answered, from whomever.
    pub in_flight: u32,
    /// Its recent latency at about this load, in seconds.
    pub latency_s: f64,
}

/// How a backend is chosen.
pub trait Policy: std::fmt::Debug + Send {
    /// The place of a usable backend; `None` if there is none.
    fn pick(&mut self, fleet: &Fleet, request: &Request, rng: &mut Rng) -> Option<usize>;

    /// The backends to query for their load because of a request, beside the choice and without waiting.
    fn probes(&mut self, _fleet: &Fleet, _rng: &mut Rng) -> Vec<usize> {
        Vec::new()
    }

    /// What a backend answered at this time.
    fn probed(&mut self, _at: usize, _probe: Probe, _now_ns: u64) {}
}

/// A policy by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// [`Random`].
    Random,
    /// [`RoundRobin`].
    RoundRobin,
    /// [`WeightedRoundRobin`].
    WeightedRoundRobin,
    /// [`LeastConnections`].
    LeastConnections,
    /// [`SourceHash`].
    SourceHash,
    /// [`TwoChoices`] by requests in flight.
    TwoChoices,
    /// [`TwoChoices`] by the peak average of latencies.
    PeakEwma,
    /// [`RingHash`].
    RingHash,
    /// [`Maglev`].
    Maglev,
    /// [`ShortestQueue`].
    ShortestQueue,
    /// [`Prequal`].
    Prequal,
}

type Make = fn() -> Box<dyn Policy>;

/// The names that operators write, and how each begins.
const KINDS: &[(Kind, &str, Make)] = &[
    (Kind::Random, "random", || Box::new(Random)),
    (Kind::RoundRobin, "round-robin", || {
        Box::<RoundRobin>::default()
    }),
    (Kind::WeightedRoundRobin, "weighted-round-robin", || {
        Box::<WeightedRoundRobin>::default()
    }),
    (Kind::LeastConnections, "least-connections", || {
        Box::new(LeastConnections)
    }),
    (Kind::SourceHash, "source-hash", || Box::new(SourceHash)),
    (Kind::TwoChoices, "two-choices", || {
        Box::new(TwoChoices::new(2, Load::InFlight))
    }),
    (Kind::PeakEwma, "peak-ewma", || {
        Box::new(TwoChoices::new(2, Load::PeakEwma))
    }),
    (Kind::RingHash, "ring-hash", || Box::<RingHash>::default()),
    (Kind::Maglev, "maglev", || Box::<Maglev>::default()),
    (Kind::ShortestQueue, "shortest-queue", || {
        Box::new(ShortestQueue)
    }),
    (Kind::Prequal, "prequal", || Box::<Prequal>::default()),
];

impl Kind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }

    /// The policy of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Kind> {
        let row = KINDS.iter().find(|(_, own, _)| *own == name);
        row.map(|(kind, ..)| *kind)
    }

    fn row(self) -> &'static (Kind, &'static str, Make) {
        let row = KINDS.iter().find(|(kind, ..)| *kind == self);
        row.expect("every kind has a row, which a test checks")
    }

    /// Whether it goes by weights that may change every second. Hashing policies do not: clients would move each time.
    #[must_use]
    pub fn can_learn(self) -> bool {
        matches!(
            self,
            Kind::Random
                | Kind::WeightedRoundRobin
                | Kind::LeastConnections
                | Kind::TwoChoices
                | Kind::PeakEwma
        )
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The policy in its first state.
    #[must_use]
    pub fn policy(self) -> Box<dyn Policy> {
        self.row().2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_a_name() {
        assert_eq!(Kind::all().count(), Kind::Prequal as usize + 1);
        for kind in Kind::all() {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
            let _ = kind.policy();
        }
        assert_eq!(Kind::from_name("best"), None);
        assert_eq!(Kind::all().filter(|kind| kind.can_learn()).count(), 5);
    }
}
