//! Requests by their shape: method and path, with what differs from user to user taken out of it.

use std::sync::{Mutex, PoisonError};

/// Bytes of a path that its shape looks at.
const PATH_BYTES_MAX: usize = 512;
/// Segments of a path beyond which it is cut.
const SEGMENTS_MAX: usize = 12;
/// From so many characters on a segment with several digits is an identifier.
const IDENTIFIER_CHARS_MIN: usize = 12;
const IDENTIFIER_DIGITS_MIN: usize = 4;

/// Writes the shape of a request: the method, a blank, the path, and a `?` where it had a query. A
/// segment of digits becomes `{n}`; one that looks like an identifier `{id}`.
pub(crate) fn shape(method: &[u8], target: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(method);
    out.push(b' ');
    let end = memchr::memchr(b'?', target).unwrap_or(target.len());
    let path = &target[..end.min(PATH_BYTES_MAX)];
    for (number, segment) in path[1..].split(|&b| b == b'/').enumerate() {
        out.push(b'/');
        if number == SEGMENTS_MAX {
            out.extend_from_slice(b"*");
            break;
        }
        match kind(segment) {
            Segment::Word => out.extend_from_slice(segment),
            Segment::Number => out.extend_from_slice(b"{n}"),
            Segment::Identifier => out.extend_from_slice(b"{id}"),
        }
    }
    if end < target.len() {
        out.push(b'?');
    }
}

enum Segment {
    Word,
    Number,
    Identifier,
}

fn kind(segment: &[u8]) -> Segment {
    let digits = segment.iter().filter(|b| b.is_ascii_digit()).count();
    if digits > 0 && digits == segment.len() {
        return Segment::Number;
    }
    let hexadecimal = segment.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-');
    let long = segment.len() >= IDENTIFIER_CHARS_MIN && !segment.contains(&b'.');
    if (hexadecimal && segment.len() >= 8 && digits >= 2)
        || (long && digits >= IDENTIFIER_DIGITS_MIN)
    {
        Segment::Identifier
    } else {
        Segment::Word
    }
}

/// Texts by small numbers, shared by several readers. The first `max` texts get one of their own.
#[derive(Debug)]
pub(crate) struct Names {
    max: usize,
    all: Mutex<std::collections::HashMap<Box<[u8]>, u32>>,
}

/// What stands for texts beyond the number that are kept.
pub(crate) const OVERFLOW: &[u8] = b"(others)";

impl Names {
    pub(crate) fn new(max: usize) -> Names {
        Names {
            max,
            all: Mutex::default(),
        }
    }

    /// The number of a text.
    pub(crate) fn number(&self, text: &[u8]) -> u32 {
        // A reader that panicked ended the process with it.
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = all.get(text) {
            return number;
        }
        let text = if all.len() < self.max { text } else { OVERFLOW };
        let next = all.len() as u32;
        *all.entry(text.into()).or_insert(next)
    }

    /// The texts by their numbers.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let all = self
            .all
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut texts = vec![String::new(); all.len()];
        for (text, number) in all {
            texts[number as usize] = String::from_utf8_lossy(&text).into_owned();
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_user_to_user_is_taken_out() {
        let mut out = Vec::new();
        for (target, expected) in [
            ("/", "GET /"),
            ("/items/17", "GET /items/{n}"),
            ("/items/17/edit?x=1", "GET /items/{n}/edit?"),
            (
                "/u/03b3f3547b574aa181de8bb962040538/api/",
                "GET /u/{id}/api/",
            ),
            ("/u/550e8400-e29b-41d4-a716-446655440000", "GET /u/{id}"),
            ("/facade", "GET /facade"),
            (
                "/articles/dynamic-dns-with-dhcp/",
                "GET /articles/dynamic-dns-with-dhcp/",
            ),
            ("/s/order20150517abc", "GET /s/{id}"),
        ] {
            shape(b"GET", target.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{target}");
        }
    }

    #[test]
    fn names_beyond_the_limit_are_one() {
        let names = Names::new(2);
        assert_eq!((names.number(b"a"), names.number(b"b")), (0, 1));
        assert_eq!(
            (names.number(b"c"), names.number(b"d"), names.number(b"a")),
            (2, 2, 0)
        );
        assert_eq!(names.into_texts(), ["a", "b", "(others)"]);
    }
}
