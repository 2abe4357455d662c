//! The answer to a call of gRPC, while it comes.

use grpc::Frames;

/// What is known of an answer before its trailers.
#[derive(Debug)]
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
