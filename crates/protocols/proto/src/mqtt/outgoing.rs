//! The client's packets, to bytes (§3).

use crate::mqtt::aliases::TopicName;
use crate::mqtt::packet::CONTINUE;
use crate::mqtt::packet::kind;
use crate::mqtt::properties::{self as property, MessageProperties};
use crate::mqtt::wire::{push_binary, push_counted, push_length};
use crate::mqtt::{Qos, Version};
use alloc::vec::Vec;

/// The first packet of a client (§3.1). Texts and binary values have at most [`crate::mqtt::TEXT_BYTES_MAX`] bytes.
#[derive(Debug, Clone, Default)]
pub struct Connect<'a> {
    /// The client identifier.
    pub client_id: &'a [u8],
    /// The user name.
    pub user: Option<&'a [u8]>,
    /// The password.
    pub password: Option<&'a [u8]>,
    /// Longest time between two packets of the client, seconds; 0: any.
    pub keep_alive_s: u16,
    /// The server forgets an earlier session of this client (`clean session` in 3.1.1).
    pub clean: bool,
    /// Version 5: how long the server keeps the session after the connection, seconds.
    pub session_expiry_s: u32,
    /// The message that the server publishes if the client is lost.
    pub will: Option<Will<'a>>,
    /// Version 5: how many topics each side may name by numbers, if the server takes as many; at most
    /// [`crate::mqtt::ALIASES_MAX`].
    pub topic_aliases: u16,
    /// Version 5: the first part of an authentication by a method.
    pub authentication: Option<Authentication<'a>>,
}

/// A part of an authentication by a method (§4.12).
#[derive(Debug, Clone, Copy)]
pub struct Authentication<'a> {
    /// The method's name.
    pub method: &'a [u8],
    /// The data of the method.
    pub data: &'a [u8],
}

/// The message that the server publishes if the client is lost (§3.1.2.5).
#[derive(Debug, Clone)]
pub struct Will<'a> {
    /// The topic that it is published to.
    pub topic: &'a [u8],
    /// The content.
    pub payload: &'a [u8],
    /// The quality of service.
    pub qos: Qos,
    /// The server keeps it for later subscribers.
    pub retain: bool,
    /// Version 5: from the loss to the message, seconds.
    pub delay_s: u32,
}

/// Subscriptions, each with the same options (§3.8).
#[derive(Debug, Clone, Copy)]
pub struct Subscribe<'a> {
    /// From one to [`crate::mqtt::FILTERS_MAX`].
    pub filters: &'a [&'a [u8]],
    /// The highest that messages may come with.
    pub qos: Qos,
    /// Version 5: what the client itself publishes does not come.
    pub no_local: bool,
    /// Version 5: the server sends retained messages: 0 always, 1 if the subscription is new, 2 never.
    pub retain_handling: u8,
    /// Version 5: the identifier that their messages come with (§3.8.2.1.2), from 1 to [`crate::mqtt::SUBSCRIPTION_MAX`].
    pub id: Option<u32>,
}

/// A message of the client's (§3.3).
#[derive(Debug, Clone, Copy)]
pub struct Publish<'a> {
    /// The topic that it is published to.
    pub topic: &'a [u8],
    /// The content.
    pub payload: &'a [u8],
    /// The quality of service.
    pub qos: Qos,
    /// The server keeps it for later subscribers.
    pub retain: bool,
    /// Version 5: user properties.
    pub properties: &'a [(&'a [u8], &'a [u8])],
    /// Version 5: its other properties.
    pub about: MessageProperties<'a>,
}

/// Appends a packet: its first byte, the length of the rest, and what `write` appends.
fn packet(first: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(first);
    push_counted(out, write);
}

pub(crate) fn connect(
    version: Version,
    connect: &Connect<'_>,
    receive_maximum: u16,
    bytes_max: u32,
    out: &mut Vec<u8>,
) {
    let will = connect.will.as_ref();
    let mut flags = u8::from(connect.clean) << 1;
    if let Some(will) = will {
        flags |= 1 << 2 | will.qos.number() << 3 | u8::from(will.retain) << 5;
    }
    flags |= u8::from(connect.password.is_some()) << 6 | u8::from(connect.user.is_some()) << 7;
    packet(kind::CONNECT << 4, out, |out| {
        push_binary(b"MQTT", out);
        out.extend_from_slice(&[version.level(), flags]);
        out.extend_from_slice(&connect.keep_alive_s.to_be_bytes());
        if version == Version::V5 {
            push_counted(out, |out| {
                if connect.session_expiry_s > 0 {
                    out.push(property::SESSION_EXPIRY);
                    out.extend_from_slice(&connect.session_expiry_s.to_be_bytes());
                }
                out.push(property::RECEIVE_MAXIMUM);
                out.extend_from_slice(&receive_maximum.to_be_bytes());
                out.push(property::MAXIMUM_PACKET);
                out.extend_from_slice(&bytes_max.to_be_bytes());
                if connect.topic_aliases > 0 {
                    out.push(property::TOPIC_ALIAS_MAXIMUM);
                    out.extend_from_slice(&connect.topic_aliases.to_be_bytes());
                }
                if let Some(own) = &connect.authentication {
                    authentication(own, out);
                }
            });
        }
        push_binary(connect.client_id, out);
        if let Some(will) = will {
            if version == Version::V5 {
                push_counted(out, |out| {
                    if will.delay_s > 0 {
                        out.push(property::WILL_DELAY);
                        out.extend_from_slice(&will.delay_s.to_be_bytes());
                    }
                });
            }
            push_binary(will.topic, out);
            push_binary(will.payload, out);
        }
        for credential in [connect.user, connect.password].into_iter().flatten() {
            push_binary(credential, out);
        }
    });
}

pub(crate) fn subscribe(version: Version, id: u16, subscribe: &Subscribe<'_>, out: &mut Vec<u8>) {
    packet(kind::SUBSCRIBE << 4 | 0b0010, out, |out| {
        out.extend_from_slice(&id.to_be_bytes());
        let mut options = subscribe.qos.number();
        if version == Version::V5 {
            push_counted(out, |out| {
                if let Some(id) = subscribe.id {
                    out.push(property::SUBSCRIPTION);
                    push_length(id as usize, out);
                }
            });
            options |= u8::from(subscribe.no_local) << 2 | (subscribe.retain_handling & 0b11) << 4;
        }
        for filter in subscribe.filters {
            push_binary(filter, out);
            out.push(options);
        }
    });
}

pub(crate) fn unsubscribe(version: Version, id: u16, filters: &[&[u8]], out: &mut Vec<u8>) {
    packet(kind::UNSUBSCRIBE << 4 | 0b0010, out, |out| {
        out.extend_from_slice(&id.to_be_bytes());
        if version == Version::V5 {
            out.push(0);
        }
        for filter in filters {
            push_binary(filter, out);
        }
    });
}

pub(crate) fn publish(
    version: Version,
    id: u16,
    message: &Publish<'_>,
    name: TopicName,
    out: &mut Vec<u8>,
) {
    let flags = message.qos.number() << 1 | u8::from(message.retain);
    let (topic, alias) = match name {
        TopicName::Plain => (message.topic, None),
        TopicName::First(alias) => (message.topic, Some(alias)),
        TopicName::Known(alias) => (&b""[..], Some(alias)),
    };
    packet(kind::PUBLISH << 4 | flags, out, |out| {
        push_binary(topic, out);
        if message.qos != Qos::AtMostOnce {
            out.extend_from_slice(&id.to_be_bytes());
        }
        if version == Version::V5 {
            push_counted(out, |out| {
                about(&message.about, out);
                if let Some(alias) = alias {
                    out.push(property::TOPIC_ALIAS);
                    out.extend_from_slice(&alias.to_be_bytes());
                }
                for (name, value) in message.properties {
                    out.push(property::USER_PROPERTY);
                    push_binary(name, out);
                    push_binary(value, out);
                }
            });
        }
        out.extend_from_slice(message.payload);
    });
}

fn about(own: &MessageProperties<'_>, out: &mut Vec<u8>) {
    if own.is_text {
        out.extend_from_slice(&[property::FORMAT, 1]);
    }
    if let Some(seconds) = own.expiry_s {
        out.push(property::MESSAGE_EXPIRY);
        out.extend_from_slice(&seconds.to_be_bytes());
    }
    let texts = [
        (property::CONTENT_TYPE, own.content_type),
        (property::RESPONSE_TOPIC, own.response_topic),
        (property::CORRELATION, own.correlation),
    ];
    for (id, value) in texts {
        if let Some(value) = value {
            out.push(id);
            push_binary(value, out);
        }
    }
}

fn authentication(own: &Authentication<'_>, out: &mut Vec<u8>) {
    out.push(property::AUTH_METHOD);
    push_binary(own.method, out);
    if !own.data.is_empty() {
        out.push(property::AUTH_DATA);
        push_binary(own.data, out);
    }
}

/// The next part of an authentication, which the server wanted (§3.15).
pub(crate) fn auth(own: &Authentication<'_>, out: &mut Vec<u8>) {
    packet(kind::AUTH << 4, out, |out| {
        out.push(CONTINUE);
        push_counted(out, |out| authentication(own, out));
    });
}

/// A PUBACK, PUBREC, PUBREL or PUBCOMP (§3.4 to §3.7). `reason` is sent in version 5 if it is not 0.
pub(crate) fn ack(version: Version, kind: u8, id: u16, reason: u8, out: &mut Vec<u8>) {
    let flags = if kind == kind::PUBREL { 0b0010 } else { 0 };
    packet(kind << 4 | flags, out, |out| {
        out.extend_from_slice(&id.to_be_bytes());
        if version == Version::V5 && reason != 0 {
            out.push(reason);
        }
    });
}

pub(crate) fn ping(out: &mut Vec<u8>) {
    packet(kind::PINGREQ << 4, out, |_| {});
}

pub(crate) fn disconnect(version: Version, reason: u8, out: &mut Vec<u8>) {
    packet(kind::DISCONNECT << 4, out, |out| {
        if version == Version::V5 && reason != 0 {
            out.push(reason);
        }
    });
}
