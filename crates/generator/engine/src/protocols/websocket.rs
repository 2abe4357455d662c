//! WebSocket steps: upgrade, send, reply, close.

mod carried;
pub(crate) mod deflate;
pub(crate) mod handshake;
pub(crate) mod pauses;
mod reconnects;

use std::borrow::Cow;

use plan::{Expect, Op, SendOp, WsOpen};
use proto::http1::{Event as HttpEvent, Head};
use proto::ws::{self, DeflateParameters, Event, HandshakeError, MessageKind};
use record::Outcome;
use record::schema::WorkKind;

use crate::conn::{Conn, Decoder, Link, PendingOperation, Stage, http_outcome};
use crate::failures::Code;
use crate::interpreter::{Flow, Interpreter, LEAVE_NS};
use crate::protocols::websocket::deflate::Framing;
use crate::protocols::websocket::handshake::{encode_upgrade, offered_protocols, verify_upgrade};
use crate::protocols::websocket::pauses::Reconnectable;
use crate::protocols::{DividedSocket, Protocol, WebSocket};
use crate::received::{ReceivedMessage, end_record, excerpt};
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

/// The code of a close frame that has none (RFC 6455 §7.1.5).
const NO_STATUS: u16 = 1005;

impl<'p> Interpreter<'p> {
    pub(crate) fn open_websocket(&mut self, now_ns: u64, key: UserKey, open: &WsOpen) -> Flow {
        self.begin(now_ns, key);
        self.follows.forget(key);
        if self.has_stream(now_ns, key) {
            return Flow::Fail;
        }
        self.reach_for_socket(now_ns, key, open);
        Flow::Wait
    }

    /// Finds or opens the connection for a WebSocket.
    pub(crate) fn reach_for_socket(&mut self, now_ns: u64, key: UserKey, open: &WsOpen) {
        match self.socket_endpoint(key, open) {
            Ok(endpoint) => self.reach_for_stream(now_ns, key, endpoint),
            Err(error) => self.fail_because(now_ns, key, self.users.blame(), 0, || error),
        }
    }

    /// The step that opens the user's WebSocket.
    pub(crate) fn opening(&self, key: UserKey) -> &'p WsOpen {
        match self.users.op(key) {
            Some(Op::WsOpen(open)) => open,
            other => unreachable!("an upgrade is in flight at {other:?}"),
        }
    }

    /// The step that opens, or opened, this WebSocket.
    pub(crate) fn opening_of(&self, slot: ConnSlot) -> &'p WsOpen {
        if !self.conns[slot].is_background() {
            return self.opening(self.conns[slot].user);
        }
        match self.background_op(slot) {
            Op::WsOpen(open) => open,
            other => unreachable!("a WebSocket was opened by {other:?}"),
        }
    }

    /// The connection is there: requests the upgrade, or the same over HTTP/2.
    pub(crate) fn send_upgrade(&mut self, now_ns: u64, key: UserKey, slot: ConnSlot) {
        if self.begins_bare(now_ns, slot) {
            return;
        }
        let open = self.opening_of(slot);
        let is_carried = self.conns[slot].stream().is_some();
        let nonce = (!is_carried).then(|| self.conns.fresh_key());
        let start = self.conns.commands.bytes.len();
        let began_ns = self.begin_opening(key, slot);
        let authority = self.requests.authority(self.conns[slot].endpoint);
        let before = self.users[key].value;
        let out = &mut self.conns.commands.bytes;
        let encoded = match (open.by_script, &mut self.vus) {
            (true, Some(vus)) => {
                vus.sent(key, now_ns);
                vus.encode_upgrade(key, authority, nonce.as_ref(), out)
            }
            _ => {
                let scope = &mut self.users.scope(now_ns, key);
                encode_upgrade(open, authority, nonce.as_ref(), scope, out)
            }
        };
        self.end_work(key, WorkKind::Encoding, began_ns);
        if let Err(error) = encoded {
            self.conns.commands.bytes.truncate(start);
            return self.not_upgraded(now_ns, slot, self.users.blame(), 0, error);
        }
        self.carry_cookies_along(now_ns, slot, &open.path, &open.headers, start);
        let conn = &mut self.conns[slot];
        conn.stage = Stage::Upgrading;
        conn.pending = nonce.map(|nonce| Box::new(PendingOperation::Upgrade(nonce)));
        if let Some(decoder) = conn.http() {
            decoder.begin(false);
        }
        if self.conns[slot].is_background() {
            let background = self.conns[slot].background();
            let sent_ns = background.map_or(now_ns, |background| background.sent_ns);
            return self.transmit_background(slot, start, sent_ns + open.timeout_ns);
        }
        if is_carried && self.users[key].value != before {
            self.follows.remember(key, before);
        }
        self.send_for_user(slot, start);
        let deadline_ns = self.users[key].sent_ns + open.timeout_ns;
        self.wait_for(key, Wait::Upgrade, deadline_ns);
    }

    /// The WebSocket did not open.
    pub(crate) fn not_upgraded(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        status: u16,
        detail: String,
    ) {
        if self.conns[slot].is_background() {
            return self.reconnect_failed(now_ns, slot, outcome, status, || detail);
        }
        let key = self.conns[slot].user;
        self.conns.close(&mut self.users, slot);
        self.fail_because(now_ns, key, outcome, status, || detail);
    }

    /// The subprotocols that a handshake offers.
    pub(crate) fn offered_protocols(&self, slot: ConnSlot, open: &'p WsOpen) -> Cow<'p, str> {
        match open.by_script {
            true => self.offered_by_script(self.conns[slot].user),
            false => Cow::Borrowed(offered_protocols(open)),
        }
    }

    /// The answer to the upgrade, and the frames that follow it at once.
    pub(crate) fn decode_upgrade(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        if self.is_declined(slot) {
            return self.decode_pieces(now_ns, slot, bytes);
        }
        let conn = &mut self.conns.table[slot];
        let Some(mut decoder) = conn.http().map(std::mem::take) else {
            return bytes.len();
        };
        let decoded = decoder.decode(bytes, &self.conns.limits);
        let (taken, head) = match decoded {
            Ok((taken, Some(HttpEvent::Head(head)))) => (taken, head),
            // Nothing but a head comes first.
            Ok((taken, _)) => {
                self.conns.put_decoder(slot, Decoder::Http(decoder));
                return taken;
            }
            Err(error) => {
                self.lost(now_ns, slot, http_outcome(&error), || error.to_string());
                return bytes.len();
            }
        };
        let pending = self.conns[slot].pending.take().map(|pending| *pending);
        let Some(PendingOperation::Upgrade(nonce)) = pending else {
            unreachable!("an upgrade in flight keeps its key");
        };
        let id = self.conns.id(slot);
        let open = self.opening_of(slot);
        let offered = self.offered_protocols(slot, open);
        let agreed = verify_upgrade(open, &offered, &head, &nonce);
        let is_open = agreed.is_ok();
        self.take_handshake(now_ns, slot, taken, &head, agreed);
        if self.conns.live(id).is_none() {
            return bytes.len();
        }
        match self.is_declined(slot) {
            // Its body follows.
            true => self.conns.put_decoder(slot, Decoder::Http(decoder)),
            false if is_open => {}
            false => return bytes.len(),
        }
        taken + self.decode_pieces(now_ns, slot, &bytes[taken..])
    }

    /// The answer to a handshake, of `len` bytes, and what it agrees to.
    pub(crate) fn take_handshake(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        head: &Head<'_>,
        agreed: Result<Option<DeflateParameters>, HandshakeError>,
    ) {
        let key = self.conns[slot].user;
        let background = self.conns[slot].is_background();
        match self.conns[slot].background_mut() {
            Some(own) if background => own.bytes_in = len as u32,
            _ => self.users[key].bytes_in = len as u32,
        }
        let open = self.opening_of(slot);
        self.keep_cookies(now_ns, slot, &open.path, &open.headers, head);
        let agreed = match agreed {
            Ok(agreed) => agreed,
            Err(error) => {
                let outcome = match error {
                    HandshakeError::Declined { .. } => Outcome::Status,
                    _ => Outcome::WsProtocol,
                };
                return self.decline(now_ns, slot, head, outcome, error.to_string());
            }
        };
        self.trace_response(head, &[]);
        if open.by_script {
            self.handshake_for_script(now_ns, key, head);
        }
        if let Link::Carried(own) = &mut self.conns[slot].link {
            own.status = head.status;
        }
        match background {
            true => {
                self.recorder.counts.bytes_in += len as u64;
                self.upgraded_again(now_ns, slot, agreed);
            }
            false => self.upgraded(now_ns, slot, agreed),
        }
    }

    /// The WebSocket is open. The step is done, unless a protocol of channels has yet to greet.
    pub(crate) fn upgraded(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        agreed: Option<DeflateParameters>,
    ) {
        let key = self.conns[slot].user;
        let framing = Framing::new(agreed);
        let conn = &mut self.conns[slot];
        conn.link.read_frames(framing.reader);
        conn.speaks = Protocol::Ws(match framing.compression {
            Some(compression) => WebSocket::Deflated(Box::new(compression)),
            None => WebSocket::Plain,
        });
        self.conns.set_up(slot, Stage::Open);
        if !self.opens_channels(now_ns, slot) {
            self.keep_state(slot);
            let status = self.conns[slot].opened_status();
            self.complete(now_ns, key, Outcome::Ok, status);
        }
    }

    /// If the plain WebSocket that opened reconnects, or its messages hold several records, it keeps what that takes.
    fn keep_state(&mut self, slot: ConnSlot) {
        let key = self.conns[slot].user;
        let open = self.opening(key);
        if open.protocol.is_some() || open.reconnect.is_none() && open.records.is_none() {
            return;
        }
        let speaks = &mut self.conns[slot].speaks;
        let compression = match std::mem::replace(speaks, Protocol::upgrade()) {
            Protocol::Ws(WebSocket::Deflated(compression)) => Some(*compression),
            _ => None,
        };
        let state = match open.records {
            Some(end) if open.reconnect.is_none() => {
                WebSocket::Divided(Box::new(DividedSocket { end, compression }))
            }
            _ => {
                let own = Reconnectable::new(self.users[key].pc, compression);
                WebSocket::Reconnectable(Box::new(own))
            }
        };
        *speaks = Protocol::Ws(state);
    }

    /// A message arrived or a control frame, in `len` bytes.
    pub(crate) fn take_frame(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        frame: &Event<'_>,
    ) {
        if self.take_frame_for_script(now_ns, slot, len, frame) {
            return;
        }
        if !frame.is_message() {
            self.recorder.counts.bytes_in += len as u64;
        }
        match *frame {
            Event::Text(text) => {
                let received = ReceivedMessage::message(text.as_bytes());
                self.take_records(now_ns, slot, len, &received);
            }
            Event::Binary(bytes) => {
                self.take_records(now_ns, slot, len, &ReceivedMessage::message(bytes));
            }
            Event::Ping(payload) => {
                let start = self.conns.commands.bytes.len();
                self.conns.encode_pong(payload);
                self.send_control(slot, start);
            }
            Event::Pong(_) => {}
            Event::Close { code, reason } => self.take_close(now_ns, slot, code, reason),
        }
    }

    /// The message that the user waits for.
    pub(crate) fn expected(&self, key: UserKey) -> Option<&'p Expect> {
        match self.users.op(key)? {
            Op::Send(send) => send.reply.as_ref(),
            Op::Expect(expect) => Some(expect),
            Op::Channel(op) => self.answer_by_content(key, op),
            _ => None,
        }
    }

    /// Sends a message over the user's WebSocket or TCP connection.
    pub(crate) fn send(&mut self, now_ns: u64, key: UserKey, send: &SendOp) -> Flow {
        self.drop_early(key);
        self.begin(now_ns, key);
        let Some(slot) = self.open_stream(now_ns, key) else {
            return Flow::Fail;
        };
        if self.conns[slot].mqtt().is_some() {
            let error = "a connection of MQTT carries messages that are published".to_owned();
            return self.cannot(now_ns, key, error);
        }
        if self.conns[slot].is_background() {
            return self.defer_send(now_ns, key, slot, send);
        }
        if let Err(error) = self.transmit_message(now_ns, slot, send) {
            return self.cannot(now_ns, key, error);
        }
        let Some(expect) = &send.reply else {
            return self.done_at_once(now_ns, key);
        };
        let deadline_ns = self.users[key].sent_ns + expect.timeout_ns;
        self.wait_for(key, Wait::Reply, deadline_ns);
        Flow::Wait
    }

    /// The WebSocket is lost: the message waits until a plain one is open again, at most for its own time.
    fn defer_send(&mut self, now_ns: u64, key: UserKey, slot: ConnSlot, send: &SendOp) -> Flow {
        let Some(own) = self.conns[slot].reconnectable() else {
            let error = "the WebSocket is lost and has not reconnected yet".to_owned();
            return self.cannot(now_ns, key, error);
        };
        own.deferred = true;
        let timeout_ns = match &send.reply {
            Some(expect) => expect.timeout_ns,
            None => self.background_op(slot).timeout_ns(),
        };
        let deadline_ns = self.users[key].sent_ns + timeout_ns;
        self.wait_for(key, Wait::Reply, deadline_ns);
        Flow::Wait
    }

    /// Sends the message of a step that waited for its connection.
    pub(crate) fn send_late(&mut self, now_ns: u64, slot: ConnSlot, send: &SendOp) {
        let key = self.conns[slot].user;
        match self.transmit_message(now_ns, slot, send) {
            Err(error) => self.fail_because(now_ns, key, self.users.blame(), 0, || error),
            Ok(()) if send.reply.is_none() => self.complete(now_ns, key, Outcome::Ok, 0),
            Ok(()) => {}
        }
    }

    /// Sends a step's message, if it can be made.
    fn transmit_message(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        send: &SendOp,
    ) -> Result<(), String> {
        let key = self.conns[slot].user;
        let began_ns = self.begin_making(key);
        let sent = self.make_message(now_ns, slot, send);
        self.end_work(key, WorkKind::Encoding, began_ns);
        sent
    }

    fn make_message(&mut self, now_ns: u64, slot: ConnSlot, send: &SendOp) -> Result<(), String> {
        if let Protocol::Call(_) = self.conns[slot].speaks {
            return self.send_call_message(now_ns, slot, send);
        }
        let start = self.conns.commands.bytes.len();
        let encoded = self.encode_for_step(now_ns, slot, send);
        encoded.inspect_err(|_| self.conns.commands.bytes.truncate(start))?;
        let sender = self.send_for_user(slot, start);
        // What the windows of HTTP/2 do not take is kept.
        match sender == slot || self.conns.has_room(sender) {
            true => Ok(()),
            false => Err(EXHAUSTED.to_owned()),
        }
    }

    /// Appends a step's message in the frame of a WebSocket.
    pub(crate) fn encode_websocket_message(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        send: &SendOp,
    ) -> Result<(), String> {
        let kind = match send.binary {
            true => MessageKind::Binary,
            false => MessageKind::Text,
        };
        let record_end = self.record_end(slot);
        let scope = &mut self.users.scope(now_ns, self.conns[slot].user);
        let mut rendered = Ok(());
        let write = |out: &mut Vec<u8>| {
            let start = out.len();
            rendered = send.payload.render(scope, out);
            if let Some(end) = record_end {
                end_record(out, start, end);
            }
        };
        self.conns.encode_message(slot, kind, write);
        rendered.map_err(|error| error.to_string())
    }

    /// Waits for a message, unless it is there.
    pub(crate) fn expect(&mut self, now_ns: u64, key: UserKey, expect: &Expect) -> Flow {
        self.begin(now_ns, key);
        if let Some(flow) = self.expect_early(now_ns, key, expect) {
            return flow;
        }
        // A poll, or a stream that reconnects, may still bring what is waited for.
        let background = self.conns.find(&self.users, key, Conn::is_background);
        if background.is_none() {
            let Some(slot) = self.open_stream(now_ns, key) else {
                return Flow::Fail;
            };
            let channels = self.conns[slot].channels();
            if channels.is_some_and(|channels| channels.is_deserted()) {
                let error = "the server has ended all channels that were joined".to_owned();
                return self.cannot(now_ns, key, error);
            }
        }
        let deadline_ns = self.users[key].sent_ns + expect.timeout_ns;
        self.wait_for(key, Wait::Reply, deadline_ns);
        Flow::Wait
    }

    /// Closes what the user has open: a WebSocket with a close frame, whose answer is waited for.
    pub(crate) fn close(&mut self, now_ns: u64, key: UserKey, code: u16, reason: &str) -> Flow {
        let Some(slot) = self.stream(key) else {
            return Flow::Next;
        };
        self.end_subscription(now_ns, key);
        let conn = &self.conns[slot];
        if !conn.speaks.is_websocket() || conn.is_background() {
            // There is nothing to send and nothing to wait for.
            self.give_up_background(now_ns, key);
            self.abandon(now_ns, slot);
            return Flow::Next;
        }
        self.end_rejoins(now_ns, slot, Outcome::Unfinished);
        if !self.send_close(slot, code, reason) {
            self.abandon(now_ns, slot);
            return Flow::Next;
        }
        // No measured operation: it neither begins as one nor ends as one.
        self.in_flight += 1;
        self.users[key].sent_ns = now_ns;
        self.wait_for(key, Wait::Close, now_ns + LEAVE_NS);
        Flow::Wait
    }

    /// Ends what is spoken over a connection, then its WebSocket. False if there is none, and no answer.
    pub(crate) fn send_close(&mut self, slot: ConnSlot, code: u16, reason: &str) -> bool {
        if self.send_disconnect(slot, code) {
            return false;
        }
        let speaks_mqtt = self.conns[slot].mqtt().is_some();
        self.send_close_frame(slot, if speaks_mqtt { ws::NORMAL } else { code }, reason);
        true
    }

    pub(crate) fn send_close_frame(&mut self, slot: ConnSlot, code: u16, reason: &str) {
        let start = self.conns.commands.bytes.len();
        self.conns.encode_close(slot, code, reason);
        self.send_control(slot, start);
    }

    /// As [`Interpreter::send_for_user`], of what belongs to no measured operation: control frames
    /// and heartbeats.
    pub(crate) fn send_control(&mut self, slot: ConnSlot, start: usize) {
        self.trace_sent(slot, start);
        let sender = self.conns.frame_request(slot, start);
        self.recorder.counts.bytes_out += (self.conns.commands.bytes.len() - start) as u64;
        self.conns.transmit(sender, start);
    }

    pub(crate) fn is_open_websocket(&self, slot: ConnSlot) -> bool {
        let conn = &self.conns[slot];
        conn.stage == Stage::Open && conn.speaks.is_websocket()
    }

    /// The user leaves: true if a close frame was sent whose answer is worth waiting for.
    pub(crate) fn begin_leaving(&mut self, key: UserKey) -> bool {
        let is_websocket = |conn: &Conn| conn.speaks.is_websocket();
        match self.conns.find(&self.users, key, is_websocket) {
            Some(slot) if self.is_open_websocket(slot) => self.send_close(slot, ws::NORMAL, ""),
            _ => false,
        }
    }

    fn take_close(&mut self, now_ns: u64, slot: ConnSlot, code: Option<u16>, reason: &str) {
        if self.conns[slot].stage == Stage::Closing {
            return self.websocket_closed(now_ns, slot);
        }
        let text = code.map_or("no code".to_owned(), |code| format!("code {code}"));
        let detail = || match reason {
            "" => format!("the peer closed the WebSocket with {text}"),
            reason => {
                format!("the peer closed the WebSocket with {text}: {}", excerpt(reason.as_bytes()))
            }
        };
        let why = Code::Close(code.unwrap_or(NO_STATUS));
        if self.conns[slot].is_background() {
            return self.under(why, |own| own.lost(now_ns, slot, Outcome::Closed, detail));
        }
        // §5.5.1: the answer carries the code that was received.
        self.send_close_frame(slot, code.unwrap_or(ws::NORMAL), "");
        self.conns[slot].stage = Stage::Open;
        if let Some(channels) = self.conns[slot].channels()
            && code.is_some_and(|code| crate::channels::is_final(channels.protocol, code))
        {
            channels.reconnect = None;
        }
        self.under(why, |own| own.stream_lost(now_ns, slot, Outcome::Closed, detail));
    }

    /// The peer answered our close frame, or hung up instead.
    pub(crate) fn websocket_closed(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        self.conns.close(&mut self.users, slot);
        match self.users[key].wait {
            Wait::Close => self.complete(now_ns, key, Outcome::Ok, 0),
            _ => self.remove_user(now_ns, key),
        }
    }

    /// §7.1.7: before a connection with broken frames is closed, the peer is sent the reason.
    pub(crate) fn close_broken(&mut self, slot: ConnSlot, error: &ws::Error) {
        if self.conns[slot].stage == Stage::Open {
            self.send_close_frame(slot, error.close_code(), "");
            self.conns[slot].stage = Stage::Open;
        }
    }
}
