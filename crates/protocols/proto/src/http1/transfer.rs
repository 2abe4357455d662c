//! `Transfer-Encoding`, and lists of values in general.

use super::error::Error;
use memchr::memchr;

/// The value of `Transfer-Encoding`.
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
    /// Adds a field; several count as one list. `chunked` has to be last, come once, and have no
    /// parameters (§7.1).
    pub(super) fn note(&mut self, value: &[u8]) -> Result<(), Error> {
        for coding in list(value) {
            let (name, has_parameters) = match memchr(b';', coding) {
                Some(at) => (trim_blanks(&coding[..at]), true),
                None => (coding, false),
            };
            let is_chunked = name.eq_ignore_ascii_case(b"chunked");
            *self = match self {
                Self::Chunked => return Err(Error::BadTransferEncoding),
                _ if is_chunked && has_parameters => return Err(Error::BadTransferEncoding),
                _ if is_chunked => Self::Chunked,
                _ => Self::Other,
            };
        }
        Ok(())
    }
}

/// The members of a comma-separated field value (RFC 9110 §5.6.1), empty ones left out.
pub(crate) fn list(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(trim_blanks).filter(|member| !member.is_empty())
}

/// Takes off the blanks that may stand around a value: spaces and tabs, and the ends of the lines over
/// which it is folded. (A CR that ends no line is refused apart.)
pub(super) fn trim_blanks(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = bytes {
        bytes = rest;
    }
    bytes
}
