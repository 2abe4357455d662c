//! A connection of HTTP/2 by hyper, with the deadlines and the budget of HTTP/1.1.

use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::Body as AnyBody;
use axum::http::header;
use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::deadlines::{Deadlines, Progress, UnsentAnswer};
use super::rewind::Rewind;
use super::{ConnectionEnd, gathered, serve_out, unless_failed};

/// Bytes of bodies that a client may send before somebody reads them, for each stream and for the connection: it is what
/// HTTP/2 begins with (RFC 9113 §6.9.2).
const WINDOW_BYTES: u32 = 65_535;

/// Serves HTTP/2 by `router` until the peer leaves or the system stops. `head` holds the bytes that were read already.
///
/// A head, like every other frame, must be complete within 15 s of its first byte, a frame of a body within 30 s, and a
/// body within 30 s of the first wait for it; a late body gets status 408. Bodies of gRPC calls come as they are and may
/// last. An answer of which nothing is read for 30 s
/// ends the connection. Bodies that are read count like those of [`serve_http`](super::serve_http); of others a
/// connection holds 64 KiB at most.
pub async fn serve_http2(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    head: Vec<u8>,
    router: Router,
    stop: watch::Receiver<bool>,
) -> ConnectionEnd {
    serve_http2_within(Deadlines::DEFAULT, stream, head, router, stop).await
}

pub(super) async fn serve_http2_within(
    deadlines: Deadlines,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    head: Vec<u8>,
    router: Router,
    mut stop: watch::Receiver<bool>,
) -> ConnectionEnd {
    let progress = Rc::new(Progress::http2(deadlines));
    let io = TokioIo::new(Rewind::new(Bytes::from(head), stream, Rc::clone(&progress)));
    let router = TowerToHyperService::new(router);
    let watched = Rc::clone(&progress);
    let service = service_fn(move |request: Request<Incoming>| {
        // The messages of a call are answered one by one, for as long as it lasts.
        let (request, failure) = match is_call(&request) {
            true => (request.map(AnyBody::new), None),
            false => {
                let (request, failure) = gathered(request, deadlines.body);
                (request.map(AnyBody::new), failure)
            }
        };
        let answering = router.call(request);
        let watched = Rc::clone(&watched);
        async move {
            let response = unless_failed(answering.await?, failure.as_deref());
            Ok::<_, Infallible>(response.map(|body| Answer::new(body, watched)))
        }
    });
    let mut builder = http2::Builder::new(LocalTasks);
    builder.initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
    let connection = builder.serve_connection(io, service);
    let shut_down = |connection: Pin<&mut _>| http2::Connection::graceful_shutdown(connection);
    serve_out(connection, shut_down, &mut stop, &progress).await
}

/// True for a call of gRPC.
fn is_call<B>(request: &Request<B>) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// The body of an answer. Pieces are taken from it when its client has room for them, and it is dropped after the last.
struct Answer<B> {
    inner: B,
    progress: Rc<Progress>,
    unsent: UnsentAnswer,
}

impl<B> Answer<B> {
    fn new(inner: B, progress: Rc<Progress>) -> Self {
        let unsent = progress.begin_answer();
        Self { inner, progress, unsent }
    }
}

impl<B> Drop for Answer<B> {
    fn drop(&mut self) {
        self.progress.end_answer(self.unsent);
    }
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        self.unsent = self.progress.prolong_answer(self.unsent);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Runs the tasks of streams on the thread of their connection.
#[derive(Debug, Clone, Copy)]
struct LocalTasks;

impl<F: Future + 'static> Executor<F> for LocalTasks {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(async move {
            task.await;
        });
    }
}
