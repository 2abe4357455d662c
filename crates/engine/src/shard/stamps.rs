//! When messages were sent, by what they say themselves.

use plan::Unasked;

use super::Shard;
use crate::extract::{Received, json_number, pointer};

/// When a message was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// Since the run's zero, and not later than now.
    At(u64),
    /// Before the run, whose times begin at zero.
    BeforeRun,
    /// Messages of its kind do not say.
    Unsaid,
    /// It ought to say and does not.
    Missing,
}

impl Shard<'_> {
    /// When the message was sent, as far as that can be told.
    pub(super) fn sent_of(
        &mut self,
        now_ns: u64,
        unasked: &Unasked,
        received: &Received<'_>,
    ) -> Sent {
        let Some(sent_at) = &unasked.sent_at else {
            return Sent::Unsaid;
        };
        let stamp = pointer(received.body, &sent_at.pointer).and_then(json_number);
        let Some(stamp) = stamp.filter(|stamp| stamp.is_finite()) else {
            return Sent::Missing;
        };
        // Relative to the run's zero first: an f64 of nanoseconds since 1970 is 256 ns coarse,
        // which is still finer than the clocks on both sides agree.
        let stamp_ns = stamp * sent_at.unit_ns - self.started_unix_ns as f64;
        if stamp_ns < 0.0 {
            self.recorder.counts.stamps_before += 1;
            return Sent::BeforeRun;
        }
        if stamp_ns > now_ns as f64 {
            self.recorder.counts.stamps_ahead += 1;
        }
        Sent::At((stamp_ns as u64).min(now_ns))
    }
}
