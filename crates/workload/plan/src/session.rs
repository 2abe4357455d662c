//! Sessions: flat programs of instructions.

use std::ops::Range;

use serde::Serialize;
use stats::dist::Dist;

use crate::data::Data;
use crate::ids::{MeasureId, Pc, Register, Slot};
use crate::measures::Measure;

mod awaited;
mod computing;
mod length;
mod op;
mod parallel;
mod retry;

pub use awaited::{AwaitedExpects, Expects};
pub use op::*;
pub use parallel::{Branch, Parallel};
pub use retry::{Failures, Retry};

/// One program and its weight among those that arrivals choose from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Session {
    /// As written in the scenario.
    pub name: String,
    /// The included file that it is in; `None`: the scenario itself.
    pub file: Option<String>,
    /// Relative share; ≥ 0.
    pub weight: f64,
    /// Users of the session keep cookies.
    pub cookies: bool,
    /// The program. A user that runs off its end has finished.
    pub ops: Vec<Op>,
    /// For each instruction the line of its file that it is from, from 1; 0: an override.
    pub lines: Vec<u32>,
    /// How often parts of the program are expected to be done.
    pub visits: Vec<Visits>,
    /// The session's transactions and groups, by where they begin.
    pub transactions: Vec<Transaction>,
    /// The steps that are tried again, by where they begin.
    pub retries: Vec<Retry>,
    /// How many variables a user has.
    pub slots_count: u16,
    /// How many registers a user has.
    pub registers_count: u16,
    /// Names of the slots, for messages and tests.
    pub slot_names: Vec<String>,
    /// Slots whose values reach a header, cookie or credential, or that are named like a secret.
    pub secret_slots: Vec<Slot>,
}

/// How often some instructions are expected to be done, each time what is around them is done
/// once. Those of a part within another multiply.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Visits {
    pub instructions: Range<Pc>,
    pub expected: f64,
}

/// Instructions that are timed together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transaction {
    /// The instructions behind its [`Op::TransactionStart`], up to its [`Op::TransactionEnd`].
    pub instructions: Range<Pc>,
    /// When it was due.
    pub register: Register,
    /// How the first of its operations that failed did: the outcome's code, which is 0 while none has.
    pub failure: Register,
    pub measure: MeasureId,
}

/// A pace that a user comes to again and again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace<'s> {
    /// When it is due next; 0 before it was due for the first time.
    pub register: Register,
    pub every: &'s Dist,
    /// Measure of the step whose pace this is.
    pub measure: MeasureId,
    /// It is in no loop: the user comes to it as often as its session restarts.
    pub by_restart: bool,
    /// The number of rounds that are left of its loop, this one included; `None`: there is no such number.
    pub rounds: Option<Register>,
    /// The user has not come to it in this round.
    pub is_ahead: bool,
}

impl Session {
    /// The place in the scenario that the instruction at `pc` comes from, in words.
    pub fn place(&self, pc: Pc) -> String {
        match self.lines.get(pc as usize) {
            Some(0) => format!("session {:?}, in an override", self.name),
            Some(line) => match &self.file {
                Some(file) => format!("session {:?}, line {line} of {file}", self.name),
                None => format!("session {:?}, line {line}", self.name),
            },
            None => format!("session {:?}", self.name),
        }
    }

    /// The measure of the operation at `pc`, or else of the next one in the program's text.
    pub fn next_measure(&self, pc: Pc) -> Option<MeasureId> {
        self.ops.iter().skip(pc as usize).find_map(Op::measure)
    }

    /// The steps that are no operations and have no measure, by their instruction, as findings call them: "`set` of `code`".
    /// `data` and `measures`: those of the plan.
    pub fn own_steps(&self, data: &[Data], measures: &[Measure]) -> Vec<(Pc, String)> {
        let ops = (0..).zip(&self.ops);
        let named = ops.filter_map(|(at, op)| {
            let of = match op {
                Op::Set { slot, .. } => self.slot_names.get(slot.index()),
                Op::Feed(feed) => data.get(feed.data.index()).map(|data| &data.name),
                Op::Check { measure, .. } | Op::Measure { measure, .. } => {
                    measures.get(measure.index()).map(|measure| &measure.name)
                }
                Op::Script(_)
                | Op::K6(_)
                | Op::Record { .. }
                | Op::ThinkFor(_)
                | Op::LoopStart { .. }
                | Op::JumpUnless { .. }
                | Op::RetryEnd { until: Some(_) }
                | Op::Parallel(_) => None,
                Op::Meet(meet) if meet.measure().is_none() => None,
                _ => return None,
            };
            let of = of.map_or(String::new(), |name| format!(" of `{name}`"));
            Some((at, format!("`{}`{of}", op.word())))
        });
        named.collect()
    }

    /// True if `pc` is in the body of a loop without an end of its own. A user in such a loop is meant
    /// to stay until the run ends.
    pub fn is_endless(&self, pc: Pc) -> bool {
        let mut ends = (pc..).zip(self.ops.iter().skip(pc as usize));
        ends.any(|(end, op)| match *op {
            Op::Jump(top) => top <= pc && self.never_leaves(top, end),
            _ => false,
        })
    }

    /// True if users that do not fail may stay in a loop without an end of its own; chains end by chance.
    pub fn has_endless_loop(&self) -> bool {
        let in_chain = |at: Pc| self.visits.iter().any(|part| part.instructions.contains(&at));
        (0..).zip(&self.ops).any(|(end, op)| match *op {
            Op::Jump(top) => !in_chain(end) && self.never_leaves(top, end),
            _ => false,
        })
    }

    /// True if its users have branches.
    pub fn has_branches(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Parallel(_)))
    }

    /// True if the jump at `end` leads back to `top`, and nothing between them leads behind it.
    fn never_leaves(&self, top: Pc, end: Pc) -> bool {
        // A loop with a condition leaves to the instruction after its jump.
        let body = self.ops.get(top as usize..end as usize).unwrap_or(&[]);
        // Nor is a script's function the body of a loop: requests lead back to it.
        let leaves = |op: &Op| match op {
            Op::JumpUnless { to, .. } => *to == end + 1,
            Op::K6(_) | Op::K6Next(_) => true,
            _ => false,
        };
        !body.is_empty() && !body.iter().any(leaves)
    }

    /// The paces of the loops that `pc` is in, and, if the session `restarts` whenever it ends, those of no loop.
    pub fn paces(&self, pc: Pc, restarts: bool) -> impl Iterator<Item = Pace<'_>> {
        let paces = (0..).zip(&self.ops).filter_map(|(at, op)| match op {
            Op::Pace { register, every } => Some((at, *register, every)),
            _ => None,
        });
        paces.filter_map(move |(at, register, every)| {
            let by_restart = self.loops(at, at).next().is_none();
            let mut loops = self.loops(at, pc);
            let around = loops.next();
            if around.is_none() && !(by_restart && restarts) {
                return None;
            }
            let rounds = match around {
                // Only the innermost loop's rounds are known; one around it repeats them.
                Some(Op::LoopEnd { register, .. }) if loops.next().is_none() => Some(*register),
                _ => None,
            };
            Some(Pace {
                register,
                every,
                measure: self.next_measure(at)?,
                by_restart,
                rounds,
                is_ahead: pc <= at,
            })
        })
    }

    /// The ends of the loops whose bodies have both instructions, from the innermost.
    fn loops(&self, a: Pc, b: Pc) -> impl Iterator<Item = &Op> {
        let ends = (0..).zip(&self.ops);
        ends.filter(move |(end, op)| match **op {
            Op::Jump(top) | Op::LoopEnd { body: top, .. } => top <= a.min(b) && a.max(b) <= *end,
            _ => false,
        })
        .map(|(_, op)| op)
    }

    /// Transactions that a user at `pc` is in.
    pub fn open_transactions(&self, pc: Pc) -> impl Iterator<Item = &Transaction> {
        let open = move |transaction: &&Transaction| transaction.instructions.contains(&pc);
        self.transactions.iter().filter(open)
    }

    /// The retries that enclose `pc`, from the innermost.
    pub fn retries_around(&self, pc: Pc) -> impl Iterator<Item = &Retry> {
        let retries = self.retries.iter().rev();
        retries.filter(move |retry| retry.instructions.contains(&pc))
    }
}
