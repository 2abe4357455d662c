//! Errors of decoding and encoding.

use core::fmt;

/// A stream that cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// A message is over [`Limits::message_bytes_max`](crate::Limits::message_bytes_max).
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// A length field is smaller than the fixed part of its frame.
    TooShort {
        /// Value of the field.
        length: u64,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes_max } => {
                write!(f, "server sent a message over {bytes_max} bytes")
            }
            Self::TooShort { length } => {
                write!(f, "server sent a frame of length {length}, shorter than its own header")
            }
        }
    }
}

impl core::error::Error for DecodeError {}

/// A message that its framing has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodeError {
    /// Shorter than its header, or than what stands before its length field.
    TooShort {
        /// Length of the message.
        bytes: usize,
        /// The least it must have.
        bytes_min: usize,
    },
    /// Longer than its length field can say.
    TooLong {
        /// Length of the message.
        bytes: usize,
    },
    /// Not of the length that all messages have.
    NotFixed {
        /// Length of the message.
        bytes: usize,
        /// Length of all messages.
        fixed: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { bytes, bytes_min } => write!(
                f,
                "the message has {bytes} bytes, but its framing requires at least {bytes_min}"
            ),
            Self::TooLong { bytes } => {
                write!(f, "the message has {bytes} bytes, more than its length field can hold")
            }
            Self::NotFixed { bytes, fixed } => {
                write!(f, "the message has {bytes} bytes, but every message must have {fixed}")
            }
        }
    }
}

impl core::error::Error for EncodeError {}
