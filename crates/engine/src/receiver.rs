//! What runs beside a user's steps. It outlives its TCP connections.

use plan::Pc;
use proto::{http1, sse};

/// No due time.
pub(crate) const NEVER: u64 = u64::MAX;

/// When something beside the steps is due, and its operation in flight.
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
    /// Bytes of its response, where they are counted by it.
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

/// A poll.
#[derive(Debug)]
pub(crate) struct Poller {
    pub(crate) background: Background,
    pub(crate) http: http1::Decoder,
    /// The response so far.
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Poller {
    pub(crate) fn new(pc: Pc) -> Poller {
        Poller {
            background: Background::new(pc),
            http: http1::Decoder::new(),
            head: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Before a new connection.
    pub(crate) fn reset(&mut self) {
        self.http = http1::Decoder::new();
        self.head = Vec::new();
        self.body = Vec::new();
    }
}

/// An event stream.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) background: Background,
    pub(crate) http: http1::Decoder,
    pub(crate) sse: sse::Decoder,
    /// The lines of an event that is not wholly there yet.
    pub(crate) held: Vec<u8>,
    /// The last event id that the server said.
    pub(crate) last_id: Vec<u8>,
    /// From a loss to the next attempt.
    pub(crate) retry_ns: u64,
    /// The stream was open once: what happens to it from now on concerns no step.
    pub(crate) opened: bool,
}

impl Receiver {
    pub(crate) fn new(pc: Pc, retry_ns: u64) -> Receiver {
        Receiver {
            background: Background::new(pc),
            http: http1::Decoder::new(),
            sse: sse::Decoder::new(),
            held: Vec::new(),
            last_id: Vec::new(),
            retry_ns,
            opened: false,
        }
    }

    /// Before the next response.
    pub(crate) fn reset(&mut self) {
        self.http = http1::Decoder::new();
        self.http.begin(false);
        self.sse = sse::Decoder::new();
        self.held = Vec::new();
    }
}
