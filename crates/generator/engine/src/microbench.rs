//! The recorder, for `benches/recorder.rs`. Not part of the crate's interface.

use plan::Plan;
use record::Measurement;

use crate::measure::Recorder;

/// Rows of a batch, as in a run.
const ROWS_MAX: usize = 256;

/// The recorder of one loop.
#[derive(Debug)]
pub struct Recording(Recorder);

impl Recording {
    /// A recorder of this plan's measures.
    pub fn new(plan: &Plan) -> Recording {
        Recording(Recorder::new(plan, 0, ROWS_MAX))
    }

    /// Records an operation; a full batch of rows is dropped.
    pub fn operation(&mut self, row: Measurement) {
        self.0.operation(row, 0, 0);
        drop(self.0.take_rows(false));
    }
}
