//! Calls of gRPC: the answer to one while it comes, and those whose messages steps send and expect.

use grpc::Frames;
use plan::Pc;

use crate::conn::background::Background;

/// State of an answer before its trailers.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) frames: Frames,
    /// Messages that began.
    pub(crate) messages_count: u32,
    /// Whether its compressed messages can be read.
    pub(crate) is_gzip: bool,
    /// Something reads the message.
    pub(crate) is_read: bool,
    /// The head, if something reads the answer.
    pub(crate) head: Vec<u8>,
    /// The message in its frame, if it is read.
    pub(crate) body: Vec<u8>,
}

/// A call that stays open between steps.
#[derive(Debug)]
pub(crate) struct CallStream {
    pub(crate) frames: Frames,
    /// The message under way, in its frame.
    pub(crate) message: Vec<u8>,
    /// The head of the answer, once it is there.
    pub(crate) head: Vec<u8>,
    /// How the server has ended it as OK: status and metadata as a head; `None`: it has not.
    pub(crate) ended: Option<Vec<u8>>,
    /// Whether its compressed messages can be read.
    pub(crate) is_gzip: bool,
    /// Later steps may send messages.
    pub(crate) sends: bool,
    /// The step that opened it, and when its time is over.
    pub(crate) background: Background,
}

impl CallStream {
    pub(crate) fn new(pc: Pc, sends: bool) -> CallStream {
        CallStream {
            frames: Frames::default(),
            message: Vec::new(),
            head: Vec::new(),
            ended: None,
            is_gzip: false,
            sends,
            background: Background::new(pc),
        }
    }
}
