//! When messages were sent, according to their own timestamps.

use plan::Pushed;

use crate::json::{json_number, pointer};
use crate::measure::Counts;

/// When a message was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// Since the run's zero, and not later than now.
    At(u64),
    /// Before the run, whose times begin at zero.
    BeforeRun,
    /// Messages of its kind have no timestamp.
    Unstamped,
    /// It should have a timestamp and has none.
    Missing,
}

/// When the message `body` was sent. Stamps outside of the run's time are counted.
pub(super) fn sent(
    message: &Pushed,
    body: &[u8],
    (zero_unix_ns, now_ns): (u64, u64),
    counts: &mut Counts,
) -> Sent {
    let Some(sent_at) = &message.sent_at else {
        return Sent::Unstamped;
    };
    let stamp = pointer(body, &sent_at.pointer).and_then(json_number);
    let Some(stamp) = stamp.filter(|stamp| stamp.is_finite()) else {
        return Sent::Missing;
    };
    // Relative to the run's zero first: an f64 of nanoseconds since 1970 is 256 ns coarse,
    // which is still finer than the clocks on both sides agree.
    let stamp_ns = stamp * sent_at.unit_ns - zero_unix_ns as f64;
    if stamp_ns < 0.0 {
        counts.stamps_before += 1;
        return Sent::BeforeRun;
    }
    if stamp_ns > now_ns as f64 {
        counts.stamps_ahead += 1;
    }
    Sent::At((stamp_ns as u64).min(now_ns))
}
