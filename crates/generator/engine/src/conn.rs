//! Connections: what each one speaks, what is sent and received over it, and the table of them.
//!
//! | file | subject |
//! |---|---|
//! | `table` | opening, sending, closing, TLS, idle connections that users share |
//! | `connection` | one connection, its stage, the protocol it speaks |
//! | `protocol` | the protocols, and what each remembers of its connection |
//! | `link` | what carries it: HTTP/1.1, a stream of HTTP/2, frames of a WebSocket, or nothing |
//! | `decoding` | the one loop that reads the peer's bytes, whatever the protocol |
//! | `branches` | which connection a branch of a user gets |
//! | `tunnel` | proxies |
//! | `http` | requests as bytes |
//! | `call` | the answer to a call of gRPC |
//! | `http2` | connections that carry streams, and requests over them |
//! | `carried` | WebSockets over them |
//! | `websocket`, `deflate` | frames, upgrades, compressed messages |
//! | `sse`, `poll` | event streams and polls, which run in the background |
//! | `channels`, `mqtt` | protocols of channels over WebSocket; MQTT |
//! | `reconnecting` | WebSockets that reconnect, and when |
//!
//! Nothing here knows what a user does next: what the peer sent comes out as events.

mod background;
mod branches;
mod call;
pub(crate) mod carried;
pub(crate) mod channels;
mod connection;
mod decoding;
pub(crate) mod deflate;
pub(crate) mod http;
mod http2;
mod link;
mod mqtt;
mod poll;
mod protocol;
mod reconnecting;
mod sse;
mod table;
mod tunnel;
pub(crate) mod websocket;

pub(crate) use background::NEVER;
pub(crate) use branches::Way;
pub(crate) use call::{Answer, CallStream};
pub(crate) use carried::Takes;
pub(crate) use connection::{Conn, Pending, Reuse, SWITCHING, Stage};
pub(crate) use decoding::{Decoder, Event, Failure, http_outcome};
pub(crate) use deflate::Framing;
pub(crate) use http2::{Carrier, Waiting};
pub(crate) use link::Link;
pub(crate) use mqtt::Mqtt;
pub(crate) use poll::Poller;
pub(crate) use protocol::{Protocol, WebSocket};
pub(crate) use reconnecting::{Reconnectable, Reconnecting};
pub(crate) use sse::EventStream;
pub(crate) use table::Connections;
pub(crate) use tunnel::Resolver;
