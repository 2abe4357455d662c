//! Requests whose body waits until the server says that it wants it (`expect: 100-continue`, RFC 9110 §10.1.1).
//!
//! The head goes out alone. The body follows a 100, or is sent without one after a time, since a server may not know of
//! this. A response that comes first ends the request without the body. A connection of HTTP/1.1 then lacks what its
//! `content-length` says and is closed; a stream of HTTP/2 is reset, and its connection stays.

use record::Outcome;

use crate::conn::{Conn, PendingOperation};
use crate::interpreter::Interpreter;
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

const EXPECTATION: &[u8] = b"expect: 100-continue\r\n";
const HEAD_END: &[u8] = b"\r\n\r\n";

impl Interpreter<'_> {
    /// Takes the body out of a request that was appended to the command bytes since `start`, and has its head expect a
    /// 100. False: it has no body, so there is nothing to expect.
    pub(crate) fn hold_body(&mut self, slot: ConnSlot, start: usize) -> bool {
        let bytes = &mut self.conns.commands.bytes;
        let mut windows = bytes[start..].windows(HEAD_END.len());
        let Some(end) = windows.position(|window| window == HEAD_END) else {
            return false;
        };
        let body = bytes.split_off(start + end + HEAD_END.len());
        if body.is_empty() {
            return false;
        }
        bytes.truncate(start + end + b"\r\n".len());
        bytes.extend_from_slice(EXPECTATION);
        bytes.extend_from_slice(b"\r\n");
        self.conns[slot].pending = Some(Box::new(PendingOperation::Unsent(body)));
        true
    }

    /// The head is sent, and the body waits.
    pub(crate) fn wait_for_continue(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        if !self.conns.has_room(slot) {
            return self.lost(now_ns, slot, Outcome::NoMemory, || EXHAUSTED.to_owned());
        }
        let sends_ns = now_ns.saturating_add(self.http_op(key).continue_ns);
        let deadline_ns = sends_ns.min(self.operation_end_ns(key));
        self.wait_for(key, Wait::Response, deadline_ns);
    }

    pub(crate) fn is_body_held(&self, slot: ConnSlot) -> bool {
        holds_body(&self.conns[slot])
    }

    /// Sends the body that waits, if one does.
    pub(crate) fn send_body(&mut self, now_ns: u64, slot: ConnSlot) {
        if !self.is_body_held(slot) {
            return;
        }
        let pending = self.conns[slot].pending.take().map(|pending| *pending);
        let Some(PendingOperation::Unsent(body)) = pending else {
            return;
        };
        let key = self.conns[slot].user;
        self.wait_for(key, Wait::Response, self.operation_end_ns(key));
        if self.conns[slot].stream().is_none() {
            let start = self.conns.commands.bytes.len();
            self.conns.commands.bytes.extend_from_slice(&body);
            self.send_for_user(slot, start);
        } else if let Some((carrier, bytes_out)) = self.conns.send_more(slot, &body, true) {
            let user = &mut self.users[key];
            user.bytes_out = user.bytes_out.saturating_add(bytes_out);
            self.hold_unsent(now_ns, slot, carrier);
        }
    }

    /// A wait of the user's is over: true if it was that for a 100, and the body is sent without one.
    pub(crate) fn sends_held_body(&mut self, now_ns: u64, key: UserKey) -> bool {
        if self.users[key].wait != Wait::Response || now_ns >= self.operation_end_ns(key) {
            return false;
        }
        match self.conns.find(&self.users, key, holds_body) {
            Some(slot) => {
                self.send_body(now_ns, slot);
                true
            }
            None => false,
        }
    }
}

fn holds_body(conn: &Conn) -> bool {
    matches!(conn.pending.as_deref(), Some(PendingOperation::Unsent(_)))
}
