//! Upper bounds on what a peer may make us hold or read.

/// Bytes of a line that starts a chunk, extensions included.
pub(crate) const CHUNK_LINE_BYTES_MAX: usize = 4096;

/// Upper bounds on what one peer can send. One value is shared by all connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a response head, status line to empty line; also of all trailers together.
    pub head_bytes_max: usize,
    /// Header lines in a response head.
    pub headers_count_max: usize,
    /// Bytes of a response body, after the chunked coding is taken off.
    pub body_bytes_max: u64,
    /// Payload bytes of a WebSocket message, all its fragments together; bytes of the lines of one
    /// server-sent event; bytes of a framed message.
    pub message_bytes_max: usize,
}

impl Limits {
    /// Heads of 64 KiB and 128 header lines, bodies of 64 MiB, messages of 16 MiB.
    pub const DEFAULT: Self = Self {
        head_bytes_max: 64 << 10,
        headers_count_max: 128,
        body_bytes_max: 64 << 20,
        message_bytes_max: 16 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
