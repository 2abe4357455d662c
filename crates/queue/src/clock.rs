//! The clocks, read in one place.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now, for measuring the parts of a request.
#[expect(
    clippy::disallowed_methods,
    reason = "a server that says where its time goes reads a clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Microseconds since 1970, for messages in memory.
#[expect(
    clippy::disallowed_methods,
    reason = "messages carry the time at which they arrived"
)]
pub(crate) fn wall_us() -> u64 {
    since_1970_us(SystemTime::now())
}

/// Microseconds since 1970; earlier times are 0.
pub(crate) fn since_1970_us(time: SystemTime) -> u64 {
    whole_us(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Whole microseconds.
pub(crate) fn whole_us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
