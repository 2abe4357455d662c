//! The fuzzers' way to the frames of workers. Not part of the crate's interface.

use serde::de::DeserializeOwned;

use super::frame::FrameReader;
use super::protocol::{Answer, Hello, ToController, ToWorker};

/// Reads `data` as frames of every kind: each is read or refused, and nothing panics.
pub fn worker_frames(data: &[u8]) {
    read::<ToWorker>(data);
    read::<ToController>(data);
    read::<Answer>(data);
    // The first message of a worker; the form of its rest depends on it.
    let _ = FrameReader::new(data).next_front::<Hello>();
}

fn read<T: DeserializeOwned>(data: &[u8]) {
    let mut frames = FrameReader::new(data);
    frames.trust();
    while frames.next::<T>().is_ok() {}
}

#[test]
fn no_frame_panics() {
    testkit::replay::replay("worker_frames", 200, worker_frames);
}
