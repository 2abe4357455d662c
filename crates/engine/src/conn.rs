//! One connection: where it stands, its codec, and what little it must keep between reads.

use proto::{http1, ws};
use scenario::plan::EndpointId;

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
    /// The WebSocket upgrade is in flight.
    Upgrading,
    /// A WebSocket.
    Open,
    /// A WebSocket to which a close frame was sent.
    Closing,
}

impl Stage {
    /// True until the connection can be used.
    pub(crate) fn is_setting_up(self) -> bool {
        matches!(self, Stage::Connecting | Stage::Securing | Stage::Upgrading)
    }
}

/// What reads the peer's bytes.
#[derive(Debug)]
pub(crate) enum Codec {
    Http(http1::Decoder),
    Ws(ws::Decoder),
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
    pub(crate) websocket: bool,
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
