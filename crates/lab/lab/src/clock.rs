//! The machine's clock: for how long processes are waited for. When something happens is emulated time,
//! [`machine::clock::unix_ns`].

use std::time::{Duration, Instant};

use machine::clock::Dilation;

/// The moment on the machine's clock, for deadlines.
#[expect(clippy::disallowed_methods, reason = "other processes are waited for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits, on the machine's clock.
#[expect(clippy::disallowed_methods, reason = "other processes are waited for")]
pub(crate) fn rest(time: Duration) {
    std::thread::sleep(time);
}

/// How long the machine waits for so much of the lab's time.
pub(crate) fn stretch(time: Duration) -> Duration {
    Dilation::of_process().stretch(time)
}
