//! The instructions: runs a user's program until it has to wait.

use plan::expr::{Condition, EvalError, Expr, Value};
use plan::{
    ChannelVerb, DrawnRow, Feed, MeasureId, Metric, MetricId, Op, Order, Pc, Register, Slot,
};
use record::Outcome;
use record::schema::WorkKind;
use stats::decimal::{Decimal, MAGNITUDE_MAX};
use stats::dist::Dist;
use stats::metrics::MetricKind;

use crate::failures::{Cause, FailureReport};
use crate::interpreter::{Flow, Interpreter};
use crate::tables::slots::UserKey;
use crate::trace::TraceEvent;
use crate::users::{Scope, User, Wait};

/// Steps a user may take without waiting before others get their turn.
const STEPS_MAX: u32 = 10_000;
impl Interpreter<'_> {
    /// Runs the user from its current instruction, which is due at `user.due_ns`.
    pub(crate) fn proceed(&mut self, now_ns: u64, key: UserKey) {
        self.users[key].wait = Wait::Nothing;
        for _ in 0..STEPS_MAX {
            if now_ns >= self.end_ns && self.users.session(key).is_endless(self.users[key].pc) {
                return self.finish_endless(now_ns, key);
            }
            let op = self.users.op(key);
            if self.recorder.trace.is_some() && !self.trace_step(key) {
                return self.finish_early(now_ns, key);
            }
            // Polls are due one after the other, and counted as they begin.
            let due = op.filter(|op| !matches!(op, Op::Poll(_)));
            if let Some(measure) = due.and_then(Op::measure) {
                self.recorder.due(measure);
            }
            match op.map_or(Flow::End, |op| self.step(now_ns, key, op)) {
                Flow::Next => self.users[key].pc += 1,
                Flow::Jump(pc) => self.users[key].pc = pc,
                Flow::Wait => return,
                Flow::End if self.finish_session(now_ns, key) => {}
                Flow::End => return,
                Flow::Fail => {
                    return self.give_up_session(now_ns, key, self.users.blame(), 0);
                }
                Flow::NoMemory => {
                    return self.give_up_session(now_ns, key, Outcome::NoMemory, 0);
                }
            }
        }
        // Others get their turn; the steps that are due stay due.
        self.wait_until(key, now_ns);
    }

    fn step(&mut self, now_ns: u64, key: UserKey, op: &Op) -> Flow {
        self.users.clear_blame();
        match op {
            Op::Http(http) => self.request(now_ns, key, http),
            Op::CallEnd(end) => self.end_call_by_step(now_ns, key, end),
            Op::Send(send) => self.send(now_ns, key, send),
            Op::Channel(op) if op.verb == ChannelVerb::Leave => {
                let before = self.topics(key);
                let flow = self.send_to_channel(now_ns, key, op);
                self.leave_topics(now_ns, key, before);
                flow
            }
            Op::Channel(op) => self.send_to_channel(now_ns, key, op),
            Op::Expect(expect) => self.expect(now_ns, key, expect),
            Op::Close { code } => self.close(now_ns, key, *code, ""),
            Op::Think(dist) => self.think(now_ns, key, dist),
            Op::Pace { register, every } => self.pace(now_ns, key, *register, every),
            Op::TransactionStart { register, failure, measure } => {
                self.begin_transaction(key, *register, *failure, *measure)
            }
            Op::TransactionEnd { register, failure, measure } => {
                self.end_transaction(now_ns, key, *register, *failure, *measure)
            }
            Op::Jump(pc) => Flow::Jump(*pc),
            Op::Choose(branches) => Flow::Jump(choose(&mut self.users[key], branches)),
            Op::Stop => Flow::End,
            Op::Feed(feed) => self.feed(now_ns, key, feed),
            Op::K6(op) => self.run_k6(now_ns, key, op),
            Op::K6Next(next) => self.next_k6(now_ns, key, next),
            Op::Meet(op) => self.meet(now_ns, key, op),
            Op::LoopEnd { register, body } => {
                let left = &mut self.users[key].registers[register.index()];
                *left = left.saturating_sub(1);
                if *left > 0 { Flow::Jump(*body) } else { Flow::Next }
            }
            Op::Parallel(parallel) => self.fork(now_ns, key, parallel),
            Op::BranchEnd => self.end_branch(now_ns, key),
            Op::RetryStart { attempts } => {
                self.users[key].registers[attempts.index()] = 1;
                Flow::Next
            }
            Op::Restart { register, times_max } => {
                self.restart_at_first_step(now_ns, key, *register, *times_max)
            }
            Op::Set { .. }
            | Op::Script(_)
            | Op::Check { .. }
            | Op::Measure { .. }
            | Op::Record { .. }
            | Op::LoopStart { .. }
            | Op::JumpUnless { .. }
            | Op::RetryEnd { .. }
            | Op::ThinkFor(_) => self.compute(now_ns, key, op).unwrap_or_else(|error| {
                self.cannot_compute(now_ns, key, op, &error);
                Flow::Fail
            }),
            // The protocols know which instructions open their connections.
            _ => self.open(now_ns, key, op),
        }
    }

    fn cannot_compute(&mut self, now_ns: u64, key: UserKey, op: &Op, error: &EvalError) {
        let at = self.users[key].pc;
        let session = self.users.session(key);
        let measure = match op {
            Op::Check { measure, .. } | Op::Measure { measure, .. } => *measure,
            _ => self.plan.faults,
        };
        self.fault(now_ns, key, measure, || format!("{}: {error}", session.place(at)));
    }

    /// The instructions that evaluate an expression; none waits for the target.
    fn compute(&mut self, now_ns: u64, key: UserKey, op: &Op) -> Result<Flow, EvalError> {
        match op {
            Op::Set { slot, value } => {
                let value = self.evaluate(now_ns, key, |scope| value.eval(scope))?;
                if let Some(flow) = self.assign(now_ns, key, *slot, value) {
                    return Ok(flow);
                }
            }
            Op::Script(op) => {
                let began_ns = self.begin_making(key);
                let values = self.users.run_script(now_ns, key, op);
                self.end_work(key, WorkKind::Step, began_ns);
                for (slot, value) in values? {
                    if let Some(flow) = self.assign(now_ns, key, slot, value) {
                        return Ok(flow);
                    }
                }
            }
            Op::Check { condition, measure } => {
                return self.check(now_ns, key, condition, *measure);
            }
            Op::RetryEnd { until: Some(until) } => {
                if !self.evaluate(now_ns, key, |scope| until.holds(scope))? {
                    self.fail_attempt(now_ns, key, until);
                    return Ok(Flow::Wait);
                }
                self.trace_check(now_ns, key, until, true);
            }
            Op::Measure { value, unit_ns, measure } => {
                let value = self.evaluate(now_ns, key, |scope| value.eval_number(scope))?;
                if value >= 0.0 {
                    self.recorder.time(*measure, (value * unit_ns) as u64);
                } else {
                    let text = || format!("{value} is no time: it is below 0");
                    self.fault(now_ns, key, *measure, text);
                }
            }
            Op::Record { value, metric } => self.record(now_ns, key, value, *metric)?,
            Op::LoopStart { register, times, end } => {
                let times = self.evaluate(now_ns, key, |scope| times.eval_count(scope))?;
                self.users[key].registers[register.index()] = times;
                if times == 0 {
                    return Ok(Flow::Jump(*end));
                }
            }
            Op::JumpUnless { condition, to } => {
                let holds = self.evaluate(now_ns, key, |scope| condition.eval_bool(scope))?;
                return Ok(if holds { Flow::Next } else { Flow::Jump(*to) });
            }
            Op::ThinkFor(seconds) => {
                let seconds = self.evaluate(now_ns, key, |scope| seconds.eval_number(scope))?;
                return Ok(self.pause(now_ns, key, nanoseconds(seconds)));
            }
            _ => {}
        }
        Ok(Flow::Next)
    }

    /// Records a number of a metric, or why there is none.
    fn record(
        &mut self,
        now_ns: u64,
        key: UserKey,
        value: &Expr,
        metric: MetricId,
    ) -> Result<(), EvalError> {
        let plan = self.plan;
        let Metric { name, kind, .. } = &plan.metrics[metric.index()];
        let number = match kind {
            MetricKind::Share => {
                let holds = self.evaluate(now_ns, key, |scope| value.eval_bool(scope))?;
                f64::from(u8::from(holds))
            }
            MetricKind::Counter | MetricKind::Gauge | MetricKind::Quantity => {
                self.evaluate(now_ns, key, |scope| value.eval_number(scope))?
            }
        };
        match Decimal::from_f64(number) {
            Some(decimal) if *kind == MetricKind::Counter && decimal < Decimal::ZERO => {
                let text =
                    || format!("{number} cannot be added to the counter `{name}`: it is below 0");
                self.fault(now_ns, key, plan.faults, text);
            }
            Some(decimal) => self.recorder.metric(now_ns, metric, decimal),
            None => {
                let text = || {
                    format!(
                        "{number} is no number of `{name}`: these lie between -{MAGNITUDE_MAX:e} and {MAGNITUDE_MAX:e}"
                    )
                };
                self.fault(now_ns, key, plan.faults, text);
            }
        }
        Ok(())
    }

    /// Evaluates an expression of the user's step.
    fn evaluate<T>(
        &mut self,
        now_ns: u64,
        key: UserKey,
        evaluate: impl FnOnce(&mut Scope<'_>) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let began_ns = self.begin_making(key);
        let value = evaluate(&mut self.users.scope(now_ns, key));
        self.end_work(key, WorkKind::Step, began_ns);
        value
    }

    /// Gives a variable its value. The flow is what comes of it if there is no memory for that.
    pub(crate) fn assign(
        &mut self,
        now_ns: u64,
        key: UserKey,
        slot: Slot,
        value: Value,
    ) -> Option<Flow> {
        self.trace_console();
        self.trace_set(slot, &value);
        if self.users.store(key, slot, value) {
            return None;
        }
        let measure = self.plan.faults;
        self.out_of_memory(now_ns, key, measure);
        Some(Flow::NoMemory)
    }

    /// Evaluates a condition. The user continues if it is false, unless that ends its attempt.
    fn check(
        &mut self,
        now_ns: u64,
        key: UserKey,
        condition: &Condition,
        measure: MeasureId,
    ) -> Result<Flow, EvalError> {
        let holds = self.evaluate(now_ns, key, |scope| condition.holds(scope))?;
        let outcome = if holds { Outcome::Ok } else { Outcome::Check };
        self.trace_check(now_ns, key, condition, holds);
        if !holds {
            self.fail_transactions(key, outcome);
            let user = self.users[key].number;
            let names = &self.users.session(key).slot_names;
            let cause = Cause::Named(&condition.text);
            let failed =
                FailureReport { cause, ..FailureReport::new(now_ns, measure, outcome, user) };
            self.recorder.explain(&failed, || {
                let why = condition.explain(&mut self.users.scope(now_ns, key), names);
                self.users.discreet(key, why)
            });
        }
        self.recorder.check(measure, outcome);
        if !holds && self.is_attempt(key) {
            self.give_up_session(now_ns, key, outcome, 0);
            return Ok(Flow::Wait);
        }
        Ok(Flow::Next)
    }

    /// Back to the session's first step with all variables, at most `times_max` times.
    fn restart_at_first_step(
        &mut self,
        now_ns: u64,
        key: UserKey,
        register: Register,
        times_max: u64,
    ) -> Flow {
        let done = &mut self.users[key].registers[register.index()];
        if *done >= times_max {
            return Flow::End;
        }
        *done += 1;
        self.end_transactions(now_ns, key, Outcome::Unfinished);
        self.give_up_background(now_ns, key);
        self.drop_stream(now_ns, key);
        Flow::Jump(0)
    }

    /// The next step is due this much after the last one was done, whenever that is noticed.
    fn think(&mut self, now_ns: u64, key: UserKey, dist: &Dist) -> Flow {
        let pause_ns = nanoseconds(dist.sample(&mut self.users[key].think));
        self.pause(now_ns, key, pause_ns)
    }

    fn pause(&mut self, now_ns: u64, key: UserKey, pause_ns: u64) -> Flow {
        let user = &mut self.users[key];
        user.due_ns = user.ready_ns.saturating_add(pause_ns);
        user.ready_ns = user.due_ns;
        self.resume_at_due(now_ns, key)
    }

    /// Keeps to a schedule that replies cannot delay: the mark moves on by the interval however
    /// long the user was busy.
    fn pace(&mut self, now_ns: u64, key: UserKey, register: Register, every: &Dist) -> Flow {
        let user = &mut self.users[key];
        let interval_ns = nanoseconds(every.sample(&mut user.think)).max(1);
        let mark = &mut user.registers[register.index()];
        let due_ns = if *mark == 0 { user.due_ns } else { *mark };
        *mark = due_ns.saturating_add(interval_ns);
        user.ready_ns = user.ready_ns.max(due_ns);
        user.due_ns = due_ns;
        self.resume_at_due(now_ns, key)
    }

    /// Continues at once if the user is already due, else waits for it.
    fn resume_at_due(&mut self, now_ns: u64, key: UserKey) -> Flow {
        let user = &mut self.users[key];
        if user.ready_ns <= now_ns {
            return Flow::Next;
        }
        user.pc += 1;
        let at_ns = user.ready_ns;
        self.wait_until(key, at_ns);
        Flow::Wait
    }

    fn feed(&mut self, now_ns: u64, key: UserKey, feed: &Feed) -> Flow {
        let data = &self.plan.data[feed.data.index()];
        let user = &mut self.users[key];
        let draws = &mut user.registers[feed.register.index()];
        let draw = *draws;
        *draws += 1;
        let drawn = match data.order {
            Order::Once => {
                let row = self.meeting.stock().take_row(feed.data.index());
                row.map_or_else(|| data.none_left(), DrawnRow::Row)
            }
            Order::Sequential | Order::Random | Order::Unique | Order::Popular(_) => {
                data.row(user.number, draw, &mut user.value)
            }
        };
        match drawn {
            DrawnRow::Row(row) => {
                for &(slot, column) in &feed.columns {
                    let value = data.table.value(row, column);
                    self.recorder.trace(|| TraceEvent::Set { slot, value: value.clone() });
                    user.slots[slot.index()] = value;
                }
                return Flow::Next;
            }
            DrawnRow::Error => {
                self.fault(now_ns, key, self.plan.faults, || {
                    let rows = data.table.rows_count();
                    format!("the data {:?} have only {rows} rows", data.name)
                });
                self.users[key].repeats_until_ns = 0;
                return Flow::Fail;
            }
            DrawnRow::Stop => {}
        }
        self.recorder.counts.rows_used_up += 1;
        // A restart would find no row either.
        self.users[key].repeats_until_ns = 0;
        Flow::End
    }
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
    branches.iter().rfind(|(weight, _)| *weight > 0.0).map_or(user.pc + 1, |&(_, pc)| pc)
}

/// Seconds to nanoseconds; below zero and not a number count as none.
pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}
