//! Fuzzing the messages between controller and workers.

pub(crate) use controller::worker_frames;
