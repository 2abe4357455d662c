//! One connection: where it stands, its codec, and what little it must keep between reads.

use plan::{EndpointId, Pc};
use proto::{frame, http1, ws};

use crate::channels::Channels;
use crate::deflate::{Compression, Deflated};
use crate::receiver::{Background, Poller, Receiver};
use crate::tls::Tls;

/// No user: the connection is idle in the shared pool.
pub(crate) const NO_USER: u32 = u32::MAX;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// TCP is being set up.
    Connecting,
    /// TLS is being set up.
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
    /// An event stream that was lost and will be opened anew, or a poll that has let go of its
    /// connection: there is no TCP connection.
    Waiting,
}

impl Stage {
    /// True until the connection can be used.
    pub(crate) fn is_setting_up(self) -> bool {
        matches!(self, Stage::Connecting | Stage::Securing | Stage::Upgrading)
    }
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Http,
    WebSocket,
    /// An event stream.
    Events,
    /// A poll.
    Poll,
    /// Messages in frames, straight on TCP or TLS.
    Tcp,
}

/// What reads the peer's bytes.
#[derive(Debug)]
pub(crate) enum Codec {
    Http(http1::Decoder),
    Ws(ws::Decoder),
    Events(Box<Receiver>),
    Poll(Box<Poller>),
    /// A WebSocket whose messages may be compressed.
    Deflated(Box<Deflated>),
    /// A WebSocket that speaks a protocol of channels.
    Channels(Box<Channels>),
    /// The framing is that of the instruction that opened it.
    Frames {
        opened_by: Pc,
        decoder: frame::Decoder,
    },
}

/// A connection. Idle, it owns no buffer.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) codec: Codec,
    pub(crate) started_ns: u64,
    /// Bytes that are not enough yet to be decoded.
    #[expect(
        clippy::box_collection,
        reason = "8 bytes instead of 24, in millions of connections"
    )]
    pub(crate) inbox: Option<Box<Vec<u8>>>,
    pub(crate) pending: Option<Box<Pending>>,
    pub(crate) tls: Option<Box<Tls>>,
    pub(crate) user: u32,
    /// The next connection of the same user.
    pub(crate) next: u32,
    pub(crate) generation: u32,
    pub(crate) endpoint: EndpointId,
    pub(crate) stage: Stage,
    pub(crate) kind: Kind,
}

impl Conn {
    /// The event stream's state.
    pub(crate) fn receiver(&mut self) -> Option<&mut Receiver> {
        match &mut self.codec {
            Codec::Events(receiver) => Some(receiver),
            _ => None,
        }
    }

    /// What the protocol of channels that it speaks remembers.
    pub(crate) fn channels(&mut self) -> Option<&mut Channels> {
        match &mut self.codec {
            Codec::Channels(channels) => Some(channels),
            _ => None,
        }
    }

    /// How our messages are compressed, if they are.
    pub(crate) fn compression(&mut self) -> Option<&mut Compression> {
        match &mut self.codec {
            Codec::Deflated(deflated) => Some(&mut deflated.compression),
            Codec::Channels(channels) => channels.compression.as_mut(),
            _ => None,
        }
    }

    /// What runs beside the steps on this connection.
    pub(crate) fn background(&self) -> Option<&Background> {
        match &self.codec {
            Codec::Events(receiver) => Some(&receiver.background),
            Codec::Poll(poller) => Some(&poller.background),
            Codec::Channels(channels) => Some(&channels.background),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn background_mut(&mut self) -> Option<&mut Background> {
        match &mut self.codec {
            Codec::Events(receiver) => Some(&mut receiver.background),
            Codec::Poll(poller) => Some(&mut poller.background),
            Codec::Channels(channels) => Some(&mut channels.background),
            _ => None,
        }
    }

    /// True where what happens to the connection concerns no step in flight: it polls, or its event
    /// stream was open once.
    pub(crate) fn is_background(&self) -> bool {
        match &self.codec {
            Codec::Events(receiver) => receiver.opened,
            Codec::Poll(_) => true,
            _ => false,
        }
    }

    /// True where it is for an event stream or a poll, which go on beside the steps.
    pub(crate) fn is_beside_steps(&self) -> bool {
        matches!(self.kind, Kind::Events | Kind::Poll)
    }

    /// True while an operation beside the steps is in flight on it.
    pub(crate) fn is_asking(&self) -> bool {
        self.is_background() && (self.stage.is_setting_up() || self.stage == Stage::Busy)
    }
}

/// What the operation in flight still needs.
#[derive(Debug)]
pub(crate) enum Pending {
    /// The key that the upgrade's answer must match.
    Upgrade(ws::Key),
    /// A response that came in pieces. The bodies are kept only where a step looks at them.
    Response {
        head: Vec<u8>,
        body: Vec<u8>,
        keep_body: bool,
    },
}
