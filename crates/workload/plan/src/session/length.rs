//! How long a session takes on average, without what the target takes: walks through its program.

use stats::rng::{Purpose, Rng};

use super::{Op, Parallel, Session};
use crate::expr::{Context, Value};
use crate::ids::{Pc, Slot};

/// Walks through a program that decides by chance.
const WALKS: u64 = 400;
/// Instructions of all walks together; what is longer counts as far as they come.
const STEPS_MAX: u64 = 5_000_000;
/// The chance that a condition is true, which depends on answers.
const HOLDS: f64 = 0.5;

/// A user on its way through a program.
struct Walk<'s> {
    session: &'s Session,
    registers: Vec<u64>,
    /// When each pace is due next; `None`: it was not yet.
    marks: Vec<Option<f64>>,
    slots: Vec<Value>,
    at_ns: f64,
    rng: Rng,
    /// Instructions that it may still take.
    steps_left: u64,
}

impl Session {
    /// The mean time of a pass through the program in nanoseconds, without what the target takes: pauses and paces,
    /// loops as often as they count, choices by their shares, other conditions true half of the time. A loop without
    /// an end of its own counts once.
    pub fn length_mean_ns(&self) -> f64 {
        let by_chance =
            |op: &Op| matches!(op, Op::Choose(_) | Op::JumpUnless { .. } | Op::LoopStart { .. });
        let walks = match self.ops.iter().any(by_chance) {
            true => WALKS,
            false => 1,
        };
        let mut total_ns = 0.0;
        let mut count = 0.0;
        let mut steps_left = STEPS_MAX;
        for number in 0..walks {
            let mut walk = Walk::new(self, number, steps_left);
            walk.run(0);
            steps_left = walk.steps_left;
            // A walk that was cut short counts only if there is no other.
            if steps_left > 0 || count == 0.0 {
                total_ns += walk.at_ns;
                count += 1.0;
            }
            if steps_left == 0 {
                break;
            }
        }
        total_ns / count
    }
}

impl<'s> Walk<'s> {
    fn new(session: &'s Session, number: u64, steps_left: u64) -> Walk<'s> {
        let registers = usize::from(session.registers_count);
        Walk {
            session,
            registers: vec![0; registers],
            marks: vec![None; registers],
            slots: vec![Value::Nothing; usize::from(session.slots_count)],
            at_ns: 0.0,
            rng: Rng::new(1, number, Purpose::Choice),
            steps_left,
        }
    }

    /// Walks from there to the end of the program or branch.
    fn run(&mut self, mut pc: Pc) {
        while let Some(op) = self.session.ops.get(pc as usize)
            && self.steps_left > 0
        {
            self.steps_left -= 1;
            pc = match self.step(pc, op) {
                Some(next) => next,
                None => break,
            };
        }
    }

    /// The next instruction; `None`: the session or the branch ends, or the session repeats itself.
    fn step(&mut self, pc: Pc, op: &Op) -> Option<Pc> {
        let next = pc + 1;
        Some(match op {
            Op::Think(pause) => {
                self.pause(pause.mean());
                next
            }
            Op::ThinkFor(seconds) => {
                let seconds = seconds.eval_number(self).unwrap_or(0.0);
                self.pause(seconds);
                next
            }
            Op::Pace { register, every } => {
                let due_ns = self.marks[register.index()].unwrap_or(self.at_ns);
                self.at_ns = self.at_ns.max(due_ns);
                self.marks[register.index()] = Some(due_ns + finite(every.mean()) * 1e9);
                next
            }
            // How long it takes is known to its script alone.
            Op::K6(op) => op.end,
            Op::K6Next(next) => next.end,
            Op::Set { slot, value } => {
                let value = value.eval(self);
                self.slots[slot.index()] = value.unwrap_or_default();
                next
            }
            Op::LoopStart { register, times, end } => {
                let times = times.eval_count(self).unwrap_or(1);
                self.registers[register.index()] = times;
                if times == 0 { *end } else { next }
            }
            Op::LoopEnd { register, body } => {
                let left = &mut self.registers[register.index()];
                *left = left.saturating_sub(1);
                if *left > 0 { *body } else { next }
            }
            Op::Jump(to) if *to <= pc && self.session.repeats_forever(pc, *to) => return None,
            Op::Jump(to) => *to,
            Op::JumpUnless { to, .. } => match self.rng.unit() < HOLDS {
                true => next,
                false => *to,
            },
            Op::Choose(branches) => self.choose(branches).unwrap_or(next),
            Op::Parallel(parallel) => {
                self.longest(parallel);
                parallel.end
            }
            Op::Stop | Op::Restart { .. } | Op::BranchEnd => return None,
            _ => next,
        })
    }

    /// Branches that run at the same time take as long as the longest of them.
    fn longest(&mut self, parallel: &Parallel) {
        let begins_ns = self.at_ns;
        let mut ends_ns = begins_ns;
        for branch in &parallel.branches {
            self.at_ns = begins_ns;
            self.run(branch.instructions.start);
            ends_ns = ends_ns.max(self.at_ns);
        }
        self.at_ns = ends_ns;
    }

    fn choose(&mut self, branches: &[(f64, Pc)]) -> Option<Pc> {
        let total: f64 = branches.iter().map(|(weight, _)| weight).sum();
        let mut left = self.rng.unit() * total;
        let chosen = branches.iter().find(|(weight, _)| {
            left -= weight;
            left < 0.0
        });
        chosen.or(branches.last()).map(|&(_, to)| to)
    }

    fn pause(&mut self, seconds: f64) {
        self.at_ns += finite(seconds) * 1e9;
    }
}

impl Session {
    /// True of the jump at `pc` back to `top` if nothing but the run's end leaves the loop; chains end by chance.
    fn repeats_forever(&self, pc: Pc, top: Pc) -> bool {
        let in_chain = self.visits.iter().any(|part| part.instructions.contains(&pc));
        !in_chain && self.never_leaves(top, pc)
    }
}

/// A mean that is infinite says nothing of how long most take.
fn finite(seconds: f64) -> f64 {
    match seconds.is_finite() {
        true => seconds.max(0.0),
        false => 0.0,
    }
}

impl Context for Walk<'_> {
    fn var(&self, slot: Slot) -> &Value {
        &self.slots[slot.index()]
    }
    fn user(&self) -> u64 {
        0
    }
    fn iteration(&self) -> u64 {
        0
    }
    fn now_ms(&self) -> i64 {
        0
    }
    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}
