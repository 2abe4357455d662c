//! Heads as `httparse` reads them, and our requests as it and tungstenite's server read them.

use proptest::prelude::*;
use proto::Limits;
use proto::http1::{Decoder, Event, encode_request, is_field_value, is_target, is_token};

/// Status, bytes, headers.
type Reading = (u16, usize, Vec<(String, Vec<u8>)>);

fn ours(wire: &[u8]) -> Option<Reading> {
    let mut decoder = Decoder::new();
    decoder.begin(true);
    match decoder.decode(wire, &Limits::DEFAULT) {
        Ok((len, Some(Event::Head(head)))) => {
            let headers = head.headers().map(|(name, value)| (name.into(), value.into()));
            Some((head.status, len, headers.collect()))
        }
        _ => None,
    }
}

fn theirs(wire: &[u8]) -> Option<Reading> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(len)) = response.parse(wire) else {
        return None;
    };
    let headers = response.headers.iter().map(|h| (h.name.into(), h.value.into())).collect();
    Some((response.code?, len, headers))
}

/// Heads with odd but legal ends and blanks.
fn head() -> impl Strategy<Value = Vec<u8>> {
    let end = prop_oneof![4 => Just("\r\n"), 1 => Just("\n")];
    let field =
        ("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}:[ \t]{0,2}[ -~\u{a0}-\u{ff}]{0,40}", end.clone());
    let first = ("HTTP/1[.][01] [2-9][0-9]{2}( [ -~]{0,20})?", end.clone());
    (first, prop::collection::vec(field, 0..8), end).prop_filter_map(
        "lengths and codings are tested elsewhere",
        |(first, fields, last)| {
            let mut head = first.0 + first.1;
            for (line, end) in fields {
                head += &line;
                head += end;
            }
            head += last;
            let lower = head.to_ascii_lowercase();
            let framed = lower.contains("content-length:") || lower.contains("transfer-encoding:");
            (!framed).then(|| head.into_bytes())
        },
    )
}

proptest! {
    #[test]
    fn legal_heads_read_as_httparse_reads_them(wire in head()) {
        let reading = ours(&wire);
        prop_assert!(reading.is_some());
        prop_assert_eq!(reading, theirs(&wire));
    }

    #[test]
    fn httparse_accepts_the_same_heads(
        mut wire in head(),
        at in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let at = at.index(wire.len());
        wire[at] = byte;
        // Folded lines, which user agents read as one (RFC 9112 §5.2), it refuses.
        let is_folded = wire.windows(2).any(|pair| matches!(pair, b"\n " | b"\n\t"));
        if let Some(reading) = ours(&wire)
            && matches!(wire[7], b'0' | b'1')
            && !is_folded
        {
            prop_assert_eq!(Some(reading), theirs(&wire));
        }
    }

    #[test]
    fn checked_requests_read_back_as_written(
        method in "[A-Z-]{1,8}",
        target in "[!-~]{1,30}",
        headers in prop::collection::vec(("[a-z-]{1,12}", any::<Vec<u8>>()), 0..6),
        body in prop::option::of(any::<Vec<u8>>()),
    ) {
        let headers: Vec<(&str, &[u8])> = headers
            .iter()
            .filter(|(name, value)| is_token(name) && is_field_value(value))
            .map(|(name, value)| (name.as_str(), value.as_slice()))
            .collect();
        prop_assert!(is_token(&method) && is_target(&target));
        let mut wire = Vec::new();
        let body_or_empty = body.as_deref().unwrap_or_default();
        encode_request(&mut wire, &method, &target, "h", headers.iter().copied(), body.as_deref());

        let mut slots = [httparse::EMPTY_HEADER; 16];
        let mut request = httparse::Request::new(&mut slots);
        let len = request.parse(&wire).unwrap().unwrap();
        prop_assert_eq!(request.method, Some(method.as_str()));
        prop_assert_eq!(request.path, Some(target.as_str()));
        prop_assert_eq!(&wire[len..], body_or_empty);
        let mut expected = vec![("host", &b"h"[..])];
        expected.extend(headers);
        let length = body_or_empty.len().to_string();
        if body.is_some() || matches!(method.as_str(), "POST" | "PUT" | "PATCH") {
            expected.push(("content-length", length.as_bytes()));
        }
        let read: Vec<(&str, &[u8])> =
            request.headers.iter().map(|header| (header.name, header.value)).collect();
        prop_assert_eq!(read, expected);
    }
}
