//! Numbers, each of which one user of the run gets.

use std::sync::atomic::{AtomicU64, Ordering};

use super::part::RunPart;

/// A counter of this process. Those of the others give other numbers.
#[derive(Debug)]
pub(crate) struct Counter {
    first: u64,
    drawn: AtomicU64,
}

impl Counter {
    pub(crate) fn new(first: u64) -> Counter {
        Counter { first, drawn: AtomicU64::new(0) }
    }

    /// The next number of this part.
    pub(crate) fn next(&self, part: RunPart) -> i64 {
        let place = self.drawn.fetch_add(1, Ordering::Relaxed);
        // Beyond the largest number they continue with the least, and each is still drawn once.
        self.first.wrapping_add(part.number(place)).cast_signed()
    }
}
