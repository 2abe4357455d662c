//! Fuzzing what the built-in servers read of their clients.

pub(crate) use server::fuzzing::{client_frames, openings};
