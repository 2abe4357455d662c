//! Branches of a user that run at the same time.

use std::ops::Range;

use serde::Serialize;

use crate::ids::{Pc, Register, Slot};

/// Branches that run at the same time. Their instructions follow, one branch behind the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parallel {
    pub branches: Vec<Branch>,
    /// The instruction at which the user continues.
    pub end: Pc,
    /// Counts how often the user came to any such step: the draws of its branches follow from that.
    pub draws: Register,
}

/// A branch. It has the user's variables as they were when it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// The branch's instructions, with its [`Op::BranchEnd`](crate::Op::BranchEnd).
    pub instructions: Range<Pc>,
    /// A variable, and what it holds when the branch begins: where it begins among items that several branches share.
    pub first: Option<(Slot, i64)>,
    /// Variables that it sets, and no other branch: the user has their values when all branches have ended.
    pub sets: Vec<Slot>,
    /// Counts the pauses that it draws before further attempts, if there are any.
    pub retry_draws: Option<Register>,
}
