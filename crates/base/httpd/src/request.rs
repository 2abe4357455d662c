//! One request on a connection: its head, and the writer for its reply, both with deadlines.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::head::{BadHead, HEAD_BYTES_MAX, Head};
use crate::reply::Reply;

/// Unread bytes of a refused request are read up to here, so that the reply reaches the client.
const UNREAD_BYTES_MAX: usize = 64 << 10;
/// How long to wait for all of them.
const UNREAD_WAIT: Duration = Duration::from_millis(500);
/// Bytes written between two looks at the clock.
const PIECE_BYTES: usize = 64 << 10;

/// A request, and where its reply goes.
#[derive(Debug)]
pub struct Request<'a> {
    pub head: &'a Head,
    pub(crate) stream: &'a TcpStream,
    pub(crate) write: Duration,
}

impl<'a> Request<'a> {
    /// The writer for the reply. Its deadline is counted from now.
    pub fn writer(&self) -> DeadlineWriter<'a> {
        DeadlineWriter::new(self.stream, self.write)
    }

    /// Sends this reply to a request that is not carried out, and discards the rest of the request.
    ///
    /// # Errors
    /// The client is gone or too slow.
    pub fn refuse(&self, reply: &Reply<'_>) -> io::Result<()> {
        reply.write(&mut self.writer())?;
        drain(self.stream)
    }
}

/// Writes to a client until a deadline, however slowly the client reads.
#[derive(Debug)]
pub struct DeadlineWriter<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl<'a> DeadlineWriter<'a> {
    pub(crate) fn new(stream: &'a TcpStream, within: Duration) -> DeadlineWriter<'a> {
        DeadlineWriter { stream, deadline: now() + within }
    }

    /// Sets the deadline to this long from now.
    pub fn extend(&mut self, within: Duration) {
        self.deadline = now() + within;
    }
}

impl Write for DeadlineWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_write_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.write(&bytes[..bytes.len().min(PIECE_BYTES)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a head before its deadline.
pub(crate) fn read_head(
    mut stream: &TcpStream,
    within: Duration,
) -> io::Result<Result<Head, BadHead>> {
    let deadline = now() + within;
    let mut bytes = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let left = deadline.saturating_duration_since(now());
        if left.is_zero() {
            return Ok(Err(BadHead(408)));
        }
        stream.set_read_timeout(Some(left))?;
        let room = piece.len().min(HEAD_BYTES_MAX - bytes.len());
        match stream.read(&mut piece[..room]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) if is_timeout(&error) => return Ok(Err(BadHead(408))),
            Err(error) => return Err(error),
        }
        match Head::parse(&bytes) {
            Ok(Some(head)) => return Ok(Ok(head)),
            Ok(None) => {}
            Err(bad) => return Ok(Err(bad)),
        }
    }
}

/// Reads a little of what is still coming: a socket that closes on unread bytes resets the connection, and
/// the client may lose the reply (RFC 9112 §9.6).
pub(crate) fn drain(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let deadline = now() + UNREAD_WAIT;
    let mut piece = [0; 4096];
    let mut bytes = 0;
    while bytes < UNREAD_BYTES_MAX {
        let left = deadline.saturating_duration_since(now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => break,
            count => bytes += count,
        }
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "deadlines of clients")]
    Instant::now()
}
