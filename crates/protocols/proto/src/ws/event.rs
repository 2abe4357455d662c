//! Events of a server's stream, after frames are put together.

/// An event of a server's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A complete text message.
    Text(&'a str),
    /// A complete binary message.
    Binary(&'a [u8]),
    /// To be answered by a pong with the same payload (RFC 6455 §5.5.3).
    Ping(&'a [u8]),
    /// The answer to a ping, or unsolicited.
    Pong(&'a [u8]),
    /// The server closes: the last event. To be answered by a close frame, unless it is itself
    /// the answer to ours (§5.5.1).
    Close {
        /// Why, as a code of §7.4; `None` if the frame is empty.
        code: Option<u16>,
        /// Why, in words; often empty.
        reason: &'a str,
    },
}

impl Event<'_> {
    /// True for a message; false for a control frame.
    pub fn is_message(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Binary(_))
    }
}
