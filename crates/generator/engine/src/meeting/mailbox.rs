//! Letters of the other loops to one loop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use plan::expr::Value;

/// A place where users wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Spot {
    /// At the rendezvous of this number.
    Rendezvous(u16),
    /// For a value of the queue of this number.
    Queue(u16),
}

/// A user's wait is over.
#[derive(Debug, PartialEq)]
pub(crate) struct Letter {
    pub(crate) spot: Spot,
    /// Number of the waiting user there.
    pub(crate) number: u64,
    /// When it continues; 0: at once.
    pub(crate) due_ns: u64,
    /// The value taken from a queue.
    pub(crate) value: Option<Value>,
}

/// The letters to one loop.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    has_some: AtomicBool,
    letters: Mutex<Vec<Letter>>,
}

impl Mailbox {
    pub(crate) fn post(&self, letters: impl IntoIterator<Item = Letter>) {
        // A panic elsewhere leaves a list as sound as before.
        let mut all = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(letters);
        self.has_some.store(!all.is_empty(), Ordering::Release);
    }

    /// Looks without taking anything.
    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        self.has_some.load(Ordering::Acquire)
    }

    pub(crate) fn take(&self) -> Vec<Letter> {
        let mut all = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_some.store(false, Ordering::Release);
        std::mem::take(&mut all)
    }
}
