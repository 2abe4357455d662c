//! Errors of the peer in a response.

use crate::limits::CHUNK_LINE_BYTES_MAX;
use core::fmt;

/// A response that cannot be read. The connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// Bytes came although no response was due.
    Unsolicited,
    /// The response does not start with `HTTP/1.`.
    NotHttp,
    /// The status line is not a version and a code in [100, 999].
    BadStatusLine,
    /// A header line is not a name, a colon and a value.
    BadHeader,
    /// The first header line begins with a blank, as if it continued another one (RFC 9112 §2.2).
    FoldedHeader,
    /// A control byte in a head or trailer.
    ControlByte,
    /// `content-length` is no decimal number below 2⁶⁴.
    BadContentLength,
    /// Several `content-length` values differ.
    ConflictingContentLength,
    /// `transfer-encoding` names `chunked` twice, before another coding, or with parameters.
    BadTransferEncoding,
    /// The line before a chunk is not a hexadecimal size below 2⁶⁴ and extensions.
    BadChunkSize,
    /// The data of a chunk are not followed by CRLF.
    BadChunkEnd,
    /// The head is larger than [`Limits::head_bytes_max`](crate::Limits::head_bytes_max).
    HeadTooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The head has more lines than [`Limits::headers_count_max`](crate::Limits).
    TooManyHeaders {
        /// The limit.
        count_max: usize,
    },
    /// More 1xx responses than [`INTERIM_COUNT_MAX`](super::INTERIM_COUNT_MAX) came first.
    TooManyInterim,
    /// The line before a chunk is longer than 4 KiB.
    ChunkLineTooLarge,
    /// The trailers are larger than [`Limits::head_bytes_max`](crate::Limits::head_bytes_max).
    TrailersTooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The body is larger than [`Limits::body_bytes_max`](crate::Limits::body_bytes_max).
    BodyTooLarge {
        /// The limit.
        bytes_max: u64,
    },
    /// The connection ended when a response was due, before its first byte.
    ClosedBeforeHead,
    /// The connection ended within a response head.
    ClosedInHead,
    /// The connection ended within a response body.
    ClosedInBody,
}

impl Error {
    /// Whether a limit of ours was exceeded, rather than the protocol broken.
    pub fn is_too_large(&self) -> bool {
        matches!(
            self,
            Self::HeadTooLarge { .. }
                | Self::TooManyHeaders { .. }
                | Self::TooManyInterim
                | Self::ChunkLineTooLarge
                | Self::TrailersTooLarge { .. }
                | Self::BodyTooLarge { .. }
        )
    }

    /// Whether the peer closed the connection with a response due or under way.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::ClosedBeforeHead | Self::ClosedInHead | Self::ClosedInBody)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsolicited => "server sent bytes that answer no request",
            Self::NotHttp => "server did not answer with HTTP/1",
            Self::BadStatusLine => "server sent a malformed status line",
            Self::BadHeader => "server sent a header line that is not `name: value`",
            Self::FoldedHeader => "server sent a header line that continues none",
            Self::ControlByte => "server sent a control byte in a header",
            Self::BadContentLength => "server sent a content-length that is not a number",
            Self::ConflictingContentLength => "server sent differing content-lengths",
            Self::BadTransferEncoding => {
                "server sent a transfer-encoding that does not end once \
                 with chunked"
            }
            Self::BadChunkSize => "server sent a malformed chunk size",
            Self::BadChunkEnd => "server sent more data in a chunk than its size",
            Self::HeadTooLarge { bytes_max } => {
                return write!(f, "server sent a response head over {bytes_max} bytes");
            }
            Self::TooManyHeaders { count_max } => {
                return write!(f, "server sent more than {count_max} headers");
            }
            Self::TooManyInterim => "server sent too many 1xx responses to one request",
            Self::ChunkLineTooLarge => {
                return write!(
                    f,
                    "server sent a chunk size line over {CHUNK_LINE_BYTES_MAX} bytes"
                );
            }
            Self::TrailersTooLarge { bytes_max } => {
                return write!(f, "server sent trailers over {bytes_max} bytes");
            }
            Self::BodyTooLarge { bytes_max } => {
                return write!(f, "server sent a body over {bytes_max} bytes");
            }
            Self::ClosedBeforeHead => "server closed the connection instead of answering",
            Self::ClosedInHead => "server closed the connection within a response head",
            Self::ClosedInBody => "server closed the connection within a response body",
        })
    }
}

impl core::error::Error for Error {}
