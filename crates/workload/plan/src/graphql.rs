//! What is wanted of answers of GraphQL.

use serde::Serialize;

/// What an answer must be, lest its operation is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Answer {
    /// It has data and no errors.
    Whole,
    /// It has data, which may be a part: errors say what is missing.
    Partial,
    /// It has no errors; it may be any message.
    Message,
}
