//! Numbered messages as broadcasts: when the first and the last user got each.

use plan::MessageId;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Broadcasts that a shard reports in one interval.
const BROADCASTS_MAX: usize = 8_192;

/// One broadcast as the users of one shard got it in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    /// Place in the plan's messages.
    pub message: MessageId,
    /// Which of its sequences, and the number in it.
    pub sequence: u64,
    pub number: u64,
    /// The sender's time; without one, when the first user got it.
    pub sent_ns: u64,
    /// When the first and the last user got it.
    pub first_ns: u64,
    pub last_ns: u64,
    /// How long it may have been there before the first and before the last user's loop read it.
    pub first_late_ns: u64,
    pub last_late_ns: u64,
}

impl Broadcast {
    /// Adds what another interval or shard knows of the same one.
    pub fn merge(&mut self, other: &Broadcast) {
        self.sent_ns = self.sent_ns.min(other.sent_ns);
        if other.first_ns < self.first_ns {
            (self.first_ns, self.first_late_ns) = (other.first_ns, other.first_late_ns);
        }
        if other.last_ns > self.last_ns {
            (self.last_ns, self.last_late_ns) = (other.last_ns, other.last_late_ns);
        }
    }

    /// The identity of the broadcast.
    pub fn name(&self) -> (MessageId, u64, u64) {
        (self.message, self.sequence, self.number)
    }
}

/// The broadcasts of one interval.
#[derive(Debug, Default)]
pub struct Broadcasts(HashMap<(MessageId, u64, u64), Broadcast>);

impl Broadcasts {
    /// A user got it. False if there are too many to report this one.
    pub fn add(&mut self, broadcast: Broadcast) -> bool {
        if let Some(known) = self.0.get_mut(&broadcast.name()) {
            known.merge(&broadcast);
            return true;
        }
        let room = self.0.len() < BROADCASTS_MAX;
        if room {
            self.0.insert(broadcast.name(), broadcast);
        }
        room
    }

    /// All of them, in order of their names.
    pub fn take(&mut self) -> Vec<Broadcast> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<Broadcast> = self.0.drain().map(|(_, broadcast)| broadcast).collect();
        all.sort_unstable_by_key(Broadcast::name);
        all
    }
}
