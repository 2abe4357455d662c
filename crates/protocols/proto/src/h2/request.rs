//! A request as text → a header block (RFC 9113 §8.3.1).

use alloc::string::String;
use alloc::vec::Vec;

use crate::hpack;
use crate::http1::next_line;

/// Fields that speak of a connection of HTTP/1.1 (§8.2.2). `te` may only say `trailers`.
pub(super) const OF_CONNECTIONS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Appends the header block of the request at the front of `text`, which is one of HTTP/1.1 as
/// [`encode_request`](crate::http1::encode_request) writes it; returns the bytes of its head, behind which
/// its body stands. `None`: it is no such request.
///
/// Names come out in lower case, fields of the connection are left out, and `host` becomes `:authority`.
pub fn encode_head(text: &[u8], scheme: &str, out: &mut Vec<u8>) -> Option<usize> {
    encode(text, scheme, None, out)
}

/// The same of a CONNECT that opens a tunnel for a protocol (RFC 8441 §4). Its target is a path.
pub fn encode_connect(
    text: &[u8],
    scheme: &str,
    protocol: &str,
    out: &mut Vec<u8>,
) -> Option<usize> {
    encode(text, scheme, Some(protocol), out)
}

fn encode(text: &[u8], scheme: &str, protocol: Option<&str>, out: &mut Vec<u8>) -> Option<usize> {
    let (line, end_len) = next_line(text)?;
    let mut at = line.len() + end_len;
    let line = core::str::from_utf8(line).ok()?;
    let (method, rest) = line.split_once(' ')?;
    let target = rest.strip_suffix(" HTTP/1.1")?;
    hpack::encode_field(out, ":method", method.as_bytes());
    if let Some(protocol) = protocol {
        hpack::encode_field(out, ":protocol", protocol.as_bytes());
    }
    hpack::encode_field(out, ":scheme", scheme.as_bytes());
    let mut path = Some(target);
    loop {
        let (line, end_len) = next_line(text.get(at..)?)?;
        at += line.len() + end_len;
        let end = line.is_empty();
        let (name, value) = match end {
            true => ("", &b""[..]),
            false => field(line)?,
        };
        if name.eq_ignore_ascii_case("host") {
            hpack::encode_field(out, ":authority", value);
        }
        // Pseudo-fields come first; `host` is the first line, if there is one.
        if let Some(target) = path.take() {
            hpack::encode_field(out, ":path", target.as_bytes());
        }
        if end {
            return Some(at);
        }
        encode_regular(name, value, out);
    }
}

fn encode_regular(name: &str, value: &[u8], out: &mut Vec<u8>) {
    let mut lower = String::new();
    let name = match name.bytes().any(|b| b.is_ascii_uppercase()) {
        true => {
            lower.push_str(name);
            lower.make_ascii_lowercase();
            &*lower
        }
        false => name,
    };
    let is_left_out = name == "host"
        || OF_CONNECTIONS.contains(&name)
        || name == "te" && !value.eq_ignore_ascii_case(b"trailers");
    if !is_left_out {
        hpack::encode_field(out, name, value);
    }
}

fn field(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    let name = core::str::from_utf8(&line[..colon]).ok()?;
    Some((name, line[colon + 1..].trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn decoded(text: &str, scheme: &str) -> Option<(usize, Vec<(String, String)>)> {
        let mut block = Vec::new();
        let len = encode_head(text.as_bytes(), scheme, &mut block)?;
        Some((len, fields_of(&block)))
    }

    fn fields_of(block: &[u8]) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        let mut scratch = hpack::Scratch::default();
        hpack::Decoder::new(0)
            .decode(block, &mut scratch, |name, value| {
                let text = |bytes| String::from_utf8_lossy(bytes).to_string();
                fields.push((text(name), text(value)));
            })
            .unwrap();
        fields
    }

    #[test]
    fn a_request_becomes_fields() {
        let head = "POST /a?b=c HTTP/1.1\r\nhost: h:80\r\nAccept: */*\r\nconnection: close\r\n\
                    te: gzip\r\nte: trailers\r\ncookie: a=b; c=d\r\ncontent-length: 2\r\n\r\n";
        let (len, fields) = decoded(&(head.to_string() + "ab"), "https").unwrap();
        assert_eq!(len, head.len());
        let fields: Vec<_> = fields.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(
            fields,
            [
                (":method", "POST"),
                (":scheme", "https"),
                (":authority", "h:80"),
                (":path", "/a?b=c"),
                ("accept", "*/*"),
                ("te", "trailers"),
                ("cookie", "a=b; c=d"),
                ("content-length", "2"),
            ]
        );
    }

    #[test]
    fn a_connect_says_its_protocol() {
        let text = "CONNECT /chat?room=1 HTTP/1.1\r\nhost: h\r\nsec-websocket-version: 13\r\n\r\n";
        let mut block = Vec::new();
        let len = encode_connect(text.as_bytes(), "https", "websocket", &mut block).unwrap();
        assert_eq!(len, text.len());
        let fields = fields_of(&block);
        let fields: Vec<_> = fields.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(
            fields,
            [
                (":method", "CONNECT"),
                (":protocol", "websocket"),
                (":scheme", "https"),
                (":authority", "h"),
                (":path", "/chat?room=1"),
                ("sec-websocket-version", "13"),
            ]
        );
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in ["", "GET / HTTP/1.1\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1\r\nx\r\n\r\n"] {
            assert_eq!(decoded(text, "http"), None, "{text:?}");
        }
        let (_, fields) = decoded("GET / HTTP/1.1\r\n\r\n", "http").unwrap();
        assert_eq!(fields.len(), 3);
    }
}
