//! The reports of loops and worker processes, and the channels that they go through.

use std::sync::mpsc::{Sender, SyncSender};

use driver::real::LoopNews;
use record::Measurement;

use super::clock::Exchange;
use super::protocol::Usage;
use super::rows::LeftRows;

/// A report of a loop or of a worker process.
#[derive(Debug)]
pub(super) enum Report {
    Loop(LoopNews),
    Usage { worker: usize, usage: Usage },
    Clock { worker: usize, exchange: Exchange },
    RowsLeft { worker: usize, left: LeftRows },
    Done { worker: usize },
    Lost { worker: usize, why: String },
}

/// The sending ends of a run's channels: one for reports, one for rows.
#[derive(Debug, Clone)]
pub(super) struct ReportSenders {
    pub(super) reports: Sender<Report>,
    pub(super) rows: SyncSender<Vec<Measurement>>,
}
