//! Header fields: what is wrong with them as bytes, and what they say of the connection and of the body.

use std::ops::ControlFlow;

use httparse::Header;

/// Fields that concern one connection alone (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Fields that no `Connection` field can have removed: messages would change their meaning.
const END_TO_END: [&str; 4] = ["host", "content-length", "authorization", "content-type"];

/// The length of the head that begins the bytes, with its empty line; `None` if its end is not there.
///
/// # Errors
/// If a line ends without a carriage return, a carriage return stands alone, or a line is continued
/// (`obs-fold`): readers differ in what they make of these.
pub(super) fn head_length(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let mut line_begin = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => {
                if at == 0 || bytes[at - 1] != b'\r' {
                    return Err("a line must end with CR LF");
                }
                if at == line_begin + 1 {
                    return Ok(Some(at + 1));
                }
                line_begin = at + 1;
            }
            b'\r' if bytes.get(at + 1).is_some_and(|next| *next != b'\n') => {
                return Err("a carriage return must be followed by a line feed");
            }
            b' ' | b'\t' if at == line_begin && at > 0 => {
                return Err("a line must not be continued");
            }
            0..=8 | 11 | 12 | 14..=31 | 127 => {
                return Err("a head must not have control characters");
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Length and coding of the message's body by its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BodyFields {
    pub(super) length: Option<u64>,
    pub(super) chunked: bool,
}

/// Reads `Content-Length` and `Transfer-Encoding`.
///
/// # Errors
/// If they do not agree on one body: two of a kind, both kinds, or a length that is no plain number.
/// `Break` stands for a coding other than `chunked`, which is valid but not supported.
pub(super) fn body_fields(
    headers: &[Header<'_>],
) -> Result<ControlFlow<(), BodyFields>, &'static str> {
    let mut body = BodyFields { length: None, chunked: false };
    let mut other = false;
    for header in headers {
        if header.name.eq_ignore_ascii_case("content-length") {
            if body.length.is_some() {
                return Err("a message must not have two Content-Length fields");
            }
            body.length = Some(length(header.value)?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if body.chunked || other {
                return Err("a message must not have two Transfer-Encoding fields");
            }
            match header.value.eq_ignore_ascii_case(b"chunked") {
                true => body.chunked = true,
                false => other = true,
            }
        }
    }
    if body.length.is_some() && (body.chunked || other) {
        return Err("a message must not have both Content-Length and Transfer-Encoding");
    }
    Ok(match other {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(body),
    })
}

/// Digits alone: no sign, no list, no space.
fn length(value: &[u8]) -> Result<u64, &'static str> {
    let wrong = "Content-Length must be a decimal number";
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(wrong);
    }
    let text = std::str::from_utf8(value).map_err(|_| wrong)?;
    text.parse().map_err(|_| "Content-Length is too large")
}

/// Options of the field `Connection`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ConnectionFields {
    pub(super) close: bool,
    pub(super) keep_alive: bool,
    pub(super) upgrade: bool,
    /// Other fields that concern this connection alone, in small letters.
    pub(super) named: Vec<String>,
}

pub(super) fn connection_fields(headers: &[Header<'_>]) -> ConnectionFields {
    let mut all = ConnectionFields::default();
    let own = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("connection"));
    let tokens = own.flat_map(|header| header.value.split(|byte| *byte == b','));
    for token in tokens.map(<[u8]>::trim_ascii) {
        let token = String::from_utf8_lossy(token).to_ascii_lowercase();
        match token.as_str() {
            "close" => all.close = true,
            "keep-alive" => all.keep_alive = true,
            "upgrade" => all.upgrade = true,
            "" => {}
            _ => all.named.push(token),
        }
    }
    all
}

/// Whether a field is passed on.
pub(super) fn is_passed_on(name: &str, connection: &ConnectionFields) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    if HOP_BY_HOP.into_iter().any(is) {
        return false;
    }
    END_TO_END.into_iter().any(is) || !connection.named.iter().any(|other| is(other))
}

/// The value of the only field of this name; `Err` if there are several.
pub(super) fn single<'a>(headers: &[Header<'a>], name: &str) -> Result<Option<&'a [u8]>, ()> {
    let mut found = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (Some(header), None) => Ok(Some(header.value)),
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(()),
    }
}

/// The first value, as text.
pub(super) fn text(headers: &[Header<'_>], name: &str) -> Option<String> {
    let mut all = headers.iter();
    let header = all.find(|header| header.name.eq_ignore_ascii_case(name))?;
    Some(String::from_utf8_lossy(header.value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_its_empty_line() {
        assert_eq!(head_length(b"GET / HTTP/1.1\r\na: b\r\n"), Ok(None));
        assert_eq!(head_length(b"GET / HTTP/1.1\r\n\r\nxyz"), Ok(Some(18)));
        assert_eq!(head_length(b"GET / HTTP/1.1\r"), Ok(None));
        for wrong in [
            &b"GET / HTTP/1.1\na: b"[..],
            b"GET / HTTP/1.1\r\na: b\rc: d",
            b"GET / HTTP/1.1\r\na: b\r\n c",
            b"GET / HTTP/1.1\r\n\ta: b",
            b"GET / HTTP/1.1\r\na: b\0",
        ] {
            assert!(head_length(wrong).is_err(), "{wrong:?}");
        }
    }
}
