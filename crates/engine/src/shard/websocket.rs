//! WebSocket steps: upgrade, send, reply, close; and messages, whatever brought them.

use plan::expr::EvalError;
use plan::{Expect, Op, Unasked, WsOpen, WsSend, builtin};
use proto::http1::Event as HttpEvent;
use proto::ws::{self, Event, HandshakeError, MessageKind, Offer};
use record::{Measurement, Outcome};

use super::Shard;
use super::connections::http_outcome;
use super::deflate::encode_deflated;
use super::session::{Flow, blank, excerpt};
use super::stamps::Sent;
use crate::conn::{Codec, Conn, Kind, Pending, Stage};
use crate::deflate::Deflated;
use crate::extract::Received;
use crate::user::Wait;
use crate::wire::Headers;

/// Normal closure (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;
/// The status of an upgrade (RFC 9110 §15.2.2).
pub(super) const SWITCHING: u16 = 101;

impl<'p> Shard<'p> {
    pub(super) fn begin_open(&mut self, now_ns: u64, key: u32, open: &WsOpen) -> Flow {
        self.begin(now_ns, key);
        if self.has_stream(now_ns, key) {
            return Flow::Fail;
        }
        let endpoint = self.endpoint_of(key, open.endpoint);
        self.open_conn(now_ns, key, endpoint, Kind::WebSocket);
        Flow::Wait
    }

    /// True where the user has a WebSocket, a TCP connection or an event stream, or polls; then the step just begun,
    /// which opens one, has failed.
    pub(super) fn has_stream(&mut self, now_ns: u64, key: u32) -> bool {
        let what = match self.stream_of(key).map(|slot| self.conns[slot].kind) {
            None => return false,
            Some(Kind::Events) => "event stream is open",
            Some(Kind::Poll) => "poll goes on",
            Some(Kind::Tcp) => "TCP connection is open",
            Some(_) => "WebSocket is open",
        };
        self.explain(now_ns, key, Outcome::Step, || {
            format!("the user's {what} already")
        });
        self.record_operation(now_ns, key, Outcome::Step, 0);
        true
    }

    pub(super) fn send_upgrade(&mut self, now_ns: u64, key: u32, slot: u32) {
        let Some(Op::WsOpen(open)) = self.op(key) else {
            return;
        };
        let nonce = self.fresh_key();
        let start = self.commands.bytes.len();
        if let Err(error) = self.render_upgrade(now_ns, slot, open, &nonce) {
            self.close_conn(slot);
            self.explain(now_ns, key, Outcome::Step, || error);
            return self.fail(now_ns, key, Outcome::Step, 0);
        }
        let conn = &mut self.conns[slot];
        conn.stage = Stage::Upgrading;
        conn.pending = Some(Box::new(Pending::Upgrade(nonce)));
        if let Codec::Http(decoder) = &mut conn.codec {
            decoder.begin(false);
        }
        self.send(slot, start);
        let deadline_ns = self.users[key].sent_ns + open.timeout_ns;
        self.wait_for(key, Wait::Upgrade, deadline_ns);
    }

    fn render_upgrade(
        &mut self,
        now_ns: u64,
        slot: u32,
        open: &WsOpen,
        nonce: &ws::Key,
    ) -> Result<(), String> {
        let unix_ms = self.unix_ms(now_ns);
        let conn = &self.conns[slot];
        let mut scope = self.users[conn.user].scope(unix_ms);
        let path = crate::wire::render_target(&open.path, &mut scope)?;
        let headers = Headers::render(&open.headers, &mut scope)?;
        let host = headers
            .host()
            .unwrap_or(&self.wires.authorities[conn.endpoint as usize]);
        let out = &mut self.commands.bytes;
        let start = out.len();
        let offer = open.compress.map(Offer::header).map(str::as_bytes);
        let offer = offer.map(|value| ("sec-websocket-extensions", value));
        let headers = headers.iter().chain(offer);
        ws::encode_handshake(out, &path, host, nonce, headers);
        self.carry_cookies(now_ns, slot, &open.headers, &[], start);
        Ok(())
    }

    pub(super) fn op(&self, key: u32) -> Option<&'p Op> {
        let user = &self.users[key];
        self.plan.sessions[user.session as usize]
            .ops
            .get(user.pc as usize)
    }

    /// The subprotocols that the upgrade in flight offers; those made of expressions are not
    /// checked against the answer.
    fn plan_protocols(&self, key: u32) -> &'p str {
        let Some(Op::WsOpen(open)) = self.op(key) else {
            return "";
        };
        let mut headers = open.headers.iter();
        let offered = headers.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
        offered
            .and_then(|(_, value)| value.as_static())
            .unwrap_or("")
    }

    fn websocket_of(&self, key: u32) -> Option<u32> {
        self.find_conn(key, |conn| conn.kind == Kind::WebSocket)
    }

    /// The user's WebSocket, TCP connection, event stream or poll.
    pub(super) fn stream_of(&self, key: u32) -> Option<u32> {
        self.find_conn(key, |conn| conn.kind != Kind::Http)
    }

    pub(super) fn decode_upgrade(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let key = self.conns[slot].user;
        let offered = self.plan_protocols(key);
        let conn = &mut self.conns[slot];
        let Codec::Http(decoder) = &mut conn.codec else {
            return bytes.len();
        };
        let (taken, head) = match decoder.decode(bytes, &self.limits) {
            Ok((taken, Some(HttpEvent::Head(head)))) => (taken, head),
            // Nothing but a head comes first.
            Ok((taken, _)) => return taken,
            Err(error) => {
                self.lost(now_ns, slot, http_outcome(&error), || error.to_string());
                return bytes.len();
            }
        };
        let pending = conn.pending.take();
        self.users[key].bytes_in = taken as u32;
        if let Some(Op::WsOpen(open)) = self.op(key) {
            self.keep_cookies(now_ns, slot, &open.headers, &head);
        }
        let Some(Pending::Upgrade(nonce)) = pending.map(|pending| *pending) else {
            unreachable!("an upgrade in flight keeps its key");
        };
        let verified = self
            .verify_extensions(key, &head, &nonce)
            .and_then(|agreed| ws::verify_protocol(&head, offered.as_bytes()).map(|_| agreed));
        let agreed = match verified {
            Ok(agreed) => agreed,
            Err(error) => {
                let (outcome, status) = match error {
                    HandshakeError::Declined { status } => (Outcome::Status, status),
                    _ => (Outcome::WsProtocol, head.status),
                };
                self.close_conn(slot);
                self.explain(now_ns, key, outcome, || error.to_string());
                self.fail(now_ns, key, outcome, status);
                return bytes.len();
            }
        };
        let conn = &mut self.conns[slot];
        conn.codec = match agreed {
            Some(agreed) => Codec::Deflated(Box::new(Deflated::new(agreed))),
            None => Codec::Ws(ws::Decoder::new()),
        };
        conn.stage = Stage::Open;
        self.setting_up -= 1;
        let id = self.id(slot);
        if !self.opens_channels(now_ns, slot) {
            self.complete(now_ns, key, Outcome::Ok, SWITCHING);
        }
        // Frames may stand right behind the head.
        if self.live(id).is_none() {
            return bytes.len();
        }
        taken + self.decode_frames(now_ns, slot, &bytes[taken..])
    }

    pub(super) fn decode_frames(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let id = self.id(slot);
        // The decoder is taken out while its events, which borrow it, are acted on.
        let decoder = match &mut self.conns[slot].codec {
            Codec::Ws(decoder) => decoder,
            Codec::Deflated(_) => return self.decode_deflated(now_ns, slot, bytes),
            _ => return self.decode_channels(now_ns, slot, bytes),
        };
        let mut decoder = std::mem::take(decoder);
        let mut taken = 0;
        loop {
            let gathered_len = decoder.gathered_len();
            match decoder.decode(&bytes[taken..], &self.limits) {
                Ok((0, None)) => break,
                Ok((consumed, event)) => {
                    taken += consumed;
                    if let Some(event) = event {
                        let len = wire_len(&event, gathered_len, consumed);
                        self.handle_event(now_ns, slot, len, &event);
                    }
                    if self.live(id).is_none() {
                        return bytes.len();
                    }
                }
                Err(error) => {
                    self.break_frames(now_ns, slot, error);
                    return bytes.len();
                }
            }
        }
        self.conns[slot].codec = Codec::Ws(decoder);
        taken
    }

    /// A message arrived or a control frame, in `len` bytes.
    pub(super) fn handle_event(&mut self, now_ns: u64, slot: u32, len: usize, event: &Event<'_>) {
        if !event.is_message() {
            self.recorder.counts.bytes_in += len as u64;
        }
        match *event {
            Event::Text(text) => {
                let received = Received::message(text.as_bytes());
                self.handle_message(now_ns, slot, len, &received);
            }
            Event::Binary(bytes) => {
                self.handle_message(now_ns, slot, len, &Received::message(bytes));
            }
            Event::Ping(payload) => {
                let mask = self.mask();
                let start = self.commands.bytes.len();
                ws::encode_pong(&mut self.commands.bytes, payload, mask);
                self.send_beside(slot, start);
            }
            Event::Pong(_) => {}
            Event::Close { code, reason } => self.handle_close(now_ns, slot, code, reason),
        }
    }

    /// A message or an event arrived, in `len` bytes.
    pub(super) fn handle_message(
        &mut self,
        now_ns: u64,
        slot: u32,
        len: usize,
        received: &Received<'_>,
    ) {
        let plan = self.plan;
        let key = self.conns[slot].user;
        let unix_ms = self.unix_ms(now_ns);
        if self.users[key].wait == Wait::Reply
            && let Some(expect) = self.expected(key)
        {
            let mut scratch = std::mem::take(&mut self.scratch);
            let scope = &mut self.users[key].scope(unix_ms);
            let wanted = if expect.when.is_empty() {
                !plan
                    .messages
                    .iter()
                    .any(|m| received.matches(&m.when, scope, &mut scratch))
            } else {
                received.matches(&expect.when, scope, &mut scratch)
            };
            self.scratch = scratch;
            if wanted {
                self.users[key].bytes_in = len as u32;
                self.account_expected(now_ns, key, received);
                let outcome = self.examine(now_ns, key, &expect.save, &expect.check, received);
                return self.conclude(now_ns, key, outcome, 0);
            }
        }
        self.handle_unasked(now_ns, key, len, received);
    }

    /// What the user waits for.
    fn expected(&self, key: u32) -> Option<&'p Expect> {
        match self.op(key)? {
            Op::WsSend(send) => send.reply.as_ref(),
            Op::WsExpect(expect) => Some(expect),
            Op::Channel(op) => self.answer_by_content(key, op),
            _ => None,
        }
    }

    fn handle_unasked(&mut self, now_ns: u64, key: u32, len: usize, received: &Received<'_>) {
        let plan = self.plan;
        let unix_ms = self.unix_ms(now_ns);
        self.recorder.counts.bytes_in += len as u64;
        let mut scratch = std::mem::take(&mut self.scratch);
        let scope = &mut self.users[key].scope(unix_ms);
        let found = plan
            .messages
            .iter()
            .find(|m| received.matches(&m.when, scope, &mut scratch));
        self.scratch = scratch;
        match found {
            Some(unasked) => self.record_unasked(now_ns, key, len, unasked, received),
            None => self.recorder.counts.unmatched += 1,
        }
    }

    fn record_unasked(
        &mut self,
        now_ns: u64,
        key: u32,
        len: usize,
        unasked: &Unasked,
        received: &Received<'_>,
    ) {
        let measure = unasked.measure;
        let sent = self.sent_of(now_ns, unasked, received);
        if sent == Sent::Missing {
            let user = self.users[key].number;
            self.recorder
                .example(now_ns, measure, Outcome::Save, user, || {
                    format!("no timestamp in {}", excerpt(received.body))
                });
            return self.recorder.check(measure, Outcome::Save);
        }
        if let Some(numbered) = &unasked.numbered
            && !self.account(now_ns, key, (unasked, numbered), sent, received)
        {
            return;
        }
        let Sent::At(sent_ns) = sent else {
            return self.recorder.check(measure, Outcome::Ok);
        };
        let row = Measurement {
            due_ns: sent_ns,
            sent_ns,
            done_ns: now_ns,
            bytes_out: 0,
            bytes_in: len as u32,
            ..blank(&self.users[key], measure)
        };
        self.recorder.operation(row, 0);
    }

    pub(super) fn begin_send(&mut self, now_ns: u64, key: u32, send: &WsSend) -> Flow {
        self.begin(now_ns, key);
        let Some(slot) = self.open_stream(now_ns, key) else {
            return Flow::Fail;
        };
        let start = self.commands.bytes.len();
        let rendered = match self.conns[slot].kind {
            Kind::Tcp => self.render_frame(now_ns, slot, send),
            _ => self
                .render_message(now_ns, slot, send)
                .map_err(|error| error.to_string()),
        };
        if let Err(error) = rendered {
            self.commands.bytes.truncate(start);
            self.explain(now_ns, key, Outcome::Step, || error);
            self.record_operation(now_ns, key, Outcome::Step, 0);
            return Flow::Fail;
        }
        self.send(slot, start);
        match &send.reply {
            Some(expect) => {
                let deadline_ns = self.users[key].sent_ns + expect.timeout_ns;
                self.wait_for(key, Wait::Reply, deadline_ns);
                Flow::Wait
            }
            None => {
                self.record_operation(now_ns, key, Outcome::Ok, 0);
                let user = &mut self.users[key];
                user.due_ns = now_ns;
                user.ready_ns = now_ns;
                Flow::Next
            }
        }
    }

    /// The user's WebSocket or TCP connection; where it has none, the operation just begun has
    /// failed.
    pub(super) fn open_stream(&mut self, now_ns: u64, key: u32) -> Option<u32> {
        let carries = |conn: &Conn| matches!(conn.kind, Kind::WebSocket | Kind::Tcp);
        let slot = self
            .find_conn(key, carries)
            .filter(|&slot| self.conns[slot].stage == Stage::Open);
        if slot.is_none() {
            self.explain(now_ns, key, Outcome::Step, || {
                "no WebSocket or TCP connection is open".to_owned()
            });
            self.record_operation(now_ns, key, Outcome::Step, 0);
        }
        slot
    }

    fn render_message(&mut self, now_ns: u64, slot: u32, send: &WsSend) -> Result<(), EvalError> {
        let kind = if send.binary {
            MessageKind::Binary
        } else {
            MessageKind::Text
        };
        let mask = self.mask();
        let unix_ms = self.unix_ms(now_ns);
        let conn = &mut self.conns[slot];
        let mut scope = self.users[conn.user].scope(unix_ms);
        let mut result = Ok(());
        let write = |out: &mut Vec<u8>| result = send.payload.render(&mut scope, out);
        let out = &mut self.commands.bytes;
        match conn.compression() {
            None => ws::encode_with(out, kind, mask, write),
            Some(compression) => {
                encode_deflated(out, (kind, mask), compression, &mut self.deflater, write);
            }
        }
        result
    }

    pub(super) fn begin_expect(&mut self, now_ns: u64, key: u32, expect: &Expect) -> Flow {
        self.begin(now_ns, key);
        // A poll, or an event stream that is being opened anew, may still bring what is waited for.
        if self.find_conn(key, Conn::is_background).is_none()
            && self.open_stream(now_ns, key).is_none()
        {
            return Flow::Fail;
        }
        let deadline_ns = self.users[key].sent_ns + expect.timeout_ns;
        self.wait_for(key, Wait::Reply, deadline_ns);
        Flow::Wait
    }

    pub(super) fn begin_close(&mut self, now_ns: u64, key: u32, code: u16) -> Flow {
        let Some(slot) = self.stream_of(key) else {
            return Flow::Next;
        };
        if self.conns[slot].kind != Kind::WebSocket {
            // There is nothing to say and nothing to wait for.
            self.give_up_background(now_ns, key);
            self.close_conn(slot);
            return Flow::Next;
        }
        // No measured operation: it neither begins as one nor ends as one.
        self.in_flight += 1;
        self.users[key].sent_ns = now_ns;
        self.send_close(slot, code);
        self.wait_for(key, Wait::Close, now_ns + super::LEAVE_NS);
        Flow::Wait
    }

    fn send_close(&mut self, slot: u32, code: u16) {
        let mask = self.mask();
        let start = self.commands.bytes.len();
        ws::encode_close(&mut self.commands.bytes, Some(code), "", mask);
        self.send_beside(slot, start);
        self.conns[slot].stage = Stage::Closing;
    }

    /// As [`Shard::send`], of what belongs to no measured operation: control frames and heartbeats.
    pub(super) fn send_beside(&mut self, slot: u32, start: usize) {
        self.recorder.counts.bytes_out += (self.commands.bytes.len() - start) as u64;
        self.transmit(slot, start);
    }

    /// The user goes: true where a close frame was sent whose answer is worth waiting for.
    pub(super) fn begin_leaving(&mut self, key: u32) -> bool {
        match self.websocket_of(key) {
            Some(slot) if self.conns[slot].stage == Stage::Open => {
                self.send_close(slot, NORMAL);
                true
            }
            _ => false,
        }
    }

    /// A session starts anew: what it has open ends without ceremony.
    pub(super) fn drop_stream(&mut self, key: u32) {
        if let Some(slot) = self.stream_of(key) {
            let conn = &self.conns[slot];
            if conn.kind == Kind::WebSocket && conn.stage == Stage::Open {
                self.send_close(slot, NORMAL);
            }
            self.close_conn(slot);
        }
    }

    fn handle_close(&mut self, now_ns: u64, slot: u32, code: Option<u16>, reason: &str) {
        if self.conns[slot].stage == Stage::Closing {
            return self.websocket_closed(now_ns, slot);
        }
        // §5.5.1: the answer carries the code that was received.
        self.send_close(slot, code.unwrap_or(NORMAL));
        self.conns[slot].stage = Stage::Open;
        let said = code.map_or("no code".to_owned(), |code| format!("code {code}"));
        let detail = || format!("the peer closed the WebSocket with {said} {reason:?}");
        self.stream_lost(now_ns, slot, Outcome::Closed, detail);
    }

    /// The peer answered our close frame, or hung up instead.
    pub(super) fn websocket_closed(&mut self, now_ns: u64, slot: u32) {
        let key = self.conns[slot].user;
        self.close_conn(slot);
        match self.users[key].wait {
            Wait::Close => self.complete(now_ns, key, Outcome::Ok, 0),
            _ => self.remove_user(key),
        }
    }

    /// An open WebSocket, TCP connection or event stream ended for good that the user did not close:
    /// its session cannot go on.
    pub(super) fn stream_lost(
        &mut self,
        now_ns: u64,
        slot: u32,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let key = self.conns[slot].user;
        self.close_conn(slot);
        match self.users[key].wait {
            // An upgrade, until the protocol above it has greeted.
            Wait::Reply | Wait::Upgrade => {
                self.explain(now_ns, key, outcome, detail);
                self.fail(now_ns, key, outcome, 0);
            }
            Wait::Until => {
                // Between steps: the loss is the connection's.
                let user = self.users[key].number;
                self.recorder
                    .example(now_ns, builtin::CONNECT, outcome, user, detail);
                self.recorder.check(builtin::CONNECT, outcome);
                self.give_up_session(now_ns, key);
            }
            // Busy with an HTTP request; the next step that needs it will find none open.
            _ => {}
        }
    }

    pub(super) fn break_frames(&mut self, now_ns: u64, slot: u32, error: ws::Error) {
        let outcome = match error {
            ws::Error::InvalidUtf8 => Outcome::InvalidUtf8,
            ws::Error::TooLarge { .. } => Outcome::TooLarge,
            _ => Outcome::WsProtocol,
        };
        // §7.1.7: fail the connection, saying why.
        if self.conns[slot].stage == Stage::Open {
            self.send_close(slot, error.close_code());
            self.conns[slot].stage = Stage::Open;
        }
        self.lost(now_ns, slot, outcome, || error.to_string());
    }
}

/// What an event took on the wire: a message all of its frames, of which the last took `consumed` bytes.
pub(super) fn wire_len(event: &Event<'_>, gathered_len: usize, consumed: usize) -> usize {
    if event.is_message() {
        gathered_len + consumed
    } else {
        consumed
    }
}
