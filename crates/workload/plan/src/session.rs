//! Sessions: flat programs of instructions.

use std::ops::Range;

use serde::Serialize;
use stats::dist::Dist;

use crate::calls::{Call, CallEnd, CallOpen};
use crate::channels::ChannelOp;
use crate::data::Feed;
use crate::expr::{Condition, Expr, Template};
use crate::http::HttpOp;
use crate::ids::{MeasureId, Pc, Register, Slot};
use crate::matching::Save;
use crate::meetings::MeetOp;
use crate::messages::{Expect, SendOp};
use crate::script::ScriptOp;
use crate::streams::{Poll, SseOpen, WsOpen};
use crate::tcp::TcpOpen;

mod length;
mod parallel;
mod retry;

pub use parallel::{Branch, Parallel};
pub use retry::{Failures, Retry};

/// One program and its weight among those that arrivals choose from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Session {
    /// As written in the scenario.
    pub name: String,
    /// Relative share; ≥ 0.
    pub weight: f64,
    /// Users of the session keep cookies.
    pub cookies: bool,
    /// The program. A user that runs off its end has finished.
    pub ops: Vec<Op>,
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

/// One instruction of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Op {
    /// Send an HTTP request and wait for its response.
    Http(Box<HttpOp>),
    /// Open a WebSocket (connect, TLS, upgrade) and wait for it. A user has at most one.
    WsOpen(Box<WsOpen>),
    /// Open a stream of server-sent events and wait for its head. It takes the WebSocket's place: a
    /// user has at most one of either.
    SseOpen(Box<SseOpen>),
    /// Poll again and again, beside the steps, for messages. It takes the WebSocket's place, too.
    Poll(Box<Poll>),
    /// Open a plain TCP connection and wait for it. It takes the WebSocket's place, too.
    TcpOpen(Box<TcpOpen>),
    /// Open a call of gRPC whose messages later steps send and expect. It takes the WebSocket's place, too.
    CallOpen(Box<CallOpen>),
    /// End it.
    CallEnd(Box<CallEnd>),
    /// Send a message; wait for its reply if there is one.
    Send(Box<SendOp>),
    /// Join, push to or leave a channel over the WebSocket.
    Channel(Box<ChannelOp>),
    /// Wait for a message.
    Expect(Box<Expect>),
    /// Close the connection that brings messages: a WebSocket with this status, waiting for the
    /// peer to close; an event stream; or stop polling.
    Close { code: u16 },
    /// Wait; the draw is in seconds, negative draws count as 0.
    Think(Dist),
    /// Wait this number of seconds; below zero counts as 0.
    ThinkFor(Expr),
    /// Wait until `every` seconds after the last time this op was due (the first time: no wait).
    /// The due times form a schedule that replies cannot delay.
    Pace { register: Register, every: Dist },
    /// Assign a variable.
    Set { slot: Slot, value: Template },
    /// Run a step that is written in JavaScript.
    Script(Box<ScriptOp>),
    /// Meet other users: a rendezvous, a counter, a queue.
    Meet(Box<MeetOp>),
    /// Take a row of the users' own data, or finish where there is none.
    Feed(Box<Feed>),
    /// Count `measure` as an error of kind `check` where `condition` is false; the user goes on.
    Check { condition: Condition, measure: MeasureId },
    /// Record a time that the scenario has computed or saved, as a measure of its own.
    Measure {
        value: Expr,
        /// Length of the value's unit, in nanoseconds.
        unit_ns: f64,
        measure: MeasureId,
    },
    /// Start a counted loop: evaluate `times`, jump to `end` when it is below 1.
    LoopStart { register: Register, times: Expr, end: Pc },
    /// Count one round; jump back to `body` while rounds are left.
    LoopEnd { register: Register, body: Pc },
    /// Go to `to`.
    Jump(Pc),
    /// Go to `to` when the condition is false.
    JumpUnless { condition: Expr, to: Pc },
    /// Go to one of the branches, with probability in proportion to its weight.
    Choose(Vec<(f64, Pc)>),
    /// The first attempt at the steps of a [`Retry`] begins.
    RetryStart { attempts: Register },
    /// An attempt ends. It has failed if `until` is false.
    RetryEnd { until: Option<Condition> },
    /// Run branches at the same time, and continue behind them when all have ended.
    Parallel(Box<Parallel>),
    /// A branch ends.
    BranchEnd,
    /// Restart the session, at most `times_max` times a user; then the user has finished.
    Restart { register: Register, times_max: u64 },
    /// A transaction or group starts.
    TransactionStart {
        register: Register,
        /// As [`Transaction::failure`].
        failure: Register,
        measure: MeasureId,
    },
    /// It ends: measure from its start to now.
    TransactionEnd { register: Register, failure: Register, measure: MeasureId },
    /// The user has finished.
    Stop,
}

impl Op {
    /// The measure of the operation that this instruction begins; `None` if it begins none.
    pub fn measure(&self) -> Option<MeasureId> {
        match self {
            Op::Http(http) => Some(http.measure),
            Op::WsOpen(open) => Some(open.measure),
            Op::SseOpen(open) => Some(open.measure),
            Op::Poll(poll) => Some(poll.measure),
            Op::TcpOpen(open) => Some(open.measure),
            Op::CallOpen(open) => Some(open.measure),
            Op::CallEnd(end) => Some(end.measure),
            Op::Send(send) => Some(send.reply.as_ref().map_or(send.measure, |r| r.measure)),
            Op::Channel(op) => Some(op.measure),
            Op::Expect(expect) => Some(expect.measure),
            Op::Meet(op) => op.measure(),
            _ => None,
        }
    }

    /// The measure of what waits for messages that the target sends by itself, in the step or beside it, for as long as that
    /// takes.
    pub fn waiting_measure(&self) -> Option<MeasureId> {
        match self {
            Op::Expect(expect) => Some(expect.measure),
            Op::Poll(poll) => Some(poll.measure),
            Op::SseOpen(open) => open.reconnect.as_ref().map(|reconnect| reconnect.measure),
            Op::WsOpen(open) => open.reconnect.as_ref().map(|reconnect| reconnect.measure),
            _ => None,
        }
    }

    /// The timeout of an operation that needs a connection, its set-up included; 0 for any other instruction.
    pub fn timeout_ns(&self) -> u64 {
        match self {
            Op::Http(http) => http.timeout_ns,
            Op::WsOpen(open) => open.timeout_ns,
            Op::SseOpen(open) => open.timeout_ns,
            Op::TcpOpen(open) => open.timeout_ns,
            Op::CallOpen(open) => open.timeout_ns,
            Op::Poll(poll) => poll.timeout_ns,
            _ => 0,
        }
    }

    /// The call of gRPC that this instruction makes, if its answer is awaited at once.
    #[inline]
    pub fn call(&self) -> Option<&Call> {
        match self {
            Op::Http(http) => http.call.as_deref(),
            _ => None,
        }
    }

    /// The schema's number of the message that this instruction sends with a call, if it makes one.
    pub fn call_request(&self) -> Option<u32> {
        match self {
            Op::CallOpen(open) => Some(open.request),
            op => op.call().map(|call| call.request),
        }
    }

    /// The values that the operation begun by this instruction saves from its answer.
    pub fn saves(&self) -> &[Save] {
        let reply = match self {
            Op::Http(http) => return &http.save,
            Op::Expect(expect) => return &expect.save,
            Op::Send(send) => &send.reply,
            Op::Channel(op) => &op.reply,
            _ => return &[],
        };
        reply.as_ref().map_or(&[], |reply| &reply.save)
    }

    /// The variable that a value of a queue is for.
    pub fn takes(&self) -> Option<Slot> {
        match self {
            Op::Meet(op) => match **op {
                MeetOp::Dequeue { slot, .. } => Some(slot),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Session {
    /// The measure of the operation at `pc`, or else of the next one in the program's text.
    pub fn next_measure(&self, pc: Pc) -> Option<MeasureId> {
        self.ops.iter().skip(pc as usize).find_map(Op::measure)
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
        let leaves = |op: &Op| matches!(op, Op::JumpUnless { to, .. } if *to == end + 1);
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
