//! The clocks of a lab's processes.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Since the Unix epoch, in nanoseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "when something happened in the real world"
)]
pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// The moment, for deadlines.
#[expect(clippy::disallowed_methods, reason = "other processes are waited for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "other processes are waited for")]
pub(crate) fn rest(time: Duration) {
    std::thread::sleep(time);
}
