//! Fuzzing the messages between controller and workers.

pub(crate) use workers::worker_frames;
