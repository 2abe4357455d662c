//! The head of a request.

use std::net::IpAddr;
use std::ops::ControlFlow;

use httparse::{EMPTY_HEADER, Header, Status};

use super::cookie::read_id;
use super::fields::{
    self, ConnectionFields, body_fields, connection_fields, head_length, is_passed_on, single,
};
use super::{FIELDS_MAX, Framing, REQUEST_HEAD_MAX};

/// Why a request is not forwarded: the status of its answer, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct BadRequest {
    /// The status.
    pub status: u16,
    /// In words.
    pub reason: &'static str,
}

impl BadRequest {
    const fn new(status: u16, reason: &'static str) -> Self {
        Self { status, reason }
    }
}

/// A request whose head is well-formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// Bytes of the head, with its empty line.
    pub length: usize,
    /// The method.
    pub method: Method,
    /// As the client wrote it, for the log.
    pub line: RequestLine,
    /// Whether the client speaks HTTP/1.1, not 1.0.
    pub is_1_1: bool,
    /// Framing of the body.
    pub framing: Framing,
    /// Whether the client wants the connection to stay.
    pub keep_alive: bool,
    /// Whether the connection is to become a WebSocket.
    pub upgrade: bool,
    /// Whether the client may wait with its body until it gets 100 (RFC 9110, section 10.1.1).
    pub expects_continue: bool,
    /// `Referer`, for the log.
    pub referer: Option<String>,
    /// `User-Agent`, for the log.
    pub agent: Option<String>,
    /// The value of the field by which requests are hashed, if it has one.
    pub key: Option<String>,
    /// The id in the cookie by which sessions stay on a backend, if it has a valid one.
    pub session: Option<u64>,
    /// The head as the backend is to get it.
    pub forwarded: Vec<u8>,
}

/// Field and cookie that a head is searched for beside what every request needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadSearch<'a> {
    /// The field whose value becomes the request's key.
    pub key_field: Option<&'a str>,
    /// The cookie that names its session.
    pub cookie: Option<&'a str>,
}

/// The parts of a request line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// Name of the method.
    pub method: String,
    /// Target in origin form.
    pub target: String,
}

/// Properties of a method that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// The response has no body.
    pub is_head: bool,
    /// Sending it twice has the effect of sending it once (RFC 9110, section 9.2.2).
    pub is_idempotent: bool,
}

impl Method {
    fn of(name: &str) -> Self {
        Self {
            is_head: name == "HEAD",
            is_idempotent: matches!(name, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"),
        }
    }
}

/// Reads the head that begins the bytes, and rewrites it for a backend; `None` if more bytes are needed. `client` is added to
/// `X-Forwarded-For`.
///
/// # Errors
/// If it must not be forwarded.
pub fn read_request(
    bytes: &[u8],
    client: IpAddr,
    wanted: HeadSearch<'_>,
) -> Result<Option<RequestHead>, BadRequest> {
    let bad = |reason| BadRequest::new(400, reason);
    // An empty line before a request is one that an old client sent too much (RFC 9112, section 2.2).
    let skipped = if bytes.starts_with(b"\r\n") { 2 } else { 0 };
    let rest = &bytes[skipped..];
    let Some(length) = head_length(rest).map_err(bad)? else {
        return match rest.len() >= REQUEST_HEAD_MAX {
            true => Err(too_large()),
            false => Ok(None),
        };
    };
    if length > REQUEST_HEAD_MAX {
        return Err(too_large());
    }
    let mut headers = [EMPTY_HEADER; FIELDS_MAX];
    let (method, target, version, headers) = parse(&rest[..length], &mut headers)?;
    let is_1_1 = version == 1;
    let framing = framing(headers, is_1_1)?;
    let host =
        single(headers, "host").map_err(|()| bad("a request must not have two Host fields"))?;
    if host.is_none() && is_1_1 {
        return Err(bad("a request must have a Host field"));
    }
    let (authority, target) = origin_form(method, target, host)?;
    let connection = connection_fields(headers);
    let protocol = single(headers, "upgrade").ok().flatten();
    // Others, such as h2c, would take requests past everything that is checked here.
    let is_websocket = protocol.is_some_and(|name| name.eq_ignore_ascii_case(b"websocket"));
    let upgrade = is_1_1 && connection.upgrade && is_websocket;
    if upgrade && framing != Framing::None {
        return Err(bad("a request for an upgrade must not have a body"));
    }
    let line = request_line(method, authority, target, host.is_some());
    let forwarded = rewritten(line, headers, &connection, framing, upgrade, is_1_1, client);
    Ok(Some(RequestHead {
        length: skipped + length,
        method: Method::of(method),
        is_1_1,
        framing,
        keep_alive: !connection.close && (is_1_1 || connection.keep_alive),
        upgrade,
        expects_continue: is_1_1 && framing != Framing::None && expects_continue(headers),
        referer: fields::text(headers, "referer"),
        agent: fields::text(headers, "user-agent"),
        key: wanted.key_field.and_then(|name| fields::text(headers, name)),
        session: wanted.cookie.and_then(|name| read_id(headers, name)),
        forwarded,
        line: RequestLine { method: method.to_owned(), target: target.to_owned() },
    }))
}

/// The first lines of the head for a backend. It is sent HTTP/1.1, which must have `Host`, with an empty value if there is no
/// authority (RFC 9112, section 3.2).
fn request_line(method: &str, authority: &str, target: &str, has_host: bool) -> String {
    match has_host {
        true => format!("{method} {target} HTTP/1.1\r\n"),
        false => format!("{method} {target} HTTP/1.1\r\nHost: {authority}\r\n"),
    }
}

/// Whether the client may wait for 100.
fn expects_continue(headers: &[Header<'_>]) -> bool {
    let expected = single(headers, "expect").ok().flatten();
    expected.is_some_and(|what| what.eq_ignore_ascii_case(b"100-continue"))
}

/// Method, target, minor version and fields of a complete head.
fn parse<'h, 'b>(
    head: &'b [u8],
    headers: &'h mut [Header<'b>],
) -> Result<(&'b str, &'b str, u8, &'h [Header<'b>]), BadRequest> {
    let mut request = httparse::Request::new(headers);
    match request.parse(head) {
        Ok(Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Err(too_large()),
        Err(httparse::Error::Version) => {
            let reason = "only HTTP/1.1 and HTTP/1.0 are spoken here";
            return Err(BadRequest::new(505, reason));
        }
        Ok(Status::Partial) | Err(_) => {
            return Err(BadRequest::new(400, "the head is malformed"));
        }
    }
    match (request.method, request.path, request.version) {
        (Some(method), Some(target), Some(version)) => {
            Ok((method, target, version, request.headers))
        }
        _ => Err(BadRequest::new(400, "the request line is incomplete")),
    }
}

fn too_large() -> BadRequest {
    BadRequest::new(431, "the head is too large")
}

fn framing(headers: &[Header<'_>], is_1_1: bool) -> Result<Framing, BadRequest> {
    let body = body_fields(headers).map_err(|reason| BadRequest::new(400, reason))?;
    let ControlFlow::Continue(body) = body else {
        return Err(BadRequest::new(501, "only the transfer coding chunked is known here"));
    };
    match (body.chunked, body.length) {
        (true, _) if !is_1_1 => {
            let reason = "HTTP/1.0 has no Transfer-Encoding";
            Err(BadRequest::new(400, reason))
        }
        (true, _) => Ok(Framing::Chunked),
        (false, None | Some(0)) => Ok(Framing::None),
        (false, Some(length)) => Ok(Framing::Length(length)),
    }
}

/// The authority of the target, which may be empty, and the target as backends get it. Its absolute form must name the host
/// that `Host` does (RFC 9112, section 3.2.2), if there is one: HTTP/1.0 needs none.
fn origin_form<'a>(
    method: &str,
    target: &'a str,
    host: Option<&[u8]>,
) -> Result<(&'a str, &'a str), BadRequest> {
    if method == "CONNECT" {
        return Err(BadRequest::new(405, "this is not a proxy for tunnels"));
    }
    if target.starts_with('/') || target == "*" && method == "OPTIONS" {
        return Ok(("", target));
    }
    let scheme = "http://";
    let absolute = target
        .get(..scheme.len())
        .filter(|begin| begin.eq_ignore_ascii_case(scheme))
        .map(|_| &target[scheme.len()..]);
    let Some(rest) = absolute else {
        return Err(BadRequest::new(400, "the target must be a path"));
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let same = host.is_none_or(|host| host.eq_ignore_ascii_case(authority.as_bytes()));
    match same {
        true => Ok((authority, path)),
        false => Err(BadRequest::new(400, "the target and Host must name the same host")),
    }
}

/// The head for a backend: without what concerned the client's connection, with the body's framing made plain.
fn rewritten(
    line: String,
    headers: &[Header<'_>],
    connection: &ConnectionFields,
    framing: Framing,
    upgrade: bool,
    is_1_1: bool,
    client: IpAddr,
) -> Vec<u8> {
    let mut head = line.into_bytes();
    let mut put = |name: &str, value: &[u8]| {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            head.extend_from_slice(part);
        }
    };
    let mut forwarded_for = Vec::new();
    for header in headers {
        let is = |name| header.name.eq_ignore_ascii_case(name);
        if is("x-forwarded-for") {
            forwarded_for.extend_from_slice(header.value);
            forwarded_for.extend_from_slice(b", ");
        } else if is("content-length") || is("expect") && !is_1_1 {
            // The first is written below; nobody would wait for an answer to the second.
        } else if is("upgrade") && upgrade {
            put("Upgrade", header.value);
        } else if is_passed_on(header.name, connection) {
            put(header.name, header.value);
        }
    }
    forwarded_for.extend_from_slice(client.to_string().as_bytes());
    put("X-Forwarded-For", &forwarded_for);
    match framing {
        Framing::Length(length) => put("Content-Length", length.to_string().as_bytes()),
        Framing::Chunked => put("Transfer-Encoding", b"chunked"),
        Framing::None | Framing::UntilClose => {
            // A length of 0 that the client gave is given on: some methods need one.
            if let Ok(Some(length)) = single(headers, "content-length") {
                put("Content-Length", length);
            }
        }
    }
    if upgrade {
        put("Connection", b"Upgrade");
    }
    head.extend_from_slice(b"\r\n");
    head
}
