//! State that users share while they run: rendezvous at which they wait for each other, counters
//! whose numbers each get once, and queues into which some put values that others take.

use serde::Serialize;

use crate::expr::Template;
use crate::ids::{MeasureId, Slot};

/// Everything that a scenario declares under `shared`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Meetings {
    pub rendezvous: Vec<Rendezvous>,
    pub counters: Vec<Counter>,
    pub queues: Vec<Queue>,
}

impl Meetings {
    /// True if there is nothing.
    pub fn is_empty(&self) -> bool {
        self.rendezvous.is_empty() && self.counters.is_empty() && self.queues.is_empty()
    }
}

/// A point at which users wait until there are enough of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rendezvous {
    /// As declared.
    pub name: String,
    /// How many are released together; at least 1.
    pub users: u64,
}

/// Whole numbers, each of which one user gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// As declared.
    pub name: String,
    /// The first of them.
    pub first: u64,
}

/// Values that users put and others take, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// As declared.
    pub name: String,
    /// Values that it holds at most.
    pub values_max: u64,
}

/// A step between users. Numbers are places in the lists of [`Meetings`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum MeetOp {
    /// Wait until enough users are there.
    Rendezvous {
        rendezvous: u16,
        timeout_ns: u64,
        /// A user whose time is over ends its session.
        fails: bool,
        measure: MeasureId,
    },
    /// Assign the next number of a counter.
    Next { counter: u16, slot: Slot },
    /// Put a value at the end of a queue; an error where it is full.
    Enqueue { queue: u16, value: Template, measure: MeasureId },
    /// Take the first value of a queue; wait for one where there is none.
    Dequeue { queue: u16, slot: Slot, timeout_ns: u64, measure: MeasureId },
}

impl MeetOp {
    /// The measure of the operation that this begins; `None` if it begins none.
    pub fn measure(&self) -> Option<MeasureId> {
        match self {
            MeetOp::Next { .. } => None,
            MeetOp::Rendezvous { measure, .. }
            | MeetOp::Enqueue { measure, .. }
            | MeetOp::Dequeue { measure, .. } => Some(*measure),
        }
    }

    /// How long users wait at most, in nanoseconds; 0: they do not.
    pub fn timeout_ns(&self) -> u64 {
        match self {
            MeetOp::Rendezvous { timeout_ns, .. } | MeetOp::Dequeue { timeout_ns, .. } => {
                *timeout_ns
            }
            MeetOp::Next { .. } | MeetOp::Enqueue { .. } => 0,
        }
    }
}
