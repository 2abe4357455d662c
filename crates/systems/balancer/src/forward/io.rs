//! Reading and writing with time limits.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout};

/// A body must come, and be taken, at this many bytes a second, beside the time in which nothing may move: otherwise a
/// byte now and then would hold a backend for ever.
const BYTES_PER_S_MIN: u64 = 500;

/// How long the next bytes of a body may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    stall: Duration,
    has_rate: bool,
    /// Time that was spent waiting for the peer.
    spent: Duration,
    bytes: u64,
}

impl Pace {
    /// Pace of a peer that may be slow on purpose: a client.
    pub(super) fn new(stall: Duration) -> Self {
        Self { stall, has_rate: true, spent: Duration::ZERO, bytes: 0 }
    }

    /// Pace of a peer that may have nothing to say for a while, but not for longer than this: a backend with
    /// a stream of events.
    pub(super) fn without_rate(stall: Duration) -> Self {
        Self { has_rate: false, ..Self::new(stall) }
    }

    fn allowed(&self) -> Duration {
        if !self.has_rate {
            return self.stall;
        }
        let earned = Duration::from_millis(self.bytes.saturating_mul(1000) / BYTES_PER_S_MIN);
        let left = (self.stall + earned).saturating_sub(self.spent);
        left.min(self.stall)
    }

    fn moved(&mut self, since: Instant, count: usize) {
        self.spent += since.elapsed();
        self.bytes += count as u64;
    }
}

/// Reads some bytes behind those of the buffer, as far as it has room; 0 at the end.
///
/// # Errors
/// Those of the socket, and [`io::ErrorKind::TimedOut`].
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    pace: &mut Pace,
) -> io::Result<usize> {
    debug_assert!(buffer.capacity() > buffer.len(), "there is room");
    let begin = Instant::now();
    let count = timeout(pace.allowed(), from.read_buf(buffer)).await??;
    pace.moved(begin, count);
    Ok(count)
}

/// Writes all bytes.
///
/// # Errors
/// Those of the socket, and [`io::ErrorKind::TimedOut`].
pub(super) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    pace: &mut Pace,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let begin = Instant::now();
        let count = timeout(pace.allowed(), to.write(bytes)).await??;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        pace.moved(begin, count);
        bytes = &bytes[count..];
    }
    Ok(())
}
