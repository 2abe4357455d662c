//! The clocks, read in one place.

use std::time::{Duration, Instant, SystemTime};

/// Now, for measuring the parts of a request.
#[expect(
    clippy::disallowed_methods,
    reason = "a server that says where its time goes reads a clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Microseconds since 1970, for messages in memory.
pub(crate) fn wall_us() -> u64 {
    micros(server::wall())
}

/// Microseconds since 1970; earlier times are 0.
pub(crate) fn since_1970_us(time: SystemTime) -> u64 {
    micros(server::since_1970(time))
}

/// Whole microseconds of a time that was measured with [`now`].
pub(crate) fn whole_us(time: Duration) -> u64 {
    micros(server::shrink(time))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
