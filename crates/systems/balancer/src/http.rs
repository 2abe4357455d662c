//! HTTP/1.1 as a forwarder must read it (RFC 9112): strictly, because whatever two readers understand differently can
//! carry a request that one of them does not see.
//!
//! Bytes in, values out: nothing here has a socket.

mod chunks;
mod cookie;
mod fields;
mod request;
mod response;

pub use chunks::{Chunks, Piece};
pub(crate) use cookie::{is_cookie_name, set_cookie};
pub use request::{BadRequest, HeadSearch, RequestHead, read_request};
pub use response::{BadResponse, ResponseHead, read_response};

/// Longest head of a request, in bytes.
pub const REQUEST_HEAD_MAX: usize = 16 << 10;
/// Longest head of a response, in bytes.
pub const RESPONSE_HEAD_MAX: usize = 32 << 10;
/// Most header fields of a head.
pub const FIELDS_MAX: usize = 100;

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// It has this many bytes.
    Length(u64),
    /// It comes in chunks.
    Chunked,
    /// It ends with the connection: only responses.
    UntilClose,
}
