//! Errors of the peer in a stream of frames.

use core::fmt;

/// Frames that cannot be read. [`close_code`](Self::close_code) is the code to close with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// A reserved bit is set although no extension was agreed on (RFC 6455 §5.2).
    ReservedBits,
    /// An opcode in 3–7 or 11–15 (§5.2).
    ReservedOpcode(u8),
    /// A server must not mask (§5.1).
    Masked,
    /// A control frame with more than 125 bytes (§5.5).
    ControlTooLong,
    /// A control frame that is not final (§5.5).
    ControlFragmented,
    /// A payload length in more bytes than it needs (§5.2).
    LengthNotMinimal,
    /// A payload length of 2⁶³ or more (§5.2).
    LengthTooLong,
    /// A continuation without a message to continue (§5.4).
    UnexpectedContinuation,
    /// A new message before the last fragment of the one under way (§5.4).
    InterleavedMessage,
    /// A text message or close reason that is not UTF-8 (§8.1, §5.5.1).
    InvalidUtf8,
    /// A close frame with a body of one byte (§5.5.1).
    ClosePayloadTooShort,
    /// A close code that must not be sent (§7.4).
    InvalidCloseCode(u16),
    /// A compressed message that is none (RFC 7692 §7.2.2).
    Deflate,
    /// A message over [`Limits::message_bytes_max`](crate::Limits::message_bytes_max); reported before
    /// its payload has arrived.
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
}

impl Error {
    /// The code to close the connection with (§7.4.1).
    pub fn close_code(&self) -> u16 {
        match self {
            Self::InvalidUtf8 | Self::Deflate => 1007,
            Self::TooLarge { .. } => 1009,
            _ => 1002,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deflate => "server sent a compressed message that cannot be inflated",
            Self::ReservedBits => "server set a reserved bit in a frame",
            Self::ReservedOpcode(opcode) => {
                return write!(f, "server sent a frame with the reserved opcode {opcode}");
            }
            Self::Masked => "server masked a frame",
            Self::ControlTooLong => "server sent a control frame over 125 bytes",
            Self::ControlFragmented => "server fragmented a control frame",
            Self::LengthNotMinimal => "server sent a frame length in more bytes than it needs",
            Self::LengthTooLong => "server sent a frame length of 2^63 or more",
            Self::UnexpectedContinuation => "server continued a message that it had not begun",
            Self::InterleavedMessage => "server began a message within another one",
            Self::InvalidUtf8 => "server sent text that is not UTF-8",
            Self::ClosePayloadTooShort => "server sent a close frame with half a code",
            Self::InvalidCloseCode(code) => {
                return write!(f, "server sent the close code {code}, which must not be sent");
            }
            Self::TooLarge { bytes_max } => {
                return write!(f, "server sent a message over {bytes_max} bytes");
            }
        })
    }
}

impl core::error::Error for Error {}

/// Why a response does not open a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeError {
    /// The status is not 101, or over HTTP/2 not 2xx.
    Declined {
        /// Status of the response.
        status: u16,
    },
    /// `Upgrade` is not `websocket`.
    Upgrade,
    /// `Connection` does not name `Upgrade`.
    Connection,
    /// `Sec-WebSocket-Accept` does not answer the key.
    Accept,
    /// `Sec-WebSocket-Extensions` names an extension, or a parameter of one, that was not offered.
    Extension,
    /// `Sec-WebSocket-Protocol` is not one of those offered.
    Protocol,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Declined { status } => {
                return write!(f, "server declined the WebSocket with status {status}");
            }
            Self::Upgrade => "server's handshake lacks `upgrade: websocket`",
            Self::Connection => "server's handshake lacks `connection: upgrade`",
            Self::Accept => "server's handshake does not answer our key",
            Self::Extension => "server's handshake uses an extension that was not offered",
            Self::Protocol => "server's handshake chose a subprotocol that was not offered",
        })
    }
}

impl core::error::Error for HandshakeError {}
