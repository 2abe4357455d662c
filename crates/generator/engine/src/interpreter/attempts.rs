//! Steps that are tried again: what comes after an attempt that failed.
//!
//! A failed step ends its attempt, whether its session could continue or not. What it did is in the record; here is
//! decided where its user continues. Failures are nested: if the last attempt of an inner block fails, that is a failed
//! step of the outer one.

use std::ops::Range;

use plan::expr::Condition;
use plan::{MeasureId, Op, Pc, Retry};
use record::Outcome;
use stats::rng::{Purpose, Rng};

use crate::failures::{Cause, FailureReport};
use crate::interpreter::Interpreter;
use crate::tables::slots::UserKey;
use crate::trace::TraceEvent;
use crate::users::Wait;

impl Interpreter<'_> {
    /// Is the user's step part of an attempt?
    pub(crate) fn is_attempt(&self, key: UserKey) -> bool {
        let session = self.users.session(key);
        let mut around = session.retries_around(self.users[key].pc);
        around.next().is_some()
    }

    /// The user's attempt came to its end, and what it was to reach does not hold.
    pub(crate) fn fail_attempt(&mut self, now_ns: u64, key: UserKey, until: &Condition) {
        self.trace_check(now_ns, key, until, false);
        let session = self.users.session(key);
        let retry = session.retries_around(self.users[key].pc).next();
        if let Some(retry) =
            retry.filter(|retry| self.attempts(key, retry) >= u64::from(retry.attempts_max))
        {
            let user = self.users[key].number;
            let names = &session.slot_names;
            let cause = Cause::Named(&until.text);
            let failed = FailureReport {
                cause,
                ..FailureReport::new(now_ns, retry.measure, Outcome::Check, user)
            };
            self.recorder.explain(&failed, || {
                let why = until.explain(&mut self.users.scope(now_ns, key), names);
                self.users.discreet(key, why)
            });
        }
        self.give_up_session(now_ns, key, Outcome::Check, 0);
    }

    /// The user's step failed in this way, with this status. True: the user continues, with another attempt or with what
    /// comes after the last one. `begun`: where attempts begin that this is of concern to.
    pub(crate) fn end_attempt(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        status: u16,
        begun: Range<Pc>,
    ) -> bool {
        let session = self.users.session(key);
        // No further attempt gets a row of data where there is none left.
        let is_final = matches!(self.users.op(key), Some(Op::Feed(_)));
        if is_final || !outcome.is_error() || outcome.is_generator_limit() {
            return false;
        }
        // Not every failure is one of an operation.
        self.fail_transactions(key, outcome);
        // An attempt that did not reach what it was to reach is tried again, whichever failures are.
        let mut was_whole = matches!(self.users.op(key), Some(Op::RetryEnd { .. }));
        for retry in session.retries_around(self.users[key].pc) {
            let failures = retry.failures.as_ref().filter(|_| !was_whole);
            was_whole = false;
            if !begun.contains(&retry.instructions.start) {
                continue;
            }
            let is_meant = failures.is_none_or(|some| some.contain(outcome.name(), status));
            if is_meant && self.may_try_again(now_ns, key, retry) {
                self.try_again(now_ns, key, retry, outcome);
                return true;
            }
            self.fail_transactions_from(key, outcome, retry.begins());
            if let Some(otherwise) = retry.otherwise {
                self.end_transactions_from(now_ns, key, outcome, retry.begins());
                self.continue_at(now_ns, key, otherwise, 0);
                return true;
            }
        }
        false
    }

    /// Attempts that have begun.
    fn attempts(&self, key: UserKey, retry: &Retry) -> u64 {
        self.users[key].registers[retry.attempts.index()]
    }

    /// Is there another attempt, after a failure that is tried again?
    fn may_try_again(&mut self, now_ns: u64, key: UserKey, retry: &Retry) -> bool {
        if self.attempts(key, retry) >= u64::from(retry.attempts_max) {
            return false;
        }
        let Some(when) = &retry.when else {
            return true;
        };
        match when.eval_bool(&mut self.users.scope(now_ns, key)) {
            Ok(holds) => holds,
            Err(error) => {
                let measure = self.plan.faults;
                self.fault(now_ns, key, measure, || format!("`when` of a retry: {error}"));
                false
            }
        }
    }

    /// The next attempt begins after a pause.
    fn try_again(&mut self, now_ns: u64, key: UserKey, retry: &Retry, outcome: Outcome) {
        self.recorder.retried(retry.measure);
        if let Some(failed) = self.failed_measure(key) {
            self.recorder.retried(failed);
        }
        // The transaction of all attempts continues.
        self.end_transactions_from(now_ns, key, outcome, retry.begins() + 1);
        if retry.opens_stream {
            self.give_up_background(now_ns, key);
            self.drop_stream(now_ns, key);
        }
        let seed = self.plan.seed;
        let user = &mut self.users[key];
        let attempt = user.registers[retry.attempts.index()];
        user.registers[retry.attempts.index()] += 1;
        let draws = &mut user.registers[retry.draws.index()];
        let mut rng = Rng::new(seed, user.number, Purpose::Retry).skip(*draws);
        *draws += 1;
        let pause_ns = retry.pause_ns(attempt, &mut rng);
        self.recorder.trace(|| TraceEvent::Retried {
            measure: retry.measure,
            attempt,
            attempts_max: retry.attempts_max,
            outcome,
            pause_ns,
        });
        self.continue_at(now_ns, key, retry.instructions.start, pause_ns);
    }

    /// The measure of the step that failed; `None`: its attempt came to its end.
    fn failed_measure(&self, key: UserKey) -> Option<MeasureId> {
        match self.users.op(key) {
            Some(Op::RetryEnd { .. }) => None,
            Some(Op::Check { measure, .. } | Op::Measure { measure, .. }) => Some(*measure),
            op => Some(op.and_then(Op::measure).unwrap_or(self.plan.faults)),
        }
    }

    /// The user continues there, this long after its step ended.
    fn continue_at(&mut self, now_ns: u64, key: UserKey, pc: Pc, pause_ns: u64) {
        let user = &mut self.users[key];
        let ended_ns = match user.wait {
            // A step that takes no time ended when it was due.
            Wait::Nothing => user.ready_ns,
            _ => now_ns,
        };
        user.pc = pc;
        user.due_ns = ended_ns.saturating_add(pause_ns);
        user.ready_ns = user.due_ns;
        let due_ns = user.due_ns;
        self.wait_until(key, due_ns);
    }
}
