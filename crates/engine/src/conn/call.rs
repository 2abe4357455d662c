//! Calls of gRPC: the answer to one while it comes, and those whose messages steps send and expect.

use grpc::Frames;
use plan::Pc;

use super::http2::Stream;

/// What is known of an answer before its trailers.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) frames: Frames,
    /// Messages that began.
    pub(crate) messages_count: u32,
    /// Its compressed messages can be read.
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
    /// How it reaches its server, once there is a connection.
    pub(crate) stream: Option<Stream>,
    pub(crate) frames: Frames,
    /// The message under way, in its frame.
    pub(crate) message: Vec<u8>,
    /// The server has ended it as OK.
    pub(crate) has_ended: bool,
    /// Its compressed messages can be read.
    pub(crate) is_gzip: bool,
    /// Later steps may send messages.
    pub(crate) sends: bool,
    /// The step that opened it.
    pub(crate) pc: Pc,
}

impl CallStream {
    pub(crate) fn new(pc: Pc, sends: bool) -> CallStream {
        CallStream {
            stream: None,
            frames: Frames::default(),
            message: Vec::new(),
            has_ended: false,
            is_gzip: false,
            sends,
            pc,
        }
    }
}
