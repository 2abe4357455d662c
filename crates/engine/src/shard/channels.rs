//! Protocols of channels over a WebSocket: joining, pushing, leaving, and what the server says.

use plan::{ChannelOp, ChannelVerb, Expect, Op, Protocol};
use proto::ws::{self, Event, MessageKind};
use record::Outcome;

use super::Shard;
use super::deflate::encode_deflated;
use super::session::{Flow, excerpt};
use super::websocket::{SWITCHING, wire_len};
use crate::channels::{self, Channels, Heard, Said};
use crate::conn::{Codec, Stage};
use crate::extract::{Label, Received};
use crate::user::Wait;

/// Awaited is not a number's answer but that the topic being joined is told as joined.
const BY_TOPIC: u32 = 0;

impl<'p> Shard<'p> {
    /// The WebSocket is open: true where a protocol of channels is spoken over it whose greeting the
    /// step still waits for.
    pub(super) fn opens_channels(&mut self, now_ns: u64, slot: u32) -> bool {
        let key = self.conns[slot].user;
        let Some(Op::WsOpen(open)) = self.op(key) else {
            return false;
        };
        let Some(protocol) = open.protocol else {
            return false;
        };
        let mut channels = Channels::new(protocol, self.users[key].pc);
        if let Codec::Deflated(deflated) = &mut self.conns[slot].codec {
            channels.ws = std::mem::take(&mut deflated.reader);
            channels.compression = deflated.compression.take();
        }
        self.conns[slot].codec = Codec::Channels(Box::new(channels));
        if let Protocol::Phoenix { heartbeat_ns, .. } = protocol {
            self.due_in_background(slot, now_ns.saturating_add(heartbeat_ns));
        }
        channels::is_greeted(protocol)
    }

    pub(super) fn begin_channel(&mut self, now_ns: u64, key: u32, op: &ChannelOp) -> Flow {
        self.begin(now_ns, key);
        let Some(slot) = self.open_stream(now_ns, key) else {
            return Flow::Fail;
        };
        let start = self.commands.bytes.len();
        if let Err(error) = self.render_channel(now_ns, slot, op) {
            self.commands.bytes.truncate(start);
            self.explain(now_ns, key, Outcome::Step, || error);
            self.record_operation(now_ns, key, Outcome::Step, 0);
            return Flow::Fail;
        }
        self.send(slot, start);
        let awaits = self.conns[slot]
            .channels()
            .is_some_and(|channels| channels.awaited.is_some());
        let timeout_ns = match &op.reply {
            Some(expect) => expect.timeout_ns,
            None if awaits => op.timeout_ns,
            None => {
                self.record_operation(now_ns, key, Outcome::Ok, 0);
                let user = &mut self.users[key];
                user.due_ns = now_ns;
                user.ready_ns = now_ns;
                return Flow::Next;
            }
        };
        let deadline_ns = self.users[key].sent_ns + timeout_ns;
        self.wait_for(key, Wait::Reply, deadline_ns);
        Flow::Wait
    }

    /// Appends the message and remembers what answers it. The error says what cannot be sent.
    fn render_channel(&mut self, now_ns: u64, slot: u32, op: &ChannelOp) -> Result<(), String> {
        let unix_ms = self.unix_ms(now_ns);
        let mask = self.mask();
        let conn = &mut self.conns[slot];
        let mut scope = self.users[conn.user].scope(unix_ms);
        let Some(channels) = conn.channels() else {
            return Err("the WebSocket speaks no protocol of channels".to_owned());
        };
        let mut text = |template: &plan::expr::Template| {
            let mut out = Vec::new();
            let rendered = template.render(&mut scope, &mut out);
            rendered.map(|()| out).map_err(|error| error.to_string())
        };
        let topic: Box<[u8]> = match &op.topic {
            Some(topic) => text(topic)?.into(),
            None => match channels.topics.last() {
                Some((topic, _)) => topic.clone(),
                None => return Err("no channel is joined".to_owned()),
            },
        };
        let (event, payload) = (text(&op.event)?, text(&op.payload)?);
        let number = channels.number();
        let joined_by = match op.verb {
            ChannelVerb::Join => {
                channels.forget(&topic);
                channels.topics.push((topic.clone(), number));
                number
            }
            ChannelVerb::Push | ChannelVerb::Leave => channels
                .joined_by(&topic)
                .ok_or_else(|| format!("{:?} is not joined", String::from_utf8_lossy(&topic)))?,
        };
        let protocol = channels.protocol;
        let wants_answer = op.reply.is_some() || op.verb != ChannelVerb::Push;
        channels.awaited = match op.verb {
            _ if !wants_answer => None,
            verb if channels::is_answered(protocol, verb) => Some(number),
            ChannelVerb::Join => Some(BY_TOPIC),
            // What answers, if anything does, is known by its content.
            ChannelVerb::Push | ChannelVerb::Leave => None,
        };
        if op.verb == ChannelVerb::Leave {
            channels.forget(&topic);
        }
        let said = Said {
            verb: op.verb,
            topic: &topic,
            event: &event,
            payload: &payload,
            number,
            joined_by,
            wants_answer,
        };
        let write = |out: &mut Vec<u8>| channels::say(protocol, &said, out);
        let out = &mut self.commands.bytes;
        match &mut channels.compression {
            None => ws::encode_with(out, MessageKind::Text, mask, write),
            Some(compression) => {
                let form = (MessageKind::Text, mask);
                encode_deflated(out, form, compression, &mut self.deflater, write);
            }
        }
        Ok(())
    }

    /// What a push waits for where the protocol does not number its answers.
    pub(super) fn answer_by_content(&self, key: u32, op: &'p ChannelOp) -> Option<&'p Expect> {
        let awaits_number = self.stream_of(key).is_some_and(
            |slot| matches!(&self.conns[slot].codec, Codec::Channels(c) if c.awaited.is_some()),
        );
        op.reply.as_ref().filter(|_| !awaits_number)
    }

    /// True where the user's step in flight joins a channel: without it the session cannot go on.
    pub(super) fn is_joining(&self, key: u32) -> bool {
        matches!(self.op(key), Some(Op::Channel(op)) if op.verb == ChannelVerb::Join)
    }

    /// As `decode_frames`, of a WebSocket that speaks a protocol of channels.
    pub(super) fn decode_channels(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let id = self.id(slot);
        // The decoder is taken out while its events, which borrow it, are acted on.
        let Some(channels) = self.conns[slot].channels() else {
            return bytes.len();
        };
        let mut decoder = std::mem::take(&mut channels.ws);
        let mut taken = 0;
        loop {
            let gathered_len = decoder.gathered_len();
            let (consumed, event) = match decoder.decode(&bytes[taken..], &self.limits) {
                Ok((0, None)) => break,
                Ok(decoded) => decoded,
                Err(error) => {
                    self.break_frames(now_ns, slot, error);
                    return bytes.len();
                }
            };
            taken += consumed;
            if let Some(event) = event {
                let len = wire_len(&event, gathered_len, consumed);
                match event {
                    Event::Text(text) => self.hear(now_ns, slot, len, text.as_bytes()),
                    Event::Binary(_) => self.take_attachment(slot, len),
                    event => self.handle_event(now_ns, slot, len, &event),
                }
            }
            if self.live(id).is_none() {
                return bytes.len();
            }
        }
        if let Some(channels) = self.conns[slot].channels() {
            channels.ws = decoder;
        }
        taken
    }

    /// A binary message: it belongs to one before it, which was handed on, or to nothing we know.
    fn take_attachment(&mut self, slot: u32, len: usize) {
        self.recorder.counts.bytes_in += len as u64;
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        if channels.attachments == 0 {
            self.recorder.counts.unmatched += 1;
        }
        channels.attachments = channels.attachments.saturating_sub(1);
    }

    /// A text of the server's, in `len` bytes.
    fn hear(&mut self, now_ns: u64, slot: u32, len: usize, text: &[u8]) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        if let Some(silence_ns) = channels.silence_ns {
            channels.background.due_ns = now_ns.saturating_add(silence_ns);
        }
        let heard = channels::hear(channels.protocol, text);
        self.act_on(now_ns, slot, len, text, heard);
    }

    fn act_on(&mut self, now_ns: u64, slot: u32, len: usize, text: &[u8], heard: Heard<'_>) {
        if !matches!(
            heard,
            Heard::Message { .. } | Heard::WithAttachments { .. } | Heard::Reply { .. }
        ) {
            self.recorder.counts.bytes_in += len as u64;
        }
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        match heard {
            Heard::Message {
                topic,
                event,
                payload,
            } => {
                let received = Received {
                    head: None,
                    body: &payload,
                    label: Label::Channel {
                        topic: &topic,
                        event: &event,
                    },
                };
                self.handle_message(now_ns, slot, len, &received);
            }
            Heard::WithAttachments { count, then } => {
                channels.attachments = channels.attachments.saturating_add(count);
                self.act_on(now_ns, slot, len, text, *then);
            }
            Heard::Reply {
                number,
                ok,
                payload,
            } => self.answered(now_ns, slot, len, (number, ok, payload)),
            Heard::Joined { topic } => self.joined(now_ns, slot, &topic, Ok(())),
            Heard::Refused { topic, reason } => self.joined(now_ns, slot, &topic, Err(reason)),
            Heard::Ended { topic } => channels.forget(&topic),
            Heard::Greeting { silence_ns } => {
                channels.silence_ns = silence_ns;
                if let Some(silence_ns) = silence_ns {
                    self.due_in_background(slot, now_ns.saturating_add(silence_ns));
                }
                let key = self.conns[slot].user;
                if self.users[key].wait == Wait::Upgrade {
                    self.complete(now_ns, key, Outcome::Ok, SWITCHING);
                }
            }
            Heard::Ping { pong } => self.say_beside(slot, |out| out.extend_from_slice(&pong)),
            Heard::Alive => {}
            Heard::Goodbye { reason } => {
                let said = excerpt(reason);
                let detail = || format!("the server ended the connection: {said}");
                self.lost(now_ns, slot, Outcome::Closed, detail);
            }
            Heard::Broken => {
                let name = channels.protocol.name();
                let detail = || format!("not a message of {name}: {}", excerpt(text));
                self.lost(now_ns, slot, Outcome::Protocol, detail);
            }
        }
    }

    /// The answer under a number came: to a heartbeat, to the operation in flight, or too late.
    fn answered(
        &mut self,
        now_ns: u64,
        slot: u32,
        len: usize,
        (number, ok, payload): (u32, bool, &[u8]),
    ) {
        let key = self.conns[slot].user;
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let beat = channels.beat == Some(number);
        if beat {
            channels.beat = None;
        }
        if beat || channels.awaited != Some(number) || self.users[key].wait != Wait::Reply {
            self.recorder.counts.bytes_in += len as u64;
            return;
        }
        channels.awaited = None;
        let Some(Op::Channel(op)) = self.op(key) else {
            return;
        };
        self.users[key].bytes_in = len as u32;
        if !ok {
            let said = excerpt(payload);
            self.explain(now_ns, key, Outcome::Rejected, || {
                format!("the server turned it down: {said}")
            });
            return match op.verb {
                ChannelVerb::Join => self.fail(now_ns, key, Outcome::Rejected, 0),
                _ => self.complete(now_ns, key, Outcome::Rejected, 0),
            };
        }
        let outcome = match &op.reply {
            Some(expect) => self.look_at_answer(now_ns, key, expect, payload),
            None => Outcome::Ok,
        };
        self.conclude(now_ns, key, outcome, 0);
    }

    fn look_at_answer(
        &mut self,
        now_ns: u64,
        key: u32,
        expect: &Expect,
        payload: &[u8],
    ) -> Outcome {
        let received = Received::message(payload);
        let unix_ms = self.unix_ms(now_ns);
        let mut scratch = std::mem::take(&mut self.scratch);
        let scope = &mut self.users[key].scope(unix_ms);
        let wanted = received.matches(&expect.when, scope, &mut scratch);
        self.scratch = scratch;
        if wanted {
            return self.examine(now_ns, key, &expect.save, &expect.check, &received);
        }
        self.explain(now_ns, key, Outcome::Check, || {
            format!("the answer is another one: {}", excerpt(payload))
        });
        Outcome::Check
    }

    /// The server told that a topic was joined, or why not.
    fn joined(&mut self, now_ns: u64, slot: u32, topic: &[u8], result: Result<(), &[u8]>) {
        let key = self.conns[slot].user;
        let joins = self.is_joining(key);
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let last = channels
            .topics
            .last()
            .is_some_and(|(own, _)| **own == *topic);
        if result.is_err() {
            channels.forget(topic);
        }
        if !joins || !last || channels.awaited != Some(BY_TOPIC) {
            return;
        }
        channels.awaited = None;
        match result {
            Ok(()) => self.complete(now_ns, key, Outcome::Ok, 0),
            Err(reason) => {
                let said = excerpt(reason);
                self.explain(now_ns, key, Outcome::Rejected, || {
                    format!("the server turned it down: {said}")
                });
                self.fail(now_ns, key, Outcome::Rejected, 0);
            }
        }
    }

    /// Sends a text that no operation waits for.
    fn say_beside(&mut self, slot: u32, write: impl FnOnce(&mut Vec<u8>)) {
        let mask = self.mask();
        let start = self.commands.bytes.len();
        let out = &mut self.commands.bytes;
        match self.conns[slot].compression() {
            None => ws::encode_with(out, MessageKind::Text, mask, write),
            Some(compression) => {
                let form = (MessageKind::Text, mask);
                encode_deflated(out, form, compression, &mut self.deflater, write);
            }
        }
        self.send_beside(slot, start);
    }

    /// A heartbeat is due, or the server was silent too long.
    pub(super) fn beat(&mut self, now_ns: u64, slot: u32) {
        if self.conns[slot].stage != Stage::Open {
            return;
        }
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let protocol = channels.protocol;
        let (Protocol::Phoenix { heartbeat_ns, .. }, None) = (protocol, channels.beat) else {
            let detail = || "the server gave no sign of life in time".to_owned();
            return self.lost(now_ns, slot, Outcome::Timeout, detail);
        };
        let number = channels.number();
        channels.beat = Some(number);
        self.say_beside(slot, |out| channels::heartbeat(protocol, number, out));
        self.due_in_background(slot, now_ns.saturating_add(heartbeat_ns));
    }
}
