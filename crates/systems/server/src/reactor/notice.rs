//! Notices: messages that are broadcast.

use bytes::Bytes;

/// A message for all subscribers of a channel, encoded once.
#[derive(Debug, Clone)]
pub struct Notice {
    pub kind: Kind,
    /// The bytes as they are sent, shared by all who get them.
    pub frame: Bytes,
}

/// Kinds of notices by whether a slow reader may miss them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// How things stand: a newer one makes it worthless.
    State,
    /// Anything else: it must arrive.
    Event,
}
