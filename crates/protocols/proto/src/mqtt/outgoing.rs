//! The client's packets, to bytes (§3).

use crate::mqtt::packet::kind;
use crate::mqtt::properties as property;
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

pub(crate) fn publish(version: Version, id: u16, message: &Publish<'_>, out: &mut Vec<u8>) {
    let flags = message.qos.number() << 1 | u8::from(message.retain);
    packet(kind::PUBLISH << 4 | flags, out, |out| {
        push_binary(message.topic, out);
        if message.qos != Qos::AtMostOnce {
            out.extend_from_slice(&id.to_be_bytes());
        }
        if version == Version::V5 {
            push_counted(out, |out| {
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
