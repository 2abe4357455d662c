//! What tests of several crates share. Tests alone depend on it.
//!
//! Crates have it as a dev-dependency. Its functions fail the test that calls them by panicking.
//!
//! A test in the `src` of a crate on which this one depends sees that crate's types twice: its own, and those that this
//! one was compiled with. Such a test takes from here only what names none of them.
#![deny(missing_docs)]
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test by panicking")]

pub mod client;
pub mod documents;
pub mod http;
pub mod needs;
pub mod queue_client;
pub mod replay;
#[cfg(feature = "runs")]
pub mod runs;
pub mod services;

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of random cases that a test tries: that of `THRONG_CASES`, or else its own.
pub fn cases(own: u64) -> u64 {
    let wanted = std::env::var("THRONG_CASES").ok();
    wanted.map_or(own, |number| number.parse().expect("THRONG_CASES is a number of cases"))
}

/// Plays all cases in their order, this many at the same time. If one of them panics, the test fails once the others have
/// ended.
pub fn at_once<T: Sync>(threads_count: usize, cases: &[T], play: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads_count {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    play(case);
                }
            });
        }
    });
}
