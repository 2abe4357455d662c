//! A connection whose first bytes were read already, and that reports how it proceeds.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::deadlines::Progress;

/// Reads `head` first and the stream after it; writes go straight through.
#[derive(Debug)]
pub(super) struct Rewind<T> {
    head: Bytes,
    stream: T,
    progress: Rc<Progress>,
    /// Bytes that the stream took wait in it.
    is_flushing: bool,
}

impl<T> Rewind<T> {
    pub(super) fn new(head: Bytes, stream: T, progress: Rc<Progress>) -> Self {
        Self { head, stream, progress, is_flushing: false }
    }

    fn sent(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.progress.on_sending(written.is_ready());
        written
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Rewind<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.head.is_empty() {
            let before = buffer.filled().len();
            let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
            if buffer.filled().len() > before {
                self.progress.on_received(&buffer.filled()[before..]);
            }
            return read;
        }
        let count = self.head.len().min(buffer.remaining());
        self.progress.on_received(&self.head[..count]);
        buffer.put_slice(&self.head[..count]);
        self.head.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Rewind<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.sent(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.sent(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if flushed.is_pending() || self.is_flushing {
            self.is_flushing = flushed.is_pending();
            self.progress.on_sending(flushed.is_ready());
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
