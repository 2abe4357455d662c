//! When messages were sent, according to their own timestamps, and what these say of the sender's clock.

use plan::{MessageId, Plan, PushedMessage, SentAt};

use crate::measure::Counts;
use crate::received::ReceivedMessage;
use crate::sequences::ClockReading;

/// A stamp further ahead counts as this far ahead: one day.
const AHEAD_MAX_NS: u64 = 86_400_000_000_000;

/// When a message was sent, in nanoseconds since the run's zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendTime {
    /// Not later than now.
    At(u64),
    /// Later than now, which no message can be: the clocks differ.
    Ahead(u64),
    /// Before the run, whose times begin at zero.
    BeforeRun,
    /// Messages of its kind have no timestamp, or none that can be corrected yet.
    Unstamped,
    /// It should have a timestamp and has none.
    Missing,
}

/// The clocks that stamp messages, each kind of messages by itself.
#[derive(Debug)]
pub(super) struct Clocks {
    /// By the plan's messages.
    readings: Vec<Option<ClockReading>>,
    /// True if any message is stamped.
    pub(super) any: bool,
}

/// A stamp, relative to the run's zero.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    at_ns: f64,
    resolution_ns: u64,
}

fn stamp(sent_at: &SentAt, received: &ReceivedMessage<'_>, zero_unix_ns: u64) -> Option<Stamp> {
    let number = received.real(&sent_at.from)?;
    let whole = number.fract() == 0.0;
    Some(Stamp {
        // Relative to the run's zero first: an f64 of nanoseconds since 1970 is 256 ns coarse,
        // which is still finer than the clocks on both sides agree.
        at_ns: number * sent_at.unit_ns - zero_unix_ns as f64,
        resolution_ns: if whole { sent_at.unit_ns as u64 } else { 0 },
    })
}

impl Clocks {
    pub(super) fn new(plan: &Plan) -> Clocks {
        Clocks {
            readings: vec![None; plan.messages.len()],
            any: plan.messages.iter().any(|m| m.sent_at.is_some()),
        }
    }

    /// When a message was sent. `zero_unix_ns`: the run's zero since the Unix epoch. Stamps from before
    /// the run are counted.
    pub(super) fn sent(
        &self,
        place: MessageId,
        message: &PushedMessage,
        received: &ReceivedMessage<'_>,
        zero_unix_ns: u64,
        now_ns: u64,
        counts: &mut Counts,
    ) -> SendTime {
        let Some(sent_at) = &message.sent_at else {
            return SendTime::Unstamped;
        };
        let Some(stamp) = stamp(sent_at, received, zero_unix_ns) else {
            return SendTime::Missing;
        };
        let mut at_ns = stamp.at_ns;
        if sent_at.correct {
            match &self.readings[place.index()] {
                Some(reading) => at_ns -= reading.offset_ns as f64,
                None => {
                    counts.stamps_uncorrected += 1;
                    return SendTime::Unstamped;
                }
            }
        }
        if at_ns < 0.0 {
            counts.stamps_before += 1;
            return SendTime::BeforeRun;
        }
        let at_ns = at_ns as u64;
        if at_ns > now_ns {
            counts.stamps_ahead += 1;
            return SendTime::Ahead(at_ns.min(now_ns.saturating_add(AHEAD_MAX_NS)));
        }
        SendTime::At(at_ns)
    }

    /// The reading that a message gives of the clock that stamped it. The message answers a request that
    /// was sent at `sent_ns`, and was received at `received_ns`. `None`: it gives none.
    pub(super) fn compare(
        &mut self,
        place: MessageId,
        message: &PushedMessage,
        received: &ReceivedMessage<'_>,
        zero_unix_ns: u64,
        sent_ns: u64,
        received_ns: u64,
    ) -> Option<ClockReading> {
        let sent_at = message.sent_at.as_ref()?;
        let stamp = stamp(sent_at, received, zero_unix_ns)?;
        let round_trip_ns = received_ns.saturating_sub(sent_ns);
        let middle_ns = sent_ns as f64 + round_trip_ns as f64 / 2.0;
        let reading = ClockReading {
            message: place,
            offset_ns: (stamp.at_ns - middle_ns) as i64,
            round_trip_ns,
            resolution_ns: stamp.resolution_ns,
            replies: 1,
        };
        match &mut self.readings[place.index()] {
            Some(best) => best.merge(&reading),
            none => *none = Some(reading),
        }
        Some(reading)
    }
}
