//! Messages on a plain byte stream: where one ends and the next begins.
//!
//! | file | subject |
//! |---|---|
//! | `decoder` | finding frames in what was received |
//! | `encode` | putting messages into frames |
//!
//! A *message* is what a frame carries without what only marks its end: without the length field,
//! or without the delimiter. Its first bytes may be a header, such as a type, which is a part of the
//! message and not of its [`payload`](Frame::payload).

mod decoder;
mod encode;
mod error;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroUsize;

pub use decoder::{Decoder, Frame};
pub use error::{DecodeError, EncodeError};

/// How messages are told apart on a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Framing {
    /// What marks a message's end.
    pub marks: Marks,
    /// How many bytes at a message's beginning are not its payload.
    pub header: usize,
}

/// What marks a message's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marks {
    /// A length field at the frame's beginning, or near it.
    Length(LengthField),
    /// These bytes behind it.
    Delimiter(Delimiter),
    /// Nothing: every message has so many bytes.
    Fixed(NonZeroUsize),
    /// Nothing: what is received at once is a message.
    Nothing,
}

/// A field that says how long its frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthField {
    /// Its own size.
    pub width: Width,
    /// Least significant byte first.
    pub little_endian: bool,
    /// How many bytes of the message stand before it.
    pub at: usize,
    /// What it counts.
    pub counts: Counts,
}

/// Bytes of a length field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 1 byte.
    One,
    /// 2 bytes.
    Two,
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
}

impl Width {
    /// How many bytes it has.
    pub const fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// What a length field counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// What stands behind it.
    Rest,
    /// The message without its header.
    Payload,
    /// The whole frame, itself included.
    Frame,
}

/// Bytes behind a message, one at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delimiter(Box<[u8]>);

impl Delimiter {
    /// `None` where there is no byte.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self(bytes.into()))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl LengthField {
    /// Where the rest of the frame begins.
    fn end(&self) -> usize {
        self.at + self.width.bytes()
    }

    /// What the field counts before its own count begins to count bytes of the frame: the frame has
    /// so many bytes more than the field says.
    fn uncounted(&self, header: usize) -> usize {
        match self.counts {
            Counts::Rest => self.end(),
            Counts::Payload => self.width.bytes() + header.max(self.at),
            Counts::Frame => 0,
        }
    }
}
