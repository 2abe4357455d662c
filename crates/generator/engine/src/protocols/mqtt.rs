//! MQTT: a protocol of channels whose packets `proto::mqtt` reads and writes, over a WebSocket or without one.
//!
//! Topics and filters of topics are channels; what a step waits for, joining again and reconnecting are those of
//! `channels`, `topics` and `reconnects`.

pub(crate) mod client;

use plan::expr::Template;
use plan::{ChannelOp, ChannelVerb, MqttOpen, Op, Pc, Protocol as ChannelProtocol};
use proto::mqtt::{Error, Event, Message, MessageProperties, Version};
use record::Outcome;

use crate::channels::IncomingMessage;
use crate::conn::{NEVER, Stage};
use crate::failures::Code;
use crate::interpreter::Interpreter;
use crate::protocols::Protocol;
use crate::protocols::channels::state::{Attempt, Unsent};
use crate::protocols::mqtt::client::Mqtt;
use crate::protocols::websocket::pauses::ReconnectState;
use crate::received::{Label, ReceivedMessage, excerpt};
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

/// Reasons from here on are failures (MQTT 5 §2.4).
const FAILURE: u8 = 0x80;
/// Another client has the same identifier: to reconnect would throw that one out (MQTT 5 §3.14.2.1).
const TAKEN_OVER: u8 = 0x8e;
/// Why a step of MQTT cannot send, or a step of channels over MQTT.
pub(crate) const OTHER_PROTOCOL: &str = "the connection speaks another protocol";

impl Interpreter<'_> {
    /// The MQTT state of a connection that is opened, if it speaks MQTT.
    pub(crate) fn new_mqtt(&self, key: UserKey) -> Option<Box<Mqtt>> {
        let open = self.opening(key);
        let ChannelProtocol::Mqtt { five, keep_alive_s } = open.protocol? else {
            return None;
        };
        let bare = open.mqtt.as_ref().is_some_and(|own| own.bare);
        let bytes_max = self.conns.limits.message_bytes_max;
        let mut mqtt = Mqtt::new(five, keep_alive_s, bare, bytes_max);
        // A server of version 5 ends a session that does not expire later with its connection (§3.1.2.11.2).
        let is_kept = |own: &MqttOpen| !own.clean && (!five || own.session_expiry_s > 0);
        if open.reconnect.is_some() && open.mqtt.as_deref().is_some_and(is_kept) {
            mqtt.client.keep_messages();
        }
        Some(Box::new(mqtt))
    }

    /// TCP, and TLS if wanted, are set up. True if MQTT is spoken without a WebSocket: the client introduces itself.
    pub(crate) fn begins_bare(&mut self, now_ns: u64, slot: ConnSlot) -> bool {
        let open = self.opening_of(slot);
        if !open.mqtt.as_ref().is_some_and(|own| own.bare) {
            return false;
        }
        if self.conns[slot].is_background() {
            self.conns[slot].stage = Stage::Upgrading;
            self.upgraded_again(now_ns, slot, None);
        } else {
            self.upgraded(now_ns, slot, None);
        }
        true
    }

    /// Sends what introduces the client; its step waits for the server's answer.
    pub(crate) fn introduce(&mut self, now_ns: u64, slot: ConnSlot) {
        let open = self.opening_of(slot);
        let (Some(own), Some(ChannelProtocol::Mqtt { keep_alive_s, .. })) =
            (&open.mqtt, open.protocol)
        else {
            return;
        };
        let conn = &mut self.conns.table[slot];
        let key = conn.user;
        let mut scope = self.users.scope(now_ns, key);
        let mut packet = Vec::new();
        let Some(mqtt) = conn.mqtt() else {
            return;
        };
        let introduced = mqtt.introduce(own, keep_alive_s, &mut scope, &mut packet);
        mqtt.sent_ns = now_ns;
        let background = conn.is_background();
        if !background {
            self.users[key].wait = Wait::Upgrade;
        }
        if let Err(error) = introduced {
            let outcome = self.users.blame();
            return self.lost(now_ns, slot, outcome, || error);
        }
        let start = self.conns.commands.bytes.len();
        self.conns.encode_packets(slot, &packet);
        if background {
            let sent_ns = self.conns[slot].background().map_or(now_ns, |own| own.sent_ns);
            return self.transmit_background(slot, start, sent_ns + open.timeout_ns);
        }
        self.send_for_user(slot, start);
        let deadline_ns = self.users[key].sent_ns + open.timeout_ns;
        self.wait_for(key, Wait::Upgrade, deadline_ns);
    }

    /// Appends the packet of a step, and remembers what answers it. Returns the attempts to subscribe again that it makes
    /// needless. `again`: what it subscribes to is subscribed to again on another connection.
    pub(crate) fn encode_for_mqtt(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        op: &ChannelOp,
        again: bool,
        topic: &[u8],
        payload: &[u8],
    ) -> Result<Vec<(Pc, Attempt)>, Unsent> {
        let conn = &mut self.conns.table[slot];
        let pc = self.users[conn.user].pc;
        let mut scope = self.users.scope(now_ns, conn.user);
        let (Some(channels), Some(delivery)) = (conn.channels(), &op.delivery) else {
            return Err(Unsent::Impossible(OTHER_PROTOCOL.to_owned()));
        };
        let mut text = |template: &Template| {
            let mut text = Vec::new();
            let rendered = template.render(&mut scope, &mut text);
            rendered.map(|()| text).map_err(|error| Unsent::Impossible(error.to_string()))
        };
        let more: Vec<_> = delivery.more.iter().map(&mut text).collect::<Result<_, _>>()?;
        let mut topics = vec![topic];
        topics.extend(more.iter().map(Vec::as_slice));
        channels.awaited = None;
        if channels.is_lost() {
            return Err(match op.verb {
                ChannelVerb::Join | ChannelVerb::Push => Unsent::Later,
                ChannelVerb::Leave => {
                    for topic in topics {
                        channels.forget(topic);
                    }
                    Unsent::Needless
                }
            });
        }
        let own = delivery.properties.iter();
        let values: Vec<_> = own.map(|(_, value)| text(value)).collect::<Result<_, _>>()?;
        let own = &delivery.about;
        let content_type = own.content_type.as_ref().map(&mut text).transpose()?;
        let response_topic = own.response_topic.as_ref().map(&mut text).transpose()?;
        let correlation = own.correlation.as_ref().map(&mut text).transpose()?;
        let about = MessageProperties {
            is_text: own.is_text,
            expiry_s: own.expiry_s,
            content_type: content_type.as_deref(),
            response_topic: response_topic.as_deref(),
            correlation: correlation.as_deref(),
        };
        let names = delivery.properties.iter().map(|(name, _)| name.as_bytes());
        let properties: Vec<_> = names.zip(values.iter().map(Vec::as_slice)).collect();
        let mut packet = Vec::new();
        let Some(mqtt) = &mut channels.mqtt else {
            return Err(Unsent::Impossible(OTHER_PROTOCOL.to_owned()));
        };
        let id = mqtt.write(op.verb, delivery, &topics, payload, &properties, about, &mut packet);
        let id = id.map_err(|error| Unsent::Impossible(error.to_string()))?;
        mqtt.sent_ns = now_ns;
        let number = u32::from(id);
        let mut given_up = Vec::new();
        for topic in topics {
            let noted = channels.note(op.verb, pc, topic, number, number, id > 0);
            given_up.extend(noted.given_up);
            if again && op.verb == ChannelVerb::Join {
                channels.rejoin_last(b"");
            }
        }
        self.conns.encode_packets(slot, &packet);
        Ok(given_up)
    }

    /// Appends a subscription that is made again. Returns its number.
    pub(crate) fn encode_rejoin(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        op: &ChannelOp,
        topic: &[u8],
    ) -> Result<u32, String> {
        let (Some(mqtt), Some(delivery)) = (self.conns[slot].mqtt(), &op.delivery) else {
            return Err(OTHER_PROTOCOL.to_owned());
        };
        let mut packet = Vec::new();
        let verb = ChannelVerb::Join;
        let about = MessageProperties::default();
        let id = mqtt.write(verb, delivery, &[topic], b"", &[], about, &mut packet);
        mqtt.sent_ns = now_ns;
        self.conns.encode_packets(slot, &packet);
        id.map(u32::from).map_err(|error| error.to_string())
    }

    /// Sends packets that no operation waits for.
    fn send_packets(&mut self, now_ns: u64, slot: ConnSlot, packets: &[u8]) {
        if let Some(mqtt) = self.conns[slot].mqtt() {
            mqtt.sent_ns = now_ns;
        }
        let start = self.conns.commands.bytes.len();
        self.conns.encode_packets(slot, packets);
        self.send_control(slot, start);
    }

    /// Sends a DISCONNECT, if MQTT is spoken. True if that is all: there is no WebSocket to close.
    pub(crate) fn send_disconnect(&mut self, slot: ConnSlot, code: u16) -> bool {
        let Some(mqtt) = self.conns[slot].mqtt() else {
            return false;
        };
        let bare = mqtt.bare;
        let sent_ns = mqtt.sent_ns;
        let mut packet = Vec::new();
        // The status of a WebSocket is no reason of MQTT.
        let reason = u8::try_from(code).unwrap_or(proto::mqtt::NORMAL);
        mqtt.client.disconnect(reason, &mut packet);
        self.send_packets(sent_ns, slot, &packet);
        bare
    }

    /// A ping is due, or the last one has no answer.
    pub(crate) fn beat_mqtt(&mut self, now_ns: u64, slot: ConnSlot) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let Some(mqtt) = &mut channels.mqtt else {
            return;
        };
        if channels.beat.is_some() {
            let detail = || "no answer to a ping in time".to_owned();
            return self.lost(now_ns, slot, Outcome::Timeout, detail);
        }
        let idle_until_ns = mqtt.sent_ns.saturating_add(mqtt.keep_alive_ns);
        if idle_until_ns > now_ns {
            channels.beat_ns = idle_until_ns;
            return;
        }
        channels.beat = Some(0);
        channels.beat_ns = now_ns.saturating_add(mqtt.keep_alive_ns);
        let mut packet = Vec::new();
        mqtt.client.ping(&mut packet);
        self.send_packets(now_ns, slot, &packet);
    }

    /// The number of the message whose acknowledgement the step in flight waits for, if it is sent again should the
    /// server have kept the session.
    pub(crate) fn kept_message(&self, slot: ConnSlot) -> Option<u32> {
        let Protocol::Channels(channels) = &self.conns[slot].speaks else {
            return None;
        };
        let mqtt = channels.mqtt.as_ref()?;
        let key = self.conns[slot].user;
        let publishes = match self.users.op(key) {
            Some(Op::Channel(op)) => op.verb == ChannelVerb::Push,
            _ => false,
        };
        let waits = publishes && self.users[key].wait == Wait::Reply;
        channels.awaited.filter(|_| waits && mqtt.client.keeps_messages())
    }

    /// The client is accepted again. Without the session of before, a message that was in flight has failed as its
    /// connection did.
    pub(crate) fn fail_without_session(&mut self, now_ns: u64, slot: ConnSlot) {
        let awaits = self.kept_message(slot).is_some();
        let key = self.conns[slot].user;
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let lost = channels.mqtt.as_mut().and_then(|mqtt| mqtt.lost.take());
        let Some(lost) = lost.filter(|_| awaits && !channels.continues()) else {
            return;
        };
        channels.awaited = None;
        let (outcome, detail) = *lost;
        self.explain(now_ns, key, outcome, || {
            format!("{detail}; the server has not kept the session")
        });
        self.complete(now_ns, key, outcome, 0);
    }

    // What the server sends.

    /// A message of the WebSocket, in `len` bytes: packets, or parts of them (MQTT 5 §6.0).
    pub(crate) fn take_packets(&mut self, now_ns: u64, slot: ConnSlot, len: usize, bytes: &[u8]) {
        // What frames it; packets are counted one by one.
        self.recorder.counts.bytes_in += len.saturating_sub(bytes.len()) as u64;
        let id = self.conns.id(slot);
        let Some(mqtt) = self.conns[slot].mqtt() else {
            return;
        };
        let mut part = std::mem::take(&mut mqtt.part);
        if part.is_empty() {
            let taken = self.decode_packets(now_ns, slot, bytes);
            part.extend_from_slice(&bytes[taken..]);
        } else {
            part.extend_from_slice(bytes);
            let taken = self.decode_packets(now_ns, slot, &part);
            part.drain(..taken);
        }
        if self.conns.live(id).is_some()
            && let Some(mqtt) = self.conns[slot].mqtt()
        {
            mqtt.part = part;
        }
    }

    /// Acts on the packets that are complete. Returns how many bytes they took; the connection may be gone afterwards.
    pub(crate) fn decode_packets(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        let id = self.conns.id(slot);
        let mut taken = 0;
        let mut answer = Vec::new();
        while self.conns.live(id).is_some() {
            let Some(mqtt) = self.conns[slot].mqtt() else {
                return bytes.len();
            };
            answer.clear();
            match mqtt.client.receive(&bytes[taken..], &mut answer) {
                Ok(None) => return taken,
                Ok(Some((len, event))) => {
                    if mqtt.bare
                        && let Some(trace) = &self.recorder.trace
                    {
                        trace.message(None, &bytes[taken..taken + len]);
                    }
                    taken += len;
                    // An acknowledgement is sent before a step continues with the message.
                    if !answer.is_empty() {
                        self.send_packets(now_ns, slot, &answer);
                    }
                    self.take_packet(now_ns, slot, len, event);
                }
                Err(error) => {
                    self.broke_mqtt(now_ns, slot, &error);
                    return bytes.len();
                }
            }
        }
        bytes.len()
    }

    /// The server broke the protocol. A client of version 5 says so before it closes (§4.13.1).
    fn broke_mqtt(&mut self, now_ns: u64, slot: ConnSlot, error: &Error) {
        if let Some(mqtt) = self.conns[slot].mqtt()
            && mqtt.client.version() == Version::V5
            && mqtt.client.is_connected()
        {
            let mut packet = Vec::new();
            mqtt.client.disconnect(error.reason(), &mut packet);
            self.send_packets(now_ns, slot, &packet);
        }
        let outcome = match error {
            Error::TooLarge { .. } => Outcome::TooLarge,
            _ => Outcome::Protocol,
        };
        self.lost(now_ns, slot, outcome, || error.to_string());
    }

    fn take_packet(&mut self, now_ns: u64, slot: ConnSlot, len: usize, event: Event<'_>) {
        if !matches!(event, Event::Message(_) | Event::Answered { .. }) {
            self.recorder.counts.bytes_in += len as u64;
        }
        match event {
            Event::Message(message) => self.take_published(now_ns, slot, len, message),
            Event::Answered { id, reason, codes, text } => {
                let number = u32::from(id);
                let ok = reason < FAILURE;
                let payload = match ok {
                    true => Vec::new(),
                    false => self.describe_refusal(slot, id, reason, codes, text),
                };
                let payload = &payload[..];
                let incoming = IncomingMessage::Reply { number, ok, payload };
                let act = |own: &mut Self| own.act_on(now_ns, slot, len, b"", incoming);
                match ok {
                    true => act(self),
                    false => self.under(Code::Mqtt(reason), act),
                }
            }
            Event::Connected { session_present, keep_alive_s } => {
                self.accepted(now_ns, slot, session_present, keep_alive_s);
            }
            Event::Refused { reason, text } => {
                let why = describe_reason(self.version(slot), reason, text);
                let detail = || format!("the server rejected the client: {why}");
                let outcome = Outcome::Rejected;
                self.under(Code::Mqtt(reason), |own| own.lost(now_ns, slot, outcome, detail));
            }
            Event::Challenge { .. } => self.authenticate(now_ns, slot),
            Event::Pong => {
                if let Some(channels) = self.conns[slot].channels() {
                    channels.beat = None;
                }
            }
            Event::Disconnect { reason, text } => {
                let why = describe_reason(self.version(slot), reason, text);
                if let Some(channels) = self.conns[slot].channels()
                    && reason == TAKEN_OVER
                {
                    channels.reconnect = None;
                }
                let detail = || format!("the server ended the connection: {why}");
                let outcome = Outcome::Closed;
                self.under(Code::Mqtt(reason), |own| own.lost(now_ns, slot, outcome, detail));
            }
            Event::Handled => {}
        }
    }

    /// The server wants further data of the method by which the client authenticates.
    fn authenticate(&mut self, now_ns: u64, slot: ConnSlot) {
        let open = self.opening_of(slot);
        let own = open.mqtt.as_ref().and_then(|own| own.authentication.as_deref());
        let conn = &mut self.conns.table[slot];
        let mut scope = self.users.scope(now_ns, conn.user);
        let mut packet = Vec::new();
        let (Some(own), Some(mqtt)) = (own, conn.mqtt()) else {
            return;
        };
        match mqtt.answer(own, &mut scope, &mut packet) {
            Ok(()) => self.send_packets(now_ns, slot, &packet),
            Err(error) => self.lost(now_ns, slot, Outcome::Rejected, || error),
        }
    }

    fn take_published(&mut self, now_ns: u64, slot: ConnSlot, len: usize, message: Message<'_>) {
        let named = message.alias.filter(|_| message.topic.is_empty());
        let named = named.and_then(|alias| {
            let mqtt = self.conns[slot].mqtt()?;
            mqtt.client.topic(alias).map(<[u8]>::to_vec)
        });
        let label = Label::Published {
            topic: named.as_deref().unwrap_or(message.topic),
            retained: message.retained,
            properties: message.properties,
        };
        let received = ReceivedMessage::labelled(message.payload, label);
        self.take_message(now_ns, slot, len, &received);
    }

    /// The server has accepted the client.
    fn accepted(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        continued: bool,
        keep_alive_s: Option<u16>,
    ) {
        let key = self.conns[slot].user;
        let reconnects = match self.users.op(key) {
            Some(Op::WsOpen(open)) => open.reconnect.is_some(),
            _ => false,
        };
        let Protocol::Channels(channels) = &mut self.conns[slot].speaks else {
            return;
        };
        // Before the first acceptance, a loss is a failure of the step.
        if reconnects && channels.reconnect.is_none() {
            channels.reconnect = Some(Box::new(ReconnectState::new()));
        }
        if let Some(mqtt) = &mut channels.mqtt {
            mqtt.accepted(continued, keep_alive_s);
            channels.beat_ns = match mqtt.keep_alive_ns {
                0 => NEVER,
                keep_alive_ns => now_ns.saturating_add(keep_alive_ns),
            };
        }
        self.greeted(now_ns, slot, None);
    }

    /// Why the server has turned something down: of several filters for each that it was.
    fn describe_refusal(
        &mut self,
        slot: ConnSlot,
        id: u16,
        reason: u8,
        codes: &[u8],
        text: &[u8],
    ) -> Vec<u8> {
        let version = self.version(slot);
        let channels = self.conns[slot].channels();
        let topics = channels.map_or(&[][..], |channels| &channels.topics);
        let topics = topics.iter().filter(|own| own.joined_by == u32::from(id));
        let filters: Vec<&[u8]> = topics.map(|own| &*own.name).collect();
        // What ends subscriptions has left their topics already.
        if codes.len() < 2 || codes.len() != filters.len() {
            return describe_reason(version, reason, text).into_bytes();
        }
        let said = proto::mqtt::refusals(version, &filters, codes).into_bytes();
        match text {
            b"" => said,
            text => [&said, &b": "[..], text].concat(),
        }
    }

    fn version(&mut self, slot: ConnSlot) -> Version {
        let mqtt = self.conns[slot].mqtt();
        mqtt.map_or(Version::V5, |mqtt| mqtt.client.version())
    }
}

/// A reason in words, with what the server adds.
fn describe_reason(version: Version, reason: u8, text: &[u8]) -> String {
    let words = proto::mqtt::reason_words(version, reason);
    match text {
        b"" => words,
        text => format!("{words}: {}", excerpt(text)),
    }
}
