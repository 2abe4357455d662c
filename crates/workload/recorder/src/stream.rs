//! A connection, with or without TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// Room for each read.
const READ_BYTES: usize = 16 << 10;

/// A connection of any kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection, and what was received on it and not used yet.
pub(crate) struct Peer {
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) buffer: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Peer {
        Peer { stream, buffer: Vec::new() }
    }
}

/// Reads more behind what is there; 0 at the end. Many servers end TLS without saying so.
pub(crate) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> io::Result<usize> {
    buffer.reserve(READ_BYTES);
    match from.read_buf(buffer).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        result => result,
    }
}

/// A connection of which a part was read already.
pub(crate) struct PrefixedStream {
    prefix: Vec<u8>,
    /// How much of the prefix was read again.
    at: usize,
    stream: Box<dyn Stream>,
}

impl PrefixedStream {
    pub(crate) fn new(peer: Peer) -> PrefixedStream {
        PrefixedStream { prefix: peer.buffer, at: 0, stream: peer.stream }
    }
}

impl AsyncRead for PrefixedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let rest = &this.prefix[this.at..];
        if rest.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, into);
        }
        let taken = rest.len().min(into.remaining());
        into.put_slice(&rest[..taken]);
        this.at += taken;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PrefixedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
