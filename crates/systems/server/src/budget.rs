//! Numbers of bytes that connections share.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Amounts are rounded up to a multiple of this, so that single bytes cost no shared write, bytes.
const STEP_BYTES: usize = 16 << 10;

/// A number of bytes that many share.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    max: usize,
}

impl Budget {
    pub(crate) const fn new(max: usize) -> Self {
        Self { used: AtomicUsize::new(0), max }
    }

    /// Takes bytes, if there are as many left.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        let fits = used.saturating_add(bytes) <= self.max;
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// One connection's share of a budget.
#[derive(Debug)]
pub(crate) struct Share {
    budget: &'static Budget,
    taken: usize,
}

impl Share {
    pub(crate) fn new(budget: &'static Budget) -> Self {
        Self { budget, taken: 0 }
    }

    /// It holds this number of bytes now; less than a step is free. False: there is no room for more.
    pub(crate) fn set(&mut self, bytes: usize) -> bool {
        let now = bytes / STEP_BYTES * STEP_BYTES;
        if now == self.taken {
            return true;
        }
        if now > self.taken && !self.budget.take(now - self.taken) {
            return false;
        }
        self.budget.give_back(self.taken.saturating_sub(now));
        self.taken = now;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_count_in_steps_and_come_back() {
        static BUDGET: Budget = Budget::new(3 * STEP_BYTES);
        let mut one = Share::new(&BUDGET);
        let mut other = Share::new(&BUDGET);
        assert!(one.set(STEP_BYTES - 1));
        assert_eq!(BUDGET.used(), 0);
        assert!(one.set(2 * STEP_BYTES + 1) && other.set(STEP_BYTES));
        assert_eq!(BUDGET.used(), 3 * STEP_BYTES);
        assert!(!other.set(2 * STEP_BYTES));
        assert!(one.set(0) && other.set(2 * STEP_BYTES));
        assert_eq!(BUDGET.used(), 2 * STEP_BYTES);
        drop(other);
        assert_eq!(BUDGET.used(), 0);
    }
}
