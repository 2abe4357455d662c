//! The topics of a connection: which are open, which the server ended, which will be joined again.

use plan::Pc;

use crate::channels::recovering;
use crate::conn::background::NEVER;

/// From a channel's failure to the first attempts to join it again, and to all later ones, as the
/// client of Phoenix has it (`phoenix.js` 1.7, `rejoinAfterMs`).
const REJOIN_AFTER_NS: [u64; 3] = [1_000_000_000, 2_000_000_000, 5_000_000_000];
const REJOIN_LATER_NS: u64 = 10_000_000_000;

/// A topic that the session joined and did not leave.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Box<[u8]>,
    /// The number of the message that joined it last.
    pub(crate) joined_by: u32,
    /// The step that joined it.
    pub(crate) pc: Pc,
    /// False once the server has ended it.
    pub(crate) open: bool,
    /// The server keeps what it misses while the connection is lost.
    pub(crate) recoverable: bool,
    /// How it is joined again, should it fail.
    pub(crate) rejoin: Option<Box<Rejoin>>,
}

impl Topic {
    /// True unless it has ended for good.
    pub(crate) fn lives(&self) -> bool {
        self.open || self.rejoin.is_some()
    }

    /// True while an attempt to join it again is in flight.
    pub(crate) fn is_rejoining(&self) -> bool {
        self.attempt().is_some()
    }

    /// The attempt to join it again that is in flight.
    pub(crate) fn attempt(&self) -> Option<Attempt> {
        self.rejoin.as_ref()?.attempt
    }

    /// When the next attempt to join it begins, or the one in flight has had its time.
    pub(crate) fn due_ns(&self) -> u64 {
        self.rejoin.as_ref().map_or(NEVER, |rejoin| rejoin.due_ns)
    }
}

/// Joining a topic again after it failed.
#[derive(Debug)]
pub(crate) struct Rejoin {
    /// Payload of the message that joined the topic.
    payload: Box<[u8]>,
    /// The session that is continued, if the server keeps one.
    recovery: Option<Box<Recovery>>,
    /// When the next attempt begins, or the one in flight has had its time.
    pub(crate) due_ns: u64,
    /// Attempts since it was open.
    tries: usize,
    /// The attempt in flight.
    pub(crate) attempt: Option<Attempt>,
}

/// A session that the server keeps while the connection is lost; both are JSON strings.
#[derive(Debug)]
struct Recovery {
    session: Box<[u8]>,
    /// The offset of its last message; empty: there was none.
    offset: Box<[u8]>,
}

/// An attempt to join a topic again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: u64,
    pub(crate) bytes_out: u32,
}

impl Rejoin {
    /// The rejoin of a topic that this payload joins.
    pub(crate) fn new(payload: &[u8]) -> Rejoin {
        Rejoin { payload: payload.into(), recovery: None, due_ns: NEVER, tries: 0, attempt: None }
    }

    /// Payload of the message that joins the topic again.
    pub(crate) fn payload(&self) -> Box<[u8]> {
        match &self.recovery {
            None => self.payload.clone(),
            Some(own) => recovering(&self.payload, &own.session, &own.offset).into(),
        }
    }

    /// The topic has a session of this name.
    pub(crate) fn note_session(&mut self, session: Option<&[u8]>) {
        let offset = self.recovery.take().map(|own| own.offset).unwrap_or_default();
        self.recovery =
            session.map(|session| Box::new(Recovery { session: session.into(), offset }));
    }

    /// The last message of the session has this offset.
    pub(crate) fn note_offset(&mut self, offset: &[u8]) {
        if let Some(own) = &mut self.recovery {
            own.offset = offset.into();
        }
    }

    /// The topic failed, or the last attempt did: another one follows.
    pub(crate) fn plan(&mut self, now_ns: u64) {
        let after_ns = REJOIN_AFTER_NS.get(self.tries).unwrap_or(&REJOIN_LATER_NS);
        self.due_ns = now_ns.saturating_add(*after_ns);
    }

    /// The attempt that is due begins.
    pub(crate) fn begin(&mut self, now_ns: u64, timeout_ns: u64) {
        let due_ns = self.due_ns;
        let sent_ns = now_ns.max(self.due_ns);
        self.tries = self.tries.saturating_add(1);
        self.due_ns = sent_ns.saturating_add(timeout_ns);
        self.attempt = Some(Attempt { due_ns, sent_ns, bytes_out: 0 });
    }

    /// The attempt in flight has ended.
    pub(crate) fn finish(&mut self) -> Option<Attempt> {
        self.due_ns = NEVER;
        self.attempt.take()
    }

    /// The topic is open again.
    pub(crate) fn rest(&mut self) {
        self.tries = 0;
        self.due_ns = NEVER;
    }
}
