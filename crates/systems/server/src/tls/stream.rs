//! A TLS connection as a stream, for tasks: hyper's.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::session::{PeerState, Session};

/// Bytes received, and bytes sealed, at a time.
const PIECE_BYTES: usize = 16 * 1024;

/// A connection whose handshake is complete. It receives nothing while what it has to send is not taken.
pub(crate) struct TlsStream {
    stream: TcpStream,
    session: Box<Session>,
    /// Received bytes that were not read yet.
    plain: Vec<u8>,
    /// How much of that was read.
    read: usize,
    /// Bytes that must be sent before anything else.
    sealed: BytesMut,
    /// Nothing more comes.
    is_at_end: bool,
}

impl TlsStream {
    /// `sealed` is what must be sent first.
    pub(crate) fn new(stream: TcpStream, session: Box<Session>, sealed: &[u8]) -> Self {
        Self {
            stream,
            session,
            plain: Vec::new(),
            read: 0,
            sealed: sealed.into(),
            is_at_end: false,
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.sealed.is_empty() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.sealed))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sealed.advance(sent);
        }
        Poll::Ready(Ok(()))
    }

    /// Receives once.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut space = [MaybeUninit::uninit(); PIECE_BYTES];
        let mut buffer = ReadBuf::uninit(&mut space);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        let bytes = buffer.filled_mut();
        if bytes.is_empty() {
            self.is_at_end = true;
            return Poll::Ready(Ok(()));
        }
        let mut sealed = Vec::new();
        let received = self.session.receive(bytes, &mut self.plain, &mut sealed);
        self.sealed.extend_from_slice(&sealed);
        match received {
            Ok(received) => self.is_at_end |= received == PeerState::End,
            Err(failure) => {
                // Its alert, if there is room for it.
                let _ = self.poll_send(cx)?;
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, failure)));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let me = &mut *self;
        while me.plain.is_empty() && !me.is_at_end {
            ready!(me.poll_send(cx))?;
            ready!(me.poll_receive(cx))?;
        }
        let rest = &me.plain[me.read..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        me.read += count;
        if me.read == me.plain.len() {
            (me.plain, me.read) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_send(cx))?;
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        let mut sealed = Vec::new();
        let result = self.session.seal(piece, &mut sealed);
        result.map_err(|failure| io::Error::new(io::ErrorKind::BrokenPipe, failure))?;
        self.sealed.extend_from_slice(&sealed);
        // What the kernel does not take waits for the next call.
        match self.poll_send(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(piece.len())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut sealed = Vec::new();
        self.session.close(&mut sealed);
        self.sealed.extend_from_slice(&sealed);
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
