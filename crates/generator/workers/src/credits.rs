//! The number of frames of rows that a worker may still send.
//!
//! Rows and intervals share a connection. If the connection alone held rows back, a slow disk of the
//! controller would delay the intervals behind them, and the worker would seem lost.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Shared by the thread that sends rows and the one that learns that some were taken.
#[derive(Debug)]
pub(crate) struct Credits {
    /// `None`: rows are no longer taken.
    left: Mutex<Option<u32>>,
    changed: Condvar,
}

impl Credits {
    pub(crate) fn new(frames: u32) -> Credits {
        Credits { left: Mutex::new(Some(frames)), changed: Condvar::new() }
    }

    pub(crate) fn add(&self, frames: u32) {
        let mut left = self.left();
        *left = left.map(|left| left.saturating_add(frames));
        self.changed.notify_all();
    }

    /// Rows are no longer taken.
    pub(crate) fn close(&self) {
        *self.left() = None;
        self.changed.notify_all();
    }

    /// Waits until one more frame may be sent. False: none may ever be.
    pub(crate) fn take(&self) -> bool {
        let waiting = |left: &mut Option<u32>| *left == Some(0);
        let left = self.changed.wait_while(self.left(), waiting);
        let mut left = left.unwrap_or_else(PoisonError::into_inner);
        *left = left.map(|left| left - 1);
        left.is_some()
    }

    /// Nothing that holds the lock can panic between two states.
    fn left(&self) -> MutexGuard<'_, Option<u32>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_frames_than_credits_are_sent() {
        let credits = Credits::new(1);
        assert!(credits.take());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| credits.take());
            credits.add(1);
            assert!(waiting.join().unwrap());
            let waiting = scope.spawn(|| credits.take());
            credits.close();
            assert!(!waiting.join().unwrap());
        });
        credits.add(5);
        assert!(!credits.take());
    }
}
