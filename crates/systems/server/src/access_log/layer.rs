//! Logging each request of a router.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;

use super::entry::{Entry, Label};
use super::file::AccessLog;
use crate::clock::{shrink, wall_ms};
use crate::http::Peer;

/// The user whom a request was about, for its line. A system puts it into the extensions of its response.
#[derive(Debug, Clone)]
pub struct LogSubject {
    /// The system's own field.
    pub label: Arc<str>,
    /// The user; may be empty.
    pub user: Box<str>,
}

/// Logs all requests of `router`, which must be served by [`serve_connections`](crate::http::serve_connections).
pub fn logged(router: Router, log: Arc<AccessLog>) -> Router {
    router.layer(from_fn_with_state(log, log_request))
}

#[expect(clippy::disallowed_methods, reason = "a server that stands alone has its own clock")]
fn now() -> Instant {
    Instant::now()
}

async fn log_request(
    State(log): State<Arc<AccessLog>>,
    Extension(peer): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let at_ms = wall_ms();
    let begun = now();
    let method = request.method().clone();
    let uri = request.uri().clone();
    let version = request.version();
    let headers = request.headers().clone();
    let response = next.run(request).await;
    let head = Head {
        method: method.as_str(),
        uri: uri.path_and_query().map_or("", |uri| uri.as_str()),
        version,
        headers: &headers,
    };
    write_line(&log, peer.address, &head, &response, at_ms, shrink(begun.elapsed()));
    response
}

/// The logged parts of a request.
struct Head<'a> {
    method: &'a str,
    uri: &'a str,
    version: Version,
    headers: &'a HeaderMap,
}

fn write_line(
    log: &AccessLog,
    peer: SocketAddr,
    head: &Head<'_>,
    response: &Response,
    at_ms: f64,
    took: Duration,
) {
    let text = |name: HeaderName| head.headers.get(name).map(HeaderValue::as_bytes);
    let referer = text(header::REFERER);
    let agent = text(header::USER_AGENT);
    // Bytes that are not UTF-8 are shown as such.
    let referer = referer.map(String::from_utf8_lossy);
    let agent = agent.map(String::from_utf8_lossy);
    let subject = response.extensions().get::<LogSubject>();
    let entry = Entry {
        at_ms,
        took,
        peer,
        method: head.method,
        uri: head.uri,
        version: if head.version == Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" },
        status: response.status().as_u16(),
        bytes: match head.method {
            // The body is not sent.
            "HEAD" => 0,
            _ => response.body().size_hint().exact().unwrap_or(0),
        },
        referer: referer.as_deref(),
        agent: agent.as_deref(),
        label: Label(log.label.map(|name| (name, subject.map(|subject| &*subject.label)))),
        user: subject.map(|subject| &*subject.user),
    };
    log.write(entry.line(log.format));
}
