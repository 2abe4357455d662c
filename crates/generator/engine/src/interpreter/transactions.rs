//! Transactions and groups: how they end.
//!
//! A step that fails fails the transactions and groups that it is in, also if its user continues. They end as the
//! first of their steps that failed did.

use plan::{MeasureId, Pc, Register};
use record::{Measurement, Outcome};

use crate::interpreter::{Flow, Interpreter};
use crate::tables::slots::UserKey;
use crate::users::User;

impl Interpreter<'_> {
    /// The instruction that begins one.
    pub(crate) fn begin_transaction(
        &mut self,
        key: UserKey,
        register: Register,
        failed: Register,
        measure: MeasureId,
    ) -> Flow {
        self.recorder.begin(measure);
        let user = &mut self.users[key];
        user.registers[register.index()] = user.due_ns;
        user.registers[failed.index()] = u64::from(u8::from(Outcome::Ok));
        Flow::Next
    }

    /// The instruction that ends one.
    pub(crate) fn end_transaction(
        &mut self,
        now_ns: u64,
        key: UserKey,
        register: Register,
        failed: Register,
        measure: MeasureId,
    ) -> Flow {
        let now_ns = self.users.now_ns(now_ns);
        let user = &self.users[key];
        let start_ns = user.registers[register.index()];
        let done_ns = user.ready_ns.clamp(start_ns, now_ns);
        let outcome = failure(user, failed);
        self.record_transaction(key, measure, start_ns, done_ns, outcome);
        Flow::Next
    }

    /// The user's current step ended in this way. What is around an attempt is concerned only if the last one fails.
    pub(crate) fn fail_transactions(&mut self, key: UserKey, outcome: Outcome) {
        if !outcome.is_error() {
            return;
        }
        let session = self.users.session(key);
        let attempt = session.retries_around(self.users[key].pc).next();
        let from = attempt.map_or(0, |retry| retry.instructions.start);
        self.fail_transactions_from(key, outcome, from);
    }

    /// The same of the transactions that begin behind this instruction.
    pub(crate) fn fail_transactions_from(&mut self, key: UserKey, outcome: Outcome, from: Pc) {
        if !outcome.is_error() {
            return;
        }
        let session = self.users.session(key);
        let user = &mut self.users[key];
        let open = session.open_transactions(user.pc);
        for transaction in open.filter(|open| open.instructions.start > from) {
            if failure(user, transaction.failure) == Outcome::Ok {
                user.registers[transaction.failure.index()] = u64::from(u8::from(outcome));
            }
        }
    }

    /// The session ends in this way, and what it had in progress with it.
    pub(crate) fn end_transactions(&mut self, now_ns: u64, key: UserKey, outcome: Outcome) {
        self.fail_transactions_from(key, outcome, 0);
        self.end_transactions_from(now_ns, key, outcome, 0);
    }

    /// The transactions end that begin behind this instruction.
    pub(crate) fn end_transactions_from(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        from: Pc,
    ) {
        let session = self.users.session(key);
        let open = session.open_transactions(self.users[key].pc);
        for transaction in open.filter(|open| open.instructions.start > from) {
            let user = &self.users[key];
            let start_ns = user.registers[transaction.register.index()];
            // What was interrupted has no result, even if one of its steps failed.
            let ended = match outcome {
                Outcome::Unfinished => outcome,
                _ => failure(user, transaction.failure),
            };
            let done_ns = now_ns.max(start_ns);
            self.record_transaction(key, transaction.measure, start_ns, done_ns, ended);
        }
    }

    /// Records a transaction with the times at which it was due and done.
    pub(crate) fn record_transaction(
        &mut self,
        key: UserKey,
        measure: MeasureId,
        start_ns: u64,
        done_ns: u64,
        outcome: Outcome,
    ) {
        let row = Measurement {
            due_ns: start_ns,
            sent_ns: start_ns,
            done_ns,
            outcome,
            ..self.users[key].row(measure)
        };
        self.recorder.operation(row, 0, 0);
    }
}

/// How the first operation of a transaction that failed did; [`Outcome::Ok`]: none has.
fn failure(user: &User, register: Register) -> Outcome {
    let code = u8::try_from(user.registers[register.index()]).ok();
    code.and_then(Outcome::from_code).unwrap_or(Outcome::Ok)
}
