//! A connection of HTTP/1.1 or HTTP/2, with or without TLS, as its client wants.

use std::sync::Arc;

use axum::Router;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;

use super::deadlines::Deadlines;
use super::frames::PREFACE;
use super::head::HEAD_TIMEOUT;
use super::http2::serve_http2_within;
use super::{ConnectionEnd, serve_within};
use crate::tls::{TlsError, TlsFiles};

/// Protocols that TLS lets clients choose from (RFC 7301), the preferred first.
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
) -> ConnectionEnd {
    let deadlines = Deadlines::DEFAULT;
    let Some(tls) = tls else {
        return serve_begun(deadlines, stream, router, stop).await;
    };
    match timeout(HEAD_TIMEOUT, tls.0.accept(stream)).await {
        Ok(Ok(stream)) => serve_begun(deadlines, stream, router, stop).await,
        Ok(Err(_)) => ConnectionEnd::Closed,
        Err(_) => ConnectionEnd::TimedOut,
    }
}

/// The first bytes show which HTTP is spoken. They have the deadline of a head.
pub(super) async fn serve_begun(
    deadlines: Deadlines,
    mut stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    router: Router,
    stop: watch::Receiver<bool>,
) -> ConnectionEnd {
    let mut head = Vec::with_capacity(PREFACE.len());
    let mut due = None;
    while head.len() < PREFACE.len() && PREFACE.starts_with(&head) {
        let read = stream.read_buf(&mut head);
        let read = match due {
            // Before the first byte a connection may be idle.
            None => Ok(read.await),
            Some(due) => timeout_at(due, read).await,
        };
        match read {
            Ok(Ok(0) | Err(_)) => return ConnectionEnd::Closed,
            Ok(Ok(_)) => {}
            Err(_) => return ConnectionEnd::TimedOut,
        }
        due = due.or_else(|| Some(Instant::now() + deadlines.head));
    }
    match head.starts_with(PREFACE) {
        true => serve_http2_within(deadlines, stream, head, router, stop).await,
        false => serve_within(deadlines, stream, head, router, stop).await,
    }
}
