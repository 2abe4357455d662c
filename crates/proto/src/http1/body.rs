//! How long a response body is (RFC 9112 §6.3).

use super::Error;
use super::head::{Parsed, list};

/// What `Transfer-Encoding` said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transfer {
    /// No such field.
    Plain,
    /// The last coding is `chunked`.
    Chunked,
    /// Codings without `chunked`: only the end of the connection ends the body.
    Other,
}

impl Transfer {
    /// Adds a field; several count as one list. `chunked` has to be last and come once (§7.1).
    pub(super) fn note(&mut self, value: &[u8]) -> Result<(), Error> {
        for coding in list(value) {
            *self = match self {
                Self::Chunked => return Err(Error::BadTransferEncoding),
                _ if coding.eq_ignore_ascii_case(b"chunked") => Self::Chunked,
                _ => Self::Other,
            };
        }
        Ok(())
    }
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// This many bytes; zero where a response has no body at all.
    Length(u64),
    Chunked,
    UntilClose,
}

impl Framing {
    /// RFC 9112 §6.3, rules 1 to 8 (those about CONNECT and requests aside).
    pub(super) fn of(head: &Parsed, head_request: bool) -> Self {
        if head_request || head.status < 200 || matches!(head.status, 204 | 304) {
            return Self::Length(0);
        }
        match (head.transfer, head.content_length) {
            (Transfer::Chunked, _) => Self::Chunked,
            (Transfer::Other, _) | (Transfer::Plain, None) => Self::UntilClose,
            (Transfer::Plain, Some(length)) => Self::Length(length),
        }
    }
}
