//! Claims: the right to publish a distribution.

/// How processes agree on who publishes a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Claims {
    /// The claim is one command, and the comparison with the last distribution part of the one that publishes.
    #[default]
    Atomic,
    /// The claim is read and then set, and the last distribution is read and then replaced: another process may
    /// do the same in between, and both publish. Redis only.
    Racing(ClaimSet),
}

/// When a racing claim is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimSet {
    /// As soon as it was found free, before the message is made.
    #[default]
    Early,
    /// When the message is made, just before it is published.
    Late,
}
