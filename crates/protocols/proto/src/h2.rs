//! HTTP/2, the client's side (RFC 9113): many requests over one connection.
//!
//! | file | subject |
//! |---|---|
//! | `connection` | a connection's state; opening and resetting streams |
//! | `receive` | the peer's frames → events and answers |
//! | `heads` | header blocks: heads, interim ones, trailers |
//! | `frame` | frames as bytes |
//! | `settings` | what both sides say of themselves |
//! | `stream` | one stream's state, and the table of them |
//! | `sending` | request bodies, as far as the peer's windows allow |
//! | `request` | a request as text → a header block |
//! | `response` | a header block → a head as text |
//! | `error` | the RFC's error codes |
//!
//! A response's head comes out as [`Head`](crate::http1::Head), as that of HTTP/1.1 does: whoever reads
//! responses need not know how they came. Streams are named by a token of the caller's. A stream may be a tunnel for another
//! protocol (RFC 8441).

mod connection;
mod error;
mod frame;
mod heads;
mod receive;
mod request;
mod response;
mod sending;
mod settings;
mod stream;

pub use connection::{Connection, Request};
pub use error::{Code, Error};
pub use receive::{Event, Scratch};
pub use request::{encode_connect, encode_head};
pub use settings::Settings;
