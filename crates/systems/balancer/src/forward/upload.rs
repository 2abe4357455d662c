//! The body of a request, from the client to the backend; then a look-out for the client's end.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::Instant;

use super::io::{Pace, read, write};
use super::pool::BUFFER_BYTES;
use crate::http::{Chunks, Framing, Piece};

/// Why a request cannot be completed: all of this is the client's doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientFault {
    /// The client left.
    Gone,
    /// The body is malformed.
    Malformed(&'static str),
    /// The body is longer than allowed.
    TooLarge,
    /// The body does not come in time.
    Slow,
}

/// How far an exchange is; both of its directions look at this.
#[derive(Debug)]
pub(super) struct Progress {
    /// Whether the request was sent in full.
    pub(super) uploaded: Cell<bool>,
    /// When some of the request was sent last.
    pub(super) sent: Cell<Instant>,
    /// When the final response began, if it did.
    pub(super) first: Cell<Option<Instant>>,
    /// When an interim response came last.
    pub(super) interim: Cell<Option<Instant>>,
    /// Whether the client has been sent some of the final response.
    pub(super) begun: Cell<bool>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            uploaded: Cell::new(false),
            sent: Cell::new(Instant::now()),
            first: Cell::new(None),
            interim: Cell::new(None),
            begun: Cell::new(false),
        }
    }
}

/// Bounds of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    pub(super) stall: Duration,
    pub(super) bytes_max: u64,
    /// Whether the client may wait with its body until it gets 100.
    pub(super) expects_continue: bool,
}

enum Stop {
    Client(ClientFault),
    /// The backend takes no more. What it has answered is still to be read.
    Backend,
}

/// Sends a body, of which some bytes may be in `inbox`, and then waits for the client to leave. What the client sends
/// behind the body stays in `inbox`.
pub(super) async fn upload(
    from: &mut ReadHalf<'_>,
    inbox: &mut Vec<u8>,
    framing: Framing,
    to: &mut WriteHalf<'_>,
    limits: BodyLimits,
    progress: &Progress,
) -> ClientFault {
    let mut upload = Upload {
        may_wait: limits.expects_continue && inbox.is_empty(),
        stall: limits.stall,
        from,
        inbox,
        to,
        pace: Pace::new(limits.stall),
        write_pace: Pace::new(limits.stall),
        progress,
    };
    let sent = match framing {
        Framing::None | Framing::UntilClose => Ok(()),
        Framing::Length(length) => upload.length(length).await,
        Framing::Chunked => upload.chunks(limits.bytes_max).await,
    };
    match sent {
        Ok(()) => progress.uploaded.set(true),
        Err(Stop::Client(fault)) => return fault,
        // The other direction finds out why the backend takes no more.
        Err(Stop::Backend) => std::future::pending().await,
    }
    upload.watch().await
}

struct Upload<'a, 'r, 'w> {
    from: &'a mut ReadHalf<'r>,
    inbox: &'a mut Vec<u8>,
    to: &'a mut WriteHalf<'w>,
    pace: Pace,
    write_pace: Pace,
    progress: &'a Progress,
    stall: Duration,
    /// Whether nothing of the body has come, and the client may wait until it gets 100.
    may_wait: bool,
}

impl Upload<'_, '_, '_> {
    async fn length(&mut self, mut left: u64) -> Result<(), Stop> {
        loop {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(self.inbox.len());
            if count > 0 {
                let sent = write(self.to, &self.inbox[..count], &mut self.write_pace).await;
                sent.map_err(|_| Stop::Backend)?;
                self.progress.sent.set(Instant::now());
                self.inbox.drain(..count);
                left -= count as u64;
            }
            if left == 0 {
                return Ok(());
            }
            self.more().await?;
        }
    }

    async fn chunks(&mut self, bytes_max: u64) -> Result<(), Stop> {
        let mut chunks = Chunks::default();
        let mut out = Vec::with_capacity(BUFFER_BYTES);
        let mut total = 0_u64;
        loop {
            let mut taken = 0;
            let done = loop {
                let next = chunks.next(&self.inbox[taken..]);
                let (piece, used) =
                    next.map_err(|reason| Stop::Client(ClientFault::Malformed(reason)))?;
                match piece {
                    Piece::Begin(size) => {
                        total = total.saturating_add(size);
                        if total > bytes_max {
                            return Err(Stop::Client(ClientFault::TooLarge));
                        }
                        out.extend_from_slice(format!("{size:x}\r\n").as_bytes());
                    }
                    Piece::Data(data) => out.extend_from_slice(data),
                    Piece::End => out.extend_from_slice(b"\r\n"),
                    Piece::Done => out.extend_from_slice(b"0\r\n\r\n"),
                    Piece::More => {}
                }
                taken += used;
                if matches!(piece, Piece::Done | Piece::More) {
                    break piece == Piece::Done;
                }
            };
            self.inbox.drain(..taken);
            if !out.is_empty() {
                let sent = write(self.to, &out, &mut self.write_pace).await;
                sent.map_err(|_| Stop::Backend)?;
                self.progress.sent.set(Instant::now());
                out.clear();
            }
            if done {
                return Ok(());
            }
            self.more().await?;
        }
    }

    /// More of the body.
    async fn more(&mut self) -> Result<(), Stop> {
        self.inbox.reserve(BUFFER_BYTES.saturating_sub(self.inbox.len()).max(1));
        loop {
            return match read(self.from, self.inbox, &mut self.pace).await {
                Ok(0) => Err(Stop::Client(ClientFault::Gone)),
                Ok(_) => {
                    self.may_wait = false;
                    Ok(())
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    if self.waits_rightly() {
                        continue;
                    }
                    Err(Stop::Client(ClientFault::Slow))
                }
                Err(_) => Err(Stop::Client(ClientFault::Gone)),
            };
        }
    }

    /// Whether the client may not know yet that it is to send its body: the backend has not said so, or only now.
    fn waits_rightly(&self) -> bool {
        let said = self.progress.interim.get();
        self.may_wait && said.is_none_or(|at| at.elapsed() < self.stall)
    }

    /// Resolves when the client leaves. Its next requests are kept, as many as fit.
    async fn watch(&mut self) -> ClientFault {
        loop {
            let room = BUFFER_BYTES.saturating_sub(self.inbox.len());
            if room == 0 {
                std::future::pending::<()>().await;
            }
            // Without a byte there may be none for long: a buffer is made when there is something.
            if self.from.readable().await.is_err() {
                return ClientFault::Gone;
            }
            self.inbox.reserve(room);
            match self.from.read_buf(self.inbox).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return ClientFault::Gone,
            }
        }
    }
}
