//! Messages that came before the step that takes them began.
//!
//! An `expect` takes what came since the step before it on the same connection began. Its time is when the message
//! came, and not before the step was due. So neither it nor the step after it depends on which came first, the message
//! or the response to what caused it.

use plan::Expect;
use record::Outcome;

use crate::conn::Conn;
use crate::interpreter::{Flow, Interpreter};
use crate::messages::Delivery;
use crate::messages::early::EarlyMessage;
use crate::protocols::Protocol;
use crate::protocols::calls::streams::saves_head;
use crate::protocols::http::head_again;
use crate::received::ReceivedMessage;
use crate::tables::slots::UserKey;

impl Interpreter<'_> {
    /// Keeps a message that no step waits for now, if a later one may take it. Otherwise it is recorded.
    pub(crate) fn take_unawaited(&mut self, delivery: &Delivery<'_>) {
        let expects = self.messages.early.awaited(&self.users[delivery.user]);
        let users = &mut self.users;
        let recorder = &mut self.recorder;
        if expects.is_empty() || !self.messages.keep_early(users, recorder, delivery, expects) {
            self.messages.take_pushed(users, recorder, delivery);
        }
    }

    /// The user's connection is over, or a step begins that sends something over it: what came before that is none of the
    /// messages that later steps wait for.
    pub(crate) fn drop_early(&mut self, key: UserKey) {
        if !self.messages.early.is_empty() {
            self.messages.drop_early(&mut self.users, &mut self.recorder, key);
        }
    }

    /// Ends the `expect` just begun, if what it waits for is there.
    pub(crate) fn expect_early(
        &mut self,
        now_ns: u64,
        key: UserKey,
        expect: &Expect,
    ) -> Option<Flow> {
        if self.messages.early.is_empty() {
            return None;
        }
        let users = &mut self.users;
        let early = self.messages.take_early(users, &mut self.recorder, key, expect)?;
        Some(self.accept_early(now_ns, key, expect, &early))
    }

    fn accept_early(
        &mut self,
        now_ns: u64,
        key: UserKey,
        expect: &Expect,
        early: &EarlyMessage,
    ) -> Flow {
        let user = &mut self.users[key];
        let ready_ns = user.ready_ns.max(user.due_ns);
        let done_ns = user.due_ns.max(early.came_ns);
        // A generator that is late with the step has not made it longer.
        user.sent_ns = ready_ns.min(done_ns);
        user.bytes_in = early.len as u32;
        let head = match saves_head(expect) {
            true => self.call_head(key),
            false => None,
        };
        let head = head.as_ref().map(|head| head_again(head));
        let received = ReceivedMessage { head: head.as_ref(), ..early.message.received() };
        let outcome = self.weigh_message(now_ns, key, expect, &received);
        let fails = match outcome {
            Outcome::Ok => false,
            Outcome::Save | Outcome::TooMuchWork | Outcome::Script | Outcome::NoMemory => true,
            _ => self.lacks_saved(key) || self.is_attempt(key),
        };
        let read_late_ns = std::mem::replace(&mut self.messages.read_late_ns, early.read_late_ns);
        self.record_operation(done_ns, key, outcome, 0);
        self.messages.read_late_ns = read_late_ns;
        let ended_ns = ready_ns.max(early.came_ns);
        let user = &mut self.users[key];
        user.due_ns = ended_ns;
        user.ready_ns = ended_ns;
        self.expect_ended(ended_ns, key);
        match fails {
            true => {
                self.give_up_session(now_ns, key, outcome, 0);
                Flow::Wait
            }
            false => Flow::Next,
        }
    }

    /// The user's `expect` ended; the next step is due then. If no other can follow, what was kept for it is recorded.
    pub(crate) fn expect_ended(&mut self, ended_ns: u64, key: UserKey) {
        if self.messages.early.is_empty() {
            return;
        }
        let user = &self.users[key];
        match self.messages.early.may_follow(user) {
            true => self.messages.early.ended(key, ended_ns),
            false => self.drop_early(key),
        }
    }

    /// The metadata with which the answer to the user's open call began.
    fn call_head(&self, key: UserKey) -> Option<Vec<u8>> {
        let is_call = |conn: &Conn| matches!(conn.speaks, Protocol::Call(_));
        let slot = self.conns.find(&self.users, key, is_call)?;
        match &self.conns[slot].speaks {
            Protocol::Call(own) if own.head.is_empty() => own.ended.clone(),
            Protocol::Call(own) => Some(own.head.clone()),
            _ => None,
        }
    }
}
