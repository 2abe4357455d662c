//! The state of a client's connection, and which packet may follow which (§4.3).

use crate::mqtt::aliases::{Aliases, TopicName};
use crate::mqtt::in_flight::{Awaits, InFlight};
use crate::mqtt::outgoing::{self, Authentication, Connect, Publish, Subscribe};
use crate::mqtt::packet::{
    Ack, ConnAck, FAILURE, NOT_BEGUN, OTHER_COUNT, Packet, PublishPacket, kind, parse,
};
use crate::mqtt::topic::{TopicError, check_filter, check_topic};
use crate::mqtt::wire::{BYTES_MAX, TEXT_BYTES_MAX};
use crate::mqtt::{Error, Qos, Version};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

/// Most topics that each side may name by numbers.
pub const ALIASES_MAX: u16 = 1000;
/// Most messages of a client that wait for an acknowledgement, unless its server allows fewer.
pub const IN_FLIGHT_MAX: usize = 1024;
/// Most packets of a client that wait for one.
pub const PACKETS_MAX: usize = 4096;
/// Most messages of QoS 2 that a server of version 5 has not released, which it is informed of. With version 3.1.1 the
/// number of packet identifiers is the only limit.
pub const RECEIVE_MAX: u16 = 1024;

/// Most filters of one packet.
pub const FILTERS_MAX: usize = 1000;

/// A packet identifier that is not known (§3.6.2.1).
const NOT_FOUND: u8 = 0x92;
/// Bytes of the longest fixed header (§2.1).
const HEADER_BYTES_MAX: usize = 5;

/// The limits of the server (§3.2.2.3).
#[derive(Debug, Clone, Copy)]
struct ServerLimits {
    in_flight: u16,
    packet_bytes: u32,
    topic_aliases: u16,
    qos: Qos,
    retain: bool,
    subscription_ids: bool,
}

const ALL: ServerLimits = ServerLimits {
    in_flight: IN_FLIGHT_MAX as u16,
    packet_bytes: BYTES_MAX as u32,
    topic_aliases: 0,
    qos: Qos::ExactlyOnce,
    retain: true,
    subscription_ids: true,
};

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server answers the CONNECT next.
    Connecting,
    Connected,
}

/// A client's connection, from its CONNECT on. It can be used for further connections of the same client, one after the
/// other.
#[derive(Debug)]
pub struct Client {
    version: Version,
    stage: Stage,
    /// The last CONNECT wanted a session without history.
    clean: bool,
    allowed: ServerLimits,
    bytes_max: usize,
    in_flight: InFlight,
    /// Messages of QoS 2 that are not released, in order.
    received: Vec<u16>,
    /// The numbers of topics, if the client allows any.
    aliases: Option<Box<Aliases>>,
    /// The last CONNECT has begun an authentication by a method, which may be continued.
    authenticates: bool,
}

/// Why a packet is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The topic or filter is invalid.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The server allows a lower quality of service only (§3.2.2.3.4).
    #[error("the server allows QoS {0} at most")]
    Qos(u8),
    /// The server keeps no messages (§3.2.2.3.5).
    #[error("the server does not allow retained messages")]
    Retain,
    /// The server knows no identifiers of subscriptions (§3.2.2.3.12).
    #[error("the server does not allow subscription identifiers")]
    SubscriptionIds,
    /// The limit of packets without an acknowledgement is reached (§3.2.2.3.3).
    #[error(
        "{0} packets are in flight without an acknowledgement; the server, or Throng, allows no more"
    )]
    InFlight(usize),
    /// The packet is longer than the server reads (§3.2.2.3.6).
    #[error("a packet of {bytes} bytes; the server allows {max}")]
    TooLarge {
        /// Bytes of the packet.
        bytes: usize,
        /// Bytes that the server allows.
        max: usize,
    },
    /// A text or binary value is longer than its length field can say (§1.5.4).
    #[error("{0} has more than 65,535 bytes")]
    TooLong(&'static str),
    /// The number of filters is not allowed.
    #[error("{0} filters in a packet; it has from one to {FILTERS_MAX}")]
    Filters(usize),
}

/// A message that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The topic that it was published to; empty: [`Client::topic`] knows it by its alias.
    pub topic: &'a [u8],
    /// The number of the topic.
    pub alias: Option<u16>,
    /// The content.
    pub payload: &'a [u8],
    /// Version 5: as bytes, for [`crate::mqtt::message_properties`], [`crate::mqtt::user_property`] and
    /// [`crate::mqtt::subscriptions`].
    pub properties: &'a [u8],
    /// It was published before the subscription, and the server kept it.
    pub retained: bool,
}

/// The meaning of a server's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The connection can be used. `keep_alive_s` takes the place of the client's.
    Connected {
        /// The server continues an earlier session of the client.
        session_present: bool,
        /// The server's own keep-alive interval, seconds.
        keep_alive_s: Option<u16>,
    },
    /// The server does not accept the client.
    Refused {
        /// The reason code.
        reason: u8,
        /// The reason string; empty if there is none.
        text: &'a [u8],
    },
    /// A message arrived.
    Message(Message<'a>),
    /// The packet with this identifier has its last acknowledgement.
    Answered {
        /// The packet identifier.
        id: u16,
        /// Below 0x80 it succeeded. Of several the first failure, else the first.
        reason: u8,
        /// The reason of each filter, if it had filters (but of an UNSUBACK of 3.1.1).
        codes: &'a [u8],
        /// The reason string; empty if there is none.
        text: &'a [u8],
    },
    /// The server wants further data of the method by which the client authenticates.
    Challenge {
        /// The data of the server.
        data: &'a [u8],
    },
    /// The server answered a ping.
    Pong,
    /// The server ends the connection.
    Disconnect {
        /// The reason code.
        reason: u8,
        /// The reason string; empty if there is none.
        text: &'a [u8],
    },
    /// A part of a handshake, or a message that came before.
    Handled,
}

impl Client {
    /// `bytes_max`: of the longest packet that is read, without its fixed header; at most [`BYTES_MAX`].
    pub fn new(version: Version, bytes_max: usize) -> Client {
        Client {
            version,
            stage: Stage::Connecting,
            clean: true,
            allowed: ALL,
            bytes_max: bytes_max.min(BYTES_MAX),
            in_flight: InFlight::default(),
            received: Vec::new(),
            aliases: None,
            authenticates: false,
        }
    }

    /// The topic of a message that names it by a number alone.
    pub fn topic(&self, alias: u16) -> Option<&[u8]> {
        self.aliases.as_ref()?.topic(alias)
    }

    /// The version of the protocol.
    pub fn version(&self) -> Version {
        self.version
    }

    /// From now on messages are kept until the server has them, and are sent again over the next connection if the server
    /// has kept the session (§4.4). Otherwise only releases are.
    pub fn keep_messages(&mut self) {
        self.in_flight.keeps = true;
    }

    /// Whether messages are kept.
    pub fn keeps_messages(&self) -> bool {
        self.in_flight.keeps
    }

    /// Bytes of the messages that are kept.
    pub fn kept_bytes(&self) -> usize {
        self.in_flight.kept_bytes()
    }

    /// Whether it has been accepted.
    pub fn is_connected(&self) -> bool {
        self.stage == Stage::Connected
    }

    // The client's packets.

    /// Appends what is sent first on a connection.
    pub fn connect(&mut self, connect: &Connect<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let long = |bytes: &[u8]| bytes.len() > TEXT_BYTES_MAX;
        if long(connect.client_id) {
            return Err(Refusal::TooLong("the client identifier"));
        }
        if connect.user.is_some_and(long) || connect.password.is_some_and(long) {
            return Err(Refusal::TooLong("the user name or password"));
        }
        if let Some(will) = &connect.will {
            check_topic(will.topic)?;
            if long(will.payload) {
                return Err(Refusal::TooLong("the payload of the will"));
            }
        }
        if let Some(own) = &connect.authentication
            && (long(own.method) || long(own.data))
        {
            return Err(Refusal::TooLong("the method or data of the authentication"));
        }
        self.stage = Stage::Connecting;
        self.clean = connect.clean;
        self.allowed = ALL;
        self.authenticates = connect.authentication.is_some();
        // Those of an earlier connection mean nothing.
        let aliases_max = connect.topic_aliases.min(ALIASES_MAX);
        self.aliases = (aliases_max > 0).then(|| Box::new(Aliases::new(aliases_max)));
        let bytes_max = self.bytes_max.saturating_add(HEADER_BYTES_MAX) as u32;
        outgoing::connect(self.version, connect, RECEIVE_MAX, bytes_max, out);
        Ok(())
    }

    /// Appends the next part of the authentication, which the server wanted.
    pub fn answer(&self, own: &Authentication<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        if own.method.len() > TEXT_BYTES_MAX || own.data.len() > TEXT_BYTES_MAX {
            return Err(Refusal::TooLong("the data of the authentication"));
        }
        outgoing::auth(own, out);
        Ok(())
    }

    /// Appends subscriptions, and returns the packet's identifier.
    pub fn subscribe(&mut self, own: &Subscribe<'_>, out: &mut Vec<u8>) -> Result<u16, Refusal> {
        check_filters(own.filters)?;
        if own.id.is_some() && !self.allowed.subscription_ids {
            return Err(Refusal::SubscriptionIds);
        }
        let codes_count = own.filters.len() as u16;
        self.send(Awaits::SubAck, codes_count, out, |version, id, out| {
            outgoing::subscribe(version, id, own, out);
        })
    }

    /// Appends the end of subscriptions, and returns the packet's identifier.
    pub fn unsubscribe(&mut self, filters: &[&[u8]], out: &mut Vec<u8>) -> Result<u16, Refusal> {
        check_filters(filters)?;
        // The answer of 3.1.1 has no codes (3.1.1 §3.11).
        let codes_count = match self.version {
            Version::V3 => 0,
            Version::V5 => filters.len() as u16,
        };
        self.send(Awaits::UnsubAck, codes_count, out, |version, id, out| {
            outgoing::unsubscribe(version, id, filters, out);
        })
    }

    /// Appends a message, and returns its packet identifier; 0: nothing acknowledges it.
    pub fn publish(&mut self, message: &Publish<'_>, out: &mut Vec<u8>) -> Result<u16, Refusal> {
        check_topic(message.topic)?;
        if message.qos > self.allowed.qos {
            return Err(Refusal::Qos(self.allowed.qos.number()));
        }
        if message.retain && !self.allowed.retain {
            return Err(Refusal::Retain);
        }
        let mut texts = message.properties.iter().flat_map(|(key, value)| [key, value]);
        if texts.any(|text| text.len() > TEXT_BYTES_MAX) {
            return Err(Refusal::TooLong("a user property"));
        }
        let about = &message.about;
        let texts = [about.content_type, about.correlation];
        if texts.into_iter().flatten().any(|text| text.len() > TEXT_BYTES_MAX) {
            return Err(Refusal::TooLong("a property of the message"));
        }
        if let Some(topic) = about.response_topic {
            check_topic(topic)?;
        }
        let name = self.name_of(message);
        let id = match message.qos {
            Qos::AtMostOnce => {
                let start = out.len();
                outgoing::publish(self.version, 0, message, name, out);
                self.fits(start, out).map(|()| 0)
            }
            Qos::AtLeastOnce => self.send(Awaits::PubAck, 0, out, |version, id, out| {
                outgoing::publish(version, id, message, name, out);
            }),
            Qos::ExactlyOnce => self.send(Awaits::PubRec, 0, out, |version, id, out| {
                outgoing::publish(version, id, message, name, out);
            }),
        }?;
        if let (TopicName::First(_), Some(aliases)) = (name, &mut self.aliases) {
            aliases.give(message.topic);
        }
        Ok(id)
    }

    /// How a message names its topic: by its text if it may be sent again over another connection, where numbers mean
    /// nothing.
    fn name_of(&self, message: &Publish<'_>) -> TopicName {
        let is_kept = self.in_flight.keeps && message.qos != Qos::AtMostOnce;
        match &self.aliases {
            Some(aliases) if !is_kept => aliases.name(message.topic, self.allowed.topic_aliases),
            _ => TopicName::Plain,
        }
    }

    /// Appends a ping.
    pub fn ping(&self, out: &mut Vec<u8>) {
        outgoing::ping(out);
    }

    /// Appends what is sent last. The reason is sent in version 5.
    pub fn disconnect(&self, reason: u8, out: &mut Vec<u8>) {
        outgoing::disconnect(self.version, reason, out);
    }

    /// Appends a packet that is acknowledged, with this number of codes.
    fn send(
        &mut self,
        awaits: Awaits,
        codes_count: u16,
        out: &mut Vec<u8>,
        write: impl FnOnce(Version, u16, &mut Vec<u8>),
    ) -> Result<u16, Refusal> {
        let (in_flight, max) = match awaits.is_of_message() {
            true => (self.in_flight.messages_count(), usize::from(self.allowed.in_flight)),
            false => (self.in_flight.count(), PACKETS_MAX),
        };
        if in_flight >= max {
            return Err(Refusal::InFlight(in_flight));
        }
        let id = self.in_flight.next_id();
        let start = out.len();
        write(self.version, id, out);
        self.fits(start, out)?;
        self.in_flight.push(id, awaits, codes_count, &out[start..]);
        Ok(id)
    }

    /// Takes back a packet that is larger than the server allows.
    fn fits(&self, start: usize, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let bytes = out.len() - start;
        let max = self.allowed.packet_bytes as usize;
        if bytes <= max {
            return Ok(());
        }
        out.truncate(start);
        Err(Refusal::TooLarge { bytes, max })
    }

    // The server's packets.

    /// Reads the first packet of `bytes`, appends what answers it, and returns how many bytes it took. `None`: it is not
    /// complete.
    pub fn receive<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, Event<'a>)>, Error> {
        let Some((taken, packet)) = parse(self.version, bytes, self.bytes_max)? else {
            return Ok(None);
        };
        let event = self.take(packet, out)?;
        // An acknowledgement may have made room for more.
        self.send_again(out);
        Ok(Some((taken, event)))
    }

    fn take<'a>(&mut self, packet: Packet<'a>, out: &mut Vec<u8>) -> Result<Event<'a>, Error> {
        match (&packet, self.stage) {
            (Packet::ConnAck(_), Stage::Connecting) => {}
            (Packet::Auth { data: Some(data) }, Stage::Connecting) if self.authenticates => {
                return Ok(Event::Challenge { data });
            }
            (Packet::Auth { .. }, _) => return Err(Error::Protocol(NOT_BEGUN.to_owned())),
            (Packet::ConnAck(_), Stage::Connected) => {
                return Err(Error::Protocol("a second CONNACK".to_owned()));
            }
            (_, Stage::Connecting) => {
                return Err(Error::Protocol("a packet before the CONNACK".to_owned()));
            }
            _ => {}
        }
        match packet {
            Packet::ConnAck(ack) => self.connected(&ack, out),
            Packet::Publish(message) => self.message(&message, out),
            Packet::PubAck(ack) => self.answered(&ack, Awaits::PubAck, "PUBACK"),
            Packet::PubRec(ack) => self.pub_rec(&ack, out),
            Packet::PubRel(ack) => {
                let known = self.received.binary_search(&ack.id);
                let reason = match known {
                    Ok(place) => {
                        self.received.remove(place);
                        0
                    }
                    Err(_) => NOT_FOUND,
                };
                outgoing::ack(self.version, kind::PUBCOMP, ack.id, reason, out);
                Ok(Event::Handled)
            }
            Packet::PubComp(ack) => self.answered(&ack, Awaits::PubComp, "PUBCOMP"),
            Packet::SubAck(ack) => self.answered(&ack, Awaits::SubAck, "SUBACK"),
            Packet::UnsubAck(ack) => self.answered(&ack, Awaits::UnsubAck, "UNSUBACK"),
            Packet::PingResp => Ok(Event::Pong),
            Packet::Disconnect { reason, text } => Ok(Event::Disconnect { reason, text }),
            Packet::Auth { .. } => Err(Error::Protocol(NOT_BEGUN.to_owned())),
        }
    }

    fn connected<'a>(&mut self, ack: &ConnAck<'a>, out: &mut Vec<u8>) -> Result<Event<'a>, Error> {
        if ack.code != 0 {
            return Ok(Event::Refused { reason: ack.code, text: ack.text });
        }
        if ack.session_present && self.clean {
            let problem = "a session of before, although a clean one was requested";
            return Err(Error::Protocol(problem.to_owned()));
        }
        self.stage = Stage::Connected;
        self.allowed = ServerLimits {
            in_flight: ack.receive_maximum.unwrap_or(ALL.in_flight).min(ALL.in_flight),
            packet_bytes: ack.packet_maximum.unwrap_or(ALL.packet_bytes),
            topic_aliases: ack.topic_alias_maximum,
            qos: ack.qos_maximum.and_then(Qos::new).unwrap_or(ALL.qos),
            retain: !ack.no_retain,
            subscription_ids: !ack.no_subscription_ids,
        };
        if !ack.session_present {
            self.received.clear();
        }
        self.in_flight.begin(ack.session_present);
        self.send_again(out);
        Ok(Event::Connected {
            session_present: ack.session_present,
            keep_alive_s: ack.keep_alive_s,
        })
    }

    /// Appends the packets of earlier connections that are still to be sent.
    fn send_again(&mut self, out: &mut Vec<u8>) {
        let ServerLimits { in_flight, packet_bytes, .. } = self.allowed;
        self.in_flight.send_again(self.version, usize::from(in_flight), packet_bytes as usize, out);
    }

    /// A message, which is acknowledged at once. One of QoS 2 counts as the same until it is released (§4.3.3).
    fn message<'a>(
        &mut self,
        own: &PublishPacket<'a>,
        out: &mut Vec<u8>,
    ) -> Result<Event<'a>, Error> {
        if let Some(alias) = own.alias {
            match &mut self.aliases {
                Some(aliases) => aliases.take(alias, own.topic)?,
                None => return Err(Error::TopicAlias { alias, max: 0 }),
            }
        }
        match own.qos {
            Qos::AtMostOnce => {}
            Qos::AtLeastOnce => outgoing::ack(self.version, kind::PUBACK, own.id, 0, out),
            Qos::ExactlyOnce => {
                let known = self.received.binary_search(&own.id);
                if let Err(place) = known {
                    if self.version == Version::V5
                        && self.received.len() >= usize::from(RECEIVE_MAX)
                    {
                        return Err(Error::ReceiveMaximum);
                    }
                    self.received.insert(place, own.id);
                }
                outgoing::ack(self.version, kind::PUBREC, own.id, 0, out);
                if known.is_ok() {
                    return Ok(Event::Handled);
                }
            }
        }
        Ok(Event::Message(Message {
            topic: own.topic,
            alias: own.alias,
            payload: own.payload,
            properties: own.properties,
            retained: own.retain,
        }))
    }

    /// The server has a message of QoS 2, or does not take it (§4.3.3).
    fn pub_rec<'a>(&mut self, ack: &Ack<'a>, out: &mut Vec<u8>) -> Result<Event<'a>, Error> {
        match self.in_flight.awaits(ack.id) {
            None => {
                outgoing::ack(self.version, kind::PUBREL, ack.id, NOT_FOUND, out);
                return Ok(Event::Handled);
            }
            Some((Awaits::PubRec, _)) if ack.code >= FAILURE => {
                return self.answered(ack, Awaits::PubRec, "PUBREC");
            }
            Some((Awaits::PubRec | Awaits::PubComp, _)) => self.in_flight.received(ack.id),
            Some(_) => return Err(unexpected("PUBREC", ack.id)),
        }
        outgoing::ack(self.version, kind::PUBREL, ack.id, 0, out);
        Ok(Event::Handled)
    }

    /// The last acknowledgement of what is in flight.
    fn answered<'a>(
        &mut self,
        ack: &Ack<'a>,
        awaits: Awaits,
        name: &'static str,
    ) -> Result<Event<'a>, Error> {
        let Some((_, codes_count)) = self.in_flight.awaits(ack.id).filter(|own| own.0 == awaits)
        else {
            return Err(unexpected(name, ack.id));
        };
        if usize::from(codes_count) != ack.codes.len() {
            return Err(Error::Malformed { packet: name, problem: OTHER_COUNT });
        }
        self.in_flight.remove(ack.id);
        Ok(Event::Answered { id: ack.id, reason: ack.code, codes: ack.codes, text: ack.text })
    }
}

fn check_filters(filters: &[&[u8]]) -> Result<(), Refusal> {
    if !(1..=FILTERS_MAX).contains(&filters.len()) {
        return Err(Refusal::Filters(filters.len()));
    }
    for filter in filters {
        check_filter(filter)?;
    }
    Ok(())
}

fn unexpected(name: &str, id: u16) -> Error {
    Error::Protocol(format!("a {name} for packet {id}, which awaits none"))
}
