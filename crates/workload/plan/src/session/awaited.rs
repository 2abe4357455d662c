//! Messages that later steps may still wait for.
//!
//! A message may come before the `expect` that is meant for it begins, since the server need not send it after the
//! response to the request that caused it. So whoever receives a message that no step waits for needs to know which
//! `expect`s may follow before the user opens, closes or sends something on the same connection: what came before that
//! cannot be its answer.

use super::{Op, Session};
use crate::ids::Pc;

/// An `expect` has a bit of its own; the last bit stands for all that are more than that.
const BITS: usize = u64::BITS as usize;

/// Some of the `expect`s of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expects(u64);

/// The `expect`s that may follow at each instruction of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AwaitedExpects {
    /// All `expect`s of the session, in its order.
    pcs: Vec<Pc>,
    /// By instruction: those that may follow until it begins, itself included. Empty: the session has none.
    before: Vec<u64>,
    /// By instruction: those that may follow once it has begun.
    after: Vec<u64>,
}

impl Expects {
    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn of(place: usize) -> Expects {
        Expects(1 << place.min(BITS - 1))
    }
}

impl AwaitedExpects {
    /// The `expect`s that may take what comes while a user is at `pc`, an instruction that has begun or has not.
    pub fn at(&self, pc: Pc, has_begun: bool) -> Expects {
        let sets = if has_begun { &self.after } else { &self.before };
        Expects(sets.get(pc as usize).copied().unwrap_or(0))
    }

    /// The instructions of these `expect`s.
    pub fn pcs(&self, expects: Expects) -> impl Iterator<Item = Pc> {
        let pcs = self.pcs.iter().enumerate();
        pcs.filter(move |(place, _)| Expects::of(*place).0 & expects.0 != 0).map(|(_, pc)| *pc)
    }
}

impl Session {
    /// The `expect`s that may follow at each instruction, before the next step that opens, closes or sends something
    /// on the connection that brings messages.
    pub fn awaited(&self) -> AwaitedExpects {
        let expects = (0..).zip(&self.ops).filter(|(_, op)| matches!(op, Op::Expect(_)));
        let pcs: Vec<Pc> = expects.map(|(pc, _)| pc).collect();
        if pcs.is_empty() {
            return AwaitedExpects::default();
        }
        let mut own = vec![0; self.ops.len()];
        for (place, &pc) in pcs.iter().enumerate() {
            own[pc as usize] = Expects::of(place).0;
        }
        let none = vec![0; self.ops.len()];
        let mut awaited = AwaitedExpects { pcs, before: none.clone(), after: none };
        // Loops and further attempts lead back: until nothing is added.
        while self.pass(&own, &mut awaited) {}
        awaited
    }

    /// Adds to each instruction what follows at those behind it. False: nothing was added.
    fn pass(&self, own: &[u64], awaited: &mut AwaitedExpects) -> bool {
        let mut has_grown = false;
        for (pc, op) in self.ops.iter().enumerate().rev() {
            let mut after = 0;
            for to in successors(pc as Pc, op) {
                after |= awaited.before.get(to as usize).copied().unwrap_or(0);
            }
            // A step that fails may lead to the next attempt, or to what follows the last one.
            for retry in self.retries_around(pc as Pc) {
                for to in [Some(retry.instructions.start), retry.otherwise].into_iter().flatten() {
                    after |= awaited.before.get(to as usize).copied().unwrap_or(0);
                }
            }
            let before = own[pc] | if op.uses_stream() { 0 } else { after };
            has_grown |= awaited.after[pc] != after || awaited.before[pc] != before;
            awaited.after[pc] = after;
            awaited.before[pc] = before;
        }
        has_grown
    }
}

/// The instructions at which a user may continue after this one.
fn successors(pc: Pc, op: &Op) -> Vec<Pc> {
    let next = pc + 1;
    match op {
        Op::Jump(to) => vec![*to],
        Op::JumpUnless { to, .. } => vec![next, *to],
        Op::LoopStart { end, .. } => vec![next, *end],
        Op::LoopEnd { body, .. } => vec![next, *body],
        Op::Choose(branches) => branches.iter().map(|(_, to)| *to).collect(),
        // No branch waits for messages.
        Op::Parallel(parallel) => vec![parallel.end],
        // A session that restarts has left its connection.
        Op::BranchEnd | Op::Restart { .. } | Op::Stop => Vec::new(),
        _ => vec![next],
    }
}
