//! How far a connection is.

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
