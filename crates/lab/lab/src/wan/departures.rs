//! Packets that wait for their time to depart, earliest first; equal times in the order in which they came.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::wan::buffers::Frame;

/// A frame with its time and its destination's address.
#[derive(Debug)]
pub(crate) struct Departure {
    pub at_ns: u64,
    number: u64,
    pub destination: u32,
    pub frame: Frame,
}

impl Departure {
    fn key(&self) -> (u64, u64) {
        (self.at_ns, self.number)
    }
}

impl PartialEq for Departure {
    fn eq(&self, other: &Departure) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Departure {}

impl PartialOrd for Departure {
    fn partial_cmp(&self, other: &Departure) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Departure {
    fn cmp(&self, other: &Departure) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The queue of all departures.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    heap: BinaryHeap<Reverse<Departure>>,
    number: u64,
    held_bytes: usize,
}

impl Departures {
    /// Adds a frame.
    pub(crate) fn push(&mut self, at_ns: u64, destination: u32, frame: Frame) {
        self.held_bytes += frame.held_bytes();
        self.number += 1;
        self.heap.push(Reverse(Departure { at_ns, number: self.number, destination, frame }));
    }

    /// Takes the first frame, if its time has come.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<Departure> {
        self.next_ns().filter(|&at_ns| at_ns <= now_ns)?;
        let Reverse(departure) = self.heap.pop()?;
        self.held_bytes -= departure.frame.held_bytes();
        Some(departure)
    }

    /// When the first frame departs.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(first)| first.at_ns)
    }

    /// How many frames wait.
    pub(crate) fn count(&self) -> usize {
        self.heap.len()
    }

    /// The memory that they occupy, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

#[cfg(test)]
mod tests;
