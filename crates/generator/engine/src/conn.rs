//! Connections: what each one speaks, what is sent and received over it, and the table of them.
//!
//! | file | subject |
//! |---|---|
//! | `table` | opening, sending, closing, TLS, idle connections that users share |
//! | `connection` | one connection, the protocol it speaks |
//! | `stage` | how far it is |
//! | `link` | what carries it: HTTP/1.1, a stream of HTTP/2, frames of a WebSocket, or nothing |
//! | `decoding` | the one loop that reads the peer's bytes, whatever the protocol |
//! | `branches` | which connection a branch of a user gets |
//! | `tunnel` | proxies |
//! | `http2` | connections that carry streams, and requests over them |
//! | `carried` | WebSockets over them |
//!
//! Nothing here knows what a user does next: what the peer sent comes out as events.

pub(crate) mod background;
mod branches;
pub(crate) mod carried;
mod connection;
mod decoding;
mod http2;
mod link;
mod stage;
mod table;
mod tunnel;

pub(crate) use background::NEVER;
pub(crate) use branches::Way;
pub(crate) use carried::Takes;
pub(crate) use connection::{Conn, PendingOperation, Reuse, SWITCHING};
pub(crate) use decoding::{Decoder, Event, Failure, http_outcome};
pub(crate) use http2::{Carrier, WaitingRequest};
pub(crate) use link::Link;
pub(crate) use stage::Stage;
pub(crate) use table::Connections;
pub(crate) use tunnel::Resolver;
