//! Finding where blocks of lines end.

use core::fmt;

use memchr::memchr2;

use super::event::{Event, is_field};
use crate::limits::Limits;

/// May stand once at a stream's beginning.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A block is larger than [`Limits::message_bytes_max`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// The limit.
    pub bytes_max: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server sent an event over {} bytes", self.bytes_max)
    }
}

impl core::error::Error for TooLarge {}

/// The state between calls; see the crate's text for the contract. What is offered are the bytes of
/// the response's body, after the chunked coding is taken off.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    /// The place of the first line that was not complete, from the front on.
    line_at: usize,
    /// No line ends between there and here.
    scanned: usize,
    /// The block so far sets something.
    has_fields: bool,
    /// The byte before the front is a CR, whose LF may follow.
    after_cr: bool,
    /// The place for a byte order mark has passed.
    started: bool,
}

impl Decoder {
    /// A decoder at a stream's beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads up to the end of one block that sets a field. Comments, empty lines and unknown
    /// fields before it are consumed as they come, so that they are never held.
    pub fn decode<'a>(
        &mut self,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Event<'a>>), TooLarge> {
        let mut front = 0;
        if !self.started {
            if input.len() < BOM.len() && BOM.starts_with(input) {
                return Ok((0, None));
            }
            self.started = true;
            if input.starts_with(BOM) {
                front = BOM.len();
            }
        }
        let mut at = front + self.line_at;
        let mut scanned = front + self.scanned;
        loop {
            if self.is_second_half(input, at) {
                at += 1;
                if !self.has_fields {
                    front = at;
                }
            }
            let from = scanned.max(at);
            let rest = input.get(from..).unwrap_or_default();
            let Some(offset) = memchr2(b'\n', b'\r', rest) else {
                break;
            };
            let end = from + offset;
            check(end + 1 - front, limits)?;
            let line = &input[at..end];
            at = end + 1;
            if line.is_empty() && self.has_fields {
                return Ok(self.end_block(input, front, at));
            }
            self.has_fields |= is_field(line);
            if !self.has_fields {
                front = at;
            }
        }
        check(input.len() - front, limits)?;
        self.line_at = at - front;
        scanned = input.len();
        self.scanned = scanned - front;
        self.note_cr(input, front);
        Ok((front, None))
    }

    fn end_block<'a>(
        &mut self,
        input: &'a [u8],
        front: usize,
        end: usize,
    ) -> (usize, Option<Event<'a>>) {
        let event = Event::parse(&input[front..end]);
        self.line_at = 0;
        self.scanned = 0;
        self.has_fields = false;
        self.note_cr(input, end);
        (end, Some(event))
    }

    /// Is the LF at `at` that of a CRLF whose CR has ended the line?
    fn is_second_half(&self, input: &[u8], at: usize) -> bool {
        let cr = match at.checked_sub(1) {
            Some(before) => input.get(before) == Some(&b'\r'),
            None => self.after_cr,
        };
        cr && input.get(at) == Some(&b'\n')
    }

    fn note_cr(&mut self, input: &[u8], front: usize) {
        if front > 0 {
            self.after_cr = input[front - 1] == b'\r';
        }
    }
}

fn check(bytes: usize, limits: &Limits) -> Result<(), TooLarge> {
    let bytes_max = limits.message_bytes_max;
    if bytes > bytes_max { Err(TooLarge { bytes_max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_stream_costs_little() {
        assert!(size_of::<Decoder>() <= 24);
    }
}
