//! Work of our own that may take long: what a step computes before it sends, and of what it gets.
//!
//! The driver's clock is read around it, and at no other time of a turn: so nothing of it counts as the target's, and the
//! record says which step it was for.

use std::fmt;

use plan::{Op, Pc, Plan, SessionId};
use record::schema::WorkKind;

use crate::tables::slots::UserKey;

/// A driver's clock, which is read around work that may take long.
pub trait Clock {
    /// The time now, in nanoseconds since the run's start.
    fn now_ns(&mut self) -> u64;

    /// The time when work of this kind has been done. In a simulation it may take time.
    fn after(&mut self, _work: WorkKind) -> u64 {
        self.now_ns()
    }
}

/// Does an instruction compute something that may take long?
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Computing {
    /// Before it sends, or in order to continue.
    pub(crate) before: bool,
    /// With what it gets.
    pub(crate) after: bool,
}

/// A shard's own work: which steps have some, and when it was done.
pub(crate) struct OwnWork {
    /// `None`: nothing is timed.
    pub(crate) clock: Option<Box<dyn Clock>>,
    /// By session and instruction.
    steps: Vec<Vec<Computing>>,
    /// True if any step computes.
    has_some: bool,
    /// When the turn began: the driver's time of what is being handled.
    pub(crate) turn_ns: u64,
    /// Users whose operations began in this turn. What these send leaves when it ends.
    pub(crate) begun: Vec<UserKey>,
}

impl OwnWork {
    pub(crate) fn new(plan: &Plan) -> OwnWork {
        let computing =
            |op: &Op| Computing { before: op.computes_before(), after: op.computes_after() };
        let sessions = plan.sessions.iter();
        let steps: Vec<Vec<Computing>> =
            sessions.map(|session| session.ops.iter().map(computing).collect()).collect();
        let has_some = steps.iter().flatten().any(|step| step.before || step.after);
        OwnWork { clock: None, steps, has_some, turn_ns: 0, begun: Vec::new() }
    }

    /// Whether the instruction computes something.
    #[inline]
    pub(crate) fn at(&self, session: SessionId, pc: Pc) -> Computing {
        let steps = &self.steps[session.index()];
        steps.get(pc as usize).copied().unwrap_or_default()
    }

    /// True if the user's operation began in this turn. One that is encoded at once is the last of those that did, and many
    /// may begin in a turn.
    #[inline]
    pub(crate) fn begins_now(&self, key: UserKey) -> bool {
        self.begun.iter().rev().any(|&begun| begun == key)
    }

    /// True if operations may have to wait for work before they are sent.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.has_some && self.clock.is_some()
    }
}

impl fmt::Debug for OwnWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnWork").field("turn_ns", &self.turn_ns).finish_non_exhaustive()
    }
}
