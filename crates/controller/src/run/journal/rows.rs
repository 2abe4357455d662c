//! The thread that writes rows, and how it shares a core with a loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use record::{Measurement, RecordError, RequestsWriter};

/// How often the thread polls for rows. A loop that had to wake it would pay for that with every batch.
const POLL: Duration = Duration::from_millis(5);
/// Consecutive polls without rows after which a checkpoint is written: ten seconds.
const CHECKPOINT_POLLS: u32 = 2_000;
/// How long the thread rests between two pages, if there is time.
const PAUSE: Duration = Duration::from_micros(100);
/// Rows per second above which there is no time: a page of every column for 4,096 rows takes twelve
/// pauses.
const UNHURRIED_MAX: f64 = 200_000.0;
/// Rows over which their rate is measured.
const PACE_ROWS: u64 = 1 << 14;

/// The thread that turns rows into Parquet.
pub(super) struct RowsThread {
    thread: JoinHandle<Result<(), RecordError>>,
    failed: Arc<AtomicBool>,
}

impl RowsThread {
    pub(super) fn start(
        writer: RequestsWriter,
        receiver: Receiver<Vec<Measurement>>,
    ) -> RowsThread {
        let failed = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&failed);
        let thread = std::thread::spawn(move || {
            let result = write_rows(writer, &receiver);
            if result.is_err() {
                flag.store(true, Ordering::Relaxed);
                // Loops must not wait for a writer that is gone.
                while receiver.recv().is_ok() {}
            }
            result
        });
        RowsThread { thread, failed }
    }

    /// True once rows can no longer be written.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits until the last sender of rows is gone and all rows are written.
    pub(super) fn finish(self) -> Result<(), RecordError> {
        // The thread does nothing that panics; if it does, its panic is ours.
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn write_rows(
    mut writer: RequestsWriter,
    receiver: &Receiver<Vec<Measurement>>,
) -> Result<(), RecordError> {
    let mut pace = Pace::default();
    let mut polls = 0;
    loop {
        match receiver.try_recv() {
            Ok(rows) => {
                polls = 0;
                pace.count(&rows);
                let rest = if pace.is_unhurried { rest } else { || {} };
                writer.write_pausing(&rows, &mut { rest })?;
            }
            Err(TryRecvError::Empty) => {
                sleep(POLL);
                polls += 1;
                if polls == CHECKPOINT_POLLS {
                    writer.checkpoint()?;
                }
            }
            Err(TryRecvError::Disconnected) => return writer.finish(),
        }
    }
}

/// Lets a loop of this core go first. What is done between two rests should take a tenth of a
/// millisecond at most: a precise loop on the same core is late by as much. Rows are encoded 131,072 at
/// a time, which takes some 10 ms; the scheduler would let that go on for time slices of 4 ms.
pub(super) fn rest() {
    sleep(PAUSE);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the core is given up for a moment; to be woken would cost a loop more"
)]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// How fast rows come, by their own times.
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
