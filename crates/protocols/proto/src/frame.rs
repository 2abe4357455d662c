//! Messages on a plain byte stream: where one ends and the next begins.
//!
//! | file | subject |
//! |---|---|
//! | `framing` | how a stream is divided into messages |
//! | `decoder` | finding frames in what was received |
//! | `encode` | putting messages into frames |
//! | `varint` | lengths of one to ten bytes |
//!
//! A *message* is what a frame carries without what only marks its end: without the length field,
//! or without the delimiter. Its first bytes may be a header, such as a type, which is a part of the
//! message and not of its [`payload`](Frame::payload).

mod decoder;
mod encode;
mod error;
mod framing;
pub mod varint;

pub use decoder::{Decoder, Frame};
pub use error::{DecodeError, EncodeError};
pub use framing::{Counts, Delimiter, Framing, LengthField, Marks, Width};
