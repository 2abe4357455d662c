//! Adds the events of a traced user to its trace. Nothing is done for users that are not traced.

use plan::expr::{Condition, Value};
use plan::{Op, Slot};
use proto::http1::Head;
use proto::ws::Event;

use crate::conn::Stage;
use crate::interpreter::Interpreter;
use crate::received::ReceivedMessage;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::trace::TraceEvent;

impl Interpreter<'_> {
    /// Attributes all that is traced from now on to the user, or to one of its branches.
    pub(crate) fn trace_branch(&mut self, key: UserKey) {
        if self.recorder.trace.is_some() {
            let owner = self.users.owner(key);
            let mut branches = self.users.branches.family(owner).iter();
            let place = branches.position(|&branch| branch == key);
            self.trace_branch_at(place);
        }
    }

    /// The same, if its place among the branches is known.
    pub(crate) fn trace_branch_at(&mut self, place: Option<usize>) {
        if let Some(trace) = &mut self.recorder.trace {
            trace.branch = place.map(|place| place + 1);
        }
    }

    /// The user is about to begin an instruction. False: it has done as many steps as were requested.
    pub(crate) fn trace_step(&mut self, key: UserKey) -> bool {
        self.trace_console();
        self.trace_branch(key);
        let session = self.users[key].session;
        let pc = self.users[key].pc;
        let Some(op) = self.users.op(key) else {
            return true;
        };
        let trace = self.recorder.trace.as_mut();
        trace.is_none_or(|trace| trace.step(session, pc, op.measure().is_some()))
    }

    /// Traces the command bytes since `start`, which are about to be sent.
    #[inline]
    pub(crate) fn trace_sent(&mut self, slot: ConnSlot, start: usize) {
        if self.recorder.trace.is_some() {
            self.add_sent(slot, start);
        }
    }

    #[cold]
    fn add_sent(&mut self, slot: ConnSlot, start: usize) {
        self.trace_console();
        self.trace_branch(self.conns[slot].user);
        let (Some(trace), Some(payload)) = (&self.recorder.trace, &mut self.conns.payload) else {
            return;
        };
        if !payload.is_empty() {
            trace.sent_message(payload);
            payload.clear();
            return;
        }
        let conn = &self.conns.table[slot];
        let sends_frames = conn.speaks.is_websocket() && conn.stage != Stage::Upgrading;
        // A control frame is no news.
        if !sends_frames {
            let text = &self.conns.commands.bytes[start..];
            match conn.stream() {
                None => trace.sent(conn.endpoint, text),
                Some(_) => {
                    let request = self.users.op(conn.user).and_then(Op::call_request);
                    let text = grpc::shown_request(&self.plan.calls, request, text);
                    trace.sent(conn.endpoint, &as_http2(&text));
                }
            }
        }
    }

    #[inline]
    pub(crate) fn trace_response(&self, head: &Head<'_>, body: &[u8]) {
        if let Some(trace) = &self.recorder.trace {
            trace.response(head.raw, body);
        }
    }

    /// The response to the request of a step.
    #[inline]
    pub(crate) fn trace_answer(&mut self, key: UserKey, head: &Head<'_>, body: &[u8]) {
        if self.recorder.trace.is_some() {
            self.trace_branch(key);
            self.trace_response(head, body);
        }
    }

    /// A message arrived that is no part of what was shown before: a poll's is in its response, a
    /// channel's in its frame.
    pub(crate) fn trace_message(&self, slot: ConnSlot, received: &ReceivedMessage<'_>) {
        let Some(trace) = &self.recorder.trace else {
            return;
        };
        if !self.conns[slot].speaks.shows_messages() {
            trace.message(received.event(), received.bytes());
        }
    }

    /// A frame of a protocol of channels arrived.
    pub(crate) fn trace_channel_frame(&self, frame: &Event<'_>) {
        let Some(trace) = &self.recorder.trace else {
            return;
        };
        match frame {
            Event::Text(text) => trace.message(None, text.as_bytes()),
            Event::Binary(bytes) => trace.message(None, bytes),
            Event::Ping(_) | Event::Pong(_) | Event::Close { .. } => {}
        }
    }

    /// Lines that scripts have written.
    pub(crate) fn trace_console(&mut self) {
        let (Some(trace), Some(scripts)) = (&self.recorder.trace, &mut self.users.scripts) else {
            return;
        };
        let console = scripts.take_console();
        for line in console.lines {
            trace.add(TraceEvent::Console { text: line.text });
        }
        self.recorder.counts.console_dropped += console.dropped;
    }

    /// A condition was evaluated.
    pub(crate) fn trace_check(
        &mut self,
        now_ns: u64,
        key: UserKey,
        condition: &Condition,
        holds: bool,
    ) {
        if self.recorder.trace.is_none() {
            return;
        }
        self.trace_console();
        let names = &self.users.session(key).slot_names;
        let text = condition.explain(&mut self.users.scope(now_ns, key), names);
        self.recorder.trace(|| TraceEvent::Checked { holds, text });
        // To explain a condition evaluates it again: its calls have written their lines before.
        if let Some(scripts) = &mut self.users.scripts {
            scripts.take_console();
        }
    }

    /// A variable has a new value.
    pub(crate) fn trace_set(&self, slot: Slot, value: &Value) {
        self.recorder.trace(|| TraceEvent::Set { slot, value: value.clone() });
    }
}

/// A request over HTTP/2 is written as one of HTTP/1.1 before it becomes frames.
fn as_http2(text: &[u8]) -> Vec<u8> {
    const VERSION: &[u8] = b" HTTP/1.1\r\n";
    let mut places = text.windows(VERSION.len());
    let Some(at) = places.position(|here| here == VERSION) else {
        return text.to_vec();
    };
    [&text[..at], b" HTTP/2\r\n", &text[at + VERSION.len()..]].concat()
}
