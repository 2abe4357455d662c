//! Fuzzing the bodies and addresses of answers.

pub(crate) use engine::fetch::fuzzing::{contents, locations};
