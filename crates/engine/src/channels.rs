//! Protocols of channels over WebSocket, as functions of texts; and what a connection that speaks one
//! remembers.
//!
//! Each of `phoenix`, `cable` and `socketio` reads the server's texts into [`Heard`] and writes ours.

mod cable;
mod phoenix;
mod socketio;

use std::borrow::Cow;

use plan::expr::value::write_json_text;
use plan::{ChannelVerb, Pc, Protocol};
use proto::ws;

use crate::deflate::Compression;
use crate::receiver::Background;

/// What a server's text means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    /// The connection may be used. From now on the server says something within this time, or is gone.
    Greeting { silence_ns: Option<u64> },
    /// A message for the user.
    Message {
        topic: Cow<'a, [u8]>,
        event: Cow<'a, [u8]>,
        payload: Cow<'a, [u8]>,
    },
    /// The answer to what we sent under this number.
    Reply {
        number: u32,
        ok: bool,
        payload: &'a [u8],
    },
    /// The channel was joined.
    Joined { topic: Cow<'a, [u8]> },
    /// It was not.
    Refused {
        topic: Cow<'a, [u8]>,
        reason: &'a [u8],
    },
    /// The channel has ended.
    Ended { topic: Cow<'a, [u8]> },
    /// So many binary messages belong to what was heard.
    WithAttachments { count: u32, then: Box<Heard<'a>> },
    /// To be answered with this text.
    Ping { pong: Cow<'a, [u8]> },
    /// A sign of life.
    Alive,
    /// The server ends the connection.
    Goodbye { reason: &'a [u8] },
    /// Not of this protocol.
    Broken,
}

/// What we say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) verb: ChannelVerb,
    pub(crate) topic: &'a [u8],
    pub(crate) event: &'a [u8],
    /// JSON; empty: none.
    pub(crate) payload: &'a [u8],
    /// Of this message.
    pub(crate) number: u32,
    /// Of the message that joined the topic.
    pub(crate) joined_by: u32,
    /// Whether the server is to answer.
    pub(crate) wants_answer: bool,
}

/// A text of the server's.
pub(crate) fn hear(protocol: Protocol, text: &[u8]) -> Heard<'_> {
    match protocol {
        Protocol::Phoenix { arrays: true, .. } => phoenix::hear_array(text),
        Protocol::Phoenix { arrays: false, .. } => phoenix::hear_object(text),
        Protocol::ActionCable => cable::hear(text),
        Protocol::SocketIo => socketio::hear(text),
    }
}

/// Appends our text.
pub(crate) fn say(protocol: Protocol, said: &Said<'_>, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Phoenix { arrays, .. } => phoenix::say(arrays, said, out),
        Protocol::ActionCable => cable::say(said, out),
        Protocol::SocketIo => socketio::say(said, out),
    }
}

/// Appends the text of a heartbeat, where the protocol has us send one.
pub(crate) fn heartbeat(protocol: Protocol, number: u32, out: &mut Vec<u8>) {
    if let Protocol::Phoenix { arrays, .. } = protocol {
        phoenix::heartbeat(arrays, number, out);
    }
}

/// Whether the server speaks first, and nothing is to be said before.
pub(crate) fn is_greeted(protocol: Protocol) -> bool {
    !matches!(protocol, Protocol::Phoenix { .. })
}

/// Whether the server answers such a message under its number.
pub(crate) fn is_answered(protocol: Protocol, verb: ChannelVerb) -> bool {
    match protocol {
        Protocol::Phoenix { .. } => true,
        Protocol::ActionCable => false,
        Protocol::SocketIo => verb == ChannelVerb::Push,
    }
}

/// Appends a JSON string.
fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    write_json_text(&String::from_utf8_lossy(text), out);
    out.push(b'"');
}

/// What a connection that speaks one of the protocols remembers.
#[derive(Debug)]
pub(crate) struct Channels {
    /// When the next heartbeat is due, or silence has lasted too long.
    pub(crate) background: Background,
    pub(crate) protocol: Protocol,
    pub(crate) ws: ws::Reader,
    /// Of our messages, where that was agreed on.
    pub(crate) compression: Option<Compression>,
    /// How long the server may be silent.
    pub(crate) silence_ns: Option<u64>,
    /// Numbers given so far.
    pub(crate) numbers: u32,
    /// The heartbeat that was not answered yet.
    pub(crate) beat: Option<u32>,
    /// The operation in flight waits for this number's answer; or, with 0, for its topic to be joined.
    pub(crate) awaited: Option<u32>,
    /// Binary messages that are still to come and belong to one before.
    pub(crate) attachments: u32,
    /// The topics, with the numbers of the messages that joined them; at the end what is being joined.
    pub(crate) topics: Vec<(Box<[u8]>, u32)>,
}

impl Channels {
    pub(crate) fn new(protocol: Protocol, pc: Pc) -> Channels {
        Channels {
            background: Background::new(pc),
            protocol,
            ws: ws::Reader::default(),
            compression: None,
            silence_ns: None,
            numbers: 0,
            beat: None,
            awaited: None,
            attachments: 0,
            topics: Vec::new(),
        }
    }

    /// A number that was not given before.
    pub(crate) fn number(&mut self) -> u32 {
        self.numbers = self.numbers.wrapping_add(1);
        self.numbers
    }

    /// The number of the message that joined the topic.
    pub(crate) fn joined_by(&self, topic: &[u8]) -> Option<u32> {
        let mut found = self.topics.iter().filter(|(own, _)| **own == *topic);
        found.next().map(|&(_, number)| number)
    }

    pub(crate) fn forget(&mut self, topic: &[u8]) {
        self.topics.retain(|(own, _)| **own != *topic);
    }
}
