//! Parsing a block of lines (HTML standard §9.2.6).

use alloc::borrow::Cow;
use alloc::vec::Vec;
use memchr::memchr;

/// The name of an event without one.
const NAME: &[u8] = b"message";

/// An event, or a block that only sets an id or a time to reconnect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Kind of the event; `message` if none is given.
    pub name: &'a [u8],
    /// The stream's last event id from now on; `None`: as before.
    pub id: Option<&'a [u8]>,
    /// How long to wait from now on before a lost stream reconnects, milliseconds.
    pub retry_ms: Option<u64>,
    data: Data<'a>,
}

/// The `data` lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data<'a> {
    Nothing,
    Line(&'a [u8]),
    /// Several, somewhere in this block.
    Lines(&'a [u8]),
}

impl<'a> Event<'a> {
    /// Reads a block: lines with their ends.
    pub(super) fn parse(block: &'a [u8]) -> Event<'a> {
        let mut event = Event { name: NAME, id: None, retry_ms: None, data: Data::Nothing };
        for (name, value) in fields(block) {
            match name {
                b"data" => {
                    event.data = match event.data {
                        Data::Nothing => Data::Line(value),
                        Data::Line(_) | Data::Lines(_) => Data::Lines(block),
                    }
                }
                b"event" if value.is_empty() => event.name = NAME,
                b"event" => event.name = value,
                b"id" if memchr(0, value).is_none() => event.id = Some(value),
                b"retry" => event.retry_ms = decimal(value).or(event.retry_ms),
                _ => {}
            }
        }
        event
    }

    /// The text, its lines joined by line feeds; `None` if the block dispatches no event.
    pub fn data(&self) -> Option<Cow<'a, [u8]>> {
        match self.data {
            Data::Nothing => None,
            Data::Line(line) => Some(Cow::Borrowed(line)),
            Data::Lines(block) => {
                let mut lines = fields(block).filter(|(name, _)| *name == b"data");
                let mut joined: Vec<u8> = lines.next().map_or(Vec::new(), |(_, line)| line.into());
                for (_, line) in lines {
                    joined.push(b'\n');
                    joined.extend_from_slice(line);
                }
                Some(Cow::Owned(joined))
            }
        }
    }
}

/// True if a line sets a field of an event.
pub(super) fn is_field(line: &[u8]) -> bool {
    matches!(field(line).0, b"data" | b"event" | b"id" | b"retry")
}

fn fields(block: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    // The empty lines between CR and LF, and comments, have an empty name.
    block.split(|&b| b == b'\n' || b == b'\r').map(field)
}

/// Name and value. A line without a colon is a name; one space after the colon is no part of the
/// value.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b':', line) {
        None => (line, &[]),
        Some(at) => {
            let value = &line[at + 1..];
            (&line[..at], value.strip_prefix(b" ").unwrap_or(value))
        }
    }
}

/// ASCII digits only; more than fit are as many as fit.
fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = text.iter().map(|digit| u64::from(digit - b'0'));
    Some(digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(digit)))
}
