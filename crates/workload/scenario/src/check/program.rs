//! A session while it is compiled.

use plan::expr::{Expr, TemplatePart};
use plan::{DataId, MeetOp, Op, Pc, Protocol, Register, Retry, Session, Slot, Transaction, Visits};

use super::index;
use super::parallel::InBranch;

/// A call of gRPC that stays open.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    /// The method, as written.
    pub(super) name: String,
    /// The schema's number of the client's messages.
    pub(super) request: u32,
    /// Steps may send messages.
    pub(super) sends: bool,
    /// The call's head says that messages may be compressed.
    pub(super) compress: bool,
}

/// The instructions so far and what they use.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
    /// The line of each instruction, and that of what is being compiled; 0: an override.
    pub(super) lines: Vec<u32>,
    pub(super) line: u32,
    /// Variables in the order in which they are first set; those that are there so far are
    /// defined.
    pub(super) slot_names: Vec<String>,
    registers_count: usize,
    /// The users' own data that steps take rows of, with the registers that count these.
    feeds: Vec<(DataId, Register)>,
    /// For chains: how often their states are expected to be visited.
    pub(super) visits: Vec<Visits>,
    /// Transactions, by where they begin.
    pub(super) transactions: Vec<Transaction>,
    /// Retries, by where they begin.
    pub(super) retries: Vec<Retry>,
    /// Counts the pauses that a user draws before further attempts.
    pub(super) retry_draws: Option<Register>,
    /// Counts how often a user has begun branches.
    branch_draws: Option<Register>,
    /// State of the branches that are being compiled.
    pub(super) in_branch: Option<InBranch>,
    /// A step before has opened a WebSocket or a TCP connection.
    pub(super) has_ws: bool,
    /// The protocol of the WebSocket that was opened last.
    pub(super) protocol: Option<Protocol>,
    /// The call that was opened last, if it was the last of all these.
    pub(super) call: Option<OpenCall>,
    /// A step before has opened a WebSocket, a TCP connection or an event stream, or begun to poll.
    pub(super) has_stream: bool,
}

impl Program {
    /// A program that begins in this line.
    pub(super) fn at_line(line: u32) -> Program {
        Program { line, ..Program::default() }
    }

    /// The next instruction's place.
    pub(super) fn pc(&self) -> Pc {
        Pc::try_from(self.ops.len()).expect("the limit on nodes bounds a program's length")
    }

    pub(super) fn push(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.lines.push(self.line);
        self.ops.len() - 1
    }

    /// Points a jump that was pushed before at the next instruction.
    pub(super) fn land(&mut self, at: usize) {
        let here = self.pc();
        match &mut self.ops[at] {
            Op::Jump(to) | Op::JumpUnless { to, .. } | Op::LoopStart { end: to, .. } => *to = here,
            other => unreachable!("{other:?} does not jump forward"),
        }
    }

    pub(super) fn slot(&mut self, name: &str) -> Slot {
        let at = self.slot_names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.slot_names.push(name.to_owned());
            self.slot_names.len() - 1
        });
        index(at)
    }

    pub(super) fn register(&mut self) -> Register {
        self.registers_count += 1;
        index(self.registers_count - 1)
    }

    /// Counts the rows that a user takes of these data; one register for all steps that do.
    pub(super) fn feed_register(&mut self, data: DataId) -> Register {
        if let Some((_, register)) = self.feeds.iter().find(|(of, _)| *of == data) {
            return *register;
        }
        let register = self.register();
        self.feeds.push((data, register));
        register
    }

    /// Counts the pauses before further attempts; one register for all of them.
    pub(super) fn retry_draws(&mut self) -> Register {
        let register = self.retry_draws.unwrap_or_else(|| self.register());
        self.retry_draws = Some(register);
        register
    }

    /// Counts how often a user has begun branches; one register for all such steps.
    pub(super) fn branch_draws(&mut self) -> Register {
        let register = self.branch_draws.unwrap_or_else(|| self.register());
        self.branch_draws = Some(register);
        register
    }

    pub(super) fn registers_count(&self) -> u16 {
        index(self.registers_count)
    }

    /// Whether any instruction from `start` on lets time pass.
    pub(super) fn waits_since(&self, start: usize) -> bool {
        wait_in(&self.ops[start..])
    }
}

/// Whether any of these instructions lets time pass.
pub(super) fn wait_in(ops: &[Op]) -> bool {
    ops.iter().any(Op::waits)
}

/// Whether any of these instructions may turn out not to be possible without being an operation.
pub(super) fn may_fail_in(ops: &[Op]) -> bool {
    let may_fail = |expr: &Expr| !matches!(expr, Expr::Const(_) | Expr::Var(_));
    ops.iter().any(|op| match op {
        Op::Set { value, .. } => value.parts.iter().any(|part| match part {
            TemplatePart::Text(_) | TemplatePart::Bytes(_) => false,
            TemplatePart::Expr(expr, _) => may_fail(expr),
        }),
        // These instructions need a number or a truth value, which a variable need not hold.
        Op::LoopStart { times: expr, .. }
        | Op::JumpUnless { condition: expr, .. }
        | Op::Record { value: expr, .. }
        | Op::ThinkFor(expr) => !matches!(expr, Expr::Const(_)),
        Op::Script(_) | Op::K6(_) | Op::Feed(_) | Op::RetryEnd { until: Some(_) } => true,
        _ => false,
    })
}

/// True if what ends a session may be a failure of no request: an attempt in which a check was false, others who did not
/// come in time.
pub(super) fn may_end_without_request(session: &Session) -> bool {
    session.ops.iter().any(|op| match op {
        Op::Check { .. } => !session.retries.is_empty(),
        Op::Meet(op) => match **op {
            MeetOp::Rendezvous { fails, .. } => fails,
            MeetOp::Dequeue { .. } => true,
            MeetOp::Next { .. } | MeetOp::Enqueue { .. } => false,
        },
        _ => false,
    })
}

/// True if there is an operation that opens what stays open between steps.
pub(super) fn may_lose_in(ops: &[Op]) -> bool {
    // A poll that is lost goes on.
    ops.iter().any(|op| op.stays_open() && !matches!(op, Op::Poll(_)))
}
