//! The server's packets, from bytes (§3).

use crate::mqtt::properties::{self, Value, of};
use crate::mqtt::reason::is_failure;
use crate::mqtt::wire::{Problem, Reader, length};
use crate::mqtt::{Error, Qos, Version};
use alloc::borrow::ToOwned;
use alloc::format;

/// A packet of the server's.
#[derive(Debug)]
pub(crate) enum Packet<'a> {
    ConnAck(ConnAck<'a>),
    Publish(PublishPacket<'a>),
    PubAck(Ack<'a>),
    PubRec(Ack<'a>),
    PubRel(Ack<'a>),
    PubComp(Ack<'a>),
    SubAck(Ack<'a>),
    UnsubAck(Ack<'a>),
    PingResp,
    Disconnect {
        reason: u8,
        text: &'a [u8],
    },
    /// The server wants further data of the method, or has enough of them (§3.15).
    Auth {
        data: Option<&'a [u8]>,
    },
}

/// The answer to a CONNECT (§3.2).
#[derive(Debug, Default)]
pub(crate) struct ConnAck<'a> {
    pub(crate) session_present: bool,
    pub(crate) code: u8,
    pub(crate) text: &'a [u8],
    pub(crate) keep_alive_s: Option<u16>,
    pub(crate) receive_maximum: Option<u16>,
    pub(crate) packet_maximum: Option<u32>,
    /// QoS 2 is not supported; the value is the highest that is.
    pub(crate) qos_maximum: Option<u8>,
    pub(crate) no_retain: bool,
    pub(crate) no_subscription_ids: bool,
    pub(crate) topic_alias_maximum: u16,
}

/// A message (§3.3).
#[derive(Debug)]
pub(crate) struct PublishPacket<'a> {
    pub(crate) topic: &'a [u8],
    pub(crate) payload: &'a [u8],
    /// As bytes, each of them checked.
    pub(crate) properties: &'a [u8],
    pub(crate) qos: Qos,
    pub(crate) retain: bool,
    /// 0 if the QoS is 0.
    pub(crate) id: u16,
    /// The number of its topic.
    pub(crate) alias: Option<u16>,
}

/// An acknowledgement.
#[derive(Debug)]
pub(crate) struct Ack<'a> {
    pub(crate) id: u16,
    /// The first code that is a failure, else the first of all.
    pub(crate) code: u8,
    /// A code for each filter, in a SUBACK and an UNSUBACK of version 5.
    pub(crate) codes: &'a [u8],
    pub(crate) text: &'a [u8],
}

/// Types of packets (§2.1.2).
pub(crate) mod kind {
    pub(crate) const CONNECT: u8 = 1;
    pub(crate) const CONNACK: u8 = 2;
    pub(crate) const PUBLISH: u8 = 3;
    pub(crate) const PUBACK: u8 = 4;
    pub(crate) const PUBREC: u8 = 5;
    pub(crate) const PUBREL: u8 = 6;
    pub(crate) const PUBCOMP: u8 = 7;
    pub(crate) const SUBSCRIBE: u8 = 8;
    pub(crate) const SUBACK: u8 = 9;
    pub(crate) const UNSUBSCRIBE: u8 = 10;
    pub(crate) const UNSUBACK: u8 = 11;
    pub(crate) const PINGREQ: u8 = 12;
    pub(crate) const PINGRESP: u8 = 13;
    pub(crate) const DISCONNECT: u8 = 14;
    pub(crate) const AUTH: u8 = 15;
}

const NAMES: [&str; 16] = [
    "packet",
    "CONNECT",
    "CONNACK",
    "PUBLISH",
    "PUBACK",
    "PUBREC",
    "PUBREL",
    "PUBCOMP",
    "SUBSCRIBE",
    "SUBACK",
    "UNSUBSCRIBE",
    "UNSUBACK",
    "PINGREQ",
    "PINGRESP",
    "DISCONNECT",
    "AUTH",
];

/// Reasons from here on are failures (§2.4).
pub(crate) const FAILURE: u8 = 0x80;
/// The error of an AUTH out of place.
pub(crate) const NOT_BEGUN: &str = "an AUTH, although the client has not begun to authenticate";
/// The reason of an AUTH that wants an answer (§3.15.2.1).
pub(crate) const CONTINUE: u8 = 0x18;

const NO_ID: Problem = "a packet identifier is 0";
/// The problem of a SUBACK or UNSUBACK whose codes do not match the filters (§3.9.3, §3.11.3).
pub(crate) const OTHER_COUNT: Problem = "it has another number of codes than there were filters";

/// The first packet of `bytes`, and how many of them it takes; `None`: it is not complete.
pub(crate) fn parse(
    version: Version,
    bytes: &[u8],
    bytes_max: usize,
) -> Result<Option<(usize, Packet<'_>)>, Error> {
    let Some((&first, rest)) = bytes.split_first() else {
        return Ok(None);
    };
    let name = NAMES[usize::from(first >> 4)];
    let malformed = |problem| Error::Malformed { packet: name, problem };
    check_type(version, first)?;
    let Some((count, rest)) = length(rest).map_err(malformed)? else {
        return Ok(None);
    };
    if count > bytes_max {
        return Err(Error::TooLarge { bytes: count, max: bytes_max });
    }
    let Some(body) = rest.get(..count) else {
        return Ok(None);
    };
    let taken = bytes.len() - rest.len() + count;
    match content(version, first, body) {
        Ok(packet) => Ok(Some((taken, packet))),
        Err(problem) => Err(malformed(problem)),
    }
}

/// Is it a packet that a server sends, with the flags that it must have (§2.1.3)?
fn check_type(version: Version, first: u8) -> Result<(), Error> {
    let kind = first >> 4;
    let flags = first & 0x0f;
    let name = NAMES[usize::from(kind)];
    let sent_by_servers = match kind {
        kind::CONNACK..=kind::PUBCOMP | kind::SUBACK | kind::UNSUBACK | kind::PINGRESP => true,
        kind::DISCONNECT | kind::AUTH => version == Version::V5,
        _ => false,
    };
    if !sent_by_servers {
        let what = match kind {
            0 => "a packet of the reserved type 0".to_owned(),
            kind::AUTH => NOT_BEGUN.to_owned(),
            _ => format!("a {name}, which servers do not send"),
        };
        return Err(Error::Protocol(what));
    }
    let expected = match kind {
        kind::PUBLISH => flags,
        kind::PUBREL => 0b0010,
        _ => 0,
    };
    match flags == expected {
        true => Ok(()),
        false => Err(Error::Malformed { packet: name, problem: "its flags are reserved" }),
    }
}

fn content(version: Version, first: u8, body: &[u8]) -> Result<Packet<'_>, Problem> {
    let mut body = Reader(body);
    let kind = first >> 4;
    let packet = match kind {
        kind::CONNACK => Packet::ConnAck(conn_ack(version, &mut body)?),
        kind::PUBLISH => return Ok(Packet::Publish(publish(version, first, body)?)),
        kind::SUBACK => Packet::SubAck(sub_ack(version, &mut body)?),
        kind::UNSUBACK => Packet::UnsubAck(unsub_ack(version, &mut body)?),
        kind::PINGRESP => Packet::PingResp,
        kind::DISCONNECT => {
            let (reason, text) = reason(&mut body, of::DISCONNECT)?;
            Packet::Disconnect { reason, text }
        }
        kind::AUTH => Packet::Auth { data: auth(&mut body)? },
        _ => {
            let ack = ack(version, &mut body)?;
            match kind {
                kind::PUBACK => Packet::PubAck(ack),
                kind::PUBREC => Packet::PubRec(ack),
                kind::PUBREL => Packet::PubRel(ack),
                _ => Packet::PubComp(ack),
            }
        }
    };
    match body.is_empty() {
        true => Ok(packet),
        false => Err("it is longer than what it contains"),
    }
}

fn conn_ack<'a>(version: Version, body: &mut Reader<'a>) -> Result<ConnAck<'a>, Problem> {
    let flags = body.u8()?;
    if flags > 1 {
        return Err("its flags are reserved");
    }
    let mut ack = ConnAck { session_present: flags == 1, code: body.u8()?, ..ConnAck::default() };
    if ack.session_present && ack.code != 0 {
        return Err("it has a session although it refuses");
    }
    if version == Version::V3 {
        return match ack.code {
            0..=5 => Ok(ack),
            _ => Err("its code is reserved"),
        };
    }
    if ack.code != 0 && !is_failure(ack.code) {
        return Err("its reason is unknown");
    }
    properties::read(body, of::CONNACK, |id, value| match (id, value) {
        (properties::SERVER_KEEP_ALIVE, Value::Number(s)) => ack.keep_alive_s = Some(s as u16),
        (properties::RECEIVE_MAXIMUM, Value::Number(n)) => ack.receive_maximum = Some(n as u16),
        (properties::MAXIMUM_PACKET, Value::Number(n)) => ack.packet_maximum = Some(n),
        (properties::MAXIMUM_QOS, Value::Number(n)) => ack.qos_maximum = Some(n as u8),
        (properties::RETAIN_AVAILABLE, Value::Number(n)) => ack.no_retain = n == 0,
        (properties::SUBSCRIPTIONS_AVAILABLE, Value::Number(n)) => {
            ack.no_subscription_ids = n == 0;
        }
        (properties::REASON_TEXT, Value::Bytes(text)) => ack.text = text,
        (properties::TOPIC_ALIAS_MAXIMUM, Value::Number(n)) => ack.topic_alias_maximum = n as u16,
        _ => {}
    })?;
    match ack.packet_maximum {
        Some(0) => Err("a property is 0"),
        _ => Ok(ack),
    }
}

fn publish<'a>(
    version: Version,
    first: u8,
    mut body: Reader<'a>,
) -> Result<PublishPacket<'a>, Problem> {
    let qos = Qos::new(first >> 1 & 0b11).ok_or("its QoS is 3")?;
    if qos == Qos::AtMostOnce && first & 0b1000 != 0 {
        return Err("a message of QoS 0 is marked as repeated");
    }
    let topic = body.text()?;
    if topic.iter().any(|byte| matches!(byte, b'+' | b'#')) {
        return Err("its topic has a wildcard");
    }
    let id = match qos {
        Qos::AtMostOnce => 0,
        _ => body.nonzero_u16(NO_ID)?,
    };
    let mut own = &[][..];
    let mut alias = None;
    if version == Version::V5 {
        own = properties::read(&mut body, of::PUBLISH, |id, value| {
            if let (properties::TOPIC_ALIAS, Value::Number(number)) = (id, value) {
                alias = Some(number as u16);
            }
        })?;
    }
    if topic.is_empty() && alias.is_none() {
        return Err("its topic is empty");
    }
    Ok(PublishPacket {
        topic,
        payload: body.0,
        properties: own,
        qos,
        retain: first & 1 == 1,
        id,
        alias,
    })
}

/// The data of an AUTH that wants an answer; `None`: it wants none.
fn auth<'a>(body: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Problem> {
    let reason = if body.is_empty() { 0 } else { body.u8()? };
    if body.is_empty() && reason == 0 {
        return Ok(None);
    }
    let mut data = &[][..];
    let mut has_method = false;
    properties::read(body, of::AUTH, |id, value| match (id, value) {
        (properties::AUTH_METHOD, Value::Bytes(_)) => has_method = true,
        (properties::AUTH_DATA, Value::Bytes(found)) => data = found,
        _ => {}
    })?;
    match reason {
        0 => Ok(None),
        CONTINUE if has_method => Ok(Some(data)),
        CONTINUE => Err("it names no method"),
        _ => Err("its reason is unknown"),
    }
}

/// The content of a PUBACK, PUBREC, PUBREL or PUBCOMP (§3.4 to §3.7).
fn ack<'a>(version: Version, body: &mut Reader<'a>) -> Result<Ack<'a>, Problem> {
    let id = body.nonzero_u16(NO_ID)?;
    let (code, text) = match version {
        Version::V3 => (0, &[][..]),
        Version::V5 => reason(body, of::ACK)?,
    };
    Ok(Ack { id, code, codes: &[], text })
}

/// A reason with properties, both of which may be left out (§3.4.2.1, §3.14.2.1).
fn reason<'a>(body: &mut Reader<'a>, of: u8) -> Result<(u8, &'a [u8]), Problem> {
    if body.is_empty() {
        return Ok((0, &[]));
    }
    let code = body.u8()?;
    // 0x10: nobody is subscribed to the topic.
    if !matches!(code, 0 | 0x10) && !is_failure(code) {
        return Err("its reason is unknown");
    }
    match body.is_empty() {
        true => Ok((code, &[])),
        false => Ok((code, reason_text(body, of)?)),
    }
}

/// The text of a reason among properties.
fn reason_text<'a>(body: &mut Reader<'a>, of: u8) -> Result<&'a [u8], Problem> {
    let mut text = &[][..];
    properties::read(body, of, |id, value| {
        if let (properties::REASON_TEXT, Value::Bytes(found)) = (id, value) {
            text = found;
        }
    })?;
    Ok(text)
}

/// The answer to a SUBSCRIBE, with a code for each filter (§3.9).
fn sub_ack<'a>(version: Version, body: &mut Reader<'a>) -> Result<Ack<'a>, Problem> {
    let id = body.nonzero_u16(NO_ID)?;
    let text = match version {
        Version::V3 => &[][..],
        Version::V5 => reason_text(body, of::ACK)?,
    };
    coded(id, text, body, |code| match version {
        _ if code <= 2 => true,
        Version::V3 => code == 0x80,
        Version::V5 => is_failure(code),
    })
}

/// The answer to an UNSUBSCRIBE; in version 5 with a code for each filter (§3.11).
fn unsub_ack<'a>(version: Version, body: &mut Reader<'a>) -> Result<Ack<'a>, Problem> {
    let id = body.nonzero_u16(NO_ID)?;
    if version == Version::V3 {
        return Ok(Ack { id, code: 0, codes: &[], text: &[] });
    }
    let text = reason_text(body, of::ACK)?;
    // 0x11: there was no such subscription.
    coded(id, text, body, |code| matches!(code, 0 | 0x11) || is_failure(code))
}

/// An acknowledgement whose rest are codes.
fn coded<'a>(
    id: u16,
    text: &'a [u8],
    body: &mut Reader<'a>,
    is_known: impl Fn(u8) -> bool,
) -> Result<Ack<'a>, Problem> {
    let codes = core::mem::replace(body, Reader(&[])).0;
    if !codes.iter().all(|&code| is_known(code)) {
        return Err("its reason is unknown");
    }
    let failed = codes.iter().find(|&&code| code >= FAILURE);
    let code = *failed.or(codes.first()).ok_or(OTHER_COUNT)?;
    Ok(Ack { id, code, codes, text })
}
