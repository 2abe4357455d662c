//! Fuzzing what the queue reads of its clients.

pub(crate) use queue::fuzzing::queue_frames;
