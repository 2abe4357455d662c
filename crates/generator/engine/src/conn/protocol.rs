//! The protocols, and what a connection of each is and remembers. What each does is in `interpreter/protocols.rs`.

use plan::Pc;

use super::background::Background;
use super::call::CallStream;
use super::channels::Channels;
use super::connection::Stage;
use super::deflate::Compression;
use super::link::Link;
use super::poll::Poller;
use super::reconnecting::Reconnectable;
use super::sse::EventStream;

/// The protocol that is spoken over a connection, whatever carries it.
#[derive(Debug)]
pub(crate) enum Protocol {
    Http,
    Ws(WebSocket),
    /// A protocol of channels over a WebSocket, or MQTT.
    Channels(Box<Channels>),
    /// An event stream.
    Sse(Box<EventStream>),
    Poll(Box<Poller>),
    /// A call of gRPC that stays open.
    Call(Box<CallStream>),
    /// Messages in frames, straight on TCP or TLS. The framing is that of the instruction that
    /// opened it.
    Tcp {
        opened_by: Pc,
    },
}

/// A WebSocket that carries no protocol of channels.
#[derive(Debug)]
pub(crate) enum WebSocket {
    /// Not open yet, or without anything to remember.
    Plain,
    /// Its messages may be compressed.
    Deflated(Box<Compression>),
    /// It reconnects.
    Reconnectable(Box<Reconnectable>),
}

impl Protocol {
    /// A WebSocket that is still to be opened.
    pub(crate) fn upgrade() -> Protocol {
        Protocol::Ws(WebSocket::Plain)
    }

    pub(crate) fn is_http(&self) -> bool {
        matches!(self, Protocol::Http)
    }

    pub(crate) fn is_websocket(&self) -> bool {
        matches!(self, Protocol::Ws(_) | Protocol::Channels(_))
    }

    /// True if steps send messages over it.
    pub(crate) fn carries_messages(&self) -> bool {
        match self {
            Protocol::Ws(_) | Protocol::Channels(_) | Protocol::Call(_) | Protocol::Tcp { .. } => {
                true
            }
            Protocol::Http | Protocol::Sse(_) | Protocol::Poll(_) => false,
        }
    }

    /// True if HTTP/2 can carry it as well, over this link.
    pub(crate) fn may_be_carried(&self, link: &Link) -> bool {
        match self {
            Protocol::Http | Protocol::Sse(_) | Protocol::Poll(_) | Protocol::Call(_) => true,
            Protocol::Ws(_) | Protocol::Channels(_) => matches!(link, Link::Carried(_)),
            Protocol::Tcp { .. } => false,
        }
    }

    /// Bytes of messages that have come in part, but for those that the link has gathered.
    pub(super) fn gathered_bytes(&self) -> usize {
        match self {
            Protocol::Http | Protocol::Ws(_) | Protocol::Tcp { .. } => 0,
            Protocol::Channels(channels) => {
                let mqtt = channels.mqtt.as_ref();
                mqtt.map_or(0, |own| own.part.capacity() + own.client.kept_bytes())
            }
            Protocol::Sse(stream) => stream.held.capacity(),
            Protocol::Poll(poller) => poller.body.capacity(),
            Protocol::Call(own) => own.message.capacity() + own.head.capacity(),
        }
    }

    /// The connection is given up; another one will take its place.
    pub(super) fn reset(&mut self) {
        match self {
            Protocol::Sse(own) => own.reset(),
            Protocol::Poll(own) => own.reset(),
            Protocol::Ws(WebSocket::Reconnectable(own)) => own.reset(),
            Protocol::Channels(own) => own.reset(),
            Protocol::Http | Protocol::Ws(_) | Protocol::Call(_) | Protocol::Tcp { .. } => {}
        }
    }

    /// Words for a connection that is there already.
    pub(crate) fn in_use(&self) -> &'static str {
        match self {
            Protocol::Sse(_) => "event stream is open",
            Protocol::Poll(_) => "poll is running",
            Protocol::Tcp { .. } => "TCP connection is open",
            Protocol::Call(_) => "call is open",
            Protocol::Channels(own) if own.mqtt.is_some() => "connection of MQTT is open",
            Protocol::Http | Protocol::Ws(_) | Protocol::Channels(_) => "WebSocket is open",
        }
    }

    /// How far a row is whose request is about to go over a stream of HTTP/2.
    pub(super) fn stage_on_stream(&self) -> Stage {
        match self {
            Protocol::Sse(_) | Protocol::Ws(_) | Protocol::Channels(_) => Stage::Upgrading,
            Protocol::Call(_) => Stage::Open,
            Protocol::Http | Protocol::Poll(_) | Protocol::Tcp { .. } => Stage::Busy,
        }
    }

    /// The operations that run beside the steps.
    pub(super) fn background(&self) -> Option<&Background> {
        match self {
            Protocol::Sse(stream) => Some(&stream.background),
            Protocol::Poll(poller) => Some(&poller.background),
            Protocol::Ws(WebSocket::Reconnectable(own)) => Some(&own.background),
            Protocol::Channels(channels) => Some(&channels.background),
            Protocol::Call(own) => Some(&own.background),
            Protocol::Http | Protocol::Ws(_) | Protocol::Tcp { .. } => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn background_mut(&mut self) -> Option<&mut Background> {
        match self {
            Protocol::Sse(stream) => Some(&mut stream.background),
            Protocol::Poll(poller) => Some(&mut poller.background),
            Protocol::Ws(WebSocket::Reconnectable(own)) => Some(&mut own.background),
            Protocol::Channels(channels) => Some(&mut channels.background),
            Protocol::Call(own) => Some(&mut own.background),
            Protocol::Http | Protocol::Ws(_) | Protocol::Tcp { .. } => None,
        }
    }

    /// True if no step in flight depends on the connection: it polls, or its event stream was open
    /// before, or it reconnects.
    pub(super) fn is_background(&self) -> bool {
        match self {
            Protocol::Sse(stream) => stream.opened,
            Protocol::Poll(_) => true,
            Protocol::Ws(WebSocket::Reconnectable(own)) => own.reconnecting.lost,
            Protocol::Channels(channels) => channels.is_lost(),
            Protocol::Http | Protocol::Ws(_) | Protocol::Call(_) | Protocol::Tcp { .. } => false,
        }
    }
}
