//! One connection: its stage, the protocol it speaks, and what little it keeps between reads.

use plan::{EndpointId, Pc};
use proto::{frame, http1, proxy, ws};

use super::background::Background;
use super::call::{Answer, CallStream};
use super::carried::Carried;
use super::channels::Channels;
use super::deflate::{Compression, Deflated};
use super::http2::{Carrier, Stream};
use super::mqtt::Mqtt;
use super::poll::Poller;
use super::reconnecting::{Reconnectable, Reconnecting};
use super::sse::EventStream;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::tls::Tls;
use crate::users::User;

/// The status of an upgrade (RFC 9110 §15.2.2).
pub(crate) const SWITCHING: u16 = 101;

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// TCP is being set up.
    Connecting,
    /// A tunnel through a proxy is being set up, then TLS.
    Securing,
    /// HTTP, no request in flight.
    Idle,
    /// HTTP, a request in flight.
    Busy,
    /// The WebSocket upgrade, or the request for an event stream, is in flight.
    Upgrading,
    /// A WebSocket, an event stream or a framed TCP connection.
    Open,
    /// A WebSocket to which a close frame was sent.
    Closing,
    /// A lost event stream that will reconnect, or a poll between two connections: there is no TCP
    /// connection.
    Waiting,
}

impl Stage {
    /// True until the connection can be used.
    pub(crate) fn is_setting_up(self) -> bool {
        matches!(self, Stage::Connecting | Stage::Securing | Stage::Upgrading)
    }
}

/// What an HTTP connection has served. A server may close an idle one at any time, also while a request is on its
/// way (RFC 9112 §9.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Nothing yet.
    Fresh,
    /// A response before; of the next one nothing has come.
    Served,
    /// A part of a response.
    Answering,
}

/// What a connection speaks, and what reads the peer's bytes.
#[derive(Debug)]
pub(crate) enum Protocol {
    Http(http1::Decoder),
    /// HTTP/2: it carries requests that have rows of their own.
    Http2(Box<Carrier>),
    /// A request over such a connection.
    Stream(Stream),
    /// A WebSocket before the answer to its upgrade.
    Upgrade(http1::Decoder),
    WebSocket(ws::Reader),
    /// A WebSocket whose messages may be compressed.
    Deflated(Box<Deflated>),
    /// A WebSocket that reconnects.
    Reconnectable(Box<Reconnectable>),
    /// A WebSocket that carries a protocol of channels, or MQTT.
    Channels(Box<Channels>),
    /// Any of these WebSockets over HTTP/2.
    Carried(Box<Carried>),
    /// An event stream.
    Sse(Box<EventStream>),
    Poll(Box<Poller>),
    /// A call of gRPC that stays open.
    Call(Box<CallStream>),
    /// Messages in frames, straight on TCP or TLS. The framing is that of the instruction that
    /// opened it.
    Tcp {
        opened_by: Pc,
        decoder: frame::Decoder,
    },
}

impl Protocol {
    pub(crate) fn http() -> Protocol {
        Protocol::Http(http1::Decoder::new())
    }

    /// A WebSocket that is still to be opened.
    pub(crate) fn upgrade() -> Protocol {
        Protocol::Upgrade(http1::Decoder::new())
    }

    pub(crate) fn tcp(opened_by: Pc) -> Protocol {
        let decoder = frame::Decoder::new();
        Protocol::Tcp { opened_by, decoder }
    }

    pub(crate) fn is_http(&self) -> bool {
        matches!(
            self,
            Protocol::Http(_) | Protocol::Http2(_) | Protocol::Stream(_)
        )
    }

    /// True if HTTP/2 can do it as well.
    pub(crate) fn may_be_carried(&self) -> bool {
        matches!(
            self,
            Protocol::Http(_)
                | Protocol::Sse(_)
                | Protocol::Poll(_)
                | Protocol::Call(_)
                | Protocol::Carried(_)
        )
    }

    pub(crate) fn is_websocket(&self) -> bool {
        match self {
            Protocol::Upgrade(_)
            | Protocol::WebSocket(_)
            | Protocol::Deflated(_)
            | Protocol::Reconnectable(_)
            | Protocol::Channels(_)
            | Protocol::Carried(_) => true,
            Protocol::Http(_)
            | Protocol::Http2(_)
            | Protocol::Stream(_)
            | Protocol::Sse(_)
            | Protocol::Poll(_)
            | Protocol::Call(_)
            | Protocol::Tcp { .. } => false,
        }
    }

    /// True if steps send messages over it.
    pub(crate) fn carries_messages(&self) -> bool {
        self.is_websocket() || matches!(self, Protocol::Tcp { .. } | Protocol::Call(_))
    }

    /// What is spoken, whatever carries it.
    #[inline]
    pub(crate) fn spoken(&self) -> &Protocol {
        match self {
            Protocol::Carried(own) => &own.spoken,
            own => own,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn spoken_mut(&mut self) -> &mut Protocol {
        match self {
            Protocol::Carried(own) => &mut own.spoken,
            own => own,
        }
    }

    /// Bytes of messages that have come in part.
    fn gathered_bytes(&self) -> usize {
        match self {
            Protocol::Http(_)
            | Protocol::Stream(_)
            | Protocol::Upgrade(_)
            | Protocol::Tcp { .. } => 0,
            Protocol::Http2(carrier) => carrier.h2.memory_bytes(),
            Protocol::WebSocket(reader) => reader.gathered_len(),
            Protocol::Deflated(deflated) => deflated.reader.gathered_len(),
            Protocol::Reconnectable(own) => own.reader.gathered_len(),
            Protocol::Channels(channels) => {
                let mqtt = channels.mqtt.as_ref();
                let kept = mqtt.map_or(0, |own| own.part.capacity() + own.client.kept_bytes());
                channels.reader.gathered_len() + kept
            }
            Protocol::Carried(own) => own.spoken.gathered_bytes(),
            Protocol::Sse(stream) => stream.held.capacity(),
            Protocol::Poll(poller) => poller.body.capacity(),
            Protocol::Call(own) => own.message.capacity() + own.head.capacity(),
        }
    }
}

/// A connection. Idle, it owns no buffer.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) protocol: Protocol,
    pub(crate) started_ns: u64,
    /// Bytes that are not enough yet to be decoded.
    #[expect(
        clippy::box_collection,
        reason = "8 bytes instead of 24, in millions of connections"
    )]
    pub(crate) inbox: Option<Box<Vec<u8>>>,
    pub(crate) pending: Option<Box<Pending>>,
    pub(crate) tls: Option<Box<Tls>>,
    pub(crate) user: UserKey,
    /// The next connection of the same user.
    pub(crate) next: ConnSlot,
    pub(crate) generation: u32,
    pub(crate) endpoint: EndpointId,
    pub(crate) stage: Stage,
    pub(crate) reuse: Reuse,
}

impl Conn {
    /// A connection of the user `key`, before it has a TCP connection.
    pub(crate) fn new(key: UserKey, user: &User, endpoint: EndpointId, protocol: Protocol) -> Conn {
        Conn {
            protocol,
            started_ns: 0,
            inbox: None,
            pending: None,
            tls: None,
            user: key,
            next: user.conn,
            generation: 0,
            endpoint,
            stage: Stage::Waiting,
            reuse: Reuse::Fresh,
        }
    }

    /// What it carries, if it speaks HTTP/2.
    pub(crate) fn carrier(&self) -> Option<&Carrier> {
        match &self.protocol {
            Protocol::Http2(carrier) => Some(carrier),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn carrier_mut(&mut self) -> Option<&mut Carrier> {
        match &mut self.protocol {
            Protocol::Http2(carrier) => Some(carrier),
            _ => None,
        }
    }

    /// How it reaches its server, if another connection carries it.
    pub(crate) fn stream(&self) -> Option<Stream> {
        match &self.protocol {
            Protocol::Stream(stream) => Some(*stream),
            Protocol::Sse(own) => own.link.stream(),
            Protocol::Poll(own) => own.link.stream(),
            Protocol::Call(own) => own.stream,
            Protocol::Carried(own) => own.stream,
            _ => None,
        }
    }

    /// The number of its stream in flight; 0: none is.
    pub(crate) fn set_stream_id(&mut self, id: u32) {
        match &mut self.protocol {
            Protocol::Stream(stream) => stream.id = id,
            Protocol::Sse(own) => own.link.set_stream_id(id),
            Protocol::Poll(own) => own.link.set_stream_id(id),
            Protocol::Call(own) => {
                if let Some(stream) = &mut own.stream {
                    stream.id = id;
                }
            }
            Protocol::Carried(own) => {
                if let Some(stream) = &mut own.stream {
                    stream.id = id;
                }
            }
            _ => {}
        }
    }

    /// The state of a call that stays open.
    pub(crate) fn call_stream(&mut self) -> Option<&mut CallStream> {
        match &mut self.protocol {
            Protocol::Call(own) => Some(own),
            _ => None,
        }
    }

    /// The event stream's state.
    pub(crate) fn event_stream(&mut self) -> Option<&mut EventStream> {
        match &mut self.protocol {
            Protocol::Sse(stream) => Some(stream),
            _ => None,
        }
    }

    /// The poll's state.
    pub(crate) fn poller(&mut self) -> Option<&mut Poller> {
        match &mut self.protocol {
            Protocol::Poll(poller) => Some(poller),
            _ => None,
        }
    }

    /// The state of the protocol of channels that it speaks.
    pub(crate) fn channels(&mut self) -> Option<&mut Channels> {
        match self.protocol.spoken_mut() {
            Protocol::Channels(channels) => Some(channels),
            _ => None,
        }
    }

    /// The state of MQTT, if it speaks that.
    pub(crate) fn mqtt(&mut self) -> Option<&mut Mqtt> {
        self.channels()?.mqtt.as_deref_mut()
    }

    /// The state of a plain WebSocket that reconnects.
    pub(crate) fn reconnectable(&mut self) -> Option<&mut Reconnectable> {
        match self.protocol.spoken_mut() {
            Protocol::Reconnectable(own) => Some(own),
            _ => None,
        }
    }

    /// What it remembers of its losses, if it reconnects.
    pub(crate) fn reconnecting(&mut self) -> Option<&mut Reconnecting> {
        match self.protocol.spoken_mut() {
            Protocol::Reconnectable(own) => Some(&mut own.reconnecting),
            Protocol::Channels(channels) => channels.reconnect.as_deref_mut(),
            _ => None,
        }
    }

    /// The decoder of its HTTP responses.
    pub(crate) fn http(&mut self) -> Option<&mut http1::Decoder> {
        match self.protocol.spoken_mut() {
            Protocol::Http(decoder) | Protocol::Upgrade(decoder) => Some(decoder),
            Protocol::Sse(stream) => stream.link.http(),
            Protocol::Poll(poller) => poller.link.http(),
            Protocol::Reconnectable(own) => own.reconnecting.upgrade(),
            Protocol::Channels(channels) => channels.upgrade(),
            Protocol::Http2(_)
            | Protocol::Stream(_)
            | Protocol::WebSocket(_)
            | Protocol::Deflated(_)
            | Protocol::Carried(_)
            | Protocol::Call(_)
            | Protocol::Tcp { .. } => None,
        }
    }

    /// True while the answer to an upgrade is awaited.
    pub(crate) fn is_upgrading(&self) -> bool {
        match self.protocol.spoken() {
            Protocol::Upgrade(_) => true,
            Protocol::Reconnectable(own) => own.reconnecting.is_upgrading(),
            Protocol::Channels(channels) => {
                let reconnect = channels.reconnect.as_ref();
                reconnect.is_some_and(|own| own.is_upgrading())
            }
            _ => false,
        }
    }

    /// What reads its WebSocket frames.
    pub(crate) fn reader(&mut self) -> Option<&mut ws::Reader> {
        match self.protocol.spoken_mut() {
            Protocol::WebSocket(reader) => Some(reader),
            Protocol::Deflated(deflated) => Some(&mut deflated.reader),
            Protocol::Reconnectable(own) => Some(&mut own.reader),
            Protocol::Channels(channels) => Some(&mut channels.reader),
            _ => None,
        }
    }

    /// How our messages are compressed, if they are.
    pub(crate) fn compression(&mut self) -> Option<&mut Compression> {
        match self.protocol.spoken_mut() {
            Protocol::Deflated(deflated) => Some(&mut deflated.compression),
            Protocol::Reconnectable(own) => own.compression.as_mut(),
            Protocol::Channels(channels) => channels.compression.as_mut(),
            _ => None,
        }
    }

    /// What runs in the background on this connection.
    pub(crate) fn background(&self) -> Option<&Background> {
        match self.protocol.spoken() {
            Protocol::Sse(stream) => Some(&stream.background),
            Protocol::Poll(poller) => Some(&poller.background),
            Protocol::Reconnectable(own) => Some(&own.background),
            Protocol::Channels(channels) => Some(&channels.background),
            Protocol::Call(own) => Some(&own.background),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn background_mut(&mut self) -> Option<&mut Background> {
        match self.protocol.spoken_mut() {
            Protocol::Sse(stream) => Some(&mut stream.background),
            Protocol::Poll(poller) => Some(&mut poller.background),
            Protocol::Reconnectable(own) => Some(&mut own.background),
            Protocol::Channels(channels) => Some(&mut channels.background),
            Protocol::Call(own) => Some(&mut own.background),
            _ => None,
        }
    }

    /// True if no step in flight depends on the connection: it polls, or its event stream was open
    /// before, or it reconnects.
    pub(crate) fn is_background(&self) -> bool {
        match self.protocol.spoken() {
            Protocol::Sse(stream) => stream.opened,
            Protocol::Poll(_) => true,
            Protocol::Reconnectable(own) => own.reconnecting.lost,
            Protocol::Channels(channels) => channels.is_lost(),
            _ => false,
        }
    }

    /// A WebSocket that may be carried is to be opened by an upgrade after all.
    pub(crate) fn forgo_carrier(&mut self) {
        if let Protocol::Carried(own) = &mut self.protocol {
            self.protocol = std::mem::replace(&mut own.spoken, Protocol::upgrade());
        }
    }

    /// The status that opened a WebSocket; 0 without one.
    pub(crate) fn opened_status(&self) -> u16 {
        match &self.protocol {
            Protocol::Carried(own) => own.status,
            Protocol::Channels(channels) if channels.is_bare() => 0,
            _ => SWITCHING,
        }
    }

    /// True for an event stream or a poll, which run in the background.
    pub(crate) fn runs_in_background(&self) -> bool {
        matches!(self.protocol, Protocol::Sse(_) | Protocol::Poll(_))
    }

    /// Bytes kept of what the peer sent.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let body = match self.pending.as_deref() {
            Some(Pending::Response { body, .. } | Pending::Unsent(body)) => body.capacity(),
            Some(Pending::Answer(answer)) => answer.body.capacity(),
            Some(Pending::Upgrade(_) | Pending::Tunnel(_)) | None => 0,
        };
        let inbox = self.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        inbox + body + self.protocol.gathered_bytes()
    }

    /// True while a background operation is in flight on it.
    pub(crate) fn is_requesting(&self) -> bool {
        self.is_background() && (self.stage.is_setting_up() || self.stage == Stage::Busy)
    }

    /// Might what is due in the background be an answer that did not come?
    pub(crate) fn awaits(&self) -> bool {
        !matches!(self.stage, Stage::Waiting | Stage::Idle)
    }
}

/// What the operation in flight still needs.
#[derive(Debug)]
pub(crate) enum Pending {
    /// The key that the upgrade's answer must match.
    Upgrade(ws::Key),
    /// A response that came in pieces. The bodies are kept only if a step reads them.
    Response {
        head: Vec<u8>,
        body: Vec<u8>,
        keep_body: bool,
        /// The connection serves no other request: it lacks the body of this one.
        closes: bool,
    },
    /// The answer to a call of gRPC.
    Answer(Answer),
    /// The body of a request whose server is to say first that it wants it.
    Unsent(Vec<u8>),
    /// The tunnel through a proxy that is being set up.
    Tunnel(proxy::Handshake),
}
