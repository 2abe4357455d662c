//! Requirements on answers of GraphQL.

use serde::Serialize;

/// Form that an answer must have for its operation to succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Answer {
    /// It has data and no errors.
    Whole,
    /// It has data, which may be a part: errors say what is missing.
    Partial,
    /// It has no errors; it may be any message.
    Message,
}
