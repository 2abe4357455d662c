//! The response, from the backend to the client.

use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, timeout};

use super::exchange::{Failure, Terms};
use super::io::{Pace, read, write};
use super::pool::BUFFER_BYTES;
use super::upload::Progress;
use crate::http::{Chunks, Framing, Piece, RESPONSE_HEAD_MAX, ResponseHead, read_response};

/// Most interim responses to one request.
const INTERIM_MAX: usize = 16;

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    /// Bytes of its body.
    pub(super) bytes: u64,
    /// Whether the client's connection may serve another request.
    pub(super) keep_client: bool,
    /// Whether the backend's may.
    pub(super) keep_upstream: bool,
    /// Whether both are a tunnel now.
    pub(super) upgraded: bool,
}

/// One response under way.
pub(super) struct Download<'a, 's> {
    pub(super) from: &'a mut ReadHalf<'s>,
    /// Bytes that came from the backend and were not used.
    pub(super) inbox: &'a mut Vec<u8>,
    pub(super) to: &'a mut WriteHalf<'s>,
    pub(super) terms: &'a Terms<'a>,
    pub(super) progress: &'a Progress,
    /// Whether the backend's connection served a request before.
    pub(super) reused: bool,
}

/// How the client learns where the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientFraming {
    /// By the framing of the backend's response, or there is no body.
    Plain,
    Chunked,
    /// With the connection.
    Close,
}

impl Download<'_, '_> {
    pub(super) async fn run(&mut self) -> Result<Response, Failure> {
        let head = self.head().await?;
        let status = head.status;
        if self.terms.may_retry && matches!(status, 502..=504) {
            return Err(Failure::Status(status));
        }
        let upgraded = status == 101;
        if upgraded && !self.terms.head.upgrade {
            return Err(Failure::BadResponse);
        }
        let framing = match head.framing {
            Framing::None | Framing::Length(_) => ClientFraming::Plain,
            Framing::Chunked | Framing::UntilClose if self.terms.head.is_1_1 => {
                ClientFraming::Chunked
            }
            Framing::Chunked | Framing::UntilClose => ClientFraming::Close,
        };
        let keep_client = self.terms.head.keep_alive
            && self.progress.uploaded.get()
            && framing != ClientFraming::Close
            && !self.terms.stopping.get();
        let mut out = std::mem::take(&mut *self.terms.out.borrow_mut());
        out.clear();
        self.client_head(&mut out, &head, framing, keep_client && !upgraded);
        let body = self.body(&mut out, head.framing, framing).await;
        *self.terms.out.borrow_mut() = out;
        let bytes = body?;
        Ok(Response {
            status,
            bytes,
            keep_client: keep_client && !upgraded,
            // More than the response is nothing that was requested.
            keep_upstream: head.keep_alive
                && head.framing != Framing::UntilClose
                && self.progress.uploaded.get()
                && self.inbox.is_empty()
                && !upgraded,
            upgraded,
        })
    }

    /// The head of the final response, which is taken from the inbox; interim ones are passed on.
    async fn head(&mut self) -> Result<ResponseHead, Failure> {
        for _ in 0..=INTERIM_MAX {
            let head = loop {
                let read = read_response(self.inbox, self.terms.head.method.is_head);
                match read.map_err(|_| Failure::BadResponse)? {
                    Some(head) => break head,
                    None => self.head_bytes().await?,
                }
            };
            self.inbox.drain(..head.length);
            if !head.is_interim() {
                return Ok(head);
            }
            // The time to the final response is counted by itself.
            let now = Instant::now();
            self.progress.interim.set(Some(now));
            let rest = (!self.inbox.is_empty()).then_some(now);
            self.progress.first.set(rest);
            if self.terms.head.is_1_1 {
                let bytes = [&head.forwarded[..], b"\r\n"].concat();
                let written = write(self.to, &bytes, &mut Pace::new(self.terms.stall)).await;
                written.map_err(|error| of_client(&error))?;
            }
        }
        Err(Failure::BadResponse)
    }

    /// Some bytes of a head.
    async fn head_bytes(&mut self) -> Result<(), Failure> {
        let limit: Duration = self.terms.response_timeout;
        let room = RESPONSE_HEAD_MAX.saturating_sub(self.inbox.len()).min(BUFFER_BYTES);
        self.inbox.reserve(room.max(1));
        let begun = Instant::now();
        loop {
            // The time to the first byte of a response runs from the last one of the request.
            let is_first = self.progress.first.get().is_none();
            let since = match is_first {
                true => begun.max(self.progress.sent.get()),
                false => begun,
            };
            let left = limit.saturating_sub(since.elapsed());
            match timeout(left, self.from.read_buf(self.inbox)).await {
                // More of the request was sent meanwhile.
                Err(_) if is_first && self.progress.sent.get() > since => {}
                Err(_) => return Err(Failure::TimedOut),
                Ok(Ok(1..)) => {
                    if self.progress.first.get().is_none() {
                        self.progress.first.set(Some(Instant::now()));
                    }
                    return Ok(());
                }
                Ok(Ok(0) | Err(_)) if self.is_untouched() => {
                    return Err(Failure::Stale);
                }
                Ok(Ok(0) | Err(_)) => return Err(Failure::Broken),
            }
        }
    }

    /// Whether the backend has not answered at all, on a connection that had been idle.
    fn is_untouched(&self) -> bool {
        self.reused && self.inbox.is_empty() && self.progress.interim.get().is_none()
    }

    fn client_head(
        &self,
        out: &mut Vec<u8>,
        head: &ResponseHead,
        framing: ClientFraming,
        keep: bool,
    ) {
        out.extend_from_slice(&head.forwarded);
        if framing == ClientFraming::Chunked {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        // A session need not stay on a backend that fails.
        if let Some(field) = self.terms.set_cookie.as_ref().filter(|_| head.status < 500) {
            out.extend_from_slice(field.as_bytes());
        }
        let connection = match (head.status == 101, keep, self.terms.head.is_1_1) {
            (true, ..) => "Connection: Upgrade\r\n",
            (_, false, _) => "Connection: close\r\n",
            (_, true, false) => "Connection: keep-alive\r\n",
            (_, true, true) => "",
        };
        out.extend_from_slice(connection.as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    /// Sends `out` and the body; how many bytes that has.
    async fn body(
        &mut self,
        out: &mut Vec<u8>,
        framing: Framing,
        client: ClientFraming,
    ) -> Result<u64, Failure> {
        let mut paces = Paces {
            read: Pace::without_rate(self.terms.response_timeout),
            write: Pace::new(self.terms.stall),
        };
        let sent = match framing {
            Framing::None => self.send(out, &mut paces.write).await.map(|()| 0),
            Framing::Length(length) => self.length(out, length, &mut paces).await,
            Framing::Chunked => self.chunks(out, client, &mut paces).await,
            Framing::UntilClose => self.until_close(out, client, &mut paces).await,
        };
        sent.map_err(|failure| match (failure, client) {
            // Where the end of the connection means the end of the body, the connection must break.
            (Failure::Truncated, ClientFraming::Close) => Failure::Reset,
            (failure, _) => failure,
        })
    }

    async fn length(
        &mut self,
        out: &mut Vec<u8>,
        length: u64,
        paces: &mut Paces,
    ) -> Result<u64, Failure> {
        let mut left = length;
        loop {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(self.inbox.len());
            out.extend_from_slice(&self.inbox[..count]);
            self.inbox.drain(..count);
            left -= count as u64;
            self.send(out, &mut paces.write).await?;
            out.clear();
            if left == 0 {
                return Ok(length);
            }
            self.more(&mut paces.read).await?;
        }
    }

    async fn chunks(
        &mut self,
        out: &mut Vec<u8>,
        client: ClientFraming,
        paces: &mut Paces,
    ) -> Result<u64, Failure> {
        let framed = client == ClientFraming::Chunked;
        let mut chunks = Chunks::default();
        let mut bytes = 0;
        loop {
            let mut taken = 0;
            let done = loop {
                let next = chunks.next(&self.inbox[taken..]);
                // What was passed on is a part of something that has no end.
                let (piece, used) = next.map_err(|_| Failure::Truncated)?;
                match piece {
                    Piece::Begin(size) if framed => {
                        out.extend_from_slice(format!("{size:x}\r\n").as_bytes());
                    }
                    Piece::Data(data) => {
                        bytes += data.len() as u64;
                        out.extend_from_slice(data);
                    }
                    Piece::End if framed => out.extend_from_slice(b"\r\n"),
                    Piece::Done if framed => out.extend_from_slice(b"0\r\n\r\n"),
                    Piece::Begin(_) | Piece::End | Piece::Done | Piece::More => {}
                }
                taken += used;
                if matches!(piece, Piece::Done | Piece::More) {
                    break piece == Piece::Done;
                }
            };
            self.inbox.drain(..taken);
            self.send(out, &mut paces.write).await?;
            out.clear();
            if done {
                return Ok(bytes);
            }
            self.more(&mut paces.read).await?;
        }
    }

    async fn until_close(
        &mut self,
        out: &mut Vec<u8>,
        client: ClientFraming,
        paces: &mut Paces,
    ) -> Result<u64, Failure> {
        let framed = client == ClientFraming::Chunked;
        let mut bytes = 0;
        loop {
            let count = self.inbox.len();
            bytes += count as u64;
            if count > 0 {
                if framed {
                    out.extend_from_slice(format!("{count:x}\r\n").as_bytes());
                }
                out.append(self.inbox);
                if framed {
                    out.extend_from_slice(b"\r\n");
                }
            }
            self.send(out, &mut paces.write).await?;
            out.clear();
            self.inbox.reserve(BUFFER_BYTES);
            match read(self.from, self.inbox, &mut paces.read).await {
                Ok(0) if framed => {
                    self.send(b"0\r\n\r\n", &mut paces.write).await?;
                    return Ok(bytes);
                }
                Ok(0) => return Ok(bytes),
                Ok(_) => {}
                Err(_) => return Err(Failure::Truncated),
            }
        }
    }

    /// More of the body.
    async fn more(&mut self, pace: &mut Pace) -> Result<(), Failure> {
        self.inbox.reserve(BUFFER_BYTES.saturating_sub(self.inbox.len()).max(1));
        match read(self.from, self.inbox, pace).await {
            Ok(1..) => Ok(()),
            Ok(0) | Err(_) => Err(Failure::Truncated),
        }
    }

    async fn send(&mut self, bytes: &[u8], pace: &mut Pace) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.progress.begun.set(true);
        let written = write(self.to, bytes, pace).await;
        written.map_err(|error| of_client(&error))
    }
}

/// Why something could not be sent to the client.
fn of_client(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::TimedOut => Failure::ClientSlow,
        _ => Failure::ClientGone,
    }
}

struct Paces {
    read: Pace,
    write: Pace,
}
