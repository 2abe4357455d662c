//! The wire format: frames, requests, answers and errors, as bytes alone. `docs/queue-reference.md` describes it for those
//! who write clients.

mod answer;
mod request;
#[cfg(test)]
mod tests;

pub(crate) use answer::{Message, Writer, add_trailer, receiver_of};
pub(crate) use request::{Operation, Request};

/// Bytes before a payload: its length and the type.
pub(crate) const HEADER_BYTES: usize = 5;
/// Bytes of a trailer: four numbers of 32 bits.
pub(crate) const TRAILER_BYTES: usize = 16;
/// The highest bit of a type: an answer.
const ANSWER: u8 = 0x80;
/// The type of an error.
const ERROR: u8 = 0xff;
/// Most queues in an answer.
pub(crate) const QUEUES_MAX: u32 = 1_000;
/// Most messages in an answer.
pub(crate) const MESSAGES_MAX: u32 = 100;
/// Longest wait of a pop in ms.
pub(crate) const WAIT_MAX_MS: u32 = 60_000;

/// Why a request was not carried out, or not for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Code {
    Malformed = 1,
    UnknownType = 2,
    TooLarge = 3,
    Text = 4,
    NoQueue = 5,
    Unavailable = 6,
    UnknownOutcome = 7,
    Refused = 8,
    Stopping = 9,
    Connections = 10,
    Timeout = 11,
}

impl Code {
    /// All of them, by their number less 1.
    pub(crate) const ALL: [Code; 11] = [
        Code::Malformed,
        Code::UnknownType,
        Code::TooLarge,
        Code::Text,
        Code::NoQueue,
        Code::Unavailable,
        Code::UnknownOutcome,
        Code::Refused,
        Code::Stopping,
        Code::Connections,
        Code::Timeout,
    ];

    /// Name in metrics and documentation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Code::Malformed => "malformed",
            Code::UnknownType => "unknown-type",
            Code::TooLarge => "too-large",
            Code::Text => "text",
            Code::NoQueue => "no-queue",
            Code::Unavailable => "unavailable",
            Code::UnknownOutcome => "unknown-outcome",
            Code::Refused => "refused",
            Code::Stopping => "stopping",
            Code::Connections => "connections",
            Code::Timeout => "timeout",
        }
    }
}

/// An error as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Problem {
    pub(crate) code: Code,
    pub(crate) text: String,
}

impl Problem {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// The frame with which the received bytes begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// A frame of this type; its payload has this length and follows the header.
    Complete { kind: u8, payload: usize },
    /// A frame that needs this number of bytes in all, as far as is known.
    Partial { bytes: usize },
    /// A frame of this type with a payload longer than allowed.
    TooLarge { kind: u8, payload: u32 },
}

/// Looks at the beginning of `bytes`.
pub(crate) fn framing(bytes: &[u8], payload_max: usize) -> Framing {
    let Some((&[a, b, c, d, kind], rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Framing::Partial { bytes: HEADER_BYTES };
    };
    let length = u32::from_be_bytes([a, b, c, d]);
    match usize::try_from(length) {
        Ok(payload) if payload <= payload_max => match rest.len() >= payload {
            true => Framing::Complete { kind, payload },
            false => Framing::Partial { bytes: HEADER_BYTES + payload },
        },
        _ => Framing::TooLarge { kind, payload: length },
    }
}
