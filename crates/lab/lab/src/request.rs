//! A request of the lab to an instance of a service.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::clock::now;

/// Longest first line of an answer that is read, in bytes.
const STATUS_LINE_BYTES: usize = 64;
/// Read at a time, in bytes.
const PIECE_BYTES: usize = 16 << 10;

/// An answer whose status has come.
pub(crate) struct Answer {
    pub(crate) status: u16,
    stream: TcpStream,
    /// When it must be complete.
    limit: Instant,
    received: Vec<u8>,
}

/// Requests a path by this version, `HTTP/1.0` or `HTTP/1.1`. The answer may take this time, with its body.
pub(crate) fn get(
    address: SocketAddr,
    version: &str,
    path: &str,
    time_max: Duration,
) -> io::Result<Answer> {
    let limit = now() + time_max;
    let mut stream = TcpStream::connect_timeout(&address, time_max)?;
    stream.set_write_timeout(Some(time_max))?;
    let request = format!("GET {path} {version}\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Answer { status: 0, stream, limit, received: Vec::new() };
    while !answer.received.contains(&b'\n') && answer.received.len() < STATUS_LINE_BYTES {
        if answer.read()? == 0 {
            break;
        }
    }
    let line = String::from_utf8_lossy(&answer.received);
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    answer.status =
        status.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "no status line"))?;
    Ok(answer)
}

impl Answer {
    /// The text after the head, up to where the other side closes, or to this many bytes with the head.
    pub(crate) fn body(mut self, bytes_max: usize) -> io::Result<String> {
        while self.received.len() < bytes_max && self.read()? > 0 {}
        let bad = |error| io::Error::new(ErrorKind::InvalidData, error);
        let text = String::from_utf8(self.received).map_err(bad)?;
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        body.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "no end of the head"))
    }

    /// Reads what is there, before the limit.
    fn read(&mut self) -> io::Result<usize> {
        let left = self.limit.saturating_duration_since(now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut piece = [0; PIECE_BYTES];
        let count = self.stream.read(&mut piece)?;
        self.received.extend_from_slice(&piece[..count]);
        Ok(count)
    }
}
