//! Steps over HTTP/2: what comes over a carrier, handed to the rows whose requests it answers.

use plan::{EndpointId, HttpOp};
use proto::h2::{Code, Error, Event, Scratch};
use proto::http1::Head;
use record::Outcome;

use crate::command::ConnId;
use crate::conn::{Carrier, Link, Reuse, Stage, WaitingRequest};
use crate::interpreter::Interpreter;
use crate::protocols::Protocol;
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, Key, UserKey};
use crate::users::Wait;

/// From then on frames that may be a flood are counted again.
const FLOOD_NS: u64 = 1_000_000_000;

impl Interpreter<'_> {
    /// Does what the user's step is for over a carrier that takes it, once one is set up, or over a new connection.
    pub(crate) fn ride_or_open(&mut self, now_ns: u64, key: UserKey, endpoint: EndpointId) {
        let (link, protocol) = self.connection_for(key, endpoint);
        let carrier = match protocol.may_be_carried(&link) {
            true => self.conns.carrier(&self.users, key, endpoint),
            false => None,
        };
        match carrier {
            Some(carrier) => self.ride(now_ns, key, carrier, link, protocol),
            None if self.users[key].is_branch && protocol.is_http() => {
                self.reach_in_turn(now_ns, key, endpoint);
            }
            None => self.wait_or_open(now_ns, key, endpoint),
        }
    }

    /// The same over a connection that has served nothing yet.
    pub(crate) fn wait_or_open(&mut self, now_ns: u64, key: UserKey, endpoint: EndpointId) {
        let (link, protocol) = self.connection_for(key, endpoint);
        if !protocol.may_be_carried(&link) {
            return self.open_conn(now_ns, key, endpoint, link, protocol);
        }
        let user = &self.users[key];
        let waiting = WaitingRequest { user: key, number: user.number, sent_ns: user.sent_ns };
        if self.conns.wait_for_carrier(endpoint, waiting) {
            return self.wait_for(key, Wait::Connect, self.connected_by_ns(now_ns, key));
        }
        self.open_conn(now_ns, key, endpoint, link, protocol);
        let slot = self.users[key].conn;
        self.conns.opens_carrier(endpoint, slot);
    }

    /// Releases the requests that waited for a connection, once that is set up or cannot be: they go out over
    /// it, or try by themselves.
    pub(crate) fn release_waiting(
        &mut self,
        now_ns: u64,
        endpoint: EndpointId,
        waiting: Vec<WaitingRequest>,
        opened: Option<ConnId>,
    ) {
        for own in waiting {
            let user = self.users.get(own.user);
            let still_waits = user.is_some_and(|user| {
                user.number == own.number
                    && user.sent_ns == own.sent_ns
                    && user.wait == Wait::Connect
            });
            if !still_waits {
                continue;
            }
            let fresh = opened.and_then(|id| self.conns.live(id));
            let takes =
                |&slot: &ConnSlot| self.conns[slot].carrier().is_some_and(Carrier::can_open);
            let (link, protocol) = self.connection_for(own.user, endpoint);
            match fresh.filter(takes) {
                Some(carrier) => self.ride(now_ns, own.user, carrier, link, protocol),
                None if opened.is_some() => self.ride_or_open(now_ns, own.user, endpoint),
                None => self.open_conn(now_ns, own.user, endpoint, link, protocol),
            }
        }
    }

    /// A connection is set up that speaks HTTP/2: what it was opened for goes over it first.
    pub(crate) fn begin_http2(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        let (link, protocol) = self.conns.become_carrier(&mut self.users, slot);
        self.ride(now_ns, key, slot, link, protocol);
    }

    /// The server has said how many requests it takes at once: others may go over its connection.
    fn share_carrier(&mut self, now_ns: u64, slot: ConnSlot) {
        let id = self.conns.id(slot);
        let endpoint = self.conns[slot].endpoint;
        self.conns.share_carrier(slot);
        self.conns.wake(&mut self.users, slot);
        let waiting = self.conns.take_waiting(slot);
        // What it was opened for comes before others.
        self.settle_websockets(now_ns, slot);
        self.release_waiting(now_ns, endpoint, waiting, Some(id));
    }

    /// Sends what `protocol` is for over a carrier.
    pub(crate) fn ride(
        &mut self,
        now_ns: u64,
        key: UserKey,
        carrier: ConnSlot,
        link: Link,
        protocol: Protocol,
    ) {
        let slot = self.conns.add_stream(&mut self.users, key, carrier, link, protocol);
        self.send_riding(now_ns, slot);
    }

    /// A row is attached to its carrier: its request goes out.
    pub(crate) fn send_riding(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        self.count_connected(key);
        self.begin_speaking(now_ns, slot);
    }

    /// Sends the request in its prepared form, and returns its carrier; `None`: it has none, or goes another way.
    pub(crate) fn send_prepared(
        &mut self,
        key: UserKey,
        slot: ConnSlot,
        http: &HttpOp,
    ) -> Option<ConnSlot> {
        let is_plain = matches!(self.conns[slot].link, Link::Stream(_))
            && !self.identities.has_cookies(self.users.owner(key))
            && http.digest.is_none()
            && http.sign.is_none()
            && self.follows.hop(key).is_none()
            && self.recorder.trace.is_none();
        if !is_plain {
            return None;
        }
        let user = &mut self.users[key];
        let (block, body) = self.requests.prepared(user.session, user.pc)?;
        let start = self.conns.commands.bytes.len();
        let is_head = http.method == "HEAD";
        let at = self.conns.open_stream(slot, block, body, is_head)?;
        let bytes_out = (self.conns.commands.bytes.len() - start) as u32;
        user.bytes_out = user.bytes_out.saturating_add(bytes_out);
        let deadline_ns = user.sent_ns + http.timeout_ns;
        self.conns.transmit(at, start);
        self.wait_for(key, Wait::Response, deadline_ns);
        Some(at)
    }

    /// Keeps the bytes of a request that the server's windows did not take, as long as there is memory
    /// for them.
    pub(crate) fn hold_unsent(&mut self, now_ns: u64, slot: ConnSlot, carrier: ConnSlot) {
        let own = self.conns[carrier].carrier();
        if own.is_some_and(|own| own.h2.has_unsent()) && !self.conns.has_room(carrier) {
            let key = self.conns[slot].user;
            self.conns.close(&mut self.users, slot);
            self.fail_because(now_ns, key, Outcome::NoMemory, 0, || EXHAUSTED.to_owned());
        }
    }

    /// Frames from the peer: how many bytes were decoded.
    pub(crate) fn decode_http2(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        if let Some(carrier) = self.conns[slot].carrier_mut() {
            carrier.heard_ns = now_ns;
            carrier.is_suspect = false;
            if now_ns.saturating_sub(carrier.counted_ns) >= FLOOD_NS {
                carrier.counted_ns = now_ns;
                carrier.h2.allow_more();
            }
        }
        let mut scratch = std::mem::take(&mut self.conns.http2.scratch);
        let taken = self.decode_frames(now_ns, slot, bytes, &mut scratch);
        self.conns.http2.scratch = scratch;
        taken
    }

    fn decode_frames(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        bytes: &[u8],
        scratch: &mut Scratch,
    ) -> usize {
        let id = self.conns.id(slot);
        let limits = self.conns.limits;
        let mut taken = 0;
        while self.conns.live(id).is_some() {
            let conns = &mut self.conns;
            let start = conns.commands.bytes.len();
            let Some(carrier) = conns.table[slot].carrier_mut() else {
                break;
            };
            let rest = &bytes[taken..];
            let was_greeted = carrier.h2.is_greeted();
            let decoded = carrier.h2.decode(rest, &limits, scratch, &mut conns.commands.bytes);
            let late = carrier.h2.take_late();
            let greets = !was_greeted && carrier.h2.is_greeted();
            conns.transmit(slot, start);
            for (token, bytes) in late {
                let user = &mut self.users[conns.table[ConnSlot::new(token)].user];
                user.bytes_out = user.bytes_out.saturating_add(bytes);
            }
            if greets {
                self.share_carrier(now_ns, slot);
                // What it turned away may have ended a session, and its connections with it.
                if self.conns.live(id).is_none() {
                    return bytes.len();
                }
            }
            match decoded {
                Err(error) => {
                    self.broke_http2(now_ns, slot, error);
                    return bytes.len();
                }
                Ok((0, None)) => return taken,
                Ok((consumed, None)) => taken += consumed,
                Ok((consumed, Some(event))) => {
                    taken += consumed;
                    let rest = &bytes[taken..];
                    taken += self.take_stream_event(now_ns, slot, event, consumed, rest);
                    self.end_idle(id);
                }
            }
        }
        bytes.len()
    }

    /// Hands an event on. Returns how many bytes of the rest it took, too.
    fn take_stream_event(
        &mut self,
        now_ns: u64,
        carrier: ConnSlot,
        event: Event<'_>,
        consumed: usize,
        rest: &[u8],
    ) -> usize {
        match event {
            Event::Head { token, stream, head, ends } => {
                if let Some(own) = self.conns[carrier].carrier_mut() {
                    own.served = true;
                }
                let slot = self.count_received(token, consumed, ends);
                if !ends {
                    return self
                        .take_first_head(now_ns, carrier, slot, consumed, &head, stream, rest);
                }
                self.take_only_head(now_ns, slot, consumed, &head);
            }
            Event::Continue { token } => {
                let slot = self.count_received(token, consumed, false);
                self.send_body(now_ns, slot);
            }
            Event::Body { token, piece } => {
                let slot = self.count_received(token, consumed, false);
                self.take_body(now_ns, slot, piece);
            }
            Event::End { token, trailers } => {
                let slot = self.count_received(token, consumed, true);
                self.take_end(now_ns, slot, trailers, false);
            }
            Event::Reset { token, code } => {
                let slot = self.count_received(token, consumed, true);
                if code == Code::Cancel && self.is_past_deadline(now_ns, slot) {
                    self.end_at_deadline(now_ns, slot);
                    return 0;
                }
                let detail = || format!("the server reset the stream ({})", code.name());
                self.carried_failed(now_ns, slot, outcome_of(code), detail);
            }
            Event::Broken { token, error } => {
                let slot = self.count_received(token, consumed, true);
                self.carried_failed(now_ns, slot, outcome_of_error(&error), || error.to_string());
            }
            Event::GoAway { code } => {
                if let Some(own) = self.conns[carrier].carrier_mut() {
                    own.ending = Some(code);
                }
            }
            Event::Unprocessed { token } => {
                let slot = self.count_received(token, consumed, true);
                self.unprocessed(now_ns, carrier, slot);
            }
        }
        0
    }

    /// The row of an event, to whose operation its bytes belong. `ends`: its stream has ended.
    fn count_received(&mut self, token: u32, bytes: usize, ends: bool) -> ConnSlot {
        let slot = ConnSlot::new(token);
        let conn = &mut self.conns.table[slot];
        if ends {
            conn.link.set_stream_id(0);
        }
        match &mut conn.speaks {
            Protocol::Http => {
                let user = &mut self.users[conn.user];
                user.bytes_in = user.bytes_in.saturating_add(bytes as u32);
            }
            Protocol::Poll(poller) => {
                let bytes_in = &mut poller.background.bytes_in;
                *bytes_in = bytes_in.saturating_add(bytes as u32);
            }
            _ => {}
        }
        slot
    }

    /// A head that a body follows; it may be there already, at the front of `rest`.
    fn take_first_head(
        &mut self,
        now_ns: u64,
        carrier: ConnSlot,
        slot: ConnSlot,
        len: usize,
        head: &Head<'_>,
        stream: u32,
        rest: &[u8],
    ) -> usize {
        self.conns[slot].reuse = Reuse::Answering;
        let may_be_whole = self.conns[slot].speaks.is_http() && self.call_on(slot).is_none();
        if may_be_whole {
            let limits = self.conns.limits;
            let start = self.conns.commands.bytes.len();
            let conns = &mut self.conns;
            let whole = conns.table[carrier].carrier_mut().and_then(|own| {
                let out = &mut conns.commands.bytes;
                own.h2.take_whole_body(stream, rest, &limits, out)
            });
            conns.transmit(carrier, start);
            if let Some((taken, body)) = whole {
                self.count_received(slot.place(), taken, true);
                self.end_response(now_ns, slot, head, body, false);
                return taken;
            }
        }
        self.take_head(now_ns, slot, len, head);
        0
    }

    /// A piece of a body; a WebSocket counts by itself what it keeps of it.
    fn take_body(&mut self, now_ns: u64, slot: ConnSlot, piece: &[u8]) {
        let id = self.conns.id(slot);
        let counts_itself = self.conns[slot].speaks.is_websocket();
        self.take_piece(now_ns, slot, piece);
        if !counts_itself && self.conns.live(id).is_some() && !self.conns.has_room(slot) {
            self.lost(now_ns, slot, Outcome::NoMemory, || EXHAUSTED.to_owned());
        }
    }

    /// A stream failed, and its carrier did not: nothing is sent once more.
    fn carried_failed(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.conns[slot].reuse = Reuse::Answering;
        self.lost(now_ns, slot, outcome, detail);
    }

    /// The server ends a connection and says that it did not process a request: it can be sent again, on
    /// another one, whatever its method (RFC 9113 §8.7). A server that does so before it has answered
    /// anything would have it sent forever.
    fn unprocessed(&mut self, now_ns: u64, carrier: ConnSlot, slot: ConnSlot) {
        let own = self.conns[carrier].carrier();
        let served = own.is_some_and(|own| own.served);
        let code = own.and_then(|own| own.ending).unwrap_or(Code::NoError);
        if served && self.send_unprocessed_again(now_ns, slot) {
            return;
        }
        let name = code.name();
        let detail = || format!("the server ended the connection without an answer ({name})");
        self.carried_failed(now_ns, slot, outcome_of_end(code), detail);
    }

    /// True if a step in flight opens an event stream or a WebSocket on this row.
    pub(crate) fn is_opening(&self, slot: ConnSlot) -> bool {
        let conn = &self.conns[slot];
        conn.stage == Stage::Upgrading && !conn.is_background()
    }

    /// The peer broke the protocol: it gets the code, and the connection ends.
    fn broke_http2(&mut self, now_ns: u64, slot: ConnSlot, error: Error) {
        let start = self.conns.commands.bytes.len();
        proto::h2::Connection::go_away(error.code, &mut self.conns.commands.bytes);
        self.conns.transmit(slot, start);
        let detail = format!("the server broke HTTP/2: {error}");
        self.carrier_lost(now_ns, slot, outcome_of_error(&error), &detail);
    }

    /// A carrier is of no more use: what it carried fails, or is sent once more as on a connection of
    /// HTTP/1.1 that met its end.
    pub(crate) fn carrier_lost(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: &str,
    ) {
        let Some(carrier) = self.conns[slot].carrier() else {
            return;
        };
        let is_announced = carrier.ending.is_some();
        let ending = carrier.ending.filter(|&code| code != Code::NoError);
        let closed = matches!(outcome, Outcome::Closed | Outcome::Reset);
        let (outcome, detail) = match ending {
            Some(code) if closed => {
                let name = code.name();
                (outcome_of(code), format!("the server ended the connection ({name})"))
            }
            _ => (outcome, detail.to_owned()),
        };
        let tokens = carrier.h2.tokens();
        let mut rows: Vec<ConnId> =
            tokens.map(|token| self.conns.id(ConnSlot::new(token))).collect();
        rows.extend(self.conns.take_unsettled(slot));
        let endpoint = self.conns[slot].endpoint;
        let waiting = self.conns.take_waiting(slot);
        self.conns.close(&mut self.users, slot);
        let retried = self.recorder.counts.requests_retried;
        for id in rows {
            // One that failed may have taken others of its user with it.
            if let Some(slot) = self.conns.live(id) {
                self.lost(now_ns, slot, outcome, || detail.clone());
            }
        }
        if is_announced {
            let counts = &mut self.recorder.counts;
            counts.requests_goaway += counts.requests_retried - retried;
        }
        self.release_waiting(now_ns, endpoint, waiting, None);
    }

    /// Closes a carrier that takes no more requests, once it has answered those it took.
    fn end_idle(&mut self, id: ConnId) {
        if let Some(slot) = self.conns.live(id)
            && self.conns[slot].carrier().is_some_and(Carrier::is_over)
        {
            self.conns.close(&mut self.users, slot);
        }
    }

    /// The operation in flight over a row was not answered in time: perhaps nobody is there any more.
    pub(crate) fn suspect(&mut self, slot: ConnSlot) {
        let conn = &self.conns[slot];
        let background = conn.background().filter(|_| conn.is_background());
        let sent_ns = background.map_or(self.users[conn.user].sent_ns, |own| own.sent_ns);
        self.conns.suspect_carrier(slot, sent_ns);
    }
}

/// The outcome as which a code is counted.
fn outcome_of(code: Code) -> Outcome {
    match code {
        Code::NoError => Outcome::Http2NoError,
        Code::ProtocolError => Outcome::Http2ProtocolError,
        Code::InternalError => Outcome::Http2InternalError,
        Code::FlowControlError => Outcome::Http2FlowControlError,
        Code::SettingsTimeout => Outcome::Http2SettingsTimeout,
        Code::StreamClosed => Outcome::Http2StreamClosed,
        Code::FrameSizeError => Outcome::Http2FrameSizeError,
        Code::RefusedStream => Outcome::Http2RefusedStream,
        Code::Cancel => Outcome::Http2Cancel,
        Code::CompressionError => Outcome::Http2CompressionError,
        Code::ConnectError => Outcome::Http2ConnectError,
        Code::EnhanceYourCalm => Outcome::Http2EnhanceYourCalm,
        Code::InadequateSecurity => Outcome::Http2InadequateSecurity,
        Code::Http11Required => Outcome::Http2Http11Required,
    }
}

/// The same of the end of a connection, which is nobody's fault without an error.
fn outcome_of_end(code: Code) -> Outcome {
    match code {
        Code::NoError => Outcome::Closed,
        code => outcome_of(code),
    }
}

/// The outcome as which a fault of the peer is counted.
fn outcome_of_error(error: &Error) -> Outcome {
    match error.is_too_large {
        true => Outcome::TooLarge,
        false => outcome_of(error.code),
    }
}
