//! Protocols of channels over WebSocket, as functions of texts; and what a connection that speaks
//! one remembers.
//!
//! Each of `phoenix`, `cable` and `socketio` parses the server's texts into [`Incoming`] and encodes
//! [`Outgoing`].

mod cable;
mod message;
mod phoenix;
mod socketio;

use plan::{ChannelVerb, Pc, Protocol as ChannelProtocol};
use proto::ws;

use super::background::Background;
use super::deflate::Compression;
pub(crate) use message::{Incoming, Outgoing};

/// In place of a number: not an answer is awaited but the news that a topic was joined.
pub(crate) const BY_TOPIC: u32 = 0;

/// Parses a text of the server's.
pub(crate) fn parse(protocol: ChannelProtocol, text: &[u8]) -> Incoming<'_> {
    match protocol {
        ChannelProtocol::Phoenix { arrays: true, .. } => phoenix::parse_array(text),
        ChannelProtocol::Phoenix { arrays: false, .. } => phoenix::parse_object(text),
        ChannelProtocol::ActionCable => cable::parse(text),
        ChannelProtocol::SocketIo => socketio::parse(text),
    }
}

/// Parses a binary message of the server's; `None`: the protocol gives it no form of its own.
pub(crate) fn parse_binary(protocol: ChannelProtocol, message: &[u8]) -> Option<Incoming<'_>> {
    match protocol {
        ChannelProtocol::Phoenix { arrays: true, .. } => Some(phoenix::binary::parse(message)),
        // The older serializer writes texts only.
        ChannelProtocol::Phoenix { arrays: false, .. } => Some(Incoming::Broken),
        ChannelProtocol::ActionCable | ChannelProtocol::SocketIo => None,
    }
}

/// Appends our text.
pub(crate) fn encode(protocol: ChannelProtocol, message: &Outgoing<'_>, out: &mut Vec<u8>) {
    match protocol {
        ChannelProtocol::Phoenix { arrays, .. } => phoenix::encode(arrays, message, out),
        ChannelProtocol::ActionCable => cable::encode(message, out),
        ChannelProtocol::SocketIo => socketio::encode(message, out),
    }
}

/// Appends the text of a heartbeat, if the protocol has the client send one.
pub(crate) fn heartbeat(protocol: ChannelProtocol, number: u32, out: &mut Vec<u8>) {
    if let ChannelProtocol::Phoenix { arrays, .. } = protocol {
        phoenix::heartbeat(arrays, number, out);
    }
}

/// Whether the server speaks first, and nothing may be sent before.
pub(crate) fn is_greeted(protocol: ChannelProtocol) -> bool {
    !matches!(protocol, ChannelProtocol::Phoenix { .. })
}

/// Whether the server answers such a message under its number.
fn is_answered(protocol: ChannelProtocol, verb: ChannelVerb) -> bool {
    match protocol {
        ChannelProtocol::Phoenix { .. } => true,
        ChannelProtocol::ActionCable => false,
        ChannelProtocol::SocketIo => verb == ChannelVerb::Push,
    }
}

/// What a connection that speaks one of the protocols remembers.
#[derive(Debug)]
pub(crate) struct Channels {
    /// When the next heartbeat is due, or silence has lasted too long.
    pub(crate) background: Background,
    pub(crate) protocol: ChannelProtocol,
    pub(crate) reader: ws::Reader,
    /// Of our messages, if that was agreed on.
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
    pub(crate) fn new(protocol: ChannelProtocol, pc: Pc) -> Channels {
        Channels {
            background: Background::new(pc),
            protocol,
            reader: ws::Reader::default(),
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

    /// The numbers of a message that is sent now: its own, and that of the message which joined its
    /// topic. Remembers what answers it. The error says why it cannot be sent.
    pub(crate) fn next_numbers(
        &mut self,
        verb: ChannelVerb,
        topic: &[u8],
        wants_answer: bool,
    ) -> Result<(u32, u32), String> {
        let number = self.number();
        let joined_by = match verb {
            ChannelVerb::Join => {
                self.forget(topic);
                self.topics.push((topic.into(), number));
                number
            }
            ChannelVerb::Push | ChannelVerb::Leave => self
                .joined_by(topic)
                .ok_or_else(|| format!("{:?} is not joined", String::from_utf8_lossy(topic)))?,
        };
        self.awaited = match verb {
            _ if !wants_answer => None,
            verb if is_answered(self.protocol, verb) => Some(number),
            ChannelVerb::Join => Some(BY_TOPIC),
            // What answers, if anything does, is known by its content.
            ChannelVerb::Push | ChannelVerb::Leave => None,
        };
        if verb == ChannelVerb::Leave {
            self.forget(topic);
        }
        Ok((number, joined_by))
    }
}
