//! The thread that writes rows, and how it shares a core with a loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use machine::clock::monotonic_ns;
use machine::disk::free_bytes;
use record::{Measurement, RecordError, RequestsWriter, RowCounts};

use super::LoopRows;
use crate::numbering::Numbering;

/// The interval at which the thread polls for rows. A loop that had to wake it would pay for that with every batch.
const POLL: Duration = Duration::from_millis(5);
/// The longest wait of a row for the checkpoint that makes it safe. Loops hand it over a second after it happened at
/// the latest, and it takes less than one to encode, so that rows older than five seconds are safe.
const CHECKPOINT_NS: u64 = 3_000_000_000;
/// The rest of the thread between two pages, if there is time.
const PAUSE: Duration = Duration::from_micros(100);
/// Rows per second above which there is no time: a page of every column for 4,096 rows takes twelve
/// pauses.
const UNHURRIED_MAX: f64 = 200_000.0;
/// Rows over which their rate is measured.
const PACE_ROWS: u64 = 1 << 14;

/// Limits on the room that rows take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLimits {
    /// Bytes of all of them.
    pub bytes_max: u64,
    /// Bytes of the file system that others need.
    pub spare_bytes: u64,
}

impl RowLimits {
    /// Until the disk is full.
    pub const NONE: RowLimits = RowLimits { bytes_max: u64::MAX, spare_bytes: 0 };

    /// The limit that is reached if `more` bytes are written as well.
    fn reached(self, writer: &RequestsWriter, more: u64) -> Option<RecordError> {
        let reached =
            |what: String| Some(RecordError::Limit { path: writer.path().to_owned(), what });
        if writer.bytes() >= self.bytes_max {
            let max = units::bytes(self.bytes_max);
            return reached(format!("the rows of a run may take {max} here"));
        }
        if self.spare_bytes == 0 {
            return None;
        }
        let folder = writer.path().parent().unwrap_or_else(|| writer.path());
        let free = free_bytes(folder)?;
        if free >= self.spare_bytes.saturating_add(more) {
            return None;
        }
        reached(format!(
            "the disk has {} left, and {} of it stay free for reports",
            units::bytes(free),
            units::bytes(self.spare_bytes)
        ))
    }
}

/// The result of writing all rows.
#[derive(Debug)]
pub struct WrittenRows {
    /// The numbers of rows that were kept and lost.
    pub counts: RowCounts,
    /// The limit that was reached, so that later rows were not written.
    pub limit: Option<RecordError>,
    /// An error if the rest is not in one file.
    pub result: Result<(), RecordError>,
}

/// The thread that turns rows into Parquet.
pub struct RowsThread {
    thread: JoinHandle<WrittenRows>,
    failed: Arc<AtomicBool>,
}

impl RowsThread {
    /// Starts it. It ends when the last sender of rows is gone.
    pub fn start(mut writer: RequestsWriter, rows: LoopRows, limits: RowLimits) -> RowsThread {
        let LoopRows { receiver, numbering } = rows;
        let failed = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&failed);
        let thread = std::thread::spawn(move || {
            let written = write_rows(&mut writer, &receiver, &numbering, limits);
            let mut counts = writer.counts();
            if !matches!(written, Ok(None)) {
                flag.store(true, Ordering::Relaxed);
                // Loops must not wait for a writer that is gone.
                while let Ok(rows) = receiver.recv() {
                    counts.lost += rows.len() as u64;
                }
            }
            let (limit, result) = match written {
                Ok(limit) => (limit, join(writer, limits)),
                Err(error) => (None, Err(error)),
            };
            WrittenRows { counts, limit, result }
        });
        RowsThread { thread, failed }
    }

    /// True once rows can no longer be written.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits until the last sender of rows is gone and all rows are written.
    pub fn finish(self) -> WrittenRows {
        // The thread does nothing that panics. If it does all the same, the panic continues here.
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Joins what was written, which takes as much room again.
fn join(writer: RequestsWriter, limits: RowLimits) -> Result<(), RecordError> {
    let room = RowLimits { bytes_max: u64::MAX, ..limits };
    match room.reached(&writer, writer.bytes()) {
        Some(error) => Err(error),
        None => writer.finish(),
    }
}

/// Writes rows until the last sender is gone, and all that came are safe; or until a limit is reached.
fn write_rows(
    writer: &mut RequestsWriter,
    receiver: &Receiver<Vec<Measurement>>,
    numbering: &Numbering,
    limits: RowLimits,
) -> Result<Option<RecordError>, RecordError> {
    let mut pace = Pace::default();
    // The time at which the oldest row came that is not safe yet.
    let mut pending_since_ns = None;
    loop {
        let received = receiver.try_recv();
        let is_done = received == Err(TryRecvError::Disconnected);
        match received {
            Ok(mut rows) => {
                numbering.rename_rows(&mut rows);
                pace.count(&rows);
                let kept = writer.counts().kept;
                let rest = if pace.is_unhurried { rest } else { || {} };
                writer.write_pausing(&rows, &mut { rest })?;
                if writer.counts().kept > kept {
                    pending_since_ns = None;
                    if let Some(limit) = limits.reached(writer, 0) {
                        writer.checkpoint_pausing(&mut { rest })?;
                        return Ok(Some(limit));
                    }
                }
            }
            Err(TryRecvError::Empty) => sleep(POLL),
            Err(TryRecvError::Disconnected) => {}
        }
        if !writer.is_pending() {
            pending_since_ns = None;
        } else if is_done || is_late(*pending_since_ns.get_or_insert_with(monotonic_ns)) {
            writer.checkpoint_pausing(&mut rest)?;
            pending_since_ns = None;
            if let Some(limit) = limits.reached(writer, 0).filter(|_| !is_done) {
                return Ok(Some(limit));
            }
        }
        if is_done {
            return Ok(None);
        }
    }
}

/// True if rows that wait since then should be made safe.
fn is_late(since_ns: u64) -> bool {
    monotonic_ns().saturating_sub(since_ns) >= CHECKPOINT_NS
}

/// Lets a loop of this core go first. What is done between two rests should take a tenth of a
/// millisecond at most: a precise loop on the same core is late by as much. Rows are encoded 131,072 at
/// a time, which takes some 10 ms; the scheduler would let that go on for time slices of 4 ms.
pub fn rest() {
    sleep(PAUSE);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the core is given up for a moment; to be woken would cost a loop more"
)]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// The rate of rows, by their own times.
#[derive(Debug, Default)]
struct Pace {
    rows: u64,
    since_ns: u64,
    is_unhurried: bool,
}

impl Pace {
    fn count(&mut self, rows: &[Measurement]) {
        self.rows += rows.len() as u64;
        let Some(last) = rows.last().filter(|_| self.rows >= PACE_ROWS) else {
            return;
        };
        let seconds = last.done_ns.saturating_sub(self.since_ns) as f64 / 1e9;
        self.is_unhurried = self.rows as f64 <= UNHURRIED_MAX * seconds;
        self.rows = 0;
        self.since_ns = last.done_ns;
    }
}

#[cfg(test)]
mod tests;
