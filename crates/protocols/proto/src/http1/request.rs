//! Writing a request (RFC 9112 §3).

use alloc::vec::Vec;

/// Digits of the largest `u64`.
const DECIMAL_DIGITS_MAX: usize = 20;

/// Appends a request to `out`: request line, `host`, `headers` in their order, body.
///
/// `content-length` is added when there is a body, and as `0` when there is none but the method
/// (`POST`, `PUT`, `PATCH`) makes a server expect one (RFC 9110 §8.6). Hence `headers` must hold
/// neither `host` nor `content-length` nor `transfer-encoding`.
///
/// Everything is written as given. Text that comes from outside has to be checked first, or it
/// ends the line early: [`is_token`] for the method and header names, [`is_target`] for the
/// target and the host, [`is_field_value`] for header values.
pub fn encode_request<'h>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    host: &str,
    headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
    body: Option<&[u8]>,
) {
    encode_start(out, method, target, host);
    for (name, value) in headers {
        encode_field(out, name, value);
    }
    let body = match body {
        None if matches!(method, "POST" | "PUT" | "PATCH") => Some(&[][..]),
        other => other,
    };
    if let Some(body) = body {
        out.extend_from_slice(b"content-length: ");
        encode_decimal(out, body.len() as u64);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body.unwrap_or_default());
}

/// Appends the head of a request that says nothing of a body, for protocols that frame bodies by themselves. What
/// [`encode_request`] demands of the parts holds here, too.
pub fn encode_head<'h>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    host: &str,
    headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
) {
    encode_start(out, method, target, host);
    for (name, value) in headers {
        encode_field(out, name, value);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the request line and the `host` field.
pub(crate) fn encode_start(out: &mut Vec<u8>, method: &str, target: &str, host: &str) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    out.extend_from_slice(host.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends one field line.
pub(crate) fn encode_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Appends `number` in decimal; `core::fmt` costs several times as much.
fn encode_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; DECIMAL_DIGITS_MAX];
    let mut at = DECIMAL_DIGITS_MAX;
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Whether `text` is a token, as methods and header names have to be (RFC 9110 §5.6.2).
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(super::head::is_token_byte)
}

/// Whether `value` may stand as a header value: no control bytes but the tab, no space or tab at
/// either end (RFC 9110 §5.5).
pub fn is_field_value(value: &[u8]) -> bool {
    !value.iter().copied().any(super::head::is_control) && value.trim_ascii().len() == value.len()
}

/// Whether `target` may stand as a request target or host: visible ASCII only, at least one byte
/// (RFC 9112 §3.2; everything else has to be percent-encoded).
pub fn is_target(target: &str) -> bool {
    !target.is_empty() && target.bytes().all(|b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};

    fn encoded(method: &str, headers: &[(&str, &[u8])], body: Option<&[u8]>) -> String {
        let mut out = Vec::new();
        encode_request(&mut out, method, "/a?b=c", "h:80", headers.iter().copied(), body);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn get_has_no_length() {
        assert_eq!(
            encoded("GET", &[("accept", b"*/*"), ("x", b"")], None),
            "GET /a?b=c HTTP/1.1\r\nhost: h:80\r\naccept: */*\r\nx: \r\n\r\n"
        );
    }

    #[test]
    fn bodies_have_their_length() {
        let head = "POST /a?b=c HTTP/1.1\r\nhost: h:80\r\ncontent-length: ";
        assert_eq!(encoded("POST", &[], Some(b"hello")), head.to_string() + "5\r\n\r\nhello");
        assert_eq!(encoded("POST", &[], Some(b"")), head.to_string() + "0\r\n\r\n");
        assert_eq!(encoded("POST", &[], None), head.to_string() + "0\r\n\r\n");
        assert!(encoded("DELETE", &[], Some(b"x")).ends_with("content-length: 1\r\n\r\nx"));
        assert!(!encoded("DELETE", &[], None).contains("content-length"));
    }

    #[test]
    fn decimals_are_those_of_the_standard_library() {
        for number in [0, 1, 9, 10, 99, 100, 65_535, 1 << 32, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            encode_decimal(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }

    #[test]
    fn checks_refuse_what_would_break_a_line() {
        assert!(is_token("content-type") && is_token("M-SEARCH"));
        assert!(!is_token("") && !is_token("a b") && !is_token("a:") && !is_token("ä"));
        assert!(is_field_value(b"a b\tc") && is_field_value(b"") && is_field_value(b"\xe9"));
        assert!(!is_field_value(b"a\r\nb: c") && !is_field_value(b"a\0") && !is_field_value(b" a"));
        assert!(is_target("/a?b") && is_target("*") && is_target("[::1]:80"));
        assert!(!is_target("") && !is_target("/a b") && !is_target("/\r\n") && !is_target("/ä"));
    }
}
