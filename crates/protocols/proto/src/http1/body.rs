//! How long a response body is (RFC 9112 §6.3).

use super::head::ParsedHead;
use super::transfer::Transfer;

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// This many bytes; zero if a response has no body at all.
    Length(u64),
    Chunked,
    UntilClose,
}

impl Framing {
    /// RFC 9112 §6.3, rules 1 to 8 (those about CONNECT and requests aside).
    pub(super) fn new(head: &ParsedHead, head_request: bool) -> Self {
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
