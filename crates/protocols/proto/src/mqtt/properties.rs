//! Properties of version 5 (§2.2.2).

use crate::mqtt::wire::{Problem, Reader};

/// The packets that have properties, as bits.
pub(crate) mod of {
    pub(crate) const CONNACK: u8 = 1;
    pub(crate) const PUBLISH: u8 = 2;
    /// PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK and UNSUBACK.
    pub(crate) const ACK: u8 = 4;
    pub(crate) const DISCONNECT: u8 = 8;
    pub(crate) const AUTH: u8 = 16;
}

/// The type of a property's value.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// 0 or 1.
    Flag,
    /// Not 0.
    Positive16,
    Number16,
    Number32,
    /// A variable byte integer that is not 0.
    Length,
    Binary,
    Text,
    Pair,
}

/// Identifier, kind and packets from a server that may have it (§2.2.2.2).
const KNOWN: &[(u8, Kind, u8)] = &[
    (FORMAT, Kind::Flag, of::PUBLISH),
    (MESSAGE_EXPIRY, Kind::Number32, of::PUBLISH),
    (CONTENT_TYPE, Kind::Text, of::PUBLISH),
    (RESPONSE_TOPIC, Kind::Text, of::PUBLISH),
    (CORRELATION, Kind::Binary, of::PUBLISH),
    (SUBSCRIPTION, Kind::Length, of::PUBLISH),
    (0x11, Kind::Number32, of::CONNACK),
    (0x12, Kind::Text, of::CONNACK),
    (SERVER_KEEP_ALIVE, Kind::Number16, of::CONNACK),
    (AUTH_METHOD, Kind::Text, of::CONNACK | of::AUTH),
    (AUTH_DATA, Kind::Binary, of::CONNACK | of::AUTH),
    (0x1a, Kind::Text, of::CONNACK),
    (0x1c, Kind::Text, of::CONNACK | of::DISCONNECT),
    (REASON_TEXT, Kind::Text, of::CONNACK | of::ACK | of::DISCONNECT | of::AUTH),
    (RECEIVE_MAXIMUM, Kind::Positive16, of::CONNACK),
    (TOPIC_ALIAS_MAXIMUM, Kind::Number16, of::CONNACK),
    (TOPIC_ALIAS, Kind::Number16, of::PUBLISH),
    (MAXIMUM_QOS, Kind::Flag, of::CONNACK),
    (RETAIN_AVAILABLE, Kind::Flag, of::CONNACK),
    (USER_PROPERTY, Kind::Pair, of::CONNACK | of::PUBLISH | of::ACK | of::DISCONNECT | of::AUTH),
    (MAXIMUM_PACKET, Kind::Number32, of::CONNACK),
    (0x28, Kind::Flag, of::CONNACK),
    (SUBSCRIPTIONS_AVAILABLE, Kind::Flag, of::CONNACK),
    (0x2a, Kind::Flag, of::CONNACK),
];

pub(crate) const FORMAT: u8 = 0x01;
pub(crate) const MESSAGE_EXPIRY: u8 = 0x02;
pub(crate) const CONTENT_TYPE: u8 = 0x03;
pub(crate) const RESPONSE_TOPIC: u8 = 0x08;
pub(crate) const CORRELATION: u8 = 0x09;
pub(crate) const SUBSCRIPTION: u8 = 0x0b;
pub(crate) const SESSION_EXPIRY: u8 = 0x11;
pub(crate) const SERVER_KEEP_ALIVE: u8 = 0x13;
pub(crate) const AUTH_METHOD: u8 = 0x15;
pub(crate) const AUTH_DATA: u8 = 0x16;
pub(crate) const WILL_DELAY: u8 = 0x18;
pub(crate) const REASON_TEXT: u8 = 0x1f;
pub(crate) const RECEIVE_MAXIMUM: u8 = 0x21;
pub(crate) const TOPIC_ALIAS_MAXIMUM: u8 = 0x22;
pub(crate) const TOPIC_ALIAS: u8 = 0x23;
pub(crate) const MAXIMUM_QOS: u8 = 0x24;
pub(crate) const RETAIN_AVAILABLE: u8 = 0x25;
pub(crate) const USER_PROPERTY: u8 = 0x26;
pub(crate) const MAXIMUM_PACKET: u8 = 0x27;
pub(crate) const SUBSCRIPTIONS_AVAILABLE: u8 = 0x29;

/// The largest identifier of a subscription (§3.8.2.1.2).
pub const SUBSCRIPTION_MAX: u32 = 268_435_455;

/// A property's value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(u32),
    Bytes(&'a [u8]),
    Pair(&'a [u8], &'a [u8]),
}

/// Calls `each` for the properties of a packet, and returns their bytes. Each is known, belongs to such a packet, and is there
/// once, but for user properties and subscription identifiers.
pub(crate) fn read<'a>(
    packet: &mut Reader<'a>,
    allowed: u8,
    mut each: impl FnMut(u8, Value<'a>),
) -> Result<&'a [u8], Problem> {
    let count = packet.length()?;
    let bytes = packet.take(count)?;
    let mut rest = Reader(bytes);
    let mut seen = 0_u64;
    while !rest.is_empty() {
        let (id, value) = next(&mut rest, allowed)?;
        let bit = 1_u64 << id;
        let may_repeat = matches!(id, USER_PROPERTY | SUBSCRIPTION);
        if seen & bit != 0 && !may_repeat {
            return Err("a property is there twice");
        }
        seen |= bit;
        each(id, value);
    }
    Ok(bytes)
}

fn next<'a>(rest: &mut Reader<'a>, allowed: u8) -> Result<(u8, Value<'a>), Problem> {
    let id = rest.u8()?;
    let known = KNOWN.iter().find(|(own, _, _)| *own == id);
    let (_, kind, packets) = known.ok_or("a property is unknown")?;
    if packets & allowed == 0 {
        return Err("a property belongs to other packets");
    }
    let value = match kind {
        Kind::Flag => match rest.u8()? {
            flag @ (0 | 1) => Value::Number(u32::from(flag)),
            _ => return Err("a property is neither 0 nor 1"),
        },
        Kind::Positive16 => Value::Number(u32::from(rest.nonzero_u16("a property is 0")?)),
        Kind::Number16 => Value::Number(u32::from(rest.u16()?)),
        Kind::Number32 => Value::Number(rest.u32()?),
        Kind::Length => match rest.length()? {
            0 => return Err("a property is 0"),
            number => Value::Number(number as u32),
        },
        Kind::Binary => Value::Bytes(rest.binary()?),
        Kind::Text => Value::Bytes(rest.text()?),
        Kind::Pair => Value::Pair(rest.text()?, rest.text()?),
    };
    Ok((id, value))
}

/// Properties of a message, but for user properties, and for those of its delivery (§3.3.2.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageProperties<'a> {
    /// The payload is a text in UTF-8.
    pub is_text: bool,
    /// How long it is of use, seconds.
    pub expiry_s: Option<u32>,
    /// The type of the payload.
    pub content_type: Option<&'a [u8]>,
    /// The topic that an answer goes to.
    pub response_topic: Option<&'a [u8]>,
    /// Data that an answer repeats, so that it is known to belong to the message.
    pub correlation: Option<&'a [u8]>,
}

/// The properties of a message that arrived.
pub fn message_properties(properties: &[u8]) -> MessageProperties<'_> {
    let mut found = MessageProperties::default();
    let mut rest = Reader(properties);
    while !rest.is_empty() {
        match next(&mut rest, of::PUBLISH) {
            Ok((FORMAT, Value::Number(number))) => found.is_text = number == 1,
            Ok((MESSAGE_EXPIRY, Value::Number(number))) => found.expiry_s = Some(number),
            Ok((CONTENT_TYPE, Value::Bytes(text))) => found.content_type = Some(text),
            Ok((RESPONSE_TOPIC, Value::Bytes(text))) => found.response_topic = Some(text),
            Ok((CORRELATION, Value::Bytes(bytes))) => found.correlation = Some(bytes),
            Ok(_) => {}
            // They were read before.
            Err(_) => break,
        }
    }
    found
}

/// The identifiers of the client's subscriptions that a message matches, in its properties (§3.3.2.3.8).
pub fn subscriptions(properties: &[u8]) -> impl Iterator<Item = u32> {
    let mut rest = Reader(properties);
    let properties = core::iter::from_fn(move || match rest.is_empty() {
        true => None,
        false => next(&mut rest, of::PUBLISH).ok(),
    });
    properties.filter_map(|(id, value)| match value {
        Value::Number(number) if id == SUBSCRIPTION => Some(number),
        _ => None,
    })
}

/// The value of the first user property of this name in the properties of a message (§3.3.2.3.7).
pub fn user_property<'a>(properties: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = Reader(properties);
    while !rest.is_empty() {
        match next(&mut rest, of::PUBLISH).ok()? {
            (USER_PROPERTY, Value::Pair(key, value)) if key == name => return Some(value),
            _ => {}
        }
    }
    None
}
