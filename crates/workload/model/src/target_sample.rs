//! Targets that are kept as examples of what their routes request.

/// A target of a route, sampled from all lines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TargetSample {
    /// Random number by which the line was chosen.
    pub(crate) lot: u64,
    pub(crate) route: u32,
    pub(crate) method: String,
    pub(crate) target: String,
}
