//! Calls of gRPC that stay open: later steps send and expect their messages, each an operation of its own.
//!
//! The step that opens a call is done when its head is sent, since a server need not answer before the first message.
//! A call ends with its server's status. A step that waits for that judges it; otherwise an end as OK is kept for that
//! step, and any other end is a loss, as that of a WebSocket.

use grpc::{Ending, Frame, OK};
use plan::calls::{CallEnd, CallOpen};
use plan::{Expect, Op, Payload, Save, SendOp, Source};
use proto::http1::{self, Head};
use record::Outcome;
use record::schema::WorkKind;

use crate::conn::{Conn, NEVER};
use crate::failures::Cause;
use crate::interpreter::{Flow, Interpreter};
use crate::protocols::Protocol;
use crate::protocols::calls::{
    Fault, check_head, ending_after, ending_at_head, fault_of, outcome_of, read_message,
};
use crate::protocols::http::head_again;
use crate::received::{Label, ReceivedMessage};
use crate::requests::{Headers, render_target};
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

impl<'p> Interpreter<'p> {
    /// Opens a call, over the user's connection if there is one.
    pub(crate) fn open_call(&mut self, now_ns: u64, key: UserKey, open: &CallOpen) -> Flow {
        self.begin(now_ns, key);
        self.follows.forget(key);
        if self.has_stream(now_ns, key) {
            return Flow::Fail;
        }
        let endpoint = self.users.endpoint(key, open.endpoint);
        let Some(carrier) = self.conns.carrier(&self.users, key, endpoint) else {
            self.wait_or_open(now_ns, key, endpoint);
            return Flow::Wait;
        };
        let (link, protocol) = self.connection_for(key, endpoint);
        let slot = self.conns.add_stream(&mut self.users, key, carrier, link, protocol);
        self.count_connected(key);
        let began_ns = self.begin_making(key);
        let sent = self.send_call_head(now_ns, slot);
        self.end_work(key, WorkKind::Encoding, began_ns);
        if let Err(error) = sent {
            self.conns.close(&mut self.users, slot);
            return self.cannot(now_ns, key, error);
        }
        self.begin_subscription(now_ns, key);
        self.done_at_once(now_ns, key)
    }

    /// The connection of a call is set up.
    pub(crate) fn begin_call(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        let began_ns = self.begin_making(key);
        let sent = self.send_call_head(now_ns, slot);
        self.end_work(key, WorkKind::Encoding, began_ns);
        match sent {
            Ok(()) => self.complete(now_ns, key, Outcome::Ok, 0),
            Err(error) => {
                self.conns.close(&mut self.users, slot);
                self.fail_because(now_ns, key, self.users.blame(), 0, || error);
            }
        }
    }

    /// The step that opened a call.
    fn opened_by(&mut self, slot: ConnSlot) -> &'p CallOpen {
        let conn = &mut self.conns[slot];
        let key = conn.user;
        let pc = conn.call_stream().map_or(0, |own| own.background.pc);
        match &self.users.session(key).ops[pc as usize] {
            Op::CallOpen(open) => open,
            other => unreachable!("a call was opened by {other:?}"),
        }
    }

    /// Sends the head of a call, and its message if it has but one.
    fn send_call_head(&mut self, now_ns: u64, slot: ConnSlot) -> Result<(), String> {
        let open = self.opened_by(slot);
        let key = self.conns[slot].user;
        let endpoint = self.conns[slot].endpoint;
        let authority = self.requests.authority(endpoint);
        let scope = &mut self.users.scope(now_ns, key);
        let path = render_target(&open.path, scope)?;
        let headers = Headers::render(&open.headers, scope)?;
        let host = headers.host().unwrap_or(authority);
        let mut text = Vec::new();
        http1::encode_head(&mut text, "POST", &path, host, headers.iter());
        if let Some(message) = &open.message {
            message.frame(&self.plan.calls, open.compress, scope, &mut text)?;
        }
        let start = self.conns.commands.bytes.len();
        self.conns.commands.bytes.extend_from_slice(&text);
        self.send_for_user(slot, start);
        if let Some(deadline_ns) = open.deadline_ns {
            self.arm_background(slot, now_ns.saturating_add(deadline_ns));
        }
        Ok(())
    }

    /// Sends a step's message over the user's call.
    pub(crate) fn send_call_message(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        send: &SendOp,
    ) -> Result<(), String> {
        let open = self.opened_by(slot);
        let Payload::Message { message, is_last, compress } = &send.payload else {
            return Err("a call takes the messages of its method only".to_owned());
        };
        let own = self.conns[slot].call_stream();
        if own.is_none_or(|own| own.ended.is_some() || !own.sends) {
            return Err("the call has ended, or its method takes no further message".to_owned());
        }
        let key = self.conns[slot].user;
        let mut framed = Vec::new();
        let scope = &mut self.users.scope(now_ns, key);
        let compress = compress.unwrap_or(open.compress);
        message.frame(&self.plan.calls, compress, scope, &mut framed)?;
        if let Some(trace) = &self.recorder.trace {
            let shown = grpc::shown(&self.plan.calls, open.request, &framed);
            trace.sent_message(&shown);
        }
        let Some((carrier, sent)) = self.conns.send_more(slot, &framed, *is_last) else {
            return Err("the call's connection is lost".to_owned());
        };
        if let Some(own) = self.conns[slot].call_stream() {
            own.sends = !is_last;
        }
        let user = &mut self.users[key];
        user.bytes_out = user.bytes_out.saturating_add(sent);
        match self.conns.has_room(carrier) {
            true => Ok(()),
            false => Err(EXHAUSTED.to_owned()),
        }
    }

    /// The head of an answer that messages may follow.
    pub(crate) fn take_call_head(&mut self, now_ns: u64, slot: ConnSlot, head: &Head<'_>) {
        self.trace_response(head, &[]);
        if let Err((outcome, detail)) = check_head(head) {
            return self.call_lost(now_ns, slot, outcome, || detail);
        }
        let encoding = head.header("grpc-encoding");
        if let Some(own) = self.conns[slot].call_stream() {
            own.is_gzip = encoding.is_some_and(|coding| coding.eq_ignore_ascii_case(b"gzip"));
            own.head = head.raw.to_vec();
        }
    }

    /// A piece of an answer: passes on complete messages, keeps the rest.
    pub(crate) fn take_call_piece(&mut self, now_ns: u64, slot: ConnSlot, piece: &[u8]) {
        let id = self.conns.id(slot);
        let bytes_max = self.message_bytes_max();
        let mut rest = piece;
        while self.conns.live(id).is_some() {
            let Some(own) = self.conns[slot].call_stream() else {
                return;
            };
            let (taken, frame) = match own.frames.next(rest, bytes_max) {
                Ok(step) => step,
                Err(error) => {
                    let (outcome, detail) = fault_of(&error);
                    return self.call_lost(now_ns, slot, outcome, || detail);
                }
            };
            own.message.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
            match frame {
                None => return,
                Some(Frame::End) => {
                    let framed = std::mem::take(&mut own.message);
                    self.take_call_message(now_ns, slot, &framed);
                }
                Some(Frame::Begin { .. } | Frame::Piece(_)) => {}
            }
        }
    }

    /// A message arrived: it is read if somebody looks into it.
    fn take_call_message(&mut self, now_ns: u64, slot: ConnSlot, framed: &[u8]) {
        let key = self.conns[slot].user;
        let expected = self.expected(key);
        let waits = self.users[key].wait == Wait::Reply;
        // A step that takes any message has this one.
        let is_taken = waits && expected.is_some_and(|expect| expect.when.is_empty());
        let is_read = self.recorder.trace.is_some()
            || !self.plan.messages.is_empty()
            || expected.is_some_and(reads)
            || (!is_taken && self.is_read_later(key));
        let saves_head = expected.is_some_and(saves_head);
        let read = match is_read {
            true => self.read_call_message(slot, framed),
            false => Ok(Vec::new()),
        };
        match read {
            Ok(json) => {
                let own = self.conns[slot].call_stream().filter(|_| saves_head);
                let head = own.map(|own| own.head.clone());
                let head = head.as_ref().map(|head| head_again(head));
                let received =
                    ReceivedMessage { head: head.as_ref(), ..ReceivedMessage::message(&json) };
                self.take_message(now_ns, slot, framed.len(), &received);
            }
            Err((outcome, detail)) => self.call_lost(now_ns, slot, outcome, || detail),
        }
    }

    /// True if a later step may take what comes now, and look into it.
    fn is_read_later(&self, key: UserKey) -> bool {
        let ops = &self.users.session(key).ops;
        let mut later = self.messages.early.later(&self.users[key]);
        later.any(|pc| matches!(&ops[pc as usize], Op::Expect(expect) if reads(expect)))
    }

    fn read_call_message(&mut self, slot: ConnSlot, framed: &[u8]) -> Result<Vec<u8>, Fault> {
        let open = self.opened_by(slot);
        let is_gzip = self.conns[slot].call_stream().is_some_and(|own| own.is_gzip);
        if framed.first() == Some(&1) && !is_gzip {
            let detail = "a compressed message whose `grpc-encoding` is not gzip";
            return Err((Outcome::Protocol, detail.to_owned()));
        }
        let bytes_max = self.message_bytes_max();
        let began_ns = self.begin_work(true);
        let read = read_message(&self.plan.calls, open.reply, framed, bytes_max);
        self.end_work(self.conns[slot].user, WorkKind::Decoding, began_ns);
        read
    }

    /// The server has ended a call, with these trailers.
    pub(crate) fn end_open_call(&mut self, now_ns: u64, slot: ConnSlot, trailers: &[u8]) {
        let own = self.conns[slot].call_stream();
        let own = own.map(|own| (own.frames, std::mem::take(&mut own.head)));
        let (frames, head) = own.unwrap_or_default();
        let ending = ending_after(&frames, trailers);
        self.call_ended(now_ns, slot, ending, &head, trailers);
    }

    /// The same by a head alone.
    pub(crate) fn end_open_call_at_head(&mut self, now_ns: u64, slot: ConnSlot, head: &Head<'_>) {
        self.call_ended(now_ns, slot, ending_at_head(head), head.raw, &[]);
    }

    fn call_ended(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        ending: Result<Ending, Fault>,
        head: &[u8],
        trailers: &[u8],
    ) {
        let ending = match ending {
            Ok(ending) => ending,
            Err((outcome, detail)) => return self.call_lost(now_ns, slot, outcome, || detail),
        };
        let text = ending.head_text(head, trailers);
        self.trace_response(&head_again(&text), &[]);
        self.call_ended_as(now_ns, slot, &ending, text);
    }

    /// `text`: status and metadata as a head.
    pub(crate) fn call_ended_as(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        ending: &Ending,
        text: Vec<u8>,
    ) {
        let key = self.conns[slot].user;
        if let (Some(Op::CallEnd(end)), Wait::Close) = (self.users.op(key), self.users[key].wait) {
            self.conns.close(&mut self.users, slot);
            let outcome = self.judge_end(now_ns, key, end, ending, &text);
            return self.complete(now_ns, key, outcome, 0);
        }
        let name = grpc::name_of(ending.code);
        let detail = format!("the call ended as {name}{}", ending.message);
        match (ending.code, self.users[key].wait) {
            (OK, Wait::Reply) => self.call_lost(now_ns, slot, Outcome::Closed, || detail),
            (OK, _) => {
                if let Some(own) = self.conns[slot].call_stream() {
                    own.ended = Some(text);
                    own.background.due_ns = NEVER;
                }
            }
            (code, _) => self.call_lost(now_ns, slot, outcome_of(code), || detail),
        }
    }

    /// `text`: status and metadata as a head.
    fn judge_end(
        &mut self,
        now_ns: u64,
        key: UserKey,
        end: &CallEnd,
        ending: &Ending,
        text: &[u8],
    ) -> Outcome {
        let head = head_again(text);
        let received = ReceivedMessage {
            head: Some(&head),
            body: &[],
            is_decoded: true,
            label: Label::Nothing,
            took_ns: Some(now_ns.saturating_sub(self.users[key].due_ns)),
        };
        if end.statuses.contains(&ending.code) {
            return self.examine(now_ns, key, &end.save, &end.check, &received);
        }
        // What it lacks is not its fault: it is not the end that was wanted.
        let _ = self.keep(now_ns, key, &end.save, &received);
        let outcome = outcome_of(ending.code);
        let name = grpc::name_of(ending.code);
        let text = || format!("{name}{}", ending.message);
        self.explain_answer(now_ns, key, outcome, Cause::Text, &received, text);
        outcome
    }

    /// A call is of no more use. The step that waits for its end fails; for all others it is a loss.
    pub(crate) fn call_lost(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let key = self.conns[slot].user;
        if self.users[key].wait == Wait::Close {
            self.conns.close(&mut self.users, slot);
            self.explain(now_ns, key, outcome, detail);
            return self.complete(now_ns, key, outcome, 0);
        }
        self.stream_lost(now_ns, slot, outcome, detail);
    }

    /// Ends the user's call: gives it up, or sends no more and waits for its status.
    pub(crate) fn end_call_by_step(&mut self, now_ns: u64, key: UserKey, end: &CallEnd) -> Flow {
        self.begin(now_ns, key);
        let is_call = |conn: &Conn| matches!(conn.speaks, Protocol::Call(_));
        let Some(slot) = self.conns.find(&self.users, key, is_call) else {
            return self.cannot(now_ns, key, "no call is open".to_owned());
        };
        self.end_subscription(now_ns, key);
        let own = self.conns[slot].call_stream();
        let ended = own.and_then(|own| own.ended.take());
        if end.cancels || ended.is_some() {
            self.conns.close(&mut self.users, slot);
            let ending = Ending::new(OK, "");
            let outcome = match ended.filter(|_| !end.cancels) {
                None => Outcome::Ok,
                Some(text) => self.judge_end(now_ns, key, end, &ending, &text),
            };
            self.record_operation(now_ns, key, outcome, 0);
            let user = &mut self.users[key];
            user.due_ns = now_ns;
            user.ready_ns = now_ns;
            return Flow::Next;
        }
        if let Some((_, sent)) = self.conns.send_more(slot, &[], true) {
            let user = &mut self.users[key];
            user.bytes_out = user.bytes_out.saturating_add(sent);
        }
        let deadline_ns = self.users[key].sent_ns + end.timeout_ns;
        self.wait_for(key, Wait::Close, deadline_ns);
        Flow::Wait
    }
}

/// True if a step looks into the message that it waits for.
fn reads(expect: &Expect) -> bool {
    !(expect.when.is_empty() && expect.check.is_empty() && expect.save.is_empty())
}

/// True if a step saves something of the metadata with which the answer began.
pub(crate) fn saves_head(expect: &Expect) -> bool {
    let is_of_head = |save: &Save| matches!(save.from, Source::Header(_));
    expect.save.iter().any(is_of_head)
}
