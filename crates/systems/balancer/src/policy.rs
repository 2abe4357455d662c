//! Policies: each a function of the fleet, the request, its own state and a stream of random draws.
//!
//! None of them has a clock or a socket, so that the balancer and the simulator run the same code. Adding one takes a
//! file here, its module and a line in the list of `kinds!`: the command line, the simulator and all tests go by that.

mod least_connections;
mod least_users;
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
pub use least_users::LeastUsers;
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

/// A backend's answer to a query for its load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Requests that it has not answered, from whomever.
    pub in_flight: u32,
    /// Recent latency at about this load, in seconds.
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

    /// Takes the answer of a backend to a probe.
    fn probed(&mut self, _at: usize, _probe: Probe, _now_ns: u64) {}
}

/// Static description of a policy. Every file of a policy has one.
struct Row {
    /// Name that operators write.
    name: &'static str,
    /// Description of its choice, for the help.
    about: &'static str,
    /// Publication that describes it.
    source: &'static str,
    /// Whether it goes by weights that may change every second. Hashing policies do not: clients would move each time.
    can_learn: bool,
    /// Makes it in its first state.
    make: Make,
}

/// Makes a policy in its first state.
pub type Make = fn() -> Box<dyn Policy>;

/// Makes [`Kind`] and the table of all rows of a list of variants.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $row:path,)*) => {
        /// A policy by its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        const KINDS: &[Kind] = &[$(Kind::$kind),*];

        impl Kind {
            fn row(self) -> &'static Row {
                match self {
                    $(Kind::$kind => &$row,)*
                }
            }
        }
    };
}

kinds! {
    /// [`Random`].
    Random = random::ROW,
    /// [`RoundRobin`].
    RoundRobin = round_robin::ROW,
    /// [`WeightedRoundRobin`].
    WeightedRoundRobin = round_robin::WEIGHTED,
    /// [`LeastConnections`].
    LeastConnections = least_connections::ROW,
    /// [`LeastUsers`].
    LeastUsers = least_users::ROW,
    /// [`SourceHash`].
    SourceHash = source_hash::ROW,
    /// [`TwoChoices`] by requests in flight.
    TwoChoices = two_choices::ROW,
    /// [`TwoChoices`] by the peak average of latencies.
    PeakEwma = two_choices::PEAK_EWMA,
    /// [`RingHash`].
    RingHash = ring_hash::ROW,
    /// [`Maglev`].
    Maglev = maglev::ROW,
    /// [`ShortestQueue`].
    ShortestQueue = shortest_queue::ROW,
    /// [`Prequal`].
    Prequal = prequal::ROW,
}

impl Kind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.iter().copied()
    }

    /// The policy of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::all().find(|kind| kind.name() == name)
    }

    /// Whether it goes by weights that may change every second.
    #[must_use]
    pub fn can_learn(self) -> bool {
        self.row().can_learn
    }

    /// Name of the policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Description of its choice, in a few words.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.row().about
    }

    /// Publication that describes it.
    #[must_use]
    pub fn source(self) -> &'static str {
        self.row().source
    }

    /// Constructor of the policy in its first state.
    #[must_use]
    pub fn make(self) -> Make {
        self.row().make
    }

    /// The policy in its first state.
    #[must_use]
    pub fn policy(self) -> Box<dyn Policy> {
        self.make()()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_a_name_and_a_source() {
        for kind in Kind::all() {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
            assert!(!kind.about().is_empty() && !kind.source().is_empty());
            let _ = kind.policy();
        }
        assert_eq!(Kind::from_name("best"), None);
        assert_eq!(Kind::all().filter(|kind| kind.can_learn()).count(), 5);
    }
}
