//! The head of a response.

use std::ops::ControlFlow;

use httparse::{EMPTY_HEADER, Status};

use super::fields::{body_fields, connection_fields, head_length, is_passed_on};
use super::{FIELDS_MAX, Framing, RESPONSE_HEAD_MAX};

/// Why a response cannot be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadResponse(pub &'static str);

/// A response whose head is well-formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// Bytes of the head, with its empty line.
    pub length: usize,
    /// Status of the response.
    pub status: u16,
    /// Framing of the body.
    pub framing: Framing,
    /// Whether the backend keeps the connection.
    pub keep_alive: bool,
    /// The head as the client is to get it, without the fields of its connection and framing and without the empty
    /// line.
    pub forwarded: Vec<u8>,
}

impl ResponseHead {
    /// Whether another head follows for the same request (RFC 9110, section 15.2).
    #[must_use]
    pub fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }
}

/// Reads the head that begins the bytes; `None` if more are needed. `to_head` says that the request was `HEAD`.
///
/// # Errors
/// If it is malformed, or its body has two ends.
pub fn read_response(bytes: &[u8], to_head: bool) -> Result<Option<ResponseHead>, BadResponse> {
    let Some(length) = head_length(bytes).map_err(BadResponse)? else {
        return match bytes.len() >= RESPONSE_HEAD_MAX {
            true => Err(BadResponse("the head is too large")),
            false => Ok(None),
        };
    };
    let mut headers = [EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(&bytes[..length]) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) | Err(_) => return Err(BadResponse("the head is malformed")),
    }
    let (Some(status), Some(version)) = (response.code, response.version) else {
        return Err(BadResponse("the status line is incomplete"));
    };
    let headers = &*response.headers;
    let ControlFlow::Continue(body) = body_fields(headers).map_err(BadResponse)? else {
        return Err(BadResponse("only the transfer coding chunked is known here"));
    };
    let is_1_1 = version == 1;
    let without_body = to_head || status < 200 || status == 204 || status == 304;
    let framing = match (without_body, body.chunked, body.length) {
        (true, ..) => Framing::None,
        (false, true, _) if is_1_1 => Framing::Chunked,
        (false, true, _) => return Err(BadResponse("HTTP/1.0 has no Transfer-Encoding")),
        (false, false, Some(0)) => Framing::None,
        (false, false, Some(length)) => Framing::Length(length),
        (false, false, None) => Framing::UntilClose,
    };
    let connection = connection_fields(headers);
    let upgraded = status == 101;
    let reason = response.reason.unwrap_or_default();
    let mut forwarded = format!("HTTP/1.1 {status} {reason}\r\n").into_bytes();
    for header in headers {
        let is_upgrade = upgraded && header.name.eq_ignore_ascii_case("upgrade");
        let is_length = header.name.eq_ignore_ascii_case("content-length");
        // A length is what the body has or, without one, would have had.
        let passed = match is_length {
            true => status >= 200 && status != 204,
            false => is_upgrade || is_passed_on(header.name, &connection),
        };
        if passed {
            for part in [header.name.as_bytes(), b": ", header.value, b"\r\n"] {
                forwarded.extend_from_slice(part);
            }
        }
    }
    Ok(Some(ResponseHead {
        length,
        status,
        framing,
        keep_alive: !connection.close && (is_1_1 || connection.keep_alive),
        forwarded,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, to_head: bool) -> Result<ResponseHead, BadResponse> {
        read_response(text.as_bytes(), to_head).map(|head| head.expect("the head is complete"))
    }

    #[test]
    fn bodies_end_where_the_head_says() {
        let cases = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Framing::Length(5)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Framing::None),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Framing::Chunked),
            ("HTTP/1.1 200 OK\r\n\r\n", Framing::UntilClose),
            ("HTTP/1.1 204 No\r\n\r\n", Framing::None),
            ("HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", Framing::None),
            ("HTTP/1.1 100 Continue\r\n\r\n", Framing::None),
        ];
        for (text, framing) in cases {
            assert_eq!(read(text, false).unwrap().framing, framing, "{text}");
            assert_eq!(read(text, true).unwrap().framing, Framing::None);
        }
        for wrong in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "hello\r\n\r\n",
        ] {
            assert!(read(wrong, false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fields_of_the_connection_are_not_passed_on() {
        let text = "HTTP/1.1 200 OK\r\nConnection: close, X-Own\r\nKeep-Alive: 5\r\nX-Own: 1\r\n\
                    X-Other: 2\r\nContent-Length: 3\r\n\r\n";
        let head = read(text, false).unwrap();
        let expected = "HTTP/1.1 200 OK\r\nX-Other: 2\r\nContent-Length: 3\r\n";
        assert_eq!(String::from_utf8(head.forwarded).unwrap(), expected);
        assert!(!head.keep_alive);
        // A HEAD's response keeps the length of the body that it does not have.
        let head = read(text, true).unwrap();
        assert!(String::from_utf8(head.forwarded).unwrap().contains("Content-Length: 3"));
        let switching = "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
        let head = read(switching, false).unwrap();
        assert!(!head.is_interim() && head.forwarded.ends_with(b"Upgrade: websocket\r\n"));
    }
}
