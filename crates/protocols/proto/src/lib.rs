//! Turns bytes into messages of HTTP/1.1, HTTP/2, WebSocket, event streams and framed TCP and back.
//!
//! The client's side of five protocols, as pure functions of bytes: no socket, clock, thread or
//! source of randomness is in reach (`no_std`), so mask keys and handshake nonces are arguments.
//!
//! - [`frame`] divides a plain byte stream into messages.
//! - [`h2`] writes requests as frames and reads the peer's (RFC 9113), with [`hpack`] (RFC 7541).
//! - [`http1`] writes requests and reads responses (RFC 9110, RFC 9112).
//! - [`proxy`] opens tunnels through proxies (RFC 9110 §9.3.6, RFC 1928, RFC 1929).
//! - [`sse`] reads event streams (HTML standard §9.2).
//! - [`ws`] makes the opening handshake, writes masked frames and reads messages (RFC 6455).
//! - [`Limits`] names the most a peer may make us hold.
//!
//! # The contract of a decoder
//! A decoder is a few bytes of state for each connection and owns no buffer ([`h2`] says which it needs). The caller keeps
//! what was received and offers all of it that is not yet consumed:
//!
//! 1. call `decode(input, limits)` with everything unconsumed;
//! 2. drop the number of bytes that it returns from the front;
//! 3. act on the event, if there is one, and call again;
//! 4. when it returns `(0, None)`, receive more bytes *behind* the same front.
//!
//! Events borrow from `input` wherever that is possible. Incomplete input is `None`, never an
//! error. An error means that the peer broke the protocol or a limit: close the connection and
//! let the decoder go. It stays safe to call after that, but its results have no meaning.

#![no_std]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod frame;
pub mod h2;
pub mod hpack;
pub mod http1;
mod limits;
pub mod mqtt;
pub mod proxy;
pub mod sse;
pub mod ws;

pub use limits::Limits;
