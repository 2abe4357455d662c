//! A poll. It outlives its TCP connections.

use plan::Pc;

use super::background::Background;

/// A poll.
#[derive(Debug)]
pub(crate) struct Poller {
    pub(crate) background: Background,
    /// The response so far.
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Poller {
    pub(crate) fn new(pc: Pc) -> Poller {
        Poller {
            background: Background::new(pc),
            head: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Before a new connection.
    pub(crate) fn reset(&mut self) {
        self.head = Vec::new();
        self.body = Vec::new();
    }
}
