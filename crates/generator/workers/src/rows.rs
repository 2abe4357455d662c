//! The channel of rows from the loops to who writes them, and the thread that does.

mod left;
mod write;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use record::Measurement;

use crate::numbering::Numbering;

pub use left::{LeftRows, RowsRoom};
pub(crate) use left::{leave, prepare};
pub use write::{RowLimits, RowsThread, WrittenRows, rest};

/// Rows that a loop collects before it sends them. Few, because writing them takes the core from a loop.
pub(super) const ROWS_MAX: usize = 256;
/// Batches of rows that may wait for the disk before sampling begins: half a million rows.
const BATCHES_WAITING_MAX: usize = (512 << 10) / ROWS_MAX;

/// The rows that loops measure, and the numbering by which they belong to measures of the record.
pub struct LoopRows {
    pub receiver: Receiver<Vec<Measurement>>,
    pub numbering: Numbering,
}

/// A channel for batches of rows. It exists before the journal, which is created when the loops are
/// ready.
pub fn rows_channel() -> (SyncSender<Vec<Measurement>>, Receiver<Vec<Measurement>>) {
    sync_channel(BATCHES_WAITING_MAX)
}
