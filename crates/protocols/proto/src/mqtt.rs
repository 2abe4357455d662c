//! The client's side of MQTT 3.1.1 and 5: packets as bytes, and what a connection remembers of them.
//!
//! The standards are those of OASIS, of 29 October 2014 and 7 March 2019.
//! Bytes to events and back, without sockets and clocks. [`Client`] is what a connection remembers: it writes the
//! client's packets, reads the server's, acknowledges messages, and knows which of its own are in flight. Section numbers
//! in this crate are those of MQTT 5 unless they say otherwise; both versions number most sections alike.
//!
//! | file | what it does |
//! |---|---|
//! | `wire` | integers, texts and lengths (§1.5) |
//! | `properties` | properties of version 5 (§2.2.2) |
//! | `packet` | the server's packets, from bytes (§3) |
//! | `outgoing` | the client's packets, to bytes (§3) |
//! | `topic` | names and filters of topics (§4.7) |
//! | `reason` | reason codes as text (§2.4) |
//! | `aliases` | topics that are named by numbers (§3.3.2.3.4) |
//! | `in_flight` | what waits for an acknowledgement (§4.3) |
//! | `client` | which packet may follow which (§4.3) |

use alloc::string::String;
mod aliases;
mod client;
mod in_flight;
mod outgoing;
mod packet;
mod properties;
mod reason;
#[cfg(test)]
mod tests;
mod topic;
mod wire;

pub use client::{
    ALIASES_MAX, Client, Event, FILTERS_MAX, IN_FLIGHT_MAX, Message, PACKETS_MAX, RECEIVE_MAX,
    Refusal,
};
pub use outgoing::{Authentication, Connect, Publish, Subscribe, Will};
pub use properties::{
    MessageProperties, SUBSCRIPTION_MAX, message_properties, subscriptions, user_property,
};
pub use reason::{reason_text, reason_words, refusals};
pub use topic::{TopicError, check_filter, check_topic, matches};
pub use wire::{BYTES_MAX, TEXT_BYTES_MAX};

/// Normal disconnection (§3.14.2.1).
pub const NORMAL: u8 = 0x00;

/// A version of the protocol; its number is that on the wire (§3.1.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Version 3.1.1.
    V3,
    /// Version 5.0.
    V5,
}

impl Version {
    pub(crate) fn level(self) -> u8 {
        match self {
            Version::V3 => 4,
            Version::V5 => 5,
        }
    }
}

/// How often a message is delivered (§4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Qos {
    /// 0.
    AtMostOnce,
    /// 1.
    AtLeastOnce,
    /// 2.
    ExactlyOnce,
}

impl Qos {
    /// By its number; 3 is none (§3.3.1.2).
    pub fn new(number: u8) -> Option<Qos> {
        match number {
            0 => Some(Qos::AtMostOnce),
            1 => Some(Qos::AtLeastOnce),
            2 => Some(Qos::ExactlyOnce),
            _ => None,
        }
    }

    /// The number of the level.
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// An error of the server: what it sent is not MQTT, or may not be sent now. The connection is of no more use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Bytes that are no packet.
    #[error("a malformed {packet}: {problem}")]
    Malformed {
        /// The packet's name.
        packet: &'static str,
        /// The rule that its bytes break.
        problem: &'static str,
    },
    /// A packet that is not allowed here.
    #[error("{0}")]
    Protocol(String),
    /// A packet with more bytes than the client takes.
    #[error("a packet of {bytes} bytes; at most {max} are read")]
    TooLarge {
        /// Bytes of the packet.
        bytes: usize,
        /// Bytes that are allowed.
        max: usize,
    },
    /// More messages than the client allowed are not released (§3.3.4).
    #[error("more than {RECEIVE_MAX} messages of QoS 2 that are not released")]
    ReceiveMaximum,
    /// A topic alias that the client does not allow (§3.3.2.3.4).
    #[error("a topic alias {alias}; the client allows {}", allowed_aliases(*max))]
    TopicAlias {
        /// The alias.
        alias: u16,
        /// The most that the client allows; 0: none.
        max: u16,
    },
}

fn allowed_aliases(max: u16) -> String {
    match max {
        0 => String::from("none"),
        max => alloc::format!("1 to {max}"),
    }
}

impl Error {
    /// The reason code with which a client of version 5 closes the connection (§3.14.2.1).
    pub fn reason(&self) -> u8 {
        match self {
            Error::Malformed { .. } => 0x81,
            Error::Protocol(_) => 0x82,
            Error::ReceiveMaximum => 0x93,
            Error::TopicAlias { .. } => 0x94,
            Error::TooLarge { .. } => 0x95,
        }
    }
}
