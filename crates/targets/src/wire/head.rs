//! The first request of a connection: is it a WebSocket's opening handshake?
//!
//! The head is read with a parser of its own, so that a WebSocket never costs an HTTP server's
//! buffers; what is not a handshake goes on to hyper with its bytes put back in front.

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
/// How long a peer may take to send its first head.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a connection's first request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A valid WebSocket handshake.
    WebSocket {
        /// The value of `Sec-WebSocket-Accept` (RFC 6455, section 4.2.2).
        accept: String,
        /// What stands after `?` in the request's target, undecoded.
        query: Option<String>,
    },
    /// A handshake that cannot be accepted; the answer to send before closing.
    Refused(&'static str),
    /// Anything else.
    Http,
}

/// A connection's first request.
#[derive(Debug)]
pub(crate) struct Opening {
    /// What it asks for.
    pub(crate) route: Route,
    /// For [`Route::Http`] every byte read so far; for a WebSocket those after its head.
    pub(crate) bytes: Vec<u8>,
}

const NO_KEY: &str = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const NO_VERSION: &str = "HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\n\
                          Connection: close\r\nContent-Length: 0\r\n\r\n";

/// Reads the first request's head; handshakes are recognised at `path` only.
///
/// `Ok(None)`: the peer left or dawdled before its head was whole.
///
/// # Errors
/// When reading the socket fails.
pub(crate) async fn read_opening(
    stream: &mut TcpStream,
    path: &str,
) -> io::Result<Option<Opening>> {
    let mut bytes = Vec::with_capacity(1024);
    let read = async {
        loop {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(None);
            }
            if let Some((route, length)) = route(&bytes, path) {
                return Ok(Some((route, length)));
            }
        }
    };
    let found: io::Result<_> = timeout(PATIENCE, read).await.unwrap_or(Ok(None));
    Ok(found?.map(|(route, length)| {
        bytes.drain(..length);
        Opening { route, bytes }
    }))
}

/// The answer that completes a handshake; `accept` is from [`Route::WebSocket`].
pub(crate) fn accepted(accept: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    )
}

/// The route and how many bytes of `bytes` it used up; `None` when the head is not whole yet,
/// which is so for 8 KiB at most. Handshakes are recognised at `path` only.
pub(crate) fn route(bytes: &[u8], path: &str) -> Option<(Route, usize)> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_MAX => {
            match handshake(&request, path) {
                Some(route) => Some((route, length)),
                None => Some((Route::Http, 0)),
            }
        }
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_MAX => None,
        Ok(_) | Err(_) => Some((Route::Http, 0)),
    }
}

/// Checks a handshake by RFC 6455, section 4.2.1; `None` if the request is not one at all.
fn handshake(request: &httparse::Request<'_, '_>, path: &str) -> Option<Route> {
    let target = request.path?;
    let (at, query) = target
        .split_once('?')
        .map_or((target, None), |(at, q)| (at, Some(q)));
    let upgrade = list_has(request, "upgrade", "websocket");
    if request.method != Some("GET") || at != path || !upgrade {
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
        Some(key) => Route::WebSocket {
            accept: derive_accept_key(key),
            query: query.map(str::to_owned),
        },
        None => Route::Refused(NO_KEY),
    })
}

fn value<'b>(request: &httparse::Request<'_, 'b>, name: &str) -> Option<&'b [u8]> {
    let field = request
        .headers
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case(name))?;
    Some(field.value.trim_ascii())
}

/// Whether any field `name` lists `token`; names and tokens are compared without case.
fn list_has(request: &httparse::Request<'_, '_>, name: &str, token: &str) -> bool {
    request
        .headers
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case(name))
        .flat_map(|field| field.value.split(|&byte| byte == b','))
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "GET /v1/stream?user=ann HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\n\
        Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

    #[test]
    fn handshake_of_the_rfc() {
        let (found, length) = route(GOOD.as_bytes(), "/v1/stream").unwrap();
        assert_eq!(length, GOOD.len());
        let Route::WebSocket { accept, query } = found else {
            panic!("{found:?}")
        };
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(query.as_deref(), Some("user=ann"));
    }

    #[test]
    fn every_prefix_of_a_head_is_incomplete() {
        for end in 1..GOOD.len() {
            assert_eq!(
                route(&GOOD.as_bytes()[..end], "/v1/stream"),
                None,
                "{end} bytes"
            );
        }
    }

    #[test]
    fn other_requests_are_for_the_http_server() {
        let http = Some((Route::Http, 0));
        assert_eq!(route(b"GET /hello HTTP/1.1\r\n\r\n", "/v1/stream"), http);
        assert_eq!(route(GOOD.as_bytes(), "/other"), http);
        assert_eq!(route(b"\x16\x03\x01\x02\x00\x01", "/v1/stream"), http);
        let endless = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(HEAD_MAX));
        assert_eq!(route(endless.as_bytes(), "/v1/stream"), http);
        let long = GOOD.replace("Host: x", &format!("Host: {}", "x".repeat(HEAD_MAX)));
        assert_eq!(route(long.as_bytes(), "/v1/stream"), http);
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
            let (found, _) = route(bad.as_bytes(), "/v1/stream").unwrap();
            assert_eq!(found, Route::Refused(answer), "{to}");
        }
    }
}
