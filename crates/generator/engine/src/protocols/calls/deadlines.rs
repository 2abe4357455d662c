//! Deadlines of calls. One that passes ends its call as DEADLINE_EXCEEDED, whoever notices first: the server, which
//! knows it as `grpc-timeout`, answers with this status or resets the stream (CANCEL); the client resets the stream
//! (grpc/grpc, doc/statuscodes.md; doc/PROTOCOL-HTTP2.md, "Errors").

use grpc::{DEADLINE_EXCEEDED, Ending};
use plan::Op;

use crate::conn::{Link, PendingOperation, Stage};
use crate::interpreter::Interpreter;
use crate::protocols::Protocol;
use crate::tables::slots::ConnSlot;

impl Interpreter<'_> {
    /// True if a row has a call in flight whose time is over.
    pub(crate) fn is_past_deadline(&self, now_ns: u64, slot: ConnSlot) -> bool {
        let conn = &self.conns[slot];
        match (&conn.link, &conn.speaks) {
            (_, Protocol::Call(own)) => own.background.due_ns <= now_ns,
            (Link::Stream(_), Protocol::Http) if conn.stage == Stage::Busy => {
                let call = self.users.op(conn.user).and_then(Op::call);
                let deadline_ns = call.and_then(|call| call.deadline_ns);
                let began_ns = self.users[conn.user].sent_ns;
                deadline_ns.is_some_and(|limit_ns| began_ns.saturating_add(limit_ns) <= now_ns)
            }
            _ => false,
        }
    }

    /// Ends the call on a row, whose time is over.
    pub(crate) fn end_at_deadline(&mut self, now_ns: u64, slot: ConnSlot) {
        let ending = Ending::new(DEADLINE_EXCEEDED, "the call's deadline has passed");
        // A server from which nothing has come since may be gone, and its connection with it.
        if self.users[self.conns[slot].user].wait.in_flight() {
            self.suspect(slot);
        }
        if let Protocol::Call(own) = &self.conns[slot].speaks {
            let text = ending.head_text(&own.head, &[]);
            return self.call_ended_as(now_ns, slot, &ending, text);
        }
        let pending = self.conns[slot].pending.take().map(|pending| *pending);
        let answer = match pending {
            Some(PendingOperation::Answer(answer)) => answer,
            _ => Default::default(),
        };
        self.weigh_answer(now_ns, slot, &ending, 0, &answer, &[]);
    }
}
