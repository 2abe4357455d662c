//! What becomes of the rows of a slice.

use std::sync::mpsc::Receiver;

use plan::Plan;
use record::{Measurement, RequestsWriter};

use super::{Controller, RoomOf};
use crate::fleet::Rows;
use crate::numbering::Numbering;
use crate::protocol::{Slice, ToController};
use crate::rows::{self, RowLimits};

/// What becomes of the rows of a slice.
pub(super) enum RowsWay {
    Sent,
    Left(Box<RequestsWriter>, Numbering, RowLimits),
    Dropped,
}

impl RowsWay {
    /// The error is for people.
    pub(super) fn prepare(slice: &Slice, plan: &Plan, room: RoomOf<'_>) -> Result<RowsWay, String> {
        match (slice.rows, room) {
            (Rows::Fetch, _) => Ok(RowsWay::Sent),
            (Rows::None, _) => Ok(RowsWay::Dropped),
            (Rows::Leave, None) => Err("it has no place where rows may stay".to_owned()),
            (Rows::Leave, Some((_, Err(why)))) => Err(why.to_owned()),
            (Rows::Leave, Some((run, Ok(room)))) => {
                let writer = Box::new(rows::prepare(room, run)?);
                let numbering = Numbering::new(plan, slice.loops.of);
                Ok(RowsWay::Left(writer, numbering, room.limits))
            }
        }
    }

    /// Takes rows until all loops have ended.
    pub(super) fn take(self, rows: Receiver<Vec<Measurement>>, controller: &Controller) {
        match self {
            RowsWay::Sent => send_rows(&rows, controller),
            // Loops do not wait for who is gone.
            RowsWay::Dropped => drop(rows),
            RowsWay::Left(writer, numbering, limits) => {
                let left = rows::leave(*writer, (rows, numbering), limits);
                controller.send(&ToController::RowsLeft(left));
            }
        }
    }
}

/// Rows, as fast as the controller takes them. Rows of the loops are received all the time.
fn send_rows(rows: &Receiver<Vec<Measurement>>, controller: &Controller) {
    for batch in rows {
        if controller.may_send_rows() {
            controller.send(&ToController::Rows(batch));
        }
    }
}
