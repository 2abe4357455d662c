//! An event stream. It outlives its TCP connections.

use plan::Pc;
use proto::sse;

use super::background::Background;

/// An event stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    pub(crate) background: Background,
    pub(crate) sse: sse::Decoder,
    /// The lines of an event that is not wholly there yet.
    pub(crate) held: Vec<u8>,
    /// The last event id that the server sent.
    pub(crate) last_id: Vec<u8>,
    /// From a loss to the next attempt.
    pub(crate) retry_ns: u64,
    /// The stream was open before: what happens to it from now on concerns no step.
    pub(crate) opened: bool,
}

impl EventStream {
    pub(crate) fn new(pc: Pc, retry_ns: u64) -> EventStream {
        EventStream {
            background: Background::new(pc),
            sse: sse::Decoder::new(),
            held: Vec::new(),
            last_id: Vec::new(),
            retry_ns,
            opened: false,
        }
    }

    /// Before the next response.
    pub(crate) fn reset(&mut self) {
        self.sse = sse::Decoder::new();
        self.held = Vec::new();
    }
}
