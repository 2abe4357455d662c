//! The first request of a connection: does it open a WebSocket, or a stream of events?
//!
//! The head is read with a parser of its own, so that what stays open never costs an HTTP server's
//! buffers; all other requests go on to hyper with their bytes put back in front.

use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// Longest head of a handshake, in bytes. A longer one is left to the HTTP server to judge.
const HEAD_MAX: usize = 8 * 1024;
/// Most header fields of a handshake.
const FIELDS_MAX: usize = 64;
/// How long a peer may take to send a head.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(15);

/// Kinds of connections that a path opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    WebSocket,
    /// Server-sent events.
    Stream,
}

/// A request that opens a WebSocket or a stream.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    /// The request's target up to `?`.
    pub path: String,
    /// The query after it, undecoded.
    pub query: Option<String>,
    /// The subprotocols that a WebSocket's client speaks.
    pub protocols: Vec<String>,
    /// The last event that a stream's client has had.
    pub last_event_id: Option<String>,
}

/// Route of a connection, by its first request.
#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    /// A valid WebSocket handshake.
    WebSocket {
        /// The value of `Sec-WebSocket-Accept` (RFC 6455, section 4.2.2).
        accept: String,
        open_request: OpenRequest,
    },
    /// A stream of events.
    Stream(OpenRequest),
    /// A handshake that cannot be accepted; the answer to send before closing.
    Refused(&'static str),
    /// Anything else.
    Http,
}

/// A connection's first request.
#[derive(Debug)]
pub struct FirstRequest {
    /// Route that the request asks for.
    pub route: Route,
    /// For [`Route::Http`] every byte read so far; for a WebSocket those after its head.
    pub bytes: Vec<u8>,
}

const NO_KEY: &str = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const NO_VERSION: &str = "HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\n\
                          Connection: close\r\nContent-Length: 0\r\n\r\n";

/// Reads the first request's head; `endpoint` says what a path opens.
///
/// `Ok(None)`: the peer left or dawdled before its head was whole.
///
/// # Errors
/// When reading the socket fails.
pub async fn read_opening(
    stream: &mut TcpStream,
    endpoint: impl Fn(&str) -> Option<Endpoint>,
) -> io::Result<Option<FirstRequest>> {
    let mut bytes = Vec::with_capacity(1024);
    let read = async {
        loop {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(None);
            }
            if let Some((route, length)) = route(&bytes, &endpoint) {
                return Ok(Some((route, length)));
            }
        }
    };
    let found: io::Result<_> = timeout(HEAD_TIMEOUT, read).await.unwrap_or(Ok(None));
    Ok(found?.map(|(route, length)| {
        bytes.drain(..length);
        FirstRequest { route, bytes }
    }))
}

/// The answer that completes a handshake; `accept` is from [`Route::WebSocket`]. `protocol` is the
/// one chosen of those the client speaks.
pub fn upgrade_response(accept: &str, protocol: Option<&str>) -> String {
    let chosen = protocol.map(|protocol| format!("Sec-WebSocket-Protocol: {protocol}\r\n"));
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{}\r\n",
        chosen.unwrap_or_default()
    )
}

/// The route and how many bytes of `bytes` it used up; `None` when the head is not whole yet,
/// which is so for 8 KiB at most. `endpoint` says what a path opens.
pub fn route(bytes: &[u8], endpoint: impl Fn(&str) -> Option<Endpoint>) -> Option<(Route, usize)> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_MAX => {
            match opens(&request, endpoint) {
                Some(route) => Some((route, length)),
                None => Some((Route::Http, 0)),
            }
        }
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_MAX => None,
        Ok(_) | Err(_) => Some((Route::Http, 0)),
    }
}

/// Route of a request that opens something.
fn opens(
    request: &httparse::Request<'_, '_>,
    endpoint: impl Fn(&str) -> Option<Endpoint>,
) -> Option<Route> {
    let target = request.path?;
    let (path, query) =
        target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let endpoint = endpoint(path).filter(|_| request.method == Some("GET"))?;
    let open_request = || OpenRequest {
        path: path.to_owned(),
        query: query.map(str::to_owned),
        protocols: protocols(request),
        last_event_id: text(request, "last-event-id").map(str::to_owned),
    };
    match endpoint {
        Endpoint::WebSocket => handshake(request, open_request),
        // A chunked answer (RFC 9112, section 7.1) is for HTTP/1.1 only, and a body would have to
        // be read.
        Endpoint::Stream => {
            let plain = request.version == Some(1)
                && value(request, "content-length").is_none()
                && value(request, "transfer-encoding").is_none();
            plain.then(|| Route::Stream(open_request()))
        }
    }
}

/// Checks a handshake by RFC 6455, section 4.2.1; `None` if the request is not one at all.
fn handshake(
    request: &httparse::Request<'_, '_>,
    open_request: impl FnOnce() -> OpenRequest,
) -> Option<Route> {
    if !list_has(request, "upgrade", "websocket") {
        return None;
    }
    if request.version != Some(1) || !list_has(request, "connection", "upgrade") {
        return Some(Route::Refused(NO_KEY));
    }
    if value(request, "sec-websocket-version") != Some(b"13") {
        return Some(Route::Refused(NO_VERSION));
    }
    // 16 bytes in base64 are 24 characters.
    let key = value(request, "sec-websocket-key").filter(|key| key.len() == 24);
    Some(match key {
        Some(key) => {
            Route::WebSocket { accept: derive_accept_key(key), open_request: open_request() }
        }
        None => Route::Refused(NO_KEY),
    })
}

/// The subprotocols offered, in the client's order (RFC 6455, section 11.3.4).
fn protocols(request: &httparse::Request<'_, '_>) -> Vec<String> {
    let items = list(request, "sec-websocket-protocol");
    items.filter_map(|item| std::str::from_utf8(item).ok()).map(str::to_owned).collect()
}

fn text<'b>(request: &httparse::Request<'_, 'b>, name: &str) -> Option<&'b str> {
    std::str::from_utf8(value(request, name)?).ok()
}

fn value<'b>(request: &httparse::Request<'_, 'b>, name: &str) -> Option<&'b [u8]> {
    let field = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
    Some(field.value.trim_ascii())
}

/// The items of all fields `name` that are lists (RFC 9110, section 5.6.1).
fn list<'r, 'b>(
    request: &'r httparse::Request<'_, 'b>,
    name: &'r str,
) -> impl Iterator<Item = &'b [u8]> + use<'r, 'b> {
    let fields = request.headers.iter();
    fields
        .filter(move |field| field.name.eq_ignore_ascii_case(name))
        .flat_map(|field| field.value.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
}

/// Whether any field `name` lists `token`; names and tokens are compared without case.
fn list_has(request: &httparse::Request<'_, '_>, name: &str, token: &str) -> bool {
    list(request, name).any(|item| item.eq_ignore_ascii_case(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(path: &str) -> Option<Endpoint> {
        match path {
            "/v1/stream" => Some(Endpoint::WebSocket),
            "/events" => Some(Endpoint::Stream),
            _ => None,
        }
    }

    const GOOD: &str = "GET /v1/stream?user=ann HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\n\
        Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

    #[test]
    fn handshake_of_the_rfc() {
        let (found, length) = route(GOOD.as_bytes(), endpoint).unwrap();
        assert_eq!(length, GOOD.len());
        let Route::WebSocket { accept, open_request } = found else { panic!("{found:?}") };
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(open_request.path, "/v1/stream");
        assert_eq!(open_request.query.as_deref(), Some("user=ann"));
        assert_eq!(open_request.protocols, Vec::<String>::new());
    }

    #[test]
    fn every_prefix_of_a_head_is_incomplete() {
        for end in 1..GOOD.len() {
            assert_eq!(route(&GOOD.as_bytes()[..end], endpoint), None, "{end} bytes");
        }
    }

    #[test]
    fn other_requests_are_for_the_http_server() {
        let http = Some((Route::Http, 0));
        assert_eq!(route(b"GET /hello HTTP/1.1\r\n\r\n", endpoint), http);
        assert_eq!(route(GOOD.replace("/v1/stream", "/other").as_bytes(), endpoint), http);
        assert_eq!(route(b"\x16\x03\x01\x02\x00\x01", endpoint), http);
        let endless = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(HEAD_MAX));
        assert_eq!(route(endless.as_bytes(), endpoint), http);
        let long = GOOD.replace("Host: x", &format!("Host: {}", "x".repeat(HEAD_MAX)));
        assert_eq!(route(long.as_bytes(), endpoint), http);
    }

    #[test]
    fn bad_handshakes_are_refused() {
        for (from, to, answer) in [
            ("Version: 13", "Version: 8", NO_VERSION),
            ("keep-alive, Upgrade", "keep-alive", NO_KEY),
            ("dGhlIHNhbXBsZSBub25jZQ==", "short", NO_KEY),
            ("HTTP/1.1", "HTTP/1.0", NO_KEY),
        ] {
            let bad = GOOD.replace(from, to);
            let (found, _) = route(bad.as_bytes(), endpoint).unwrap();
            assert_eq!(found, Route::Refused(answer), "{to}");
        }
    }

    #[test]
    fn subprotocols_are_read_and_one_is_chosen() {
        let offer = "Host: x\r\nSec-WebSocket-Protocol: a, b\r\nsec-websocket-protocol: c";
        let text = GOOD.replace("Host: x", offer);
        let (found, _) = route(text.as_bytes(), endpoint).unwrap();
        let Route::WebSocket { open_request, .. } = found else { panic!("{found:?}") };
        assert_eq!(open_request.protocols, ["a", "b", "c"]);
        assert!(upgrade_response("k", Some("b")).contains("\r\nSec-WebSocket-Protocol: b\r\n\r\n"));
        assert!(!upgrade_response("k", None).contains("Protocol: "));
    }

    #[test]
    fn streams_are_opened_by_plain_requests() {
        let get = "GET /events?a=1 HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 7\r\n\r\n";
        let (found, length) = route(get.as_bytes(), endpoint).unwrap();
        assert_eq!(length, get.len());
        let open_request = OpenRequest {
            path: "/events".into(),
            query: Some("a=1".into()),
            protocols: Vec::new(),
            last_event_id: Some("7".into()),
        };
        assert_eq!(found, Route::Stream(open_request));
        for (from, to) in [
            ("GET", "POST"),
            ("HTTP/1.1", "HTTP/1.0"),
            ("Host: x", "Content-Length: 3"),
            ("Host: x", "Transfer-Encoding: chunked"),
        ] {
            let other = get.replace(from, to);
            assert_eq!(route(other.as_bytes(), endpoint), Some((Route::Http, 0)), "{to}");
        }
    }
}
