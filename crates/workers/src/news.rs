//! What loops and worker processes report.

use driver::real::LoopNews;

use super::clock::Exchange;
use super::protocol::Usage;

/// A report of a loop or of a worker process.
#[derive(Debug)]
pub(super) enum News {
    Loop(LoopNews),
    Usage { worker: usize, usage: Usage },
    Clock { worker: usize, exchange: Exchange },
    Done { worker: usize },
    Lost { worker: usize, why: String },
}
