//! A poll. It outlives its TCP connections.

use plan::Pc;
use proto::http1;

use super::background::Background;

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
