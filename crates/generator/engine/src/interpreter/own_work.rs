//! Times the generator's own work for users (encoding, scripts, what is read from answers), so that it does not count as the
//! target's time.
//!
//! An operation is due when the user comes to it, sent when its bytes leave, and done when the bytes of its answer come.
//! So work for an operation before it leaves is its lag, and so is work on the answer before it.

use plan::Op;
use record::schema::WorkKind;

use crate::failures::StepPlace;
use crate::interpreter::Interpreter;
use crate::measure::WorkPlace;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

impl Interpreter<'_> {
    /// A turn begins: bytes came, or a time is due.
    #[inline]
    pub(crate) fn begin_turn(&mut self, now_ns: u64) {
        self.work.turn_ns = now_ns;
    }

    /// The turn is over. All that it sends leaves now, behind all that was computed in it.
    #[inline]
    pub(crate) fn end_turn(&mut self) {
        while let Some(key) = self.work.begun.pop() {
            self.leave_late(key);
        }
    }

    /// The user's operation, if it began in this turn, was sent when the last work of the turn was done. One that waits
    /// for a connection has sent nothing yet.
    fn leave_late(&mut self, key: UserKey) {
        if self.users.get(key).is_none() {
            return;
        }
        let worked_ns = self.users.worked_ns;
        let user = &mut self.users[key];
        let has_sent = matches!(user.wait, Wait::Response | Wait::Upgrade | Wait::Reply);
        if has_sent && user.sent_ns >= self.work.turn_ns {
            let late_ns = worked_ns.saturating_sub(user.sent_ns);
            user.sent_ns += late_ns;
            user.deadline_ns = user.deadline_ns.saturating_add(late_ns);
        }
    }

    /// The time at which work begins that the user's step needs before it sends or continues; `None`: the step computes
    /// nothing that takes long.
    #[inline]
    pub(crate) fn begin_making(&mut self, key: UserKey) -> Option<u64> {
        let user = &self.users[key];
        let computing = self.work.at(user.session, user.pc);
        self.begin_work(computing.before)
    }

    /// As [`begin_making`](Self::begin_making), for the opening of a stream. One that reconnects does so in the background,
    /// while the user is at another step.
    pub(crate) fn begin_opening(&mut self, key: UserKey, slot: ConnSlot) -> Option<u64> {
        match self.conns[slot].is_background() {
            true => None,
            false => self.begin_making(key),
        }
    }

    /// As [`begin_making`](Self::begin_making), for work on the answer that the step got.
    #[inline]
    pub(crate) fn begin_reading(&mut self, key: UserKey) -> Option<u64> {
        let user = &self.users[key];
        let computing = self.work.at(user.session, user.pc);
        self.begin_work(computing.after)
    }

    /// The time, if the work that begins may take long and is timed at all.
    #[inline]
    pub(crate) fn begin_work(&mut self, is_long: bool) -> Option<u64> {
        let clock = self.work.clock.as_mut().filter(|_| is_long)?;
        Some(clock.now_ns())
    }

    /// Counts work for the user's step that began at `began_ns`, if the clock was read then.
    #[inline]
    pub(crate) fn end_work(&mut self, key: UserKey, kind: WorkKind, began_ns: Option<u64>) {
        if let Some(began_ns) = began_ns {
            self.count_work(key, kind, began_ns);
        }
    }

    fn count_work(&mut self, key: UserKey, kind: WorkKind, began_ns: u64) {
        let Some(clock) = &mut self.work.clock else {
            return;
        };
        let now_ns = clock.after(kind);
        self.users.worked_ns = now_ns;
        let took_ns = now_ns.saturating_sub(began_ns);
        let measure = self.users.op(key).and_then(Op::measure);
        let user = &mut self.users[key];
        // An operation that began in an earlier turn has waited for its connection and is encoded now. Its service time
        // has the wait, but not this work.
        if kind == WorkKind::Encoding && !self.work.begins_now(key) {
            user.sent_ns += took_ns;
        }
        let place = match measure {
            Some(measure) => WorkPlace::Measure(measure),
            None => WorkPlace::Step(StepPlace { session: user.session, pc: user.pc }),
        };
        self.recorder.worked(place, kind, took_ns);
    }
}
