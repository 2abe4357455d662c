//! Bytes received: decoded by one loop for all protocols, each event handed to its protocol's steps.

use plan::{Expect, Op};
use record::Outcome;
use record::schema::WorkKind;

use crate::conn::{Decoder, Event, Failure, Link, Reuse, Stage};
use crate::interpreter::Interpreter;
use crate::messages::Delivery;
use crate::protocols::Protocol;
use crate::received::{Label, ReceivedMessage, records};
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

impl<'p> Interpreter<'p> {
    /// Plain bytes from the peer: what cannot be decoded yet is kept, as long as there is memory for it.
    pub(crate) fn take_in(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) {
        let id = self.conns.id(slot);
        let left = match self.conns[slot].inbox.take() {
            None => {
                let taken = self.decode(now_ns, slot, bytes);
                (taken < bytes.len()).then(|| Box::new(bytes[taken..].to_vec()))
            }
            Some(mut inbox) => {
                inbox.extend_from_slice(bytes);
                let taken = self.decode(now_ns, slot, &inbox);
                (taken < inbox.len()).then(|| {
                    inbox.drain(..taken);
                    inbox
                })
            }
        };
        if self.conns.live(id).is_none() {
            return;
        }
        self.conns[slot].inbox = left;
        if !self.conns.has_room(slot) {
            self.lost(now_ns, slot, Outcome::NoMemory, || EXHAUSTED.to_owned());
        }
    }

    /// Decodes what it can and returns how many bytes that took. The connection may be gone
    /// afterwards.
    fn decode(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        let conn = &self.conns[slot];
        match (conn.stage, &conn.link, &conn.speaks) {
            (Stage::Securing, ..) if self.conns.is_tunnelling(slot) => {
                self.decode_tunnel(now_ns, slot, bytes)
            }
            (Stage::Connecting | Stage::Securing | Stage::Idle | Stage::Waiting, ..) => {
                self.drop_unsolicited(slot);
                bytes.len()
            }
            (_, Link::Carrier(_), _) => self.decode_http2(now_ns, slot, bytes),
            _ if conn.is_upgrading() => self.decode_upgrade(now_ns, slot, bytes),
            (_, _, Protocol::Http) => match self.decode_whole(now_ns, slot, bytes) {
                Some(taken) => taken,
                None => {
                    self.conns[slot].reuse = Reuse::Answering;
                    self.decode_response(now_ns, slot, bytes)
                }
            },
            (_, Link::Bare(_), _) => self.take_bare(now_ns, slot, bytes),
            (_, _, Protocol::Poll(_)) => {
                self.conns[slot].reuse = Reuse::Answering;
                self.decode_pieces(now_ns, slot, bytes)
            }
            _ => self.decode_pieces(now_ns, slot, bytes),
        }
    }

    /// The answers of a proxy, and what follows them: a server may speak first.
    fn decode_tunnel(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        let id = self.conns.id(slot);
        let taken = match self.conns.take_answer(&self.users, slot, bytes) {
            Ok((taken, false)) => return taken,
            Ok((taken, true)) => taken,
            Err((outcome, detail)) => {
                self.lost(now_ns, slot, outcome, || detail);
                return bytes.len();
            }
        };
        self.connection_came(slot);
        self.connected_to_target(now_ns, slot);
        let rest = &bytes[taken..];
        if self.conns.live(id).is_none() || rest.is_empty() {
            return bytes.len();
        }
        if self.conns[slot].tls.is_none() {
            return taken + self.decode(now_ns, slot, rest);
        }
        self.lost(now_ns, slot, Outcome::Tls, || {
            "the peer sent bytes before TLS was begun".to_owned()
        });
        bytes.len()
    }

    /// Bytes that answer no request: the peer and we disagree on where a response ends
    /// (RFC 9112 §9.2).
    fn drop_unsolicited(&mut self, slot: ConnSlot) {
        self.recorder.counts.unsolicited += 1;
        if self.conns[slot].is_background() {
            self.conns.park(&mut self.users, slot);
        } else {
            self.conns.close(&mut self.users, slot);
        }
    }

    /// A response in pieces, before which the server may say that it wants the request's body.
    fn decode_response(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        if !self.is_body_held(slot) {
            return self.decode_pieces(now_ns, slot, bytes);
        }
        let id = self.conns.id(slot);
        let taken = self.decode_pieces(now_ns, slot, bytes);
        if self.conns.live(id).is_some()
            && self.conns[slot].http().is_some_and(|decoder| decoder.is_continued())
        {
            self.send_body(now_ns, slot);
        }
        taken
    }

    /// Decodes event by event.
    pub(crate) fn decode_pieces(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        match self.conns.take_decoder(slot) {
            Some(decoder) => self.decode_with(now_ns, slot, decoder, bytes),
            None => bytes.len(),
        }
    }

    /// The loop: decodes with a decoder that was taken out of its connection, hands each event on,
    /// and puts the decoder back, unless the connection is gone. Returns how many bytes it took.
    pub(crate) fn decode_with(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        mut decoder: Decoder<'p>,
        bytes: &[u8],
    ) -> usize {
        let id = self.conns.id(slot);
        let limits = match &self.conns[slot].speaks {
            Protocol::Sse(_) if matches!(decoder, Decoder::Http(_)) => self.conns.stream_limits,
            _ => self.conns.limits,
        };
        let mut taken = 0;
        loop {
            let decoded = match decoder.decode(&bytes[taken..], &limits) {
                Ok(decoded) => decoded,
                Err(failure) => {
                    self.cannot_decode(now_ns, slot, &failure);
                    return bytes.len();
                }
            };
            taken += decoded.consumed;
            self.count_in(slot, decoded.consumed);
            match decoded.event {
                None if decoded.consumed == 0 => break,
                None => {}
                // What follows may begin the connection's next response.
                Some((Event::End, _)) => {
                    self.conns.put_decoder(slot, decoder);
                    self.take_end(now_ns, slot, &[], taken < bytes.len());
                    return taken;
                }
                Some((event, len)) => self.take_event(now_ns, slot, event, len),
            }
            if self.conns.live(id).is_none() {
                return bytes.len();
            }
        }
        self.conns.put_decoder(slot, decoder);
        taken
    }

    fn take_event(&mut self, now_ns: u64, slot: ConnSlot, event: Event<'_>, len: usize) {
        match event {
            Event::Head(head) => self.take_head(now_ns, slot, len, &head),
            Event::Body(piece) => self.take_piece(now_ns, slot, piece),
            Event::End => {}
            Event::Frame(frame) => self.take_frame_of(now_ns, slot, len, &frame),
            Event::Sse(event) => self.take_sse(now_ns, slot, len, &event),
            Event::Message(frame) => {
                let received =
                    ReceivedMessage::labelled(frame.payload(), Label::Frame(&frame.message));
                self.take_records(now_ns, slot, len, &received);
            }
        }
    }

    fn cannot_decode(&mut self, now_ns: u64, slot: ConnSlot, failure: &Failure) {
        if let Failure::WebSocket(error) = failure {
            self.close_broken(slot, error);
        }
        self.lost(now_ns, slot, failure.outcome(), || failure.to_string());
    }

    /// Counts bytes that belong to a response; those of messages are counted by message.
    fn count_in(&mut self, slot: ConnSlot, bytes: usize) {
        let conn = &mut self.conns[slot];
        let bytes_in = match &mut conn.speaks {
            Protocol::Http => &mut self.users[conn.user].bytes_in,
            Protocol::Poll(poller) => &mut poller.background.bytes_in,
            _ => return,
        };
        *bytes_in = bytes_in.saturating_add(bytes as u32);
    }

    /// A message or an event arrived, in `len` bytes, which may hold several records. All bytes count for the first.
    pub(crate) fn take_records(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        received: &ReceivedMessage<'_>,
    ) {
        let Some(end) = self.record_end(slot) else {
            return self.take_message(now_ns, slot, len, received);
        };
        let id = self.conns.id(slot);
        let mut len = len;
        for record in records(received.body, end) {
            let bytes = std::mem::take(&mut len);
            self.take_message(now_ns, slot, bytes, &received.record(record));
            if self.conns.live(id).is_none() {
                return;
            }
        }
        // There was no record.
        self.recorder.counts.bytes_in += len as u64;
    }

    /// A message or an event arrived, in `len` bytes: the reply that a step waits for, or a pushed
    /// one.
    pub(crate) fn take_message(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        received: &ReceivedMessage<'_>,
    ) {
        let key = self.conns[slot].user;
        self.trace_message(slot, received);
        let delivery = Delivery { now_ns, user: key, len, received };
        if self.users[key].wait == Wait::Reply
            && let Some(expect) = self.expected(key)
            && self.messages.is_expected(&mut self.users, &delivery, expect)
        {
            self.users[key].bytes_in = len as u32;
            let sends = matches!(self.users.op(key), Some(Op::Send(_) | Op::Channel(_)));
            let request_ns = sends.then_some(self.users[key].sent_ns);
            let users = &mut self.users;
            let recorder = &mut self.recorder;
            self.messages.track_expected(users, recorder, &delivery, request_ns);
            let outcome = self.weigh_message(now_ns, key, expect, received);
            if matches!(self.users.op(key), Some(Op::Expect(_))) {
                self.expect_ended(now_ns, key);
            }
            return self.conclude(now_ns, key, outcome, 0);
        }
        self.take_unawaited(&delivery);
    }

    /// Looks into the message that a step waited for.
    pub(crate) fn weigh_message(
        &mut self,
        now_ns: u64,
        key: UserKey,
        expect: &Expect,
        received: &ReceivedMessage<'_>,
    ) -> Outcome {
        let save = &expect.save;
        let began_ns = self.begin_reading(key);
        let outcome = self.answered_with_errors(now_ns, key, expect.graphql, save, received);
        let outcome =
            outcome.unwrap_or_else(|| self.examine(now_ns, key, save, &expect.check, received));
        self.end_work(key, WorkKind::Save, began_ns);
        outcome
    }
}
