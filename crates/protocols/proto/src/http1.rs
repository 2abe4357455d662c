//! HTTP/1.1, the client's side (RFC 9112): requests out, responses in.
//!
//! | file | subject |
//! |---|---|
//! | `request` | writing a request; checks for text that goes into one |
//! | `head` | status line and headers, in one pass |
//! | `heads` | heads that were read a moment ago |
//! | `body` | which rule ends the body |
//! | `transfer` | the coding of a body; lists of values |
//! | `chunk` | the lines of a chunked body |
//! | `decoder` | the state between calls |
//!
//! If the RFC leaves a choice, a response is refused rather than guessed at: lines that continue none, differing
//! lengths, control bytes. When `Transfer-Encoding` and `Content-Length` come together the former wins and the
//! connection is not used again (RFC 9112 §6.3).

mod body;
mod chunk;
mod decoder;
mod error;
mod head;
mod heads;
mod request;
mod transfer;

pub use decoder::{Decoder, Event, INTERIM_COUNT_MAX, Whole};
pub use error::Error;
pub use head::Head;
pub(crate) use head::{decimal, is_token_byte, next_line, status_and_len};
pub use heads::Heads;
pub(crate) use request::{encode_field, encode_start};
pub use request::{encode_head, encode_request, is_field_value, is_target, is_token};
pub(crate) use transfer::list;
