//! One connection: its stage, the link that carries it, the protocol that it speaks, and the little it keeps between reads.

use plan::EndpointId;
use proto::{http1, proxy, ws};

use crate::conn::background::Background;
use crate::conn::http2::{Carrier, Stream};
use crate::conn::link::Link;
use crate::conn::stage::Stage;
use crate::protocols::calls::state::{Answer, CallStream};
use crate::protocols::channels::state::Channels;
use crate::protocols::declined::DecliningAnswer;
use crate::protocols::mqtt::client::Mqtt;
use crate::protocols::poll::Poller;
use crate::protocols::sse::EventStream;
use crate::protocols::websocket::deflate::Compression;
use crate::protocols::websocket::pauses::{ReconnectState, Reconnectable};
use crate::protocols::{Protocol, WebSocket};
use crate::tables::slots::{ConnSlot, UserKey};
use crate::tls::Tls;
use crate::users::User;

/// The status of an upgrade (RFC 9110 §15.2.2).
pub(crate) const SWITCHING: u16 = 101;

/// The past use of an HTTP connection. A server may close an idle one at any time, also while a request is on its
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

/// A connection. Idle, it owns no buffer.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) link: Link,
    pub(crate) speaks: Protocol,
    pub(crate) started_ns: u64,
    /// Bytes that are not enough yet to be decoded.
    #[expect(clippy::box_collection, reason = "8 bytes instead of 24, in millions of connections")]
    pub(crate) inbox: Option<Box<Vec<u8>>>,
    pub(crate) pending: Option<Box<PendingOperation>>,
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
    pub(crate) fn new(
        key: UserKey,
        user: &User,
        endpoint: EndpointId,
        link: Link,
        speaks: Protocol,
    ) -> Conn {
        Conn {
            link,
            speaks,
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

    /// The streams that it carries, if it speaks HTTP/2.
    pub(crate) fn carrier(&self) -> Option<&Carrier> {
        match &self.link {
            Link::Carrier(carrier) => Some(carrier),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn carrier_mut(&mut self) -> Option<&mut Carrier> {
        match &mut self.link {
            Link::Carrier(carrier) => Some(carrier),
            _ => None,
        }
    }

    /// The stream by which it reaches its server, if another connection carries it.
    #[inline]
    pub(crate) fn stream(&self) -> Option<Stream> {
        self.link.stream()
    }

    /// The decoder of its HTTP responses.
    #[inline]
    pub(crate) fn http(&mut self) -> Option<&mut http1::Decoder> {
        self.link.http()
    }

    /// True if HTTP/2 can carry it as well.
    pub(crate) fn may_be_carried(&self) -> bool {
        self.speaks.may_be_carried(&self.link)
    }

    /// The state of a call that stays open.
    pub(crate) fn call_stream(&mut self) -> Option<&mut CallStream> {
        match &mut self.speaks {
            Protocol::Call(own) => Some(own),
            _ => None,
        }
    }

    /// The event stream's state.
    pub(crate) fn event_stream(&mut self) -> Option<&mut EventStream> {
        match &mut self.speaks {
            Protocol::Sse(stream) => Some(stream),
            _ => None,
        }
    }

    /// The poll's state.
    pub(crate) fn poller(&mut self) -> Option<&mut Poller> {
        match &mut self.speaks {
            Protocol::Poll(poller) => Some(poller),
            _ => None,
        }
    }

    /// The state of the protocol of channels that it speaks.
    pub(crate) fn channels(&mut self) -> Option<&mut Channels> {
        match &mut self.speaks {
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
        match &mut self.speaks {
            Protocol::Ws(WebSocket::Reconnectable(own)) => Some(own),
            _ => None,
        }
    }

    /// The losses that it remembers, if it reconnects.
    pub(crate) fn reconnecting(&mut self) -> Option<&mut ReconnectState> {
        match &mut self.speaks {
            Protocol::Ws(WebSocket::Reconnectable(own)) => Some(&mut own.reconnecting),
            Protocol::Channels(channels) => channels.reconnect.as_deref_mut(),
            _ => None,
        }
    }

    /// True while the answer to an upgrade is awaited.
    pub(crate) fn is_upgrading(&self) -> bool {
        matches!(self.link, Link::Http1(_)) && self.speaks.is_websocket()
    }

    /// How our messages are compressed, if they are.
    pub(crate) fn compression(&mut self) -> Option<&mut Compression> {
        match &mut self.speaks {
            Protocol::Ws(WebSocket::Deflated(compression)) => Some(compression),
            Protocol::Ws(WebSocket::Divided(own)) => own.compression.as_mut(),
            Protocol::Ws(WebSocket::Reconnectable(own)) => own.compression.as_mut(),
            Protocol::Channels(channels) => channels.compression.as_mut(),
            _ => None,
        }
    }

    /// The operations that run beside the steps on this connection.
    pub(crate) fn background(&self) -> Option<&Background> {
        self.speaks.background()
    }

    /// The same, to be changed.
    pub(crate) fn background_mut(&mut self) -> Option<&mut Background> {
        self.speaks.background_mut()
    }

    /// True if no step in flight depends on the connection: it polls, or its event stream was open
    /// before, or it reconnects.
    #[inline]
    pub(crate) fn is_background(&self) -> bool {
        self.speaks.is_background()
    }

    /// A WebSocket that may be carried is to be opened by an upgrade after all.
    pub(crate) fn forgo_carrier(&mut self) {
        if let Link::Carried(_) = self.link {
            self.link = Link::http1();
        }
    }

    /// The status that opened a WebSocket; 0 without one.
    pub(crate) fn opened_status(&self) -> u16 {
        match &self.link {
            Link::Carried(own) => own.status,
            Link::Bare(_) => 0,
            _ => SWITCHING,
        }
    }

    /// True for an event stream or a poll, which run in the background.
    pub(crate) fn runs_in_background(&self) -> bool {
        matches!(self.speaks, Protocol::Sse(_) | Protocol::Poll(_))
    }

    /// Bytes kept of what the peer sent.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let body = match self.pending.as_deref() {
            Some(PendingOperation::Response { body, .. } | PendingOperation::Unsent(body)) => {
                body.capacity()
            }
            Some(PendingOperation::Answer(answer)) => answer.body.capacity(),
            Some(PendingOperation::Declined(declined)) => declined.body.capacity(),
            Some(PendingOperation::Upgrade(_) | PendingOperation::Tunnel(_)) | None => 0,
        };
        let inbox = self.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        inbox + body + self.link.gathered_bytes() + self.speaks.gathered_bytes()
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

/// The part of the operation in flight that is still to be done.
#[derive(Debug)]
pub(crate) enum PendingOperation {
    /// The key that the upgrade's answer must match.
    Upgrade(ws::Key),
    /// A response that came in pieces.
    Response {
        head: Vec<u8>,
        body: Vec<u8>,
        /// Bytes of its body that are kept: all if a step reads it, none if nobody does.
        body_bytes_max: usize,
        /// The connection serves no other request: it lacks the body of this one.
        closes: bool,
    },
    /// The answer to a call of gRPC.
    Answer(Answer),
    /// The answer that declines a WebSocket or an event stream.
    Declined(Box<DecliningAnswer>),
    /// The body of a request whose server is to say first that it wants it.
    Unsent(Vec<u8>),
    /// The tunnel through a proxy that is being set up.
    Tunnel(proxy::Handshake),
}
