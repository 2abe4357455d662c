//! Requests of the user while a run goes on: its end, or a pause of its arrivals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use machine::clock::Dilation;

/// The interval at which a pause between two runs checks whether it is to end.
const POLL: Duration = Duration::from_millis(50);

/// The number of times that the user requested the end of the run. Once: no further step begins, and the record says
/// that the run was interrupted.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicU32);

impl Interrupt {
    /// Requests the end once more; returns the number of requests.
    pub fn request(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// True if the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Waits between two runs; `false`: the user requested the end.
pub(crate) fn pause(interrupt: &Interrupt, pause: Duration) -> bool {
    let mut left = Dilation::of_process().stretch(pause);
    while !interrupt.is_requested() && !left.is_zero() {
        let step = left.min(POLL);
        #[expect(clippy::disallowed_methods, reason = "the requested pause")]
        std::thread::sleep(step);
        left -= step;
    }
    !interrupt.is_requested()
}

/// The number that requests a pause.
pub const PAUSED: usize = 1;
/// The number that ends a pause.
pub const RESUMED: usize = 0;

/// The request to pause arrivals. No user starts during a pause; those present continue.
#[derive(Debug, Default)]
pub struct Pause(Arc<AtomicUsize>);

impl Pause {
    /// Requests a pause, or its end.
    pub fn request(&self, paused: bool) {
        let number = if paused { PAUSED } else { RESUMED };
        self.0.store(number, Ordering::Relaxed);
    }

    /// True if a pause is requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) != RESUMED
    }

    /// For signal handlers, which can only store a number: [`PAUSED`] or [`RESUMED`].
    pub fn number(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }
}
