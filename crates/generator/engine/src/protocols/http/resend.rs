//! Requests that met the end of an idle connection, or of one whose end the server announced.
//!
//! A server may close an idle connection at any time. A request that is on its way meanwhile is lost, and nobody is to
//! blame: clients send it once more, on a fresh connection, if it is safe to carry it out twice (RFC 9110 §9.2.2,
//! RFC 9112 §9.3.1). The operation stays the same and counts from when it was due. A server of HTTP/2 may say which
//! requests it did not process (`GOAWAY`, RFC 9113 §6.8): they are counted apart, since no connection was idle.

use record::Outcome;

use crate::conn::Reuse;
use crate::interpreter::Interpreter;
use crate::protocols::Protocol;
use crate::tables::slots::{ConnSlot, UserKey};

/// Methods that a server may carry out twice (RFC 9110 §9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

impl Interpreter<'_> {
    /// True if the connection, lost with a request in flight, had served before, nothing of an answer came, and the
    /// request may be sent once more. The fresh connection has served nothing, so once is all.
    pub(crate) fn may_resend(&self, slot: ConnSlot, outcome: Outcome) -> bool {
        self.met_the_end(slot, outcome) && IDEMPOTENT.contains(&self.method_of(slot))
    }

    fn met_the_end(&self, slot: ConnSlot, outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Closed | Outcome::Reset)
            && self.conns[slot].reuse == Reuse::Served
    }

    /// The method of the request in flight.
    fn method_of(&self, slot: ConnSlot) -> &str {
        let conn = &self.conns[slot];
        match conn.speaks {
            Protocol::Http => match self.follows.hop(conn.user) {
                Some(hop) if hop.is_get => "GET",
                _ => &self.http_op(conn.user).method,
            },
            _ => "GET",
        }
    }

    /// Why a request that met the end of an idle connection is not sent once more; empty: it did not.
    pub(crate) fn not_resent(&self, slot: ConnSlot, outcome: Outcome) -> String {
        if !self.met_the_end(slot, outcome) {
            return String::new();
        }
        format!(
            ", on a connection that was idle before, without an answer; a {} is not sent again, since it may have been \
             carried out",
            self.method_of(slot)
        )
    }

    /// Sends the user's request once more, or opens its event stream or WebSocket, as it was: on any connection if it was
    /// not processed, else on a fresh one.
    pub(crate) fn resend(&mut self, now_ns: u64, slot: ConnSlot, unprocessed: bool) {
        let key = self.conns[slot].user;
        let endpoint = self.conns[slot].endpoint;
        self.recorder.counts.requests_retried += 1;
        self.recorder.counts.requests_goaway += u64::from(unprocessed);
        self.conns.close(&mut self.users, slot);
        self.restore_values(key);
        match unprocessed {
            true => self.ride_or_open(now_ns, key, endpoint),
            false => self.wait_or_open(now_ns, key, endpoint),
        }
    }

    /// A request is written once more: it draws what it drew before.
    fn restore_values(&mut self, key: UserKey) {
        if let Some(before) = self.follows.before(key) {
            self.users[key].value = before;
        }
    }

    /// Sends a poll's request once more.
    pub(crate) fn poll_again(&mut self, now_ns: u64, slot: ConnSlot, unprocessed: bool) {
        self.recorder.counts.requests_retried += 1;
        self.recorder.counts.requests_goaway += u64::from(unprocessed);
        self.conns.park(&mut self.users, slot);
        // Parking ended the operation in flight; it continues.
        self.conns.begin_background();
        let background = self.conns[slot].background();
        let sent_ns = background.map_or(now_ns, |background| background.sent_ns);
        match unprocessed {
            true => self.connect_background(now_ns, slot, sent_ns),
            false => self.open_background(now_ns, slot, sent_ns),
        }
    }
}
