//! Polling: requests beside the steps, whose responses hold messages.
//!
//! A poll has a connection of its own. Its messages go where those of a WebSocket go; each request
//! is an operation of its own. Without an interval the next request follows the response at once
//! (long polling). What fails is counted and tried again after a pause.

use plan::{Op, Poll};
use proto::http1::{self, Event, Head};
use record::Outcome;

use super::Shard;
use super::connections::http_outcome;
use super::session::Flow;
use crate::conn::{Codec, Kind, Stage};
use crate::extract::{Label, Received, items, pointer};
use crate::receiver::Poller;
use crate::wire::{Headers, render_target};

/// What a response's list of messages comes to.
type Found<'b> = Result<Vec<&'b [u8]>, (Outcome, String)>;

impl<'p> Shard<'p> {
    pub(super) fn begin_poll(&mut self, now_ns: u64, key: u32, poll: &Poll) -> Flow {
        if self.stream_of(key).is_some() {
            self.begin(now_ns, key);
            self.has_stream(now_ns, key);
            return Flow::Fail;
        }
        let user = &self.users[key];
        let (pc, due_ns) = (user.pc, user.due_ns);
        let endpoint = self.endpoint_of(key, poll.endpoint);
        let codec = Codec::Poll(Box::new(Poller::new(pc)));
        let slot = self.insert_conn(now_ns, key, endpoint, Kind::Poll, codec);
        self.begin_background(now_ns, slot, due_ns);
        Flow::Next
    }

    /// The step that polls.
    fn poll_op(&self, slot: u32) -> &'p Poll {
        match self.background_op(slot) {
            Op::Poll(poll) => poll,
            other => unreachable!("a poll was begun by {other:?}"),
        }
    }

    /// The connection is there: asks.
    pub(super) fn send_poll(&mut self, now_ns: u64, slot: u32) {
        let poll = self.poll_op(slot);
        let start = self.commands.bytes.len();
        self.conns[slot].stage = Stage::Busy;
        if let Err(error) = self.render_poll(now_ns, slot, poll) {
            return self.poll_failed(now_ns, slot, Outcome::Step, || error);
        }
        if let Codec::Poll(poller) = &mut self.conns[slot].codec {
            poller.http.begin(false);
            let end_ns = poller.background.sent_ns + poll.timeout_ns;
            self.transmit_background(slot, start, end_ns);
        }
    }

    fn render_poll(&mut self, now_ns: u64, slot: u32, poll: &Poll) -> Result<(), String> {
        let unix_ms = self.unix_ms(now_ns);
        let mut scope = self.users[self.conns[slot].user].scope(unix_ms);
        let path = render_target(&poll.path, &mut scope)?;
        let headers = Headers::render(&poll.headers, &mut scope)?;
        let host = headers
            .host()
            .unwrap_or(&self.wires.authorities[self.conns[slot].endpoint as usize]);
        let out = &mut self.commands.bytes;
        let start = out.len();
        http1::encode_request(out, "GET", &path, host, headers.iter(), None);
        self.carry_cookies(now_ns, slot, &poll.headers, &[], start);
        Ok(())
    }

    pub(super) fn decode_poll(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            let Codec::Poll(poller) = &mut self.conns[slot].codec else {
                return bytes.len();
            };
            let (consumed, event) = match poller.http.decode(&bytes[taken..], &self.limits) {
                Ok(decoded) => decoded,
                Err(error) => {
                    let detail = || error.to_string();
                    self.poll_failed(now_ns, slot, http_outcome(&error), detail);
                    return bytes.len();
                }
            };
            taken += consumed;
            let bytes_in = &mut poller.background.bytes_in;
            *bytes_in = bytes_in.saturating_add(consumed as u32);
            match event {
                Some(Event::Head(head)) => poller.head = head.raw.to_vec(),
                Some(Event::Body(piece)) => poller.body.extend_from_slice(piece),
                Some(Event::End) => {
                    self.end_poll(now_ns, slot, taken < bytes.len());
                    return taken;
                }
                None if consumed == 0 => return taken,
                None => {}
            }
        }
    }

    /// A response is there: its messages are handed on and the next request is planned. `surplus`:
    /// there are bytes behind it.
    pub(super) fn end_poll(&mut self, now_ns: u64, slot: u32, surplus: bool) {
        let poll = self.poll_op(slot);
        let Codec::Poll(poller) = &mut self.conns[slot].codec else {
            return;
        };
        let (head, body) = (
            std::mem::take(&mut poller.head),
            std::mem::take(&mut poller.body),
        );
        let planned_ns = poller.background.planned_ns;
        let bytes_in = u64::from(poller.background.bytes_in);
        let keep_alive = poller.http.keep_alive();
        let keep_alive = self.may_keep(keep_alive, surplus);
        let mut decoder = http1::Decoder::new();
        decoder.begin(true);
        let Ok((_, Some(Event::Head(head)))) = decoder.decode(&head, &self.limits) else {
            unreachable!("a head that was read once can be read again");
        };
        self.keep_cookies(now_ns, slot, &poll.headers, &head);
        let found = self.look_into(now_ns, slot, poll, &head, &body);
        let outcome = found
            .as_ref()
            .map_or_else(|(outcome, _)| *outcome, |_| Outcome::Ok);
        self.record_background(now_ns, slot, outcome, head.status);
        if keep_alive {
            self.conns[slot].stage = Stage::Idle;
            self.in_flight -= 1;
        } else {
            self.park(slot);
        }
        let messages = match found {
            Ok(messages) => messages,
            Err((_, detail)) => {
                self.explain_background(now_ns, slot, outcome, || detail);
                return self.due_in_background(slot, now_ns.saturating_add(poll.pause_ns));
            }
        };
        let every_ns = poll.every_ns.unwrap_or(0);
        let next_ns = planned_ns.saturating_add(every_ns).max(now_ns);
        self.due_in_background(slot, next_ns);
        // What is handed on counts its own bytes.
        let handed: usize = messages.iter().map(|message| message.len()).sum();
        self.recorder.counts.bytes_in += bytes_in.saturating_sub(handed as u64);
        let id = self.id(slot);
        for message in messages {
            self.handle_message(now_ns, slot, message.len(), &Received::message(message));
            if self.live(id).is_none() {
                return;
            }
        }
    }

    /// The messages of a response, whose parts are saved. An empty body has none and saves nothing:
    /// so do servers end a long poll in which nothing happened.
    fn look_into<'b>(
        &mut self,
        now_ns: u64,
        slot: u32,
        poll: &Poll,
        head: &Head<'_>,
        body: &'b [u8],
    ) -> Found<'b> {
        if !poll.status.allows(head.status) {
            return Err((Outcome::Status, format!("status {}", head.status)));
        }
        if body.trim_ascii().is_empty() {
            return Ok(Vec::new());
        }
        let messages = match &poll.each {
            None => vec![body],
            Some(tokens) => pointer(body, tokens).and_then(items).ok_or_else(|| {
                let said = super::session::excerpt(body);
                let at: String = tokens.iter().map(|token| format!("/{token}")).collect();
                (Outcome::Save, format!("no list at {at:?} in {said}"))
            })?,
        };
        let received = Received {
            head: Some(head),
            body,
            label: Label::Nothing,
        };
        let key = self.conns[slot].user;
        self.keep(now_ns, key, &poll.save, &received)
            .map_err(|detail| (Outcome::Save, detail))?;
        Ok(messages)
    }

    /// The connection was lost, or could not be had.
    pub(super) fn poll_lost(
        &mut self,
        now_ns: u64,
        slot: u32,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        match self.conns[slot].stage {
            // Between two requests a server may let go; the next one makes a new connection.
            Stage::Idle => self.park(slot),
            Stage::Connecting | Stage::Securing => {
                self.record_connect(now_ns, slot, outcome);
                self.poll_failed(now_ns, slot, outcome, detail);
            }
            _ => self.poll_failed(now_ns, slot, outcome, detail),
        }
    }

    /// The request in flight failed together with its connection.
    fn poll_failed(
        &mut self,
        now_ns: u64,
        slot: u32,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.record_background(now_ns, slot, outcome, 0);
        self.explain_background(now_ns, slot, outcome, detail);
        let pause_ns = self.poll_op(slot).pause_ns;
        self.park(slot);
        self.due_in_background(slot, now_ns.saturating_add(pause_ns));
    }
}
