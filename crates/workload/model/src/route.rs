//! Requests by their route: method and path, with what differs from user to user taken out of it.

/// Beginning of a rule's name as a route, which no method has.
pub(crate) const RULE: char = '=';

/// Bytes of a path that its route looks at.
const PATH_BYTES_MAX: usize = 512;
/// Segments of a path beyond which it is cut.
const SEGMENTS_MAX: usize = 12;
/// A segment with several digits and at least this many characters is an identifier.
const IDENTIFIER_CHARS_MIN: usize = 12;
const IDENTIFIER_DIGITS_MIN: usize = 4;

/// Writes the route of a request: the method, a blank, the path, and a `?` where it had a query. A
/// segment of digits becomes `{n}`; one that looks like an identifier `{id}`.
pub(crate) fn route(method: &[u8], target: &[u8], out: &mut Vec<u8>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_identifiers_are_replaced_in_routes() {
        let mut out = Vec::new();
        for (target, expected) in [
            ("/", "GET /"),
            ("/items/17", "GET /items/{n}"),
            ("/items/17/edit?x=1", "GET /items/{n}/edit?"),
            ("/u/03b3f3547b574aa181de8bb962040538/api/", "GET /u/{id}/api/"),
            ("/u/550e8400-e29b-41d4-a716-446655440000", "GET /u/{id}"),
            ("/facade", "GET /facade"),
            ("/articles/dynamic-dns-with-dhcp/", "GET /articles/dynamic-dns-with-dhcp/"),
            ("/s/order20150517abc", "GET /s/{id}"),
        ] {
            route(b"GET", target.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{target}");
        }
    }
}
