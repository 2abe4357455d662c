//! The clocks that stamp messages, compared with ours.
//!
//! The clocks of two machines differ. A reply that carries a stamp bounds the difference: it was stamped
//! after its request was sent and before it was received, so that the stamp minus the middle of the two
//! is the offset, to half the round trip. Of several exchanges the one with the shortest round trip
//! bounds it best (Cristian, "Probabilistic clock synchronization", 1989).

use plan::MessageId;
use serde::{Deserialize, Serialize};

/// The reading that the replies of an interval give of the clock that stamped them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Place in the plan's messages.
    pub message: MessageId,
    /// By how much the sender's clock is ahead of ours.
    pub offset_ns: i64,
    /// The shortest round trip, from which the offset is.
    pub round_trip_ns: u64,
    /// Resolution of the stamp: one unit if it was a whole number, else 0.
    pub resolution_ns: u64,
    pub replies: u64,
}

impl ClockReading {
    /// Adds replies of another interval or shard.
    pub fn merge(&mut self, other: &ClockReading) {
        let replies = self.replies.saturating_add(other.replies);
        if other.round_trip_ns < self.round_trip_ns {
            *self = *other;
        }
        self.replies = replies;
    }

    /// How far the true offset may lie from `offset_ns`.
    pub fn bound_ns(&self) -> u64 {
        (self.round_trip_ns.div_ceil(2)).saturating_add(self.resolution_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(offset_ns: i64, round_trip_ns: u64) -> ClockReading {
        ClockReading {
            message: MessageId(0),
            offset_ns,
            round_trip_ns,
            resolution_ns: 0,
            replies: 1,
        }
    }

    #[test]
    fn the_shortest_round_trip_bounds_the_offset_best() {
        let mut best = reading(70, 40);
        best.merge(&reading(95, 11));
        best.merge(&reading(20, 90));
        assert_eq!((best.offset_ns, best.bound_ns(), best.replies), (95, 6, 3));
        // A whole number of milliseconds may have been stamped up to one later.
        best.resolution_ns = 1_000_000;
        assert_eq!(best.bound_ns(), 1_000_006);
    }
}
