//! Users who each send a batch of requests, one after the other: what they offer depends on how they are served.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stats::rng::{Purpose, Rng};

/// Users who come once.
#[derive(Debug, Clone, PartialEq)]
pub struct Users {
    /// How many come.
    pub count: u64,
    /// Within how many seconds, at times that are independent and uniform.
    pub within_s: f64,
    /// Requests of each, 1 or more.
    pub requests: u64,
    /// Seconds from an answer to the user's next request, also from a refusal.
    pub gap_s: f64,
}

/// When which user sends the next request.
#[derive(Debug, Default)]
pub(super) struct UserSchedule {
    due: BinaryHeap<Reverse<(u64, u64)>>,
    sent: Vec<u64>,
}

impl UserSchedule {
    pub(super) fn new(users: &Users, seed: u64) -> Self {
        let first = |user| {
            let mut rng = Rng::new(seed, user, Purpose::Arrivals);
            Reverse(((rng.unit() * users.within_s * 1e9) as u64, user))
        };
        Self { due: (0..users.count).map(first).collect(), sent: vec![0; users.count as usize] }
    }

    /// When the next request is sent.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Takes the next request: its time, its user, and its number among those of all users.
    pub(super) fn take(&mut self, users: &Users) -> Option<(u64, u64, u64)> {
        let Reverse((at_ns, user)) = self.due.pop()?;
        let sent = &mut self.sent[user as usize];
        *sent += 1;
        Some((at_ns, user, user * users.requests + *sent - 1))
    }

    /// A user was answered at this time.
    pub(super) fn answered(&mut self, users: &Users, user: u64, at_ns: u64) {
        if self.sent[user as usize] < users.requests {
            let gap_ns = (users.gap_s * 1e9) as u64;
            self.due.push(Reverse((at_ns + gap_ns, user)));
        }
    }
}
