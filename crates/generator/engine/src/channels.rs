//! Protocols of channels over WebSocket: the server's messages parsed, the client's encoded.
//!
//! Each of `phoenix`, `cable`, `socketio`, `signalr` and `graphql` parses the server's texts into [`IncomingMessage`] and
//! encodes [`OutgoingMessage`]. What a connection remembers of its channels is the caller's.

mod cable;
mod graphql;
mod message;
mod phoenix;
mod signalr;
mod socketio;

use plan::{ChannelVerb, Protocol};

pub use graphql::failure as graphql_failure;
pub use message::{ChannelEnd, EndKind, IncomingMessage, OutgoingMessage};
pub use socketio::RecoverableEvent;

/// Parses a text of the server's.
pub fn parse(protocol: Protocol, text: &[u8]) -> IncomingMessage<'_> {
    match protocol {
        Protocol::Phoenix { arrays: true, .. } => phoenix::parse_array(text),
        Protocol::Phoenix { arrays: false, .. } => phoenix::parse_object(text),
        Protocol::ActionCable => cable::parse(text),
        Protocol::SocketIo => socketio::parse(text),
        Protocol::GraphQl => graphql::parse(text),
        Protocol::SignalR => signalr::parse(text),
        // Its packets are read by `proto::mqtt`; a text is none (MQTT 5 §6.0).
        Protocol::Mqtt { .. } => IncomingMessage::Broken,
    }
}

/// Parses a binary message of the server's; `None`: the protocol gives it no form of its own.
pub fn parse_binary(protocol: Protocol, message: &[u8]) -> Option<IncomingMessage<'_>> {
    match protocol {
        Protocol::Phoenix { arrays: true, .. } => Some(phoenix::binary::parse(message)),
        // The older serializer writes texts only.
        Protocol::Phoenix { arrays: false, .. } => Some(IncomingMessage::Broken),
        Protocol::ActionCable | Protocol::SocketIo | Protocol::Mqtt { .. } => None,
        // Their own messages are texts.
        Protocol::GraphQl | Protocol::SignalR => Some(IncomingMessage::Broken),
    }
}

/// Appends the answer to a message of the server's that has a number.
pub fn acknowledge(topic: &[u8], number: u32, arguments: &[u8], out: &mut Vec<u8>) {
    socketio::acknowledge(topic, number, arguments, out);
}

/// Reads an event of a session that the server keeps while its connection is lost, in a text; `None`: it has no offset.
pub fn recoverable_event(text: &[u8]) -> Option<RecoverableEvent<'_>> {
    socketio::recoverable_event(text)
}

/// The payload that joins a channel again and continues its session, of that name, from that offset on.
pub fn recovering(payload: &[u8], session: &[u8], offset: &[u8]) -> Vec<u8> {
    socketio::recovering(payload, session, offset)
}

/// Appends our text.
pub fn encode(protocol: Protocol, message: &OutgoingMessage<'_>, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Phoenix { arrays, .. } => phoenix::encode(arrays, message, out),
        Protocol::ActionCable => cable::encode(message, out),
        Protocol::SocketIo => socketio::encode(message, out),
        Protocol::GraphQl => graphql::encode(message, out),
        Protocol::SignalR => signalr::encode(message, out),
        // The same crate writes them.
        Protocol::Mqtt { .. } => {}
    }
}

/// Appends a message whose payload is bytes. The error says why the protocol has none, or not this one.
pub fn encode_bytes(
    protocol: Protocol,
    message: &OutgoingMessage<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    match protocol {
        Protocol::Phoenix { arrays: true, .. } => phoenix::binary::encode(message, out),
        _ => Err("binary messages are those of Phoenix 2.0.0".to_owned()),
    }
}

/// Appends the text of a heartbeat, if the protocol has the client send one.
pub fn heartbeat(protocol: Protocol, number: u32, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Phoenix { arrays, .. } => phoenix::heartbeat(arrays, number, out),
        Protocol::SignalR => signalr::ping(out),
        Protocol::ActionCable | Protocol::SocketIo | Protocol::GraphQl | Protocol::Mqtt { .. } => {}
    }
}

/// The time from one heartbeat of ours to the next, if the server does not answer them.
pub fn ping_interval_ns(protocol: Protocol) -> Option<u64> {
    (protocol == Protocol::SignalR).then_some(signalr::PING_NS)
}

/// The byte that ends each message of the server's, if a text may hold several.
pub fn record_end(protocol: Protocol) -> Option<u8> {
    (protocol == Protocol::SignalR).then_some(signalr::RECORD_END)
}

/// Whether messages belong to channels that are joined; else the connection is the only one.
pub fn has_topics(protocol: Protocol) -> bool {
    protocol != Protocol::SignalR
}

/// Whether a message of the server's says that the connection may be used.
pub fn is_greeted(protocol: Protocol) -> bool {
    !matches!(protocol, Protocol::Phoenix { .. })
}

/// Whether the server says that a channel was joined.
pub fn is_confirmed(protocol: Protocol) -> bool {
    protocol != Protocol::GraphQl
}

/// Whether the protocol's own client does not reconnect after the server has closed with this status.
pub fn is_final(protocol: Protocol, code: u16) -> bool {
    match protocol {
        Protocol::Phoenix { .. } => code == 1000,
        Protocol::ActionCable | Protocol::SocketIo | Protocol::SignalR | Protocol::Mqtt { .. } => {
            false
        }
        Protocol::GraphQl => graphql::is_fatal(code),
    }
}

/// Whether the server answers such a message under its number.
pub fn is_answered(protocol: Protocol, verb: ChannelVerb) -> bool {
    match protocol {
        Protocol::Phoenix { .. } | Protocol::Mqtt { .. } => true,
        Protocol::ActionCable | Protocol::GraphQl => false,
        Protocol::SocketIo | Protocol::SignalR => verb == ChannelVerb::Push,
    }
}
