//! Server-sent events, the client's side (HTML standard §9.2): a response's body in, events out.
//!
//! | file | subject |
//! |---|---|
//! | `decoder` | finding where blocks of lines end |
//! | `event` | parsing a block |
//!
//! A block that the stream ends before its empty line is dropped, as the standard has it: the
//! caller lets go of what was not consumed. Text is not checked for UTF-8, since the standard
//! replaces what is none instead of refusing it.

mod decoder;
mod event;

pub use decoder::{Decoder, TooLarge};
pub use event::Event;
