//! The fuzzers' way to the wire format. Not part of the crate's interface.

use crate::wire::{Framing, HEADER_BYTES, Operation, Request, framing};

/// Small, so that inputs reach it.
const PAYLOAD_MAX: usize = 1 << 10;

/// Reads `data` as a client's frames: each is read, refused or incomplete, and an incomplete one needs more bytes.
pub fn queue_frames(data: &[u8]) {
    let mut rest = data;
    while let Framing::Complete { kind, payload } = framing(rest, PAYLOAD_MAX) {
        let (frame, behind) = rest.split_at(HEADER_BYTES + payload);
        if let Some(operation) = Operation::from_kind(kind)
            && let Ok(Some(request)) = Request::parse(operation, &frame[HEADER_BYTES..])
        {
            assert_eq!(request.operation(), operation);
        }
        rest = behind;
    }
    if let Framing::Partial { bytes } = framing(rest, PAYLOAD_MAX) {
        assert!(bytes > rest.len());
    }
}

#[test]
fn no_frame_panics() {
    testkit::replay::replay("queue_frames", 200, queue_frames);
}
