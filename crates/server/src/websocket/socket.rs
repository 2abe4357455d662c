//! A WebSocket over a tokio socket, for one task.
//!
//! tungstenite does the protocol. It is driven straight through the task's own waker: one task
//! both reads and writes, so the wakers that the usual adapter keeps for two are not needed.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::http::upgrade_response;

/// Bytes kept to read into for each connection; a longer message gets its own while it lasts.
const READ_BUFFER: usize = 128;
/// Frames are gathered up to this many bytes before they are written without being requested.
const WRITE_GATHER: usize = 4 * 1024;

/// The most that a peer may send.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest message, and longest frame, in bytes.
    pub message_max: usize,
}

/// The server's end of a WebSocket.
pub struct Socket {
    stream: TcpStream,
    context: WebSocketContext,
}

impl Socket {
    /// Completes the handshake with the key `accept`; `early` holds bytes that came after it.
    ///
    /// # Errors
    /// When the answer cannot be written.
    pub async fn open(
        mut stream: TcpStream,
        accept: &str,
        early: Vec<u8>,
        limits: Limits,
    ) -> io::Result<Self> {
        stream
            .write_all(upgrade_response(accept, None).as_bytes())
            .await?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_GATHER)
            .max_message_size(Some(limits.message_max))
            .max_frame_size(Some(limits.message_max));
        // The vector would be kept as the buffer, with all the room that the head once took.
        let context = if early.is_empty() {
            WebSocketContext::new(Role::Server, Some(config))
        } else {
            WebSocketContext::from_partially_read(early, Role::Server, Some(config))
        };
        Ok(Self { stream, context })
    }

    /// The next message. Pings are answered by themselves.
    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        let mut io = Io {
            stream: &mut self.stream,
            cx,
        };
        pending(self.context.read(&mut io))
    }

    /// Queues a message; [`Socket::poll_flush`] sends it.
    ///
    /// # Errors
    /// When the connection is broken or closing.
    pub fn write(&mut self, cx: &mut Context<'_>, message: Message) -> Result<(), Error> {
        let mut io = Io {
            stream: &mut self.stream,
            cx,
        };
        match pending(self.context.write(&mut io, message)) {
            Poll::Ready(written) => written,
            // Queued, only not written yet.
            Poll::Pending => Ok(()),
        }
    }

    /// Ready when everything queued is with the kernel.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut io = Io {
            stream: &mut self.stream,
            cx,
        };
        pending(self.context.flush(&mut io))
    }
}

fn pending<T>(result: Result<T, Error>) -> Poll<Result<T, Error>> {
    match result {
        Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        other => Poll::Ready(other),
    }
}

/// The stream as tungstenite wants it: an operation that must wait says so as an error, and has
/// left the task's waker behind.
struct Io<'s, 'c, 'w> {
    stream: &'s mut TcpStream,
    cx: &'c mut Context<'w>,
}

impl Read for Io<'_, '_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(into);
        match Pin::new(&mut *self.stream).poll_read(self.cx, &mut buffer) {
            Poll::Ready(done) => done.map(|()| buffer.filled().len()),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Write for Io<'_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match Pin::new(&mut *self.stream).poll_write(self.cx, bytes) {
            Poll::Ready(done) => done,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // A TCP stream keeps nothing back.
        Ok(())
    }
}
