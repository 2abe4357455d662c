//! Messages that wait for a reader that is slower than they come. Only such a connection has an outbox.
//!
//! Memory is bounded: a state is overtaken by the next one, events queues up to a limit,
//! and a reader too slow for either is given up. A peer that does not read is not listened to, so
//! that at most one piece of its replies is here.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use super::notice::{Kind, Notice};

/// How much may wait.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    /// News that may wait.
    pub events_max: usize,
    /// States that may be missed in a row.
    pub missed_max: u32,
}

/// Result of leaving a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeFate {
    Waiting,
    /// It took the place of an older state.
    Superseded,
    /// The reader is too slow and shall be given up.
    GivenUp,
}

/// Frames that wait for room to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// The rest of the frame that is being sent, which must go out before anything else may.
    flight: Bytes,
    /// Replies.
    replies: Bytes,
    events: VecDeque<Bytes>,
    state: Option<Bytes>,
    /// States missed in a row.
    missed: u32,
    ping: bool,
}

impl Outbox {
    /// With the rest of what the kernel did not take whole.
    pub(crate) fn with_rest(flight: Bytes) -> Self {
        Self { flight, ..Self::default() }
    }

    /// Leaves a notice.
    pub(crate) fn leave(&mut self, notice: &Notice, queue_limits: QueueLimits) -> NoticeFate {
        let frame = notice.frame.clone();
        let mut left = NoticeFate::Waiting;
        match notice.kind {
            Kind::State => {
                if self.state.replace(frame).is_some() {
                    self.missed += 1;
                    left = NoticeFate::Superseded;
                }
            }
            Kind::Event => self.events.push_back(frame),
        }
        if self.missed > queue_limits.missed_max || self.events.len() > queue_limits.events_max {
            left = NoticeFate::GivenUp;
        }
        left
    }

    /// Leaves replies. There must be none already.
    pub(crate) fn reply(&mut self, frames: Bytes) {
        debug_assert!(self.replies.is_empty(), "a peer that does not read is not answered");
        self.replies = frames;
    }

    /// Leaves a ping.
    pub(crate) fn ping(&mut self) {
        self.ping = true;
    }

    /// Drops everything that waits; `last` goes out after the frame that is being sent.
    pub(crate) fn end(&mut self, last: Bytes) {
        *self = Self { flight: std::mem::take(&mut self.flight), replies: last, ..Self::default() };
    }

    /// The frame to send now, if anything waits. Replies come before events, events before states, and `ping`
    /// last. `begun` is called when that is a frame of which nothing was sent before, other than a reply.
    ///
    /// `seal` turns a frame into the bytes that go out.
    pub(crate) fn next(
        &mut self,
        ping: Bytes,
        begun: impl FnOnce(),
        seal: impl FnOnce(Bytes) -> Bytes,
    ) -> Option<&Bytes> {
        if self.flight.is_empty() {
            let frame = if self.replies.is_empty() {
                let waiting = self.take_waiting(ping)?;
                begun();
                waiting
            } else {
                std::mem::take(&mut self.replies)
            };
            self.flight = seal(frame);
        }
        Some(&self.flight)
    }

    /// Appends to what is being sent, which goes out as it is.
    pub(crate) fn lengthen_flight(&mut self, bytes: &[u8]) {
        self.flight = [&self.flight[..], bytes].concat().into();
    }

    /// The rest of the frame that is being sent.
    pub(crate) fn into_flight(self) -> Bytes {
        self.flight
    }

    fn take_waiting(&mut self, ping: Bytes) -> Option<Bytes> {
        if let Some(frame) = self.events.pop_front() {
            return Some(frame);
        }
        if let Some(frame) = self.state.take() {
            self.missed = 0;
            return Some(frame);
        }
        std::mem::take(&mut self.ping).then_some(ping)
    }

    /// The kernel took so many bytes of what [`Outbox::next`] gave.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.flight.advance(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: QueueLimits = QueueLimits { events_max: 2, missed_max: 2 };

    fn notice(kind: Kind, frame: &'static str) -> Notice {
        Notice { kind, frame: Bytes::from_static(frame.as_bytes()) }
    }

    fn leave(outbox: &mut Outbox, kind: Kind, frame: &'static str) -> NoticeFate {
        outbox.leave(&notice(kind, frame), LIMITS)
    }

    /// Sends the next frame whole.
    fn send(outbox: &mut Outbox) -> Option<Bytes> {
        let frame = outbox.next("ping".into(), || {}, |frame| frame)?.clone();
        outbox.sent(frame.len());
        Some(frame)
    }

    fn send_all(mut outbox: Outbox) -> Vec<Bytes> {
        std::iter::from_fn(|| send(&mut outbox)).collect()
    }

    #[test]
    fn the_newest_state_wins_and_news_comes_first() {
        let mut outbox = Outbox::with_rest("rest".into());
        assert_eq!(leave(&mut outbox, Kind::State, "old"), NoticeFate::Waiting);
        assert_eq!(leave(&mut outbox, Kind::State, "new"), NoticeFate::Superseded);
        assert_eq!(leave(&mut outbox, Kind::Event, "goal"), NoticeFate::Waiting);
        outbox.ping();
        outbox.reply("reply".into());
        assert_eq!(send_all(outbox), [&b"rest"[..], b"reply", b"goal", b"new", b"ping"]);
    }

    #[test]
    fn a_frame_that_was_begun_is_ended_first() {
        let mut outbox = Outbox::default();
        leave(&mut outbox, Kind::State, "first");
        let mut begun = 0;
        let next = outbox.next("ping".into(), || begun += 1, |frame| frame);
        assert_eq!(next.unwrap(), "first");
        outbox.sent(2);
        leave(&mut outbox, Kind::Event, "goal");
        leave(&mut outbox, Kind::State, "second");
        let next = outbox.next("ping".into(), || begun += 1, |frame| frame);
        assert_eq!(next.unwrap(), "rst");
        assert_eq!(begun, 1);
        assert_eq!(send_all(outbox), ["rst", "goal", "second"]);
    }

    #[test]
    fn readers_that_miss_too_much_are_given_up() {
        for (kind, tolerated) in [(Kind::State, 3), (Kind::Event, 2)] {
            let mut outbox = Outbox::default();
            for _ in 0..tolerated {
                assert_ne!(leave(&mut outbox, kind, "x"), NoticeFate::GivenUp);
            }
            assert_eq!(leave(&mut outbox, kind, "x"), NoticeFate::GivenUp);
        }
    }

    #[test]
    fn a_reader_that_catches_up_starts_afresh() {
        let mut outbox = Outbox::default();
        for _ in 0..10 {
            leave(&mut outbox, Kind::State, "a");
            leave(&mut outbox, Kind::State, "b");
            assert_eq!(send(&mut outbox).unwrap(), "b");
        }
    }

    #[test]
    fn the_end_comes_after_what_was_begun_alone() {
        let mut outbox = Outbox::with_rest("rest".into());
        leave(&mut outbox, Kind::Event, "goal");
        outbox.reply("reply".into());
        outbox.ping();
        outbox.end("close".into());
        assert_eq!(send_all(outbox), ["rest", "close"]);
    }

    #[test]
    fn a_slow_reader_is_small() {
        let bytes = size_of::<Outbox>();
        assert!(bytes <= 144, "{bytes} bytes");
    }
}
