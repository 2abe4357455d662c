//! Protocols of channels: joining, pushing, leaving, and what the server sends.

pub(crate) mod state;
mod topics;

use plan::expr::{EvalError, Template};
use plan::json::depth_note;
use plan::{ChannelOp, ChannelVerb, Expect, Op, Payload, Pc, Protocol as ChannelProtocol};
use proto::ws::{Event, MessageKind};
use record::Outcome;
use record::schema::WorkKind;

use crate::channels::{ChannelEnd, EndKind, IncomingMessage, OutgoingMessage};
use crate::interpreter::{Flow, Interpreter};
use crate::messages::Delivery;
use crate::protocols::channels::state::{Attempt, BY_TOPIC, Channels, Unsent};
use crate::protocols::mqtt::OTHER_PROTOCOL;
use crate::protocols::websocket::pauses::ReconnectState;
use crate::protocols::{Protocol, WebSocket};
use crate::received::{Label, ReceivedMessage, excerpt, records};
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

impl<'p> Interpreter<'p> {
    /// The WebSocket is open: true if a protocol of channels is spoken over it whose greeting the
    /// step still waits for.
    pub(crate) fn opens_channels(&mut self, now_ns: u64, slot: ConnSlot) -> bool {
        let key = self.conns[slot].user;
        let Some(protocol) = self.opening(key).protocol else {
            return false;
        };
        let mut channels = Channels::new(protocol, self.users[key].pc);
        let before = std::mem::replace(&mut self.conns[slot].speaks, Protocol::upgrade());
        if let Protocol::Ws(WebSocket::Deflated(compression)) = before {
            channels.compression = Some(*compression);
        }
        channels.mqtt = self.new_mqtt(key);
        let introduces = channels.mqtt.is_some();
        if self.opening(key).reconnect.is_some() && !introduces {
            channels.reconnect = Some(Box::new(ReconnectState::new()));
        }
        if let ChannelProtocol::Phoenix { heartbeat_ns, .. } = protocol {
            channels.beat_ns = now_ns.saturating_add(heartbeat_ns);
        }
        self.conns[slot].speaks = Protocol::Channels(Box::new(channels));
        self.arm_channels(slot);
        self.send_first(now_ns, slot);
        if introduces {
            self.introduce(now_ns, slot);
        }
        crate::channels::is_greeted(protocol)
    }

    pub(crate) fn send_to_channel(&mut self, now_ns: u64, key: UserKey, op: &ChannelOp) -> Flow {
        self.drop_early(key);
        self.begin(now_ns, key);
        let Some(slot) = self.open_stream(now_ns, key) else {
            return Flow::Fail;
        };
        let timeout_ns = match self.transmit_to_channel(now_ns, slot, op) {
            Ok(true) | Err(Unsent::Later) => match &op.reply {
                Some(expect) => expect.timeout_ns,
                None => op.timeout_ns,
            },
            Ok(false) | Err(Unsent::Needless) => return self.done_at_once(now_ns, key),
            Err(Unsent::Impossible(error)) => return self.cannot(now_ns, key, error),
        };
        let deadline_ns = self.users[key].sent_ns + timeout_ns;
        self.wait_for(key, Wait::Reply, deadline_ns);
        Flow::Wait
    }

    /// Sends the step's message. True if the step waits for something that answers it.
    pub(crate) fn transmit_to_channel(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        op: &ChannelOp,
    ) -> Result<bool, Unsent> {
        let start = self.conns.commands.bytes.len();
        let key = self.conns[slot].user;
        let began_ns = self.begin_making(key);
        let encoded = self.encode_for_channel(now_ns, slot, op);
        self.end_work(key, WorkKind::Encoding, began_ns);
        if let Some(channels) = self.conns[slot].channels() {
            channels.deferred = matches!(encoded, Err(Unsent::Later));
        }
        let given_up = encoded.inspect_err(|_| self.conns.commands.bytes.truncate(start))?;
        self.send_for_user(slot, start);
        for (pc, attempt) in given_up {
            self.record_attempt(now_ns, slot, pc, attempt, Outcome::Unfinished);
        }
        let mqtt = self.conns[slot].mqtt();
        let keeps = mqtt.is_some_and(|own| own.client.keeps_messages());
        if keeps && !self.conns.has_room(slot) {
            return Err(Unsent::Impossible(EXHAUSTED.to_owned()));
        }
        let channels = self.conns[slot].channels();
        let awaits = channels.is_some_and(|channels| channels.awaited.is_some());
        Ok(awaits || op.reply.is_some())
    }

    /// Appends the message and remembers what answers it. Returns the attempts to join its topics that
    /// it makes needless.
    fn encode_for_channel(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        op: &ChannelOp,
    ) -> Result<Vec<(Pc, Attempt)>, Unsent> {
        let conn = &mut self.conns.table[slot];
        let pc = self.users[conn.user].pc;
        let mut scope = self.users.scope(now_ns, conn.user);
        let Some(channels) = conn.channels() else {
            let error = "the WebSocket speaks no protocol of channels".to_owned();
            return Err(Unsent::Impossible(error));
        };
        let impossible = |error: EvalError| Unsent::Impossible(error.to_string());
        let mut text = |template: &Template| {
            let mut out = Vec::new();
            let rendered = template.render(&mut scope, &mut out);
            rendered.map(|()| out).map_err(impossible)
        };
        let topic: Box<[u8]> = match &op.topic {
            Some(topic) => text(topic)?.into(),
            None => match channels.topics.last() {
                Some(topic) => topic.name.clone(),
                None => return Err(Unsent::Impossible("no channel is joined".to_owned())),
            },
        };
        let event = text(&op.event)?;
        let mut payload = Vec::new();
        let rendered = op.payload.render(&mut scope, &mut payload);
        rendered.map_err(impossible)?;
        let again = op.rejoin.is_some() || channels.reconnect.is_some();
        if channels.mqtt.is_some() != op.delivery.is_some() {
            return Err(Unsent::Impossible(OTHER_PROTOCOL.to_owned()));
        }
        if channels.mqtt.is_some() {
            return self.encode_for_mqtt(now_ns, slot, op, again, &topic, &payload);
        }
        let wants_answer = op.reply.is_some() || op.verb != ChannelVerb::Push;
        let numbers = channels.next_numbers(op.verb, pc, &topic, wants_answer)?;
        let protocol = channels.protocol;
        let message = OutgoingMessage {
            verb: op.verb,
            topic: &topic,
            event: &event,
            payload: &payload,
            number: numbers.number,
            joined_by: numbers.joined_by,
            wants_answer,
        };
        if let Payload::Bytes(_) = op.payload {
            let mut packed = Vec::new();
            crate::channels::encode_bytes(protocol, &message, &mut packed)
                .map_err(Unsent::Impossible)?;
            let write = |out: &mut Vec<u8>| out.extend_from_slice(&packed);
            self.conns.encode_message(slot, MessageKind::Binary, write);
            return Ok(numbers.given_up.into_iter().collect());
        }
        let write = |out: &mut Vec<u8>| crate::channels::encode(protocol, &message, out);
        self.conns.encode_message(slot, MessageKind::Text, write);
        if again
            && op.verb == ChannelVerb::Join
            && let Some(channels) = self.conns[slot].channels()
        {
            channels.rejoin_last(&payload);
        }
        Ok(numbers.given_up.into_iter().collect())
    }

    /// The answer that a push waits for if the protocol does not number its answers.
    pub(crate) fn answer_by_content(&self, key: UserKey, op: &'p ChannelOp) -> Option<&'p Expect> {
        let awaits_number = self.stream(key).is_some_and(
            |slot| matches!(&self.conns[slot].speaks, Protocol::Channels(c) if c.awaited.is_some() || c.deferred),
        );
        op.reply.as_ref().filter(|_| !awaits_number)
    }

    /// True if the user's step in flight joins a channel: without it the session cannot continue.
    pub(crate) fn is_joining(&self, key: UserKey) -> bool {
        matches!(self.users.op(key), Some(Op::Channel(op)) if op.confirmed)
    }

    /// As `take_frame`, of a WebSocket that speaks a protocol of channels.
    pub(crate) fn take_channel_frame(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        frame: &Event<'_>,
    ) {
        self.trace_channel_frame(frame);
        let speaks_mqtt = self.conns[slot].mqtt().is_some();
        match frame {
            Event::Binary(bytes) if speaks_mqtt => self.take_packets(now_ns, slot, len, bytes),
            Event::Text(text) => self.take_texts(now_ns, slot, len, text.as_bytes()),
            Event::Binary(bytes) => self.take_binary(now_ns, slot, len, bytes),
            frame => self.take_frame(now_ns, slot, len, frame),
        }
    }

    /// A binary message: one of the protocol's, or it belongs to an earlier message, or to nothing
    /// known.
    fn take_binary(&mut self, now_ns: u64, slot: ConnSlot, len: usize, bytes: &[u8]) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        if let Some(incoming) = crate::channels::parse_binary(channels.protocol, bytes) {
            return self.act_on(now_ns, slot, len, bytes, incoming);
        }
        self.recorder.counts.bytes_in += len as u64;
        if channels.attachments == 0 {
            self.recorder.counts.unmatched += 1;
        }
        channels.attachments = channels.attachments.saturating_sub(1);
    }

    /// A text from the server, in `len` bytes, which may hold several messages. All bytes count for the first.
    fn take_texts(&mut self, now_ns: u64, slot: ConnSlot, len: usize, text: &[u8]) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let Some(end) = crate::channels::record_end(channels.protocol) else {
            return self.take_text(now_ns, slot, len, text);
        };
        let id = self.conns.id(slot);
        let mut len = len;
        for record in records(text, end) {
            self.take_text(now_ns, slot, std::mem::take(&mut len), record);
            if self.conns.live(id).is_none() {
                return;
            }
        }
        // There was no message.
        self.recorder.counts.bytes_in += len as u64;
    }

    /// A message of a text from the server.
    fn take_text(&mut self, now_ns: u64, slot: ConnSlot, len: usize, text: &[u8]) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        if let Some(silence_ns) = channels.silence_ns {
            channels.beat_ns = now_ns.saturating_add(silence_ns);
            channels.background.due_ns = channels.due_ns();
        }
        let incoming = crate::channels::parse(channels.protocol, text);
        self.act_on(now_ns, slot, len, text, incoming);
    }

    pub(crate) fn act_on<'t>(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        text: &'t [u8],
        incoming: IncomingMessage<'t>,
    ) {
        if !matches!(
            incoming,
            IncomingMessage::Message { .. }
                | IncomingMessage::WithAttachments { .. }
                | IncomingMessage::Answered { .. }
                | IncomingMessage::Reply { .. }
        ) {
            self.recorder.counts.bytes_in += len as u64;
        }
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        match incoming {
            IncomingMessage::Message { topic, event, mut payload, answer } => {
                if answer.is_none()
                    && channels.is_recoverable(&topic)
                    && let Some(found) = crate::channels::recoverable_event(text)
                {
                    channels.note_offset(&topic, found.offset);
                    payload = found.payload;
                }
                let label = match crate::channels::has_topics(channels.protocol) {
                    true => Label::Channel { topic: &topic, event: &event },
                    false => Label::Event { name: &event, id: b"" },
                };
                let received = ReceivedMessage::labelled(&payload, label);
                if let Some(number) = answer {
                    self.acknowledge(now_ns, slot, &topic, number, &received);
                }
                self.take_message(now_ns, slot, len, &received);
            }
            IncomingMessage::WithAttachments { count, then } => {
                channels.attachments = channels.attachments.saturating_add(count);
                self.act_on(now_ns, slot, len, text, *then);
            }
            // As by a client whose method has run before the user does anything.
            IncomingMessage::Answered { text: answer, then } => {
                self.send_control_text(slot, |out| out.extend_from_slice(&answer));
                self.act_on(now_ns, slot, len, text, *then);
            }
            IncomingMessage::Reply { number, ok, payload } => {
                self.answered(now_ns, slot, len, number, ok, payload);
            }
            IncomingMessage::Joined { topic, session } => {
                channels.note_session(&topic, session);
                self.joined(now_ns, slot, &topic, Ok(()));
            }
            IncomingMessage::Refused { topic, reason } => {
                self.joined(now_ns, slot, &topic, Err(reason));
            }
            IncomingMessage::Ended(ended) => self.channel_ended(now_ns, slot, &ended),
            IncomingMessage::Greeting { silence_ns } => self.greeted(now_ns, slot, silence_ns),
            IncomingMessage::Ping { pong } => {
                self.send_control_text(slot, |out| out.extend_from_slice(&pong));
            }
            IncomingMessage::Alive => {}
            IncomingMessage::Disconnect { reason, again } => {
                self.disconnected(now_ns, slot, reason, again);
            }
            IncomingMessage::OtherVersion { found } => {
                self.lost(now_ns, slot, Outcome::Protocol, || found.to_owned());
            }
            IncomingMessage::Broken => {
                let name = channels.protocol.name();
                let detail =
                    || format!("not a message of {name}: {}{}", excerpt(text), depth_note(text));
                self.lost(now_ns, slot, Outcome::Protocol, detail);
            }
        }
    }

    /// The connection may be used; from now on the server is silent for this long at most.
    pub(crate) fn greeted(&mut self, now_ns: u64, slot: ConnSlot, silence_ns: Option<u64>) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        channels.silence_ns = silence_ns;
        if let Some(silence_ns) = silence_ns {
            channels.beat_ns = now_ns.saturating_add(silence_ns);
        }
        if let Some(interval_ns) = crate::channels::ping_interval_ns(channels.protocol) {
            channels.ping_ns = now_ns.saturating_add(interval_ns);
        }
        if channels.is_lost() {
            return self.reconnected(now_ns, slot);
        }
        self.arm_channels(slot);
        let key = self.conns[slot].user;
        if self.users[key].wait == Wait::Upgrade {
            let status = self.conns[slot].opened_status();
            self.complete(now_ns, key, Outcome::Ok, status);
        }
    }

    /// A numbered answer: to a heartbeat, to the operation in flight, or too late.
    fn answered(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        number: u32,
        ok: bool,
        payload: &[u8],
    ) {
        let key = self.conns[slot].user;
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        if let Some(place) = channels.rejoining(number) {
            self.recorder.counts.bytes_in += len as u64;
            return self.rejoin_answered(now_ns, slot, place, ok, payload);
        }
        let beat = channels.beat == Some(number);
        if beat {
            channels.beat = None;
        }
        // Nothing that we sent has the number 0; a join that waits for its topic is noted by it.
        let unknown = number == BY_TOPIC || channels.awaited != Some(number);
        if beat || unknown || self.users[key].wait != Wait::Reply {
            self.recorder.counts.bytes_in += len as u64;
            return;
        }
        channels.awaited = None;
        let Some(Op::Channel(op)) = self.users.op(key) else {
            return;
        };
        self.users[key].bytes_in = len as u32;
        if !ok {
            let reason = excerpt(payload);
            self.explain(now_ns, key, Outcome::Rejected, || {
                format!("the server rejected it: {reason}")
            });
            return match op.verb {
                ChannelVerb::Join => self.fail(now_ns, key, Outcome::Rejected, 0),
                _ => self.complete(now_ns, key, Outcome::Rejected, 0),
            };
        }
        let outcome = match &op.reply {
            Some(expect) => self.examine_answer(now_ns, key, expect, len, payload),
            None => Outcome::Ok,
        };
        self.conclude(now_ns, key, outcome, 0);
    }

    fn examine_answer(
        &mut self,
        now_ns: u64,
        key: UserKey,
        expect: &Expect,
        len: usize,
        payload: &[u8],
    ) -> Outcome {
        let received = ReceivedMessage::message(payload);
        let delivery = Delivery { now_ns, user: key, len, received: &received };
        let users = &mut self.users;
        let messages = &mut self.messages;
        if messages.matches(users, &delivery, &expect.when) {
            let began_ns = self.begin_reading(key);
            let outcome = self.examine(now_ns, key, &expect.save, &expect.check, &received);
            self.end_work(key, WorkKind::Save, began_ns);
            return outcome;
        }
        self.explain(now_ns, key, Outcome::Check, || {
            format!("the answer does not match: {}", excerpt(payload))
        });
        Outcome::Check
    }

    /// The server reported that a topic was joined, or why not.
    fn joined(&mut self, now_ns: u64, slot: ConnSlot, topic: &[u8], result: Result<(), &[u8]>) {
        let key = self.conns[slot].user;
        let joins = self.is_joining(key);
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let place = channels.place(topic, None);
        if let Some(place) = place.filter(|&place| channels.topics[place].is_rejoining()) {
            let (ok, payload) = match result {
                Ok(()) => (true, &b""[..]),
                Err(reason) => (false, reason),
            };
            return self.rejoin_answered(now_ns, slot, place, ok, payload);
        }
        let last = channels.topics.last().is_some_and(|own| *own.name == *topic);
        if !joins || !last || channels.awaited != Some(BY_TOPIC) {
            if let Err(reason) = result {
                let ended = ChannelEnd {
                    topic: topic.into(),
                    joined_by: None,
                    how: EndKind::Closed,
                    reason,
                };
                self.channel_ended(now_ns, slot, &ended);
            }
            return;
        }
        channels.awaited = None;
        match result {
            Ok(()) => self.complete(now_ns, key, Outcome::Ok, 0),
            Err(reason) => {
                let reason = excerpt(reason);
                self.explain(now_ns, key, Outcome::Rejected, || {
                    format!("the server rejected it: {reason}")
                });
                self.fail(now_ns, key, Outcome::Rejected, 0);
            }
        }
    }

    /// The server wants an answer to a message. It is sent before a step continues with the
    /// message, as by a handler that calls back first.
    fn acknowledge(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        topic: &[u8],
        number: u32,
        received: &ReceivedMessage<'_>,
    ) {
        let delivery = Delivery { now_ns, user: self.conns[slot].user, len: 0, received };
        let answer = self.messages.answer(&mut self.users, &delivery);
        match answer {
            Ok(Some(arguments)) => self.send_control_text(slot, |out| {
                crate::channels::acknowledge(topic, number, &arguments, out);
            }),
            Ok(None) => {}
            Err((measure, error)) => self.fault(now_ns, delivery.user, measure, || error),
        }
    }

    /// Sends a text that no operation waits for.
    pub(crate) fn send_control_text(&mut self, slot: ConnSlot, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.conns.commands.bytes.len();
        self.conns.encode_message(slot, MessageKind::Text, write);
        self.send_control(slot, start);
    }

    /// Sends a ping that the server does not answer, if one is due.
    pub(crate) fn ping_if_due(&mut self, now_ns: u64, slot: ConnSlot) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let protocol = channels.protocol;
        let Some(interval_ns) = crate::channels::ping_interval_ns(protocol) else {
            return;
        };
        if channels.ping_ns <= now_ns {
            channels.ping_ns = now_ns.saturating_add(interval_ns);
            self.send_control_text(slot, |out| crate::channels::heartbeat(protocol, 0, out));
        }
    }

    /// A heartbeat is due, or the server was silent for too long.
    pub(crate) fn beat(&mut self, now_ns: u64, slot: ConnSlot) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        if channels.mqtt.is_some() {
            return self.beat_mqtt(now_ns, slot);
        }
        let protocol = channels.protocol;
        let (ChannelProtocol::Phoenix { heartbeat_ns, .. }, None) = (protocol, channels.beat)
        else {
            let detail = || "no heartbeat from the server in time".to_owned();
            return self.lost(now_ns, slot, Outcome::Timeout, detail);
        };
        let number = channels.number();
        channels.beat = Some(number);
        channels.beat_ns = now_ns.saturating_add(heartbeat_ns);
        self.send_control_text(slot, |out| {
            crate::channels::heartbeat(protocol, number, out);
        });
    }
}
