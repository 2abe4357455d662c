//! The destination of the rows of a slice.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use machine::clock::monotonic_ns;
use plan::Plan;
use record::{Measurement, RequestsWriter};

use super::{Controller, RunRows};
use crate::fleet::Rows;
use crate::numbering::Numbering;
use crate::protocol::{Slice, ToController};
use crate::rows::{self, LoopRows, RowLimits};

/// Rows of a frame, and how long they are gathered, where a server stores each message: that costs more than its rows.
const GATHERED_ROWS_MAX: usize = 4_096;
const GATHERING_NS_MAX: u64 = 100_000_000;

/// The destination of the rows of a slice.
pub(super) enum RowsWay {
    Sent,
    Left(Box<RequestsWriter>, Numbering, RowLimits),
    Dropped,
}

impl RowsWay {
    /// The error is for people.
    pub(super) fn prepare(
        slice: &Slice,
        plan: &Plan,
        run_rows: Option<RunRows<'_>>,
    ) -> Result<RowsWay, String> {
        let Some(RunRows { run, room }) = run_rows else {
            return match slice.rows {
                Rows::Fetch => Ok(RowsWay::Sent),
                Rows::None => Ok(RowsWay::Dropped),
                Rows::Leave => Err("it has no place where rows may stay".to_owned()),
            };
        };
        match (slice.rows, room) {
            (Rows::Fetch, _) => Ok(RowsWay::Sent),
            (Rows::None, _) => Ok(RowsWay::Dropped),
            (Rows::Leave, Err(why)) => Err(why.to_owned()),
            (Rows::Leave, Ok(room)) => {
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
            // The receiver is dropped, so that loops do not wait for it.
            RowsWay::Dropped => drop(rows),
            RowsWay::Left(writer, numbering, limits) => {
                let rows = LoopRows { receiver: rows, numbering };
                let left = rows::leave(*writer, rows, limits);
                controller.send(&ToController::RowsLeft(left));
            }
        }
    }
}

/// Sends rows as fast as the controller takes them. Rows of the loops are received all the time.
fn send_rows(rows: &Receiver<Vec<Measurement>>, controller: &Controller) {
    while let Ok(mut batch) = rows.recv() {
        if controller.keeps_rows() {
            gather(&mut batch, rows);
        }
        if controller.may_send_rows() {
            controller.send(&ToController::Rows(batch));
        }
    }
}

/// Adds the batches that come next.
fn gather(batch: &mut Vec<Measurement>, rows: &Receiver<Vec<Measurement>>) {
    let end_ns = monotonic_ns() + GATHERING_NS_MAX;
    while batch.len() < GATHERED_ROWS_MAX {
        let left = Duration::from_nanos(end_ns.saturating_sub(monotonic_ns()));
        let Ok(more) = rows.recv_timeout(left) else {
            return;
        };
        batch.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use record::Outcome;

    use super::*;

    /// A row for each of these users.
    fn rows(users: std::ops::Range<u64>) -> Vec<Measurement> {
        let of_user = |user| Measurement {
            due_ns: 0,
            sent_ns: 0,
            done_ns: 0,
            user,
            measure: 0,
            session: 0,
            loop_id: 0,
            outcome: Outcome::Ok,
            status: 200,
            weight: 1,
            bytes_out: 0,
            bytes_in: 0,
        };
        users.map(of_user).collect()
    }

    #[test]
    fn batches_are_gathered_until_a_frame_is_full() {
        let (sender, receiver) = channel();
        for begin in (0..10_240).step_by(256) {
            sender.send(rows(begin..begin + 256)).unwrap();
        }
        let mut batch = receiver.recv().unwrap();
        gather(&mut batch, &receiver);
        assert_eq!(batch, rows(0..4_096));
    }

    #[test]
    fn gathering_ends_with_the_loops() {
        let (sender, receiver) = channel();
        sender.send(rows(0..1)).unwrap();
        sender.send(rows(1..3)).unwrap();
        drop(sender);
        let mut batch = receiver.recv().unwrap();
        gather(&mut batch, &receiver);
        assert_eq!(batch, rows(0..3));
    }

    #[test]
    fn rows_wait_for_a_tenth_of_a_second_at_most() {
        let (sender, receiver) = channel();
        let late = sender.clone();
        let (_ending, end) = channel::<()>();
        let later = thread::spawn(move || {
            for begin in 0.. {
                let _ = end.recv_timeout(Duration::from_millis(20));
                if late.send(rows(begin..begin + 1)).is_err() {
                    return;
                }
            }
        });
        sender.send(rows(0..1)).unwrap();
        let mut batch = receiver.recv().unwrap();
        gather(&mut batch, &receiver);
        assert!(batch.len() < GATHERED_ROWS_MAX, "{}", batch.len());
        drop(receiver);
        later.join().unwrap();
    }
}
