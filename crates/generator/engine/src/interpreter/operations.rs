//! Measured operations of steps, from their beginning to their row.

use plan::expr::{Condition, EvalError, Value};
use plan::{MeasureId, Op, Save, Slot, builtin, graphql};
use record::{Measurement, Outcome};

use crate::failures::{Answer, Cause, FailureReport, StepPlace};
use crate::interpreter::{Flow, Interpreter};
use crate::received::{ReceivedMessage, Search};
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::UserKey;
use crate::vus::Bytes;

impl Interpreter<'_> {
    /// The operation of a step begins now, which was counted as due.
    pub(crate) fn begin(&mut self, now_ns: u64, key: UserKey) {
        if self.work.is_timed() {
            self.work.begun.push(key);
        }
        let now_ns = self.users.now_ns(now_ns);
        let user = &mut self.users[key];
        user.sent_ns = now_ns.max(user.due_ns);
        user.bytes_out = 0;
        user.bytes_in = 0;
        user.retries = 0;
        user.late_us = 0;
        self.recorder.counts.sends += 1;
        self.in_flight += 1;
        if let Some(measure) = self.users.op(key).and_then(Op::measure) {
            self.recorder.begin_step(measure);
        }
    }

    /// Records how the operation in flight ended.
    pub(crate) fn record_operation(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        status: u16,
    ) {
        self.in_flight -= 1;
        let Some(measure) = self.users.op(key).and_then(Op::measure) else {
            return;
        };
        let user = &self.users[key];
        let row = Measurement {
            due_ns: user.due_ns,
            sent_ns: user.sent_ns,
            done_ns: now_ns.max(user.sent_ns),
            outcome,
            status,
            ..user.row(measure)
        };
        self.recorder.counts.bytes_out += u64::from(user.bytes_out);
        self.recorder.counts.bytes_in += u64::from(user.bytes_in);
        let lag_ns = user.sent_ns.saturating_sub(user.ready_ns.max(user.due_ns));
        let late_ns = u64::from(user.late_us) * 1000 + self.messages.read_late_ns;
        self.recorder.operation(row, lag_ns, late_ns);
        self.fail_transactions(key, outcome);
    }

    /// The operation in flight took a step that its peer waited for: a connection, a redirect. What is read now may have
    /// been there before, and nothing but the rest of the operation comes of it.
    pub(crate) fn took_step(&mut self, key: UserKey) {
        let late_ns = std::mem::take(&mut self.messages.read_late_ns);
        let late_us = &mut self.users[key].late_us;
        *late_us = late_us.saturating_add((late_ns / 1000).try_into().unwrap_or(u32::MAX));
    }

    /// The operation in flight ended and the user continues; its next step is due now. If it failed and later
    /// steps would lack what it was to save, the session ends: a login without an answer has no token. A failed step of
    /// an attempt ends the attempt.
    pub(crate) fn complete(&mut self, now_ns: u64, key: UserKey, outcome: Outcome, status: u16) {
        if outcome != Outcome::Ok && (self.lacks_saved(key) || self.is_attempt(key)) {
            return self.fail(now_ns, key, outcome, status);
        }
        self.record_operation(now_ns, key, outcome, status);
        if outcome == Outcome::Ok {
            self.begin_subscription(now_ns, key);
        }
        let user = &mut self.users[key];
        user.pc += 1;
        user.due_ns = now_ns;
        user.ready_ns = now_ns;
        self.proceed(now_ns, key);
    }

    /// Has a variable no value that the operation in flight was to give it?
    pub(crate) fn lacks_saved(&self, key: UserKey) -> bool {
        let user = &self.users[key];
        let lacks =
            |save: &Save| save.default.is_none() && user.slots[save.slot.index()] == Value::Nothing;
        let op = self.users.op(key);
        op.is_some_and(|op| {
            let is_missing = |slot: Slot| user.slots[slot.index()] == Value::Nothing;
            op.saves().iter().any(lacks) || op.takes().is_some_and(is_missing)
        })
    }

    /// As [`Interpreter::fail`], with the error's text.
    pub(crate) fn fail_because(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        status: u16,
        detail: impl FnOnce() -> String,
    ) {
        let cause = Cause::of_status(outcome, status);
        self.explain_as(now_ns, key, outcome, cause, None, detail);
        self.fail(now_ns, key, outcome, status);
    }

    /// The operation in flight failed, and the session cannot continue unless the step is tried again.
    pub(crate) fn fail(&mut self, now_ns: u64, key: UserKey, outcome: Outcome, status: u16) {
        let by_script = match self.users.op(key) {
            Some(Op::Http(http)) => http.by_script,
            Some(Op::WsOpen(open)) => open.by_script,
            _ => false,
        };
        if let (Some(vus), true) = (&mut self.vus, by_script) {
            vus.failed(key, outcome, status, Bytes::of(&self.users[key]), now_ns);
        }
        self.record_operation(now_ns, key, outcome, status);
        let is_limit = outcome.is_generator_limit();
        let is_new = is_limit && !self.users[self.users.owner(key)].connected;
        if is_new && self.recorder.refuse_started() {
            // It was never there, so its session has not ended either.
            let key = self.become_user(now_ns, key);
            return self.restart_or_remove(now_ns, key);
        }
        self.give_up_session(now_ns, key, outcome, status);
    }

    /// Ends the operation just begun, which has succeeded already; the next step is due now.
    pub(crate) fn done_at_once(&mut self, now_ns: u64, key: UserKey) -> Flow {
        let now_ns = self.users.now_ns(now_ns);
        self.record_operation(now_ns, key, Outcome::Ok, 0);
        let user = &mut self.users[key];
        user.due_ns = now_ns;
        user.ready_ns = now_ns;
        Flow::Next
    }

    /// Ends the operation just begun, which cannot be done.
    pub(crate) fn cannot(&mut self, now_ns: u64, key: UserKey, error: String) -> Flow {
        let outcome = self.users.blame();
        self.explain(now_ns, key, outcome, || error);
        self.record_operation(now_ns, key, outcome, 0);
        Flow::Fail
    }

    /// Takes the text of the failure of the operation in flight.
    pub(crate) fn explain(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.explain_as(now_ns, key, outcome, Cause::Text, None, detail);
    }

    /// Explains a failure by an answer, or a message, that is not as wanted.
    pub(crate) fn explain_answer(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        cause: Cause<'_>,
        received: &ReceivedMessage<'_>,
        detail: impl FnOnce() -> String,
    ) {
        self.explain_as(now_ns, key, outcome, cause, Some(received.answer()), detail);
    }

    pub(crate) fn explain_as(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        cause: Cause<'_>,
        answer: Option<Answer<'_>>,
        detail: impl FnOnce() -> String,
    ) {
        self.trace_branch(key);
        let op = self.users.op(key);
        let measure = op.and_then(Op::measure).unwrap_or(builtin::CONNECT);
        let users = &self.users;
        let detail = || users.discreet(key, detail());
        let failed = FailureReport {
            cause,
            ..FailureReport::new(now_ns, measure, outcome, users[key].number)
        };
        if self.recorder.explain(&failed, detail) {
            self.complete_sample(key, op, answer);
        }
    }

    /// Counts a step that cannot be done, outside of any operation.
    pub(crate) fn fault(
        &mut self,
        now_ns: u64,
        key: UserKey,
        measure: MeasureId,
        detail: impl FnOnce() -> String,
    ) {
        let users = &self.users;
        let outcome = self.users.blame();
        let detail = || users.discreet(key, detail());
        let failed = self.own_failure(now_ns, key, measure, outcome);
        self.recorder.explain(&failed, detail);
        self.recorder.check(measure, outcome);
    }

    /// Counts a value that cannot be kept, outside of any operation.
    pub(crate) fn out_of_memory(&mut self, now_ns: u64, key: UserKey, measure: MeasureId) {
        let outcome = Outcome::NoMemory;
        let failed = self.own_failure(now_ns, key, measure, outcome);
        self.recorder.explain(&failed, || EXHAUSTED.to_owned());
        self.recorder.check(measure, outcome);
    }

    /// A failure of the step that the user is at, outside of any operation.
    fn own_failure(
        &self,
        now_ns: u64,
        key: UserKey,
        measure: MeasureId,
        outcome: Outcome,
    ) -> FailureReport<'static> {
        let user = &self.users[key];
        let step = StepPlace { session: user.session, pc: user.pc };
        let own_step = (measure == self.plan.faults).then_some(step);
        FailureReport { own_step, ..FailureReport::new(now_ns, measure, outcome, user.number) }
    }

    /// Saves what a step wants saved of a response or message, then evaluates its conditions.
    pub(crate) fn examine(
        &mut self,
        now_ns: u64,
        key: UserKey,
        save: &[Save],
        check: &[Condition],
        received: &ReceivedMessage<'_>,
    ) -> Outcome {
        if let Err((outcome, detail)) = self.keep(now_ns, key, save, received) {
            self.explain_answer(now_ns, key, outcome, Cause::Text, received, || detail);
            return outcome;
        }
        for condition in check {
            let holds = condition.holds(&mut self.users.scope(now_ns, key));
            if let Err(error @ EvalError::Script(_)) = &holds {
                let outcome = Outcome::Script;
                let text = || error.to_string();
                self.explain_answer(now_ns, key, outcome, Cause::Text, received, text);
                return outcome;
            }
            let holds = matches!(holds, Ok(true));
            self.trace_check(now_ns, key, condition, holds);
            if !holds {
                let read = save.iter().any(|save| save.from.reads_body());
                self.explain_false(now_ns, key, condition, received, read);
                return Outcome::Check;
            }
        }
        Outcome::Ok
    }

    /// An answer of GraphQL that is not the one that is wanted. Whatever is there of what is to be saved is saved.
    pub(crate) fn answered_with_errors(
        &mut self,
        now_ns: u64,
        key: UserKey,
        wanted: Option<graphql::Answer>,
        save: &[Save],
        received: &ReceivedMessage<'_>,
    ) -> Option<Outcome> {
        let detail = crate::channels::graphql_failure(wanted?, received.body)?;
        let _ = self.keep(now_ns, key, save, received);
        let outcome = Outcome::Graphql;
        self.explain_answer(now_ns, key, outcome, Cause::Text, received, || detail);
        Some(outcome)
    }

    /// Keeps why a condition on an answer is false.
    fn explain_false(
        &mut self,
        now_ns: u64,
        key: UserKey,
        condition: &Condition,
        received: &ReceivedMessage<'_>,
        read: bool,
    ) {
        let op = self.users.op(key);
        let measure = op.and_then(Op::measure).unwrap_or(builtin::CONNECT);
        let user = self.users[key].number;
        let names = &self.users.session(key).slot_names;
        let cause = Cause::Named(&condition.text);
        let failed =
            FailureReport { cause, ..FailureReport::new(now_ns, measure, Outcome::Check, user) };
        let is_kept = self.recorder.explain(&failed, || {
            let why = condition.explain(&mut self.users.scope(now_ns, key), names);
            let text = format!("{why}; received {}", received.shown(read));
            self.users.discreet(key, text)
        });
        if is_kept {
            self.complete_sample(key, op, Some(received.answer()));
        }
    }

    /// Saves what a step wants saved. The error says what is missing, or that there is no memory for it, or that finding
    /// it is too much work.
    pub(crate) fn keep(
        &mut self,
        now_ns: u64,
        key: UserKey,
        save: &[Save],
        received: &ReceivedMessage<'_>,
    ) -> Result<(), (Outcome, String)> {
        let mut search = Search::new();
        for save in save {
            let bytes = received.document_bytes(&save.from);
            let value = || received.value_of(&save.from, &mut search);
            let found = self.users.while_held(bytes, value);
            let found = found.ok_or_else(|| (Outcome::NoMemory, EXHAUSTED.to_owned()))?;
            // It is not known whether the value is there, so that it has no default.
            if let Some(why) = search.too_much.take() {
                return Err((Outcome::TooMuchWork, format!("{why}, for {}", save.from.place())));
            }
            let fallback = || {
                let default = save.default.as_ref()?;
                Some(default.eval(&mut self.users.scope(now_ns, key)))
            };
            match found.map(Ok).or_else(fallback) {
                Some(Ok(value)) => {
                    self.trace_set(save.slot, &value);
                    if !self.users.store(key, save.slot, value) {
                        return Err((Outcome::NoMemory, EXHAUSTED.to_owned()));
                    }
                }
                Some(Err(error @ EvalError::Script(_))) => {
                    return Err((Outcome::Script, error.to_string()));
                }
                Some(Err(error)) => return Err((Outcome::Save, error.to_string())),
                None => {
                    let body = received.shown(save.from.reads_body());
                    let missing = save.from.missing();
                    let note = received.missing_note(&save.from, &search);
                    return Err((Outcome::Save, format!("{missing} in {body}{note}")));
                }
            }
        }
        Ok(())
    }

    /// Ends an operation whose answer was examined: what could not be saved, for whatever reason, ends the session,
    /// since later steps would send nonsense.
    pub(crate) fn conclude(&mut self, now_ns: u64, key: UserKey, outcome: Outcome, status: u16) {
        match outcome {
            Outcome::Save | Outcome::TooMuchWork | Outcome::Script | Outcome::NoMemory => {
                self.fail(now_ns, key, outcome, status);
            }
            _ => self.complete(now_ns, key, outcome, status),
        }
    }
}
