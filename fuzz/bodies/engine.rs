//! Fuzzing what the engine reads of a target's answers: JSON, channels, cookies, challenges.

pub(crate) use engine::fuzzing::answers;
