//! Polling: requests in the background, whose responses hold messages.
//!
//! A poll has a connection of its own. Its messages go where those of a WebSocket go; each request
//! is an operation of its own. Without an interval the next request follows the response at once
//! (long polling). Failures are counted and tried again after a pause.

use plan::json::{depth_note, items, pointer};
use plan::{Op, Pc, Poll, pointer_text};
use proto::http1::Head;
use record::Outcome;

use crate::conn::background::Background;
use crate::conn::{Link, Reuse, Stage};
use crate::failures::Answer;
use crate::interpreter::{Flow, Interpreter};
use crate::protocols::Protocol;
use crate::protocols::http::{head_again, refuse_switch};
use crate::received::{Label, ReceivedMessage};
use crate::requests::encode_get;
use crate::tables::slots::{ConnSlot, UserKey};

/// A poll.
#[derive(Debug)]
pub(crate) struct Poller {
    pub(crate) background: Background,
    /// The response so far.
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Poller {
    pub(crate) fn new(pc: Pc) -> Poller {
        Poller { background: Background::new(pc), head: Vec::new(), body: Vec::new() }
    }

    /// Before a new connection.
    pub(crate) fn reset(&mut self) {
        self.head = Vec::new();
        self.body = Vec::new();
    }
}

/// The messages of a response, or why there are none.
type PollResult<'b> = Result<Vec<&'b [u8]>, (Outcome, String)>;

impl<'p> Interpreter<'p> {
    pub(crate) fn start_poll(&mut self, now_ns: u64, key: UserKey, poll: &Poll) -> Flow {
        if self.stream(key).is_some() {
            self.recorder.due(poll.measure);
            self.begin(now_ns, key);
            self.has_stream(now_ns, key);
            return Flow::Fail;
        }
        let user = &self.users[key];
        let pc = user.pc;
        let due_ns = user.due_ns;
        let endpoint = self.users.endpoint(key, poll.endpoint);
        let protocol = Protocol::Poll(Box::new(Poller::new(pc)));
        let link = Link::http1();
        let slot = self.conns.insert(&mut self.users, key, endpoint, link, protocol);
        self.begin_background(now_ns, slot, due_ns);
        Flow::Next
    }

    /// The step that polls.
    fn poll_op(&self, slot: ConnSlot) -> &'p Poll {
        match self.background_op(slot) {
            Op::Poll(poll) => poll,
            other => unreachable!("a poll was begun by {other:?}"),
        }
    }

    /// The connection is there: sends the request.
    pub(crate) fn send_poll(&mut self, now_ns: u64, slot: ConnSlot) {
        let poll = self.poll_op(slot);
        let start = self.conns.commands.bytes.len();
        let conn = &mut self.conns.table[slot];
        conn.stage = Stage::Busy;
        let authority = self.requests.authority(conn.endpoint);
        let scope = &mut self.users.scope(now_ns, conn.user);
        let out = &mut self.conns.commands.bytes;
        if let Err(error) = encode_get(&poll.path, &poll.headers, authority, None, scope, out) {
            return self.poll_failed(now_ns, slot, self.users.blame(), || error);
        }
        self.carry_cookies_along(now_ns, slot, &poll.path, &poll.headers, start);
        self.conns[slot].link.begin();
        if let Some(poller) = self.conns[slot].poller() {
            let end_ns = poller.background.sent_ns + poll.timeout_ns;
            self.transmit_background(slot, start, end_ns);
        }
    }

    /// A response is complete: its messages are passed on and the next request is planned. `surplus`:
    /// more bytes follow it.
    pub(crate) fn end_poll(&mut self, now_ns: u64, slot: ConnSlot, surplus: bool) {
        let poll = self.poll_op(slot);
        let Some(poller) = self.conns[slot].poller() else {
            return;
        };
        let head = std::mem::take(&mut poller.head);
        let body = std::mem::take(&mut poller.body);
        let planned_ns = poller.background.planned_ns;
        let bytes_in = u64::from(poller.background.bytes_in);
        let keep_alive = self.may_keep(slot, surplus);
        self.conns[slot].reuse = Reuse::Served;
        let head = head_again(&head);
        self.trace_response(&head, &body);
        self.keep_cookies(now_ns, slot, &poll.path, &poll.headers, &head);
        let found = self.messages_of(now_ns, slot, poll, &head, &body);
        let outcome = found.as_ref().map_or_else(|(outcome, _)| *outcome, |_| Outcome::Ok);
        if let Err((_, detail)) = &found {
            let answer = Answer { head: Some(&head), body: &body, is_decoded: false };
            let text = || detail.clone();
            self.explain_background(now_ns, slot, outcome, head.status, Some(answer), text);
        }
        self.record_background(now_ns, slot, outcome, head.status);
        if keep_alive {
            self.conns[slot].stage = Stage::Idle;
            self.conns.end_background();
        } else {
            self.conns.park(&mut self.users, slot);
        }
        let Ok(messages) = found else {
            return self.arm_background(slot, now_ns.saturating_add(poll.pause_ns));
        };
        let every_ns = poll.every_ns.unwrap_or(0);
        let next_ns = planned_ns.saturating_add(every_ns).max(now_ns);
        self.arm_background(slot, next_ns);
        // Messages count their own bytes.
        let handed: usize = messages.iter().map(|message| message.len()).sum();
        self.recorder.counts.bytes_in += bytes_in.saturating_sub(handed as u64);
        self.poll_answered(now_ns, slot, poll);
        let id = self.conns.id(slot);
        for message in messages {
            self.take_message(now_ns, slot, message.len(), &ReceivedMessage::message(message));
            if self.conns.live(id).is_none() {
                return;
            }
        }
    }

    /// The messages of a response, after its parts are saved. An empty body has none and saves
    /// nothing: that is how servers end a long poll in which nothing happened.
    fn messages_of<'b>(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        poll: &Poll,
        head: &Head<'_>,
        body: &'b [u8],
    ) -> PollResult<'b> {
        if !poll.status.allows(head.status) {
            return Err((Outcome::Status, format!("status {}", head.status)));
        }
        refuse_switch(head, &poll.headers).map_err(|detail| (Outcome::HttpProtocol, detail))?;
        if body.trim_ascii().is_empty() {
            return Ok(Vec::new());
        }
        let received = ReceivedMessage {
            is_decoded: false,
            head: Some(head),
            body,
            label: Label::Nothing,
            took_ns: self.conns[slot]
                .background()
                .map(|background| now_ns.saturating_sub(background.planned_ns)),
        };
        let messages = match &poll.each {
            None => vec![body],
            Some(tokens) => pointer(body, tokens).and_then(items).ok_or_else(|| {
                let at = pointer_text(tokens);
                let note = depth_note(body);
                let body = received.shown(true);
                (Outcome::Save, format!("no list at {at} in {body}{note}"))
            })?,
        };
        let key = self.conns[slot].user;
        self.keep(now_ns, key, &poll.save, &received)?;
        Ok(messages)
    }

    /// The connection was lost, or could not be had.
    pub(crate) fn poll_lost(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        match self.conns[slot].stage {
            // Between two requests a server may close; the next one opens a new connection.
            Stage::Idle => self.conns.park(&mut self.users, slot),
            Stage::Connecting | Stage::Securing => {
                self.explain_background(now_ns, slot, outcome, 0, None, detail);
                self.record_connect(now_ns, slot, outcome);
                self.end_failed_poll(now_ns, slot, outcome);
            }
            _ if self.may_resend(slot, outcome) => self.poll_again(now_ns, slot, false),
            _ => self.poll_failed(now_ns, slot, outcome, detail),
        }
    }

    /// The request in flight failed together with its connection.
    fn poll_failed(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.explain_background(now_ns, slot, outcome, 0, None, detail);
        self.end_failed_poll(now_ns, slot, outcome);
    }

    /// Ends a poll that failed, once its failure is explained.
    fn end_failed_poll(&mut self, now_ns: u64, slot: ConnSlot, outcome: Outcome) {
        self.record_background(now_ns, slot, outcome, 0);
        let pause_ns = self.poll_op(slot).pause_ns;
        self.conns.park(&mut self.users, slot);
        self.arm_background(slot, now_ns.saturating_add(pause_ns));
    }
}
