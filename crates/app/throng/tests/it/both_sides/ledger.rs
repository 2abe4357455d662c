//! What a server counts, and how badly it serves.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Numbers of the messages that each user is sent.
pub(super) const NUMBERS: u64 = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Light,
    Over,
}

/// What a server of one transport counted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) connections: u64,
    /// Requests, and messages that want an answer: those that had one, those that had none in time, those
    /// whose connection was closed instead, those that were refused.
    pub(super) answered: u64,
    pub(super) late: u64,
    pub(super) closed: u64,
    pub(super) refused: u64,
    /// Messages that want no answer.
    pub(super) pads: u64,
    /// Numbered messages that were sent, repeated ones included; numbers that were not; repeated ones.
    pub(super) pushed: u64,
    pub(super) skipped: u64,
    pub(super) doubled: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        let sums = [
            (&mut self.connections, other.connections),
            (&mut self.answered, other.answered),
            (&mut self.late, other.late),
            (&mut self.closed, other.closed),
            (&mut self.refused, other.refused),
            (&mut self.pads, other.pads),
            (&mut self.pushed, other.pushed),
            (&mut self.skipped, other.skipped),
            (&mut self.doubled, other.doubled),
        ];
        for (sum, more) in sums {
            *sum += more;
        }
    }
}

/// A server's counts, shared by its connections.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    pub(super) load: Load,
    counts: Arc<Mutex<Counts>>,
}

impl Ledger {
    pub(super) fn new(load: Load) -> Ledger {
        Ledger { load, counts: Arc::default() }
    }

    pub(super) fn note(&self, note: impl FnOnce(&mut Counts)) {
        note(&mut self.counts.lock().unwrap());
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts.lock().unwrap().clone()
    }

    /// Counts a connection: its place among them, from 0.
    pub(super) fn connected(&self) -> u64 {
        let mut counts = self.counts.lock().unwrap();
        counts.connections += 1;
        counts.connections - 1
    }

    /// True for every k-th of something, if the server is overloaded.
    pub(super) fn fails(&self, place: u64, every: u64) -> bool {
        self.load == Load::Over && place % every == every - 1
    }

    /// The numbers to send, in order. Neither the first nor the last is skipped: without those around it
    /// nobody could know that a number is missing.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for number in 1..=NUMBERS {
            if self.load == Load::Over && number % 7 == 3 {
                continue;
            }
            numbers.push(number);
            if self.load == Load::Over && number % 5 == 0 {
                numbers.push(number);
            }
        }
        numbers
    }
}

/// The numbers that one user was sent.
#[derive(Debug, Default)]
pub(super) struct Sent(BTreeSet<u64>);

impl Sent {
    pub(super) fn add(&mut self, number: u64, ledger: &Ledger) {
        let is_new = self.0.insert(number);
        ledger.note(|counts| {
            counts.pushed += 1;
            counts.doubled += u64::from(!is_new);
        });
    }

    /// The user is sent nothing more.
    pub(super) fn end(&self, ledger: &Ledger) {
        let skipped = NUMBERS - self.0.len() as u64;
        ledger.note(|counts| counts.skipped += skipped);
    }
}
