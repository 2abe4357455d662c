//! Which users the loops of a process start besides their own, and until when they start any.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use engine::Shard;
use engine::schedule::share::Share;

/// Users of a lost loop, or a part of them, that another loop starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdoptedUsers {
    /// The loop that starts them.
    pub by: u32,
    pub share: Share,
    /// Those that are due from then on.
    pub from_ns: u64,
}

/// Shared by the loops of a process.
#[derive(Debug)]
pub struct Deals {
    /// Users that are due from then on do not start yet.
    until_ns: AtomicU64,
    adopted: Mutex<Vec<AdoptedUsers>>,
    /// Length of `adopted`.
    count: AtomicUsize,
}

impl Default for Deals {
    fn default() -> Deals {
        Deals {
            until_ns: AtomicU64::new(u64::MAX),
            adopted: Mutex::default(),
            count: AtomicUsize::new(0),
        }
    }
}

impl Deals {
    /// Users that are due from then on wait until this is raised.
    pub fn hold_from(&self, until_ns: u64) {
        self.until_ns.store(until_ns, Ordering::Relaxed);
    }

    /// Adds users, once.
    pub fn adopt(&self, new: AdoptedUsers) {
        // Nothing that holds the lock can panic between two states.
        let mut adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        if !adopted.contains(&new) {
            adopted.push(new);
        }
        self.count.store(adopted.len(), Ordering::Release);
    }

    /// Lets the shard of this loop know what is new; `taken`: what it knows.
    pub(super) fn apply(&self, shard: &mut Shard<'_>, number: u16, taken: &mut usize) {
        shard.hold_starts_from(self.until_ns.load(Ordering::Relaxed));
        if self.count.load(Ordering::Acquire) == *taken {
            return;
        }
        let adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        for new in &adopted[*taken..] {
            if new.by == u32::from(number) {
                shard.adopt(new.share, new.from_ns);
            }
        }
        *taken = adopted.len();
    }
}
