//! WebSocket, the client's side (RFC 6455).
//!
//! | file | subject |
//! |---|---|
//! | `handshake` | the upgrade request and the check of its response |
//! | `encode` | writing messages and control frames |
//! | `decoder` | reading messages and control frames |
//! | `event` | what a server sends |
//! | `frame` | frame headers |
//! | `mask` | masking at memory speed |
//! | `message` | messages that come in fragments |
//! | `utf8` | text checked piece by piece |
//! | `close` | the body of close frames |
//! | `deflate`, `inflating` | compressed messages (RFC 7692), if they were agreed on |
//!
//! No other extension is ever offered, so the reserved bits have to be zero.

mod close;
mod decoder;
mod deflate;
mod encode;
mod error;
mod event;
mod frame;
mod handshake;
mod inflating;
pub mod mask;
mod message;
mod utf8;

pub use close::{NORMAL, REASON_BYTES_MAX, is_valid_code};
pub use decoder::Decoder;
pub use deflate::{DeflateParameters, Deflater, Offer, WINDOW_BITS_MAX};
pub use encode::{
    MessageKind, encode_close, encode_compressed, encode_message, encode_ping, encode_pong,
    encode_with,
};
pub use error::{Error, HandshakeError};
pub use event::Event;
pub use frame::{CONTROL_PAYLOAD_BYTES_MAX, needed};
pub use handshake::{
    Key, encode_connect, encode_handshake, verify_connect, verify_handshake, verify_offer,
    verify_protocol,
};
pub use inflating::{InflatingDecoder, Reader};
