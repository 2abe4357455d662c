//! A connection of HTTP/1.1 or HTTP/2, with or without TLS, as its client wants.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use axum::Router;
use bytes::Bytes;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::deadlines::{Deadlines, Progress};
use super::head::HEAD_TIMEOUT;
use super::rewind::Rewind;
use super::{Served, serve_http};
use crate::stopped;
use crate::tls::{TlsError, TlsFiles};

/// What a client of HTTP/2 sends first (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What TLS lets clients choose from (RFC 7301), the preferred first.
const OFFERED: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The TLS of a listener whose clients choose between HTTP/1.1 and HTTP/2.
#[derive(Clone)]
pub struct EitherTls(TlsAcceptor);

impl std::fmt::Debug for EitherTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EitherTls")
    }
}

impl EitherTls {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be read or used, or when they do not belong together.
    pub fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let mut config = ServerConfig::clone(&*files.load()?);
        config.alpn_protocols = OFFERED.map(<[u8]>::to_vec).to_vec();
        Ok(Self(Arc::new(config).into()))
    }
}

/// Serves requests by `router` until the peer leaves or the system stops. HTTP/2 is what clients chose in TLS, or
/// begin with (prior knowledge).
pub async fn serve_either(
    stream: TcpStream,
    tls: Option<EitherTls>,
    router: Router,
    stop: watch::Receiver<bool>,
) -> Served {
    let Some(tls) = tls else {
        return serve_begun(stream, router, stop).await;
    };
    match timeout(HEAD_TIMEOUT, tls.0.accept(stream)).await {
        Ok(Ok(stream)) => serve_begun(stream, router, stop).await,
        Ok(Err(_)) => Served::Closed,
        Err(_) => Served::TimedOut,
    }
}

/// The first bytes show which HTTP is spoken.
async fn serve_begun(
    mut stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    router: Router,
    stop: watch::Receiver<bool>,
) -> Served {
    let mut head = Vec::with_capacity(PREFACE.len());
    while head.len() < PREFACE.len() && PREFACE.starts_with(&head) {
        match stream.read_buf(&mut head).await {
            Ok(0) | Err(_) => return Served::Closed,
            Ok(_) => {}
        }
    }
    match head.starts_with(PREFACE) {
        true => serve_http2(stream, head, router, stop).await,
        false => serve_http(stream, head, router, stop).await,
    }
}

/// Serves HTTP/2 by `router`. `head` holds the bytes that were read already.
pub async fn serve_http2(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    head: Vec<u8>,
    router: Router,
    mut stop: watch::Receiver<bool>,
) -> Served {
    let progress = Rc::new(Progress::new(Deadlines::DEFAULT));
    let io = TokioIo::new(Rewind::new(Bytes::from(head), stream, progress));
    let service = TowerToHyperService::new(router);
    let builder = http2::Builder::new(LocalTasks);
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut stopping = pin!(stopped(&mut stop));
    let mut is_stopping = false;
    poll_fn(|cx| {
        if !is_stopping && stopping.as_mut().poll(cx).is_ready() {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        // A connection that breaks is its client's to notice.
        connection.as_mut().poll(cx).map(|_| Served::Closed)
    })
    .await
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
