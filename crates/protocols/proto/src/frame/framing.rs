//! How a stream is divided into messages.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroUsize;

/// The division of a stream into messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Framing {
    /// The mark of a message's end.
    pub marks: Marks,
    /// How many bytes at a message's beginning are not its payload.
    pub header: usize,
}

/// The mark of a message's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marks {
    /// A length field at the frame's beginning, or near it.
    Length(LengthField),
    /// A varint with the number of bytes behind it.
    Varint {
        /// How many bytes of the message stand before it.
        at: usize,
    },
    /// These bytes after it.
    Delimiter(Delimiter),
    /// Nothing: every message has this many bytes.
    Fixed(NonZeroUsize),
    /// Nothing: what is received at once is a message.
    Nothing,
}

/// A field with the length of its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthField {
    /// Size of the field itself.
    pub width: Width,
    /// Least significant byte first.
    pub little_endian: bool,
    /// How many bytes of the message stand before it.
    pub at: usize,
    /// Bytes that the field counts.
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

/// The bytes that a length field counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// The bytes behind the field.
    Rest,
    /// The message without its header.
    Payload,
    /// The entire frame, itself included.
    Frame,
}

/// Bytes after a message, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delimiter(Box<[u8]>);

impl Delimiter {
    /// `None` if there is no byte.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self(bytes.into()))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl LengthField {
    /// The place behind the field.
    pub(super) fn end(&self) -> usize {
        self.at + self.width.bytes()
    }

    /// Bytes of the frame that the field does not count.
    pub(super) fn uncounted(&self, header: usize) -> usize {
        match self.counts {
            Counts::Rest => self.end(),
            Counts::Payload => self.width.bytes() + header.max(self.at),
            Counts::Frame => 0,
        }
    }
}
