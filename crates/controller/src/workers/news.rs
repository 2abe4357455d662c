//! What loops and worker processes report.

use engine::driver::real::LoopNews;

use super::protocol::Usage;

/// A report of a loop or of a worker process.
#[derive(Debug)]
pub(super) enum News {
    Loop(LoopNews),
    Usage { worker: usize, usage: Usage },
    Done { worker: usize },
    Lost { worker: usize, why: String },
}
