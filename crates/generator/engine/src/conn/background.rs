//! Background operations: when the next is due, and the one in flight.

use plan::Pc;

/// No due time.
pub(crate) const NEVER: u64 = u64::MAX;

/// When something is due in the background, and its operation in flight.
#[derive(Debug)]
pub(crate) struct Background {
    /// When the next operation begins, or the one in flight has had its time; [`NEVER`]: neither.
    pub(crate) due_ns: u64,
    /// When the operation in flight was due.
    pub(crate) planned_ns: u64,
    /// When it began.
    pub(crate) sent_ns: u64,
    /// Bytes of its request.
    pub(crate) bytes_out: u32,
    /// Bytes of its response, if they count for it.
    pub(crate) bytes_in: u32,
    /// The instruction that it comes from.
    pub(crate) pc: Pc,
}

impl Background {
    pub(crate) fn new(pc: Pc) -> Background {
        Background {
            due_ns: NEVER,
            planned_ns: NEVER,
            sent_ns: NEVER,
            bytes_out: 0,
            bytes_in: 0,
            pc,
        }
    }
}
