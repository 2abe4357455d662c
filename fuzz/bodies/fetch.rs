//! Fuzzing the bodies and addresses of answers.

pub(crate) use fetch::fuzzing::{contents, locations};
