//! The wall clock, read at the one place where a message is stamped.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 with microseconds after the point: a 64-bit float holds a quarter of
/// a microsecond exactly until the year 2100.
#[expect(
    clippy::disallowed_methods,
    reason = "messages carry the time at which they were sent"
)]
pub fn wall_ms() -> f64 {
    // A clock before 1970 is stamped as 1970.
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since.as_micros() as f64 / 1000.0
}
