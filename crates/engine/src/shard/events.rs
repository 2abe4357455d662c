//! Server-sent events (HTML standard §9.2): opening a stream, its events, and opening it anew.
//!
//! The first opening is a step like any other. From then on the stream lives beside the steps: its
//! events go where messages go, and where it is lost it is opened anew after the server's `retry`,
//! each attempt being an operation of the measure `reconnect`.

use plan::{Op, SseOpen};
use proto::http1::{self, Event, Head};
use record::Outcome;

use super::Shard;
use super::connections::http_outcome;
use super::retry::is_worth_another;
use super::session::Flow;
use crate::conn::{Codec, Kind, Stage};
use crate::extract::{Label, Received};
use crate::receiver::{NEVER, Receiver};
use crate::user::Wait;
use crate::wire::{Headers, render_target};

/// What an event stream's content type is, but for parameters (HTML standard §9.2.5).
const EVENT_STREAM: &[u8] = b"text/event-stream";
/// The only status with which a stream begins.
const STATUS: u16 = 200;

impl<'p> Shard<'p> {
    pub(super) fn begin_events(&mut self, now_ns: u64, key: u32, open: &SseOpen) -> Flow {
        self.begin(now_ns, key);
        if self.has_stream(now_ns, key) {
            return Flow::Fail;
        }
        self.connect_events(now_ns, key, open);
        Flow::Wait
    }

    /// Starts the first connection of a stream.
    pub(super) fn connect_events(&mut self, now_ns: u64, key: u32, open: &SseOpen) {
        let endpoint = self.endpoint_of(key, open.endpoint);
        self.open_conn(now_ns, key, endpoint, Kind::Events);
        let (slot, pc) = (self.users[key].conn, self.users[key].pc);
        let retry_ns = open.reconnect.map_or(NEVER, |reconnect| reconnect.pause_ns);
        self.conns[slot].codec = Codec::Events(Box::new(Receiver::new(pc, retry_ns)));
    }

    /// The step that opened the stream.
    fn events_op(&self, slot: u32) -> &'p SseOpen {
        match self.background_op(slot) {
            Op::SseOpen(open) => open,
            other => unreachable!("an event stream was opened by {other:?}"),
        }
    }

    /// The connection is there: asks for the stream.
    pub(super) fn request_events(&mut self, now_ns: u64, key: u32, slot: u32) {
        let open = self.events_op(slot);
        let start = self.commands.bytes.len();
        if let Err(error) = self.render_events(now_ns, slot, open) {
            if self.conns[slot].is_background() {
                return self.attempt_failed(now_ns, slot, Outcome::Step, 0, &error);
            }
            self.close_conn(slot);
            self.explain(now_ns, key, Outcome::Step, || error);
            return self.fail(now_ns, key, Outcome::Step, 0);
        }
        self.conns[slot].stage = Stage::Upgrading;
        let Some(receiver) = self.conns[slot].receiver() else {
            return;
        };
        receiver.reset();
        if !receiver.opened {
            self.send(slot, start);
            let deadline_ns = self.users[key].sent_ns + open.timeout_ns;
            return self.wait_for(key, Wait::Upgrade, deadline_ns);
        }
        let end_ns = receiver.background.sent_ns + open.timeout_ns;
        self.transmit_background(slot, start, end_ns);
    }

    fn render_events(&mut self, now_ns: u64, slot: u32, open: &SseOpen) -> Result<(), String> {
        let unix_ms = self.unix_ms(now_ns);
        let conn = &mut self.conns[slot];
        let endpoint = conn.endpoint;
        let mut scope = self.users[conn.user].scope(unix_ms);
        let path = render_target(&open.path, &mut scope)?;
        let headers = Headers::render(&open.headers, &mut scope)?;
        let host = headers
            .host()
            .unwrap_or(&self.wires.authorities[endpoint as usize]);
        let last_id = conn
            .receiver()
            .map_or(&[][..], |receiver| &receiver.last_id);
        if !http1::is_field_value(last_id) {
            return Err("the last event id cannot stand in a header line".to_owned());
        }
        let last_id = (!last_id.is_empty()).then_some(("last-event-id", last_id));
        let out = &mut self.commands.bytes;
        let start = out.len();
        let headers = headers.iter().chain(last_id);
        http1::encode_request(out, "GET", &path, host, headers, None);
        self.carry_cookies(now_ns, slot, &open.headers, &[], start);
        Ok(())
    }

    /// Bytes of a stream, or of the head before it.
    pub(super) fn decode_events(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let id = self.id(slot);
        let mut taken = 0;
        loop {
            let Codec::Events(receiver) = &mut self.conns[slot].codec else {
                return bytes.len();
            };
            let decoded = receiver.http.decode(&bytes[taken..], &self.stream_limits);
            let (consumed, event) = match decoded {
                Ok((0, None)) => return taken,
                Ok(decoded) => decoded,
                Err(error) => {
                    self.lost(now_ns, slot, http_outcome(&error), || error.to_string());
                    return bytes.len();
                }
            };
            taken += consumed;
            match event {
                Some(Event::Head(head)) => self.open_events(now_ns, slot, consumed, &head),
                Some(Event::Body(piece)) => self.take_events(now_ns, slot, piece),
                Some(Event::End) => {
                    let detail = || "the server ended the event stream".to_owned();
                    self.lost(now_ns, slot, Outcome::Closed, detail);
                }
                None => {}
            }
            if self.live(id).is_none() {
                return bytes.len();
            }
        }
    }

    /// The response's head is there: is it that of an event stream?
    fn open_events(&mut self, now_ns: u64, slot: u32, len: usize, head: &Head<'_>) {
        let key = self.conns[slot].user;
        let background = self.conns[slot].is_background();
        self.keep_cookies(now_ns, slot, &self.events_op(slot).headers, head);
        if let Err((outcome, detail)) = check_head(head) {
            if background {
                return self.attempt_failed(now_ns, slot, outcome, head.status, &detail);
            }
            self.close_conn(slot);
            self.explain(now_ns, key, outcome, || detail);
            return self.fail(now_ns, key, outcome, head.status);
        }
        self.conns[slot].stage = Stage::Open;
        self.setting_up -= 1;
        if let Some(receiver) = self.conns[slot].receiver() {
            receiver.opened = true;
            receiver.background.due_ns = NEVER;
        }
        if background {
            self.in_flight -= 1;
            self.recorder.counts.bytes_in += len as u64;
            if let Some(background) = self.conns[slot].background_mut() {
                background.bytes_in = len as u32;
            }
            self.record_background(now_ns, slot, Outcome::Ok, head.status);
        } else {
            self.users[key].bytes_in = len as u32;
            self.complete(now_ns, key, Outcome::Ok, head.status);
        }
    }

    /// A piece of the stream: hands on the events that are whole, keeps the rest.
    fn take_events(&mut self, now_ns: u64, slot: u32, piece: &[u8]) {
        let id = self.id(slot);
        let Some(receiver) = self.conns[slot].receiver() else {
            return;
        };
        // Both are taken out while events, which borrow from them, are acted on.
        let mut sse = std::mem::take(&mut receiver.sse);
        let mut held = std::mem::take(&mut receiver.held);
        let whole = held.is_empty();
        if !whole {
            held.extend_from_slice(piece);
        }
        let input = if whole { piece } else { &held[..] };
        let mut taken = 0;
        loop {
            match sse.decode(&input[taken..], &self.limits) {
                Ok((0, None)) => break,
                Ok((consumed, event)) => {
                    taken += consumed;
                    if let Some(event) = event {
                        self.handle_sent_event(now_ns, slot, consumed, &event);
                    }
                    if self.live(id).is_none() {
                        return;
                    }
                }
                Err(error) => {
                    return self.lost(now_ns, slot, Outcome::TooLarge, || error.to_string());
                }
            }
        }
        let held = if whole {
            piece[taken..].to_vec()
        } else {
            held.drain(..taken);
            held
        };
        if let Some(receiver) = self.conns[slot].receiver() {
            receiver.sse = sse;
            // An empty buffer that stays behind would cost every idle user.
            receiver.held = if held.is_empty() { Vec::new() } else { held };
        }
    }

    fn handle_sent_event(
        &mut self,
        now_ns: u64,
        slot: u32,
        len: usize,
        event: &proto::sse::Event<'_>,
    ) {
        let id = self.id(slot);
        let Some(receiver) = self.conns[slot].receiver() else {
            return;
        };
        if let Some(retry_ms) = event.retry_ms {
            receiver.retry_ns = retry_ms.saturating_mul(1_000_000);
        }
        if let Some(last_id) = event.id {
            receiver.last_id.clear();
            receiver.last_id.extend_from_slice(last_id);
        }
        let Some(data) = event.data() else { return };
        let last_id = std::mem::take(&mut receiver.last_id);
        let received = Received {
            head: None,
            body: &data,
            label: Label::Event {
                name: event.name,
                id: &last_id,
            },
        };
        self.handle_message(now_ns, slot, len, &received);
        if self.live(id).is_some()
            && let Some(receiver) = self.conns[slot].receiver()
        {
            receiver.last_id = last_id;
        }
    }

    /// A stream that was open once lost its connection, or could not get another one.
    pub(super) fn events_lost(
        &mut self,
        now_ns: u64,
        slot: u32,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let stage = self.conns[slot].stage;
        if matches!(stage, Stage::Connecting | Stage::Securing) {
            self.record_connect(now_ns, slot, outcome);
        }
        if stage.is_setting_up() {
            return self.attempt_failed(now_ns, slot, outcome, 0, &detail());
        }
        if self.will_connect_anew(slot, outcome) {
            self.wait_to_connect(now_ns, slot);
        } else {
            self.stream_lost(now_ns, slot, outcome, detail);
        }
    }

    /// An attempt to open the stream anew failed.
    fn attempt_failed(
        &mut self,
        now_ns: u64,
        slot: u32,
        outcome: Outcome,
        status: u16,
        detail: &str,
    ) {
        self.record_background(now_ns, slot, outcome, status);
        self.explain_background(now_ns, slot, outcome, || detail.to_owned());
        if self.will_connect_anew(slot, outcome) {
            self.wait_to_connect(now_ns, slot);
        } else {
            self.stream_lost(now_ns, slot, outcome, || detail.to_owned());
        }
    }

    /// §9.2.3: what the network did is tried again; a server that says no, or nothing that can be
    /// understood, is left alone.
    fn will_connect_anew(&self, slot: u32, outcome: Outcome) -> bool {
        let passing =
            is_worth_another(outcome) || matches!(outcome, Outcome::Closed | Outcome::Timeout);
        passing && self.events_op(slot).reconnect.is_some()
    }

    /// Gives the connection up, until the next attempt is due.
    fn wait_to_connect(&mut self, now_ns: u64, slot: u32) {
        self.park(slot);
        let retry_ns = self.conns[slot]
            .receiver()
            .map_or(NEVER, |receiver| receiver.retry_ns);
        self.due_in_background(slot, now_ns.saturating_add(retry_ns));
    }
}

/// §9.2.3: status 200 and the content type of an event stream.
fn check_head(head: &Head<'_>) -> Result<(), (Outcome, String)> {
    if head.status != STATUS {
        let detail = format!("status {} where an event stream was asked for", head.status);
        return Err((Outcome::Status, detail));
    }
    let content_type = head.header("content-type").unwrap_or_default();
    let essence = content_type
        .split(|&b| b == b';')
        .next()
        .unwrap_or_default();
    if essence.trim_ascii().eq_ignore_ascii_case(EVENT_STREAM) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(content_type);
    let detail = format!("content-type {said:?} where an event stream was asked for");
    Err((Outcome::HttpProtocol, detail))
}
