//! A WebSocket over a tokio socket, for one task.
//!
//! tungstenite does the protocol. It is driven straight through the task's own waker: one task
//! both reads and writes, so the wakers that the usual adapter keeps for two are not needed.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::budget::{Budget, Share};
use crate::http::upgrade_response;

/// Bytes kept to read into for each connection; a longer message gets its own while it lasts.
const READ_BUFFER: usize = 128;
/// Frames are gathered up to this many bytes before they are written without being requested.
const WRITE_GATHER: usize = 4 * 1024;
/// Bytes of all messages of the process that are received in part, or that their peers do not take.
const ALL_BYTES_MAX: usize = 256 << 20;
/// Bytes of a client's frame with a control message, beside its payload (RFC 6455 §5.2).
const CONTROL_BYTES: usize = 6;

/// Bytes of unfinished messages.
static HELD: Budget = Budget::new(ALL_BYTES_MAX);

/// The most that a peer may send, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest message, and longest frame, in bytes.
    pub message_max: usize,
    /// From the first byte of a message to its last, and without taking anything of an answer.
    pub message_within: Duration,
}

/// The server's end of a WebSocket.
pub struct Socket {
    stream: TcpStream,
    context: WebSocketContext,
    within: Duration,
    /// Bytes that came since the last whole message.
    unfinished: usize,
    /// Bytes of the message that is being answered.
    answering: usize,
    share: Share,
    /// Armed while a message is unfinished, or an answer is not taken.
    timer: Option<Pin<Box<Sleep>>>,
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
        stream.write_all(upgrade_response(accept, None).as_bytes()).await?;
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
        Ok(Self {
            stream,
            context,
            within: limits.message_within,
            unfinished: 0,
            answering: 0,
            share: Share::new(&HELD),
            timer: None,
        })
    }

    /// The next message. Pings are answered by themselves.
    ///
    /// # Errors
    /// When the connection ends or breaks the protocol, the message does not come in time, or there is no memory for it.
    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        let (mut io, context) = self.io(cx);
        let read = context.read(&mut io);
        let came = io.received;
        self.unfinished += came;
        match pending(read) {
            Poll::Ready(Ok(message)) => {
                self.on_message(&message);
                Poll::Ready(Ok(message))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if self.unfinished == 0 => Poll::Pending,
            Poll::Pending if !self.share.set(self.unfinished) => {
                Poll::Ready(Err(Error::Io(io::ErrorKind::OutOfMemory.into())))
            }
            Poll::Pending => self.poll_overdue(cx),
        }
    }

    /// Queues a message; [`Socket::poll_flush`] sends it.
    ///
    /// # Errors
    /// When the connection is broken or closing.
    pub fn write(&mut self, cx: &mut Context<'_>, message: Message) -> Result<(), Error> {
        let (mut io, context) = self.io(cx);
        match pending(context.write(&mut io, message)) {
            Poll::Ready(written) => written,
            // Queued, only not written yet.
            Poll::Pending => Ok(()),
        }
    }

    /// Ready when everything queued is with the kernel.
    ///
    /// # Errors
    /// When the connection is broken, or its peer takes nothing for too long.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let (mut io, context) = self.io(cx);
        let flushed = pending(context.flush(&mut io));
        let has_moved = io.sent > 0;
        if flushed.is_pending() {
            if !self.share.set(self.answering) {
                return Poll::Ready(Err(Error::Io(io::ErrorKind::OutOfMemory.into())));
            }
            if has_moved {
                self.timer = None;
            }
            return self.poll_overdue(cx);
        }
        self.answering = 0;
        if self.unfinished == 0 {
            self.timer = None;
            self.share.set(0);
        }
        flushed
    }

    /// The deadline of what is unfinished begins with the first call.
    fn poll_overdue<T>(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, Error>> {
        let within = self.within;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(within)));
        let overdue = timer.as_mut().poll(cx);
        overdue.map(|()| Err(Error::Io(io::ErrorKind::TimedOut.into())))
    }

    /// A message is whole. A control message may come in the midst of another one, which remains unfinished.
    fn on_message(&mut self, message: &Message) {
        if message.is_ping() || message.is_pong() {
            let bytes = CONTROL_BYTES + message.len();
            self.unfinished = self.unfinished.saturating_sub(bytes);
        } else {
            self.answering = message.len();
            self.unfinished = 0;
        }
        if self.unfinished == 0 {
            self.timer = None;
        }
    }

    fn io<'s, 'c, 'w>(
        &'s mut self,
        cx: &'c mut Context<'w>,
    ) -> (Io<'s, 'c, 'w>, &'s mut WebSocketContext) {
        let stream = &mut self.stream;
        let io = Io { stream, cx, received: 0, sent: 0 };
        (io, &mut self.context)
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
    received: usize,
    sent: usize,
}

impl Read for Io<'_, '_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(into);
        match Pin::new(&mut *self.stream).poll_read(self.cx, &mut buffer) {
            Poll::Ready(done) => done.map(|()| {
                self.received += buffer.filled().len();
                buffer.filled().len()
            }),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Write for Io<'_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match Pin::new(&mut *self.stream).poll_write(self.cx, bytes) {
            Poll::Ready(done) => done.inspect(|count| self.sent += count),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // A TCP stream keeps nothing back.
        Ok(())
    }
}
