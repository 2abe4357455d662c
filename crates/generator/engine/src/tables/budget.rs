//! Memory for what users save and what connections buffer: a number of bytes that all loops of a process share.
//!
//! Only what is large counts, in steps, so that small buffers cost no more than a comparison.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Less than this does not count, bytes.
pub const CHARGED_BYTES_MIN: usize = 16 << 10;
/// Counted sizes are rounded up to a multiple of this, bytes.
const STEP_BYTES: u64 = 64 << 10;
/// Why something is not kept: the text of errors.
pub const EXHAUSTED: &str = "the generator's memory for saved values and buffers is used up";

/// A number of bytes that loops share.
#[derive(Debug)]
pub struct Budget {
    max: u64,
    used: AtomicU64,
}

impl Default for Budget {
    /// Without a limit.
    fn default() -> Budget {
        Budget::new(u64::MAX)
    }
}

impl Budget {
    /// A budget of this number of bytes.
    pub fn new(max: u64) -> Budget {
        Budget { max, used: AtomicU64::new(0) }
    }

    /// Takes bytes, if there are as many left.
    fn take(&self, bytes: u64) -> bool {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        let fits = used.saturating_add(bytes) <= self.max;
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Contexts of scripts of k6 take theirs from it as well.
impl k6::Memory for Budget {
    fn take(&self, bytes: usize) -> bool {
        Budget::take(self, bytes as u64)
    }

    fn give_back(&self, bytes: usize) {
        Budget::give_back(self, bytes as u64);
    }
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Held {
    /// `None`: there is no memory for that.
    pub(crate) fn new(budget: &Arc<Budget>, bytes: usize) -> Option<Held> {
        let bytes = if bytes < CHARGED_BYTES_MIN { 0 } else { bytes as u64 };
        budget.take(bytes).then(|| Held { budget: Arc::clone(budget), bytes })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// The bytes of a budget that users, connections or sockets hold, by their slots. They are given back when
/// this is dropped.
#[derive(Debug)]
pub struct Charges {
    budget: Arc<Budget>,
    /// Those with something large; bytes as they count.
    held: HashMap<u32, u64>,
}

impl Charges {
    /// Nothing is held of this budget yet.
    pub fn new(budget: &Arc<Budget>) -> Charges {
        Charges { budget: Arc::clone(budget), held: HashMap::new() }
    }

    /// `slot` now holds this number of bytes. False: there is no memory for that, and what it held counts as before.
    #[inline]
    pub fn set(&mut self, slot: u32, bytes: usize) -> bool {
        if bytes < CHARGED_BYTES_MIN {
            self.clear(slot);
            return true;
        }
        self.set_large(slot, bytes)
    }

    #[cold]
    fn set_large(&mut self, slot: u32, bytes: usize) -> bool {
        let now = (bytes as u64).next_multiple_of(STEP_BYTES);
        let before = self.held.get(&slot).copied().unwrap_or(0);
        if now > before && !self.budget.take(now - before) {
            return false;
        }
        if now < before {
            self.budget.give_back(before - now);
        }
        if now != before {
            self.held.insert(slot, now);
        }
        true
    }

    /// The result of `read`, during which these bytes are held; `None`: there is no memory for that.
    pub fn while_held<T>(&self, bytes: usize, read: impl FnOnce() -> T) -> Option<T> {
        if bytes < CHARGED_BYTES_MIN {
            return Some(read());
        }
        let fits = self.budget.take(bytes as u64);
        fits.then(|| {
            let found = read();
            self.budget.give_back(bytes as u64);
            found
        })
    }

    /// Hands the bytes that `from` holds over to `to`, in place of those that `to` held.
    pub fn hand_over(&mut self, from: u32, to: u32) {
        self.clear(to);
        if let Some(bytes) = self.held.remove(&from) {
            self.held.insert(to, bytes);
        }
    }

    /// True if `slot` holds something that counts.
    pub fn has(&self, slot: u32) -> bool {
        !self.held.is_empty() && self.held.contains_key(&slot)
    }

    /// `slot` holds nothing large any more.
    #[inline]
    pub fn clear(&mut self, slot: u32) {
        if !self.held.is_empty() {
            self.clear_large(slot);
        }
    }

    #[cold]
    fn clear_large(&mut self, slot: u32) {
        if let Some(bytes) = self.held.remove(&slot) {
            self.budget.give_back(bytes);
        }
    }
}

impl Drop for Charges {
    fn drop(&mut self) {
        self.budget.give_back(self.held.values().sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    fn used(budget: &Budget) -> u64 {
        budget.used.load(Ordering::Relaxed) >> 10
    }

    #[test]
    fn only_what_is_large_counts_in_steps() {
        let budget = Arc::new(Budget::new(256 << 10));
        let mut charges = Charges::new(&budget);
        assert!(charges.set(1, CHARGED_BYTES_MIN - 1));
        assert_eq!((used(&budget), charges.has(1)), (0, false));
        assert!(charges.set(1, CHARGED_BYTES_MIN));
        assert!(charges.set(1, 60 * KIB));
        assert_eq!((used(&budget), charges.has(1)), (64, true));
        assert!(charges.set(1, 65 * KIB));
        assert_eq!(used(&budget), 128);
        assert!(charges.set(1, 20 * KIB));
        assert_eq!(used(&budget), 64);
        assert!(charges.set(1, 0));
        assert_eq!((used(&budget), charges.has(1)), (0, false));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        let budget = Arc::new(Budget::new(256 << 10));
        let mut one = Charges::new(&budget);
        let mut other = Charges::new(&budget);
        assert!(one.set(1, 100 * KIB));
        assert!(other.set(1, 128 * KIB));
        assert!(!other.set(2, 20 * KIB));
        assert!(!one.set(1, 129 * KIB));
        assert_eq!(used(&budget), 256);
        other.clear(1);
        assert!(one.set(1, 129 * KIB));
        drop((one, other));
        assert_eq!(used(&budget), 0);
        assert!(Charges::new(&Arc::default()).set(1, usize::MAX >> 1));
    }
}
