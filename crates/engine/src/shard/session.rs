//! The session machine: runs a user's program until it has to wait.

use plan::expr::{EvalError, Expr, Value};
use plan::{Expect, MeasureId, Op, Pc, Save, Session, builtin};
use record::{Measurement, Outcome};
use stats::dist::Dist;

use super::Shard;
use crate::extract::Received;
use crate::user::{NO_CONN, User, Wait};

/// Steps a user may take without waiting before others get their turn.
const STEPS_MAX: u32 = 10_000;
/// A closed population's user whose session could not go on starts again no sooner than this.
const RESTART_NS: u64 = 100_000_000;

/// What comes after an instruction.
pub(super) enum Flow {
    /// The next one.
    Next,
    /// That one.
    Jump(Pc),
    /// Nothing, until the user's wait ends.
    Wait,
    /// The session is over.
    End,
    /// The step cannot be done, which is counted, and the session cannot go on.
    Fail,
}

impl Shard<'_> {
    /// Runs the user from its current instruction, which is due at `user.due_ns`.
    pub(super) fn proceed(&mut self, now_ns: u64, key: u32) {
        let plan = self.plan;
        self.users[key].wait = Wait::Nothing;
        for _ in 0..STEPS_MAX {
            if now_ns >= self.end_ns {
                return self.leave(now_ns, key);
            }
            let user = &self.users[key];
            let session = &plan.sessions[user.session as usize];
            let op = session.ops.get(user.pc as usize);
            match op.map_or(Flow::End, |op| self.step(now_ns, key, session, op)) {
                Flow::Next => self.users[key].pc += 1,
                Flow::Jump(pc) => self.users[key].pc = pc,
                Flow::Wait => return,
                Flow::End if self.repeats(now_ns, key) => self.restart(now_ns, key),
                Flow::End => return self.leave(now_ns, key),
                Flow::Fail => return self.give_up_session(now_ns, key),
            }
        }
        // Others get their turn; the steps that are due stay due.
        self.wait_until(key, now_ns);
    }

    fn step(&mut self, now_ns: u64, key: u32, session: &Session, op: &Op) -> Flow {
        match op {
            Op::Http(http) => self.begin_http(now_ns, key, http),
            Op::WsOpen(open) => self.begin_open(now_ns, key, open),
            Op::SseOpen(open) => self.begin_events(now_ns, key, open),
            Op::TcpOpen(open) => self.begin_tcp(now_ns, key, open),
            Op::Poll(poll) => self.begin_poll(now_ns, key, poll),
            Op::WsSend(send) => self.begin_send(now_ns, key, send),
            Op::Channel(op) => self.begin_channel(now_ns, key, op),
            Op::WsExpect(expect) => self.begin_expect(now_ns, key, expect),
            Op::WsClose { code } => self.begin_close(now_ns, key, *code),
            Op::Think(dist) => self.think(now_ns, key, dist),
            Op::Pace { register, every } => self.pace(now_ns, key, *register, every),
            Op::TransactionStart { register } => {
                let user = &mut self.users[key];
                user.registers[*register as usize] = user.due_ns;
                Flow::Next
            }
            Op::TransactionEnd { register, measure } => {
                self.end_transaction(now_ns, key, *register, *measure)
            }
            Op::Jump(pc) => Flow::Jump(*pc),
            Op::Choose(branches) => Flow::Jump(choose(&mut self.users[key], branches)),
            Op::Stop => Flow::End,
            Op::Feed(feed) => self.feed(now_ns, key, feed),
            Op::LoopEnd { register, body } => {
                let left = &mut self.users[key].registers[*register as usize];
                *left = left.saturating_sub(1);
                if *left > 0 {
                    Flow::Jump(*body)
                } else {
                    Flow::Next
                }
            }
            Op::Restart {
                register,
                times_max,
            } => self.begin_anew(now_ns, key, *register, *times_max),
            Op::Set { .. }
            | Op::Check { .. }
            | Op::LoopStart { .. }
            | Op::JumpUnless { .. }
            | Op::ThinkFor(_) => self.compute(now_ns, key, op).unwrap_or_else(|error| {
                let at = self.users[key].pc;
                let measure = match op {
                    Op::Check { measure, .. } => *measure,
                    _ => self.plan.faults,
                };
                self.fault(now_ns, key, measure, || {
                    format!("session {:?}, instruction {at}: {error}", session.name)
                });
                Flow::Fail
            }),
        }
    }

    /// The instructions that evaluate something; none of them waits for the target.
    fn compute(&mut self, now_ns: u64, key: u32, op: &Op) -> Result<Flow, EvalError> {
        let unix_ms = self.unix_ms(now_ns);
        match op {
            Op::Set { slot, value } => {
                let value = value.eval(&mut self.users[key].scope(unix_ms))?;
                self.users[key].slots[*slot as usize] = value;
            }
            Op::Check { condition, measure } => {
                let holds = condition.eval_bool(&mut self.users[key].scope(unix_ms))?;
                let outcome = if holds { Outcome::Ok } else { Outcome::Check };
                self.recorder.check(*measure, outcome);
            }
            Op::LoopStart {
                register,
                times,
                end,
            } => {
                let times = times.eval_count(&mut self.users[key].scope(unix_ms))?;
                self.users[key].registers[*register as usize] = times;
                if times == 0 {
                    return Ok(Flow::Jump(*end));
                }
            }
            Op::JumpUnless { condition, to } => {
                let holds = condition.eval_bool(&mut self.users[key].scope(unix_ms))?;
                return Ok(if holds { Flow::Next } else { Flow::Jump(*to) });
            }
            Op::ThinkFor(seconds) => {
                let seconds = seconds.eval_number(&mut self.users[key].scope(unix_ms))?;
                return Ok(self.pause(now_ns, key, nanoseconds(seconds)));
            }
            _ => {}
        }
        Ok(Flow::Next)
    }

    /// Back to the session's first step with all variables, if that was not done too often.
    fn begin_anew(&mut self, now_ns: u64, key: u32, register: u16, times_max: u64) -> Flow {
        let done = &mut self.users[key].registers[register as usize];
        if *done >= times_max {
            return Flow::End;
        }
        *done += 1;
        self.give_up_background(now_ns, key);
        self.drop_stream(key);
        Flow::Jump(0)
    }

    /// The next step is due this much after the last one was done, whenever that is noticed.
    fn think(&mut self, now_ns: u64, key: u32, dist: &Dist) -> Flow {
        let pause_ns = nanoseconds(dist.sample(&mut self.users[key].think));
        self.pause(now_ns, key, pause_ns)
    }

    fn pause(&mut self, now_ns: u64, key: u32, pause_ns: u64) -> Flow {
        let user = &mut self.users[key];
        user.due_ns = user.ready_ns.saturating_add(pause_ns);
        user.ready_ns = user.due_ns;
        self.resume_at_due(now_ns, key)
    }

    /// Keeps to a schedule that replies cannot delay: the mark moves on by the interval however
    /// long the user was busy.
    fn pace(&mut self, now_ns: u64, key: u32, register: u16, every: &Dist) -> Flow {
        let user = &mut self.users[key];
        let interval_ns = nanoseconds(every.sample(&mut user.think)).max(1);
        let mark = &mut user.registers[register as usize];
        let due_ns = if *mark == 0 { user.due_ns } else { *mark };
        *mark = due_ns.saturating_add(interval_ns);
        user.ready_ns = user.ready_ns.max(due_ns);
        user.due_ns = due_ns;
        self.resume_at_due(now_ns, key)
    }

    /// Goes on at once where the user is already due, else waits for it.
    fn resume_at_due(&mut self, now_ns: u64, key: u32) -> Flow {
        let user = &mut self.users[key];
        if user.ready_ns <= now_ns {
            return Flow::Next;
        }
        user.pc += 1;
        let at_ns = user.ready_ns;
        self.wait_until(key, at_ns);
        Flow::Wait
    }

    pub(super) fn wait_until(&mut self, key: u32, at_ns: u64) {
        let user = &mut self.users[key];
        user.wait = Wait::Until;
        user.deadline_ns = at_ns;
        self.arm(key, at_ns);
    }

    /// An operation is in flight until news comes or `deadline_ns` passes. A timer that is set
    /// earlier is left alone: it will see that the deadline is later.
    pub(super) fn wait_for(&mut self, key: u32, wait: Wait, deadline_ns: u64) {
        let user = &mut self.users[key];
        user.wait = wait;
        user.deadline_ns = deadline_ns;
        if self
            .wheel
            .deadline_ns(key)
            .is_none_or(|armed| armed > deadline_ns)
        {
            self.arm(key, deadline_ns);
        }
    }

    fn end_transaction(
        &mut self,
        now_ns: u64,
        key: u32,
        register: u16,
        measure: MeasureId,
    ) -> Flow {
        let user = &self.users[key];
        let start_ns = user.registers[register as usize];
        let row = Measurement {
            due_ns: start_ns,
            sent_ns: start_ns,
            done_ns: user.ready_ns.clamp(start_ns, now_ns),
            ..blank(user, measure)
        };
        self.recorder.operation(row, 0);
        Flow::Next
    }

    /// An operation begins now.
    pub(super) fn begin(&mut self, now_ns: u64, key: u32) {
        let user = &mut self.users[key];
        user.sent_ns = now_ns.max(user.due_ns);
        user.bytes_out = 0;
        user.bytes_in = 0;
        user.retries = 0;
        self.recorder.counts.sends += 1;
        self.in_flight += 1;
    }

    /// Writes down how the operation in flight ended.
    pub(super) fn record_operation(
        &mut self,
        now_ns: u64,
        key: u32,
        outcome: Outcome,
        status: u16,
    ) {
        self.in_flight -= 1;
        let user = &self.users[key];
        let op = &self.plan.sessions[user.session as usize].ops[user.pc as usize];
        let Some(measure) = measure_of(op) else {
            return;
        };
        let row = Measurement {
            due_ns: user.due_ns,
            sent_ns: user.sent_ns,
            done_ns: now_ns.max(user.sent_ns),
            outcome,
            status,
            ..blank(user, measure)
        };
        self.recorder.counts.bytes_out += u64::from(user.bytes_out);
        self.recorder.counts.bytes_in += u64::from(user.bytes_in);
        self.recorder.operation(
            row,
            user.sent_ns.saturating_sub(user.ready_ns.max(user.due_ns)),
        );
    }

    /// The operation in flight ended and the user may go on; its next step is due now.
    pub(super) fn complete(&mut self, now_ns: u64, key: u32, outcome: Outcome, status: u16) {
        self.record_operation(now_ns, key, outcome, status);
        let user = &mut self.users[key];
        user.pc += 1;
        user.due_ns = now_ns;
        user.ready_ns = now_ns;
        self.proceed(now_ns, key);
    }

    /// The operation in flight failed and the session cannot go on.
    pub(super) fn fail(&mut self, now_ns: u64, key: u32, outcome: Outcome, status: u16) {
        self.record_operation(now_ns, key, outcome, status);
        let user = &mut self.users[key];
        if outcome.is_generator_limit() && !user.connected {
            // It was counted as started a moment ago, in this same interval or the one before.
            let counts = &mut self.recorder.counts;
            counts.users_started = counts.users_started.saturating_sub(1);
            counts.users_refused += 1;
            if !self.repeats(now_ns, key) {
                // It was never there, so it has not finished either.
                return self.remove_user(key);
            }
        }
        self.give_up_session(now_ns, key);
    }

    /// Keeps an error's text for the operation in flight.
    pub(super) fn explain(
        &mut self,
        now_ns: u64,
        key: u32,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let user = &self.users[key];
        let op = self.plan.sessions[user.session as usize]
            .ops
            .get(user.pc as usize);
        let measure = op.and_then(measure_of).unwrap_or(builtin::CONNECT);
        self.recorder
            .example(now_ns, measure, outcome, user.number, detail);
    }

    /// Counts a step that cannot be done, outside of any operation.
    pub(super) fn fault(
        &mut self,
        now_ns: u64,
        key: u32,
        measure: MeasureId,
        detail: impl FnOnce() -> String,
    ) {
        let user = self.users[key].number;
        self.recorder
            .example(now_ns, measure, Outcome::Step, user, detail);
        self.recorder.check(measure, Outcome::Step);
    }

    /// Keeps what a step wants kept of a response or message, then looks at its conditions.
    pub(super) fn examine(
        &mut self,
        now_ns: u64,
        key: u32,
        save: &[Save],
        check: &[Expr],
        received: &Received<'_>,
    ) -> Outcome {
        if let Err(detail) = self.keep(now_ns, key, save, received) {
            self.explain(now_ns, key, Outcome::Save, || detail);
            return Outcome::Save;
        }
        let unix_ms = self.unix_ms(now_ns);
        for condition in check {
            match condition.eval_bool(&mut self.users[key].scope(unix_ms)) {
                Ok(true) => {}
                Ok(false) => {
                    self.explain(now_ns, key, Outcome::Check, || {
                        format!("a check does not hold; received {}", excerpt(received.body))
                    });
                    return Outcome::Check;
                }
                Err(error) => {
                    self.explain(now_ns, key, Outcome::Check, || error.to_string());
                    return Outcome::Check;
                }
            }
        }
        Outcome::Ok
    }

    /// Keeps what a step wants kept. The error says what could not be.
    pub(super) fn keep(
        &mut self,
        now_ns: u64,
        key: u32,
        save: &[Save],
        received: &Received<'_>,
    ) -> Result<(), String> {
        let unix_ms = self.unix_ms(now_ns);
        for save in save {
            let user = &mut self.users[key];
            let found = received.value(&save.from).map(Ok);
            let fallback = || Some(save.default.as_ref()?.eval(&mut user.scope(unix_ms)));
            match found.or_else(fallback) {
                Some(Ok(value)) => self.users[key].slots[save.slot as usize] = value,
                Some(Err(error)) => return Err(error.to_string()),
                None => {
                    let body = excerpt(received.body);
                    return Err(format!("nothing at {:?} in {body}", save.from));
                }
            }
        }
        Ok(())
    }

    /// Ends an operation whose answer was examined: what could not be saved ends the session,
    /// since later steps would send nonsense.
    pub(super) fn conclude(&mut self, now_ns: u64, key: u32, outcome: Outcome, status: u16) {
        match outcome {
            Outcome::Save => self.fail(now_ns, key, outcome, status),
            _ => self.complete(now_ns, key, outcome, status),
        }
    }

    /// The session cannot go on: the user starts it anew (closed populations) after a pause that keeps
    /// a target that refuses from being hammered, and a step that cannot be done from spinning; or leaves.
    pub(super) fn give_up_session(&mut self, now_ns: u64, key: u32) {
        if self.repeats(now_ns, key) {
            self.restart(now_ns, key);
            let user = &mut self.users[key];
            user.due_ns = now_ns + RESTART_NS;
            user.ready_ns = user.due_ns;
            self.wait_until(key, now_ns + RESTART_NS);
        } else {
            self.leave(now_ns, key);
        }
    }

    fn repeats(&self, now_ns: u64, key: u32) -> bool {
        now_ns < self.end_ns && now_ns < self.users[key].repeats_until_ns
    }

    /// Puts the user back to its session's start. Pace marks stay, so that a session can keep to
    /// a pace from start to start.
    fn restart(&mut self, now_ns: u64, key: u32) {
        self.recorder.counts.users_finished += 1;
        self.recorder.counts.users_repeated += 1;
        self.recorder.counts.users_started += 1;
        self.give_up_background(now_ns, key);
        self.drop_stream(key);
        let user = &mut self.users[key];
        user.iteration += 1;
        user.pc = 0;
        user.slots.fill(Value::Nothing);
        self.forget_identity(key, false);
        self.end_tracks(key);
    }

    /// The user goes: with a close frame where it has a WebSocket, else at once.
    pub(super) fn leave(&mut self, now_ns: u64, key: u32) {
        self.recorder.counts.users_finished += 1;
        self.give_up_background(now_ns, key);
        if self.begin_leaving(key) {
            self.wait_for(key, Wait::Leaving, now_ns + super::LEAVE_NS);
        } else {
            self.remove_user(key);
        }
    }

    pub(super) fn remove_user(&mut self, key: u32) {
        while self.users[key].conn != NO_CONN {
            let conn = self.users[key].conn;
            self.close_conn(conn);
        }
        self.wheel.disarm(key);
        self.forget_identity(key, true);
        self.end_tracks(key);
        self.users.remove(key);
    }
}

/// A row with what it has from the user and its operation.
pub(super) fn blank(user: &User, measure: MeasureId) -> Measurement {
    Measurement {
        due_ns: 0,
        sent_ns: 0,
        done_ns: 0,
        user: user.number,
        measure,
        session: user.session,
        worker: 0,
        outcome: Outcome::Ok,
        status: 0,
        weight: 1,
        bytes_out: user.bytes_out,
        bytes_in: user.bytes_in,
    }
}

/// Where the operation's times go.
fn measure_of(op: &Op) -> Option<MeasureId> {
    match op {
        Op::Http(http) => Some(http.measure),
        Op::WsOpen(open) => Some(open.measure),
        Op::SseOpen(open) => Some(open.measure),
        Op::Poll(poll) => Some(poll.measure),
        Op::TcpOpen(open) => Some(open.measure),
        Op::WsSend(send) => Some(reply_measure(send.reply.as_ref()).unwrap_or(send.measure)),
        Op::Channel(op) => Some(op.measure),
        Op::WsExpect(expect) => Some(expect.measure),
        _ => None,
    }
}

fn reply_measure(reply: Option<&Expect>) -> Option<MeasureId> {
    reply.map(|expect| expect.measure)
}

fn choose(user: &mut User, branches: &[(f64, Pc)]) -> Pc {
    let total: f64 = branches.iter().map(|(weight, _)| weight).sum();
    let mut left = user.choice.unit() * total;
    for &(weight, pc) in branches {
        left -= weight;
        if left < 0.0 {
            return pc;
        }
    }
    // Rounding left a hair; the compiler makes no empty choice.
    branches
        .iter()
        .rfind(|(weight, _)| *weight > 0.0)
        .map_or(user.pc + 1, |&(_, pc)| pc)
}

/// Seconds to nanoseconds; below zero and not a number count as none.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

/// The beginning of a body, for messages.
pub(super) fn excerpt(body: &[u8]) -> String {
    const BYTES_MAX: usize = 200;
    let shown = String::from_utf8_lossy(&body[..body.len().min(BYTES_MAX)]);
    let more = if body.len() > BYTES_MAX { "…" } else { "" };
    format!("{shown:?}{more}")
}
