//! HTTP by hyper, for every connection that is not a WebSocket.

mod body;
mod connections;
mod deadlines;
mod either;
mod frames;
mod head;
mod http2;
mod rewind;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::stopped;
use body::{Failure, GatheredBody};
use deadlines::{Deadlines, Progress};
use rewind::Rewind;

pub use connections::{ConnectionGuard, ConnectionLimits, Peer, serve_connections};
pub use either::{EitherTls, serve_either};
pub use head::upgrade_response;
pub use head::{Endpoint, FirstRequest, HEAD_TIMEOUT, OpenRequest, Route, read_opening, route};
pub use http2::serve_http2;

/// Most bytes that are read ahead on a connection: the longest head of a request.
const BUFFER_BYTES_MAX: usize = 64 << 10;

/// How serving a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// By the peer, after an answer, or because the system stops.
    Closed,
    /// The client took too long over a head, or did not read an answer.
    TimedOut,
}

/// Serves requests by `router` until the peer leaves; once `stop` turns true the request under
/// way is answered and the connection closed. `head` holds the bytes that were read already.
///
/// A head must be complete within 15 s of its first byte, a body within 30 s more; a late body gets status
/// 408. An answer of which nothing is read for 30 s is given up. All unfinished bodies of the process hold 256 MiB
/// at most; further ones get status 503.
pub async fn serve_http(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    head: Vec<u8>,
    router: Router,
    stop: watch::Receiver<bool>,
) -> ConnectionEnd {
    serve_within(Deadlines::DEFAULT, stream, head, router, stop).await
}

async fn serve_within(
    deadlines: Deadlines,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    head: Vec<u8>,
    router: Router,
    mut stop: watch::Receiver<bool>,
) -> ConnectionEnd {
    let progress = Rc::new(Progress::new(deadlines));
    let io = TokioIo::new(Rewind::new(Bytes::from(head), stream, Rc::clone(&progress)));
    let router = TowerToHyperService::new(router);
    let watched = Rc::clone(&progress);
    let service = service_fn(move |request: Request<Incoming>| {
        watched.on_request();
        let (request, failure) = gathered(request, deadlines.body);
        let answering = router.call(request);
        let watched = Rc::clone(&watched);
        async move {
            let response = answering.await;
            watched.on_answer();
            response.map(|response| unless_failed(response, failure.as_deref()))
        }
    });
    let mut builder = http1::Builder::new();
    let builder = builder.max_buf_size(BUFFER_BYTES_MAX);
    let connection = builder.serve_connection(io, service);
    let shut_down = |connection: Pin<&mut _>| http1::Connection::graceful_shutdown(connection);
    serve_out(connection, shut_down, &mut stop, &progress).await
}

/// Serves a connection until it ends or one of its deadlines has passed. If the system stops, it ends after the answers
/// that it owes.
async fn serve_out<C: Future>(
    connection: C,
    shut_down: impl Fn(Pin<&mut C>),
    stop: &mut watch::Receiver<bool>,
    progress: &Progress,
) -> ConnectionEnd {
    let mut connection = pin!(connection);
    let mut stopping = pin!(stopped(stop));
    let mut is_stopping = false;
    poll_fn(|cx| {
        if !is_stopping && stopping.as_mut().poll(cx).is_ready() {
            is_stopping = true;
            shut_down(connection.as_mut());
        }
        // A connection that breaks is its client's to notice.
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(ConnectionEnd::Closed);
        }
        progress.poll_overdue(cx).map(|()| ConnectionEnd::TimedOut)
    })
    .await
}

/// The request with its body in pieces that cost what they hold, which must end `within` this time; and how it failed, if
/// it has one.
fn gathered(
    request: Request<Incoming>,
    within: Duration,
) -> (Request<GatheredBody<Incoming>>, Option<Arc<Failure>>) {
    let failure = (!request.body().is_end_stream()).then(Arc::<Failure>::default);
    let reported = failure.clone();
    let request = request.map(|body| GatheredBody::new(body, within, reported));
    (request, failure)
}

/// The answer to a request, or that to a body that did not come.
fn unless_failed(response: Response, failure: Option<&Failure>) -> Response {
    let Some(failure) = failure else {
        return response;
    };
    let (status, text) = match (failure.is_late(), failure.is_refused()) {
        (true, _) => (StatusCode::REQUEST_TIMEOUT, "the body did not come in time\n"),
        (_, true) => (StatusCode::SERVICE_UNAVAILABLE, "too many bodies are being received\n"),
        _ => return response,
    };
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    (status, close, text).into_response()
}

#[cfg(test)]
mod tests;
