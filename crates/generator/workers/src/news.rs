//! What loops and worker processes report.

use driver::real::LoopNews;

use super::clock::Exchange;
use super::protocol::Usage;
use super::rows::LeftRows;

/// A report of a loop or of a worker process.
#[derive(Debug)]
pub(super) enum News {
    Loop(LoopNews),
    Usage { worker: usize, usage: Usage },
    Clock { worker: usize, exchange: Exchange },
    Left { worker: usize, left: LeftRows },
    Done { worker: usize },
    Lost { worker: usize, why: String },
}
