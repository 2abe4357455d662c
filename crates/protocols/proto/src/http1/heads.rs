//! Heads that were read a moment ago.

use super::error::Error;
use super::head::{self, ParsedHead};
use crate::limits::Limits;
use alloc::vec::Vec;

/// Heads that are remembered: the steps of a user are answered with different ones in turn.
const KNOWN_MAX: usize = 4;
/// Longer heads are read each time.
const KNOWN_BYTES_MAX: usize = 1024;

/// The limits of responses, and the last few heads that were read under them.
///
/// A server answers most requests with one of few heads, and to compare a head with one that is known takes a
/// twentieth of reading it. A head ends with its empty line, so input that begins with the bytes of a known head
/// has this head, whatever follows. One value serves all connections of a loop.
#[derive(Debug, Clone)]
pub struct Heads {
    limits: Limits,
    /// Heads and what they say.
    known: Vec<(Vec<u8>, ParsedHead)>,
    /// The one that was used last.
    latest: usize,
}

impl Heads {
    /// Nothing is known yet.
    pub fn new(limits: Limits) -> Heads {
        Heads { limits, known: Vec::new(), latest: 0 }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// As [`head::parse`].
    #[inline]
    pub(super) fn parse(&mut self, input: &[u8]) -> Result<Option<ParsedHead>, Error> {
        match self.known.get(self.latest) {
            Some((raw, parsed)) if input.starts_with(raw) => Ok(Some(*parsed)),
            _ => self.parse_other(input),
        }
    }

    #[inline(never)]
    fn parse_other(&mut self, input: &[u8]) -> Result<Option<ParsedHead>, Error> {
        let mut known = self.known.iter();
        if let Some(at) = known.position(|(raw, _)| input.starts_with(raw)) {
            self.latest = at;
            return Ok(Some(self.known[at].1));
        }
        let parsed = head::parse(input, &self.limits)?;
        if let Some(parsed) = parsed
            && parsed.len <= KNOWN_BYTES_MAX
        {
            self.remember(&input[..parsed.len], parsed);
        }
        Ok(parsed)
    }

    /// In the place of the one that was remembered before all others.
    fn remember(&mut self, raw: &[u8], parsed: ParsedHead) {
        if self.known.len() < KNOWN_MAX {
            self.latest = self.known.len();
            self.known.push((raw.to_vec(), parsed));
            return;
        }
        self.latest = (self.latest + 1) % KNOWN_MAX;
        let (own, says) = &mut self.known[self.latest];
        own.clear();
        own.extend_from_slice(raw);
        *says = parsed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    fn head(number: usize) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {number}\r\n\r\n")
    }

    #[test]
    fn the_last_few_heads_are_known_and_others_are_read() {
        let mut heads = Heads::new(Limits::DEFAULT);
        for round in 0..3 {
            for number in 0..=KNOWN_MAX + 1 {
                let input = head(number) + "body";
                let parsed = heads.parse(input.as_bytes()).unwrap().unwrap();
                assert_eq!(parsed.content_length, Some(number as u64), "{round}");
                assert_eq!(heads.parse(input.as_bytes()), Ok(Some(parsed)));
                assert!(heads.known.len() <= KNOWN_MAX);
            }
        }
    }

    #[test]
    fn a_part_of_a_known_head_is_incomplete() {
        let mut heads = Heads::new(Limits::DEFAULT);
        let text = head(5);
        heads.parse(text.as_bytes()).unwrap();
        for len in 0..text.len() {
            assert_eq!(heads.parse(&text.as_bytes()[..len]), Ok(None), "{len}");
        }
    }

    #[test]
    fn long_heads_and_broken_ones_are_not_remembered() {
        let mut heads = Heads::new(Limits::DEFAULT);
        let long = format!("HTTP/1.1 200 OK\r\na: {}\r\n\r\n", "x".repeat(KNOWN_BYTES_MAX));
        assert!(heads.parse(long.as_bytes()).unwrap().is_some());
        assert!(heads.parse(b"HTTP/1.1 200 OK\r\n: x\r\n\r\n").is_err());
        assert!(heads.known.is_empty());
    }
}
