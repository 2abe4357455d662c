//! Steps between users: what comes of a rendezvous, a counter and a queue. Their rules are those of `crate::meeting`.
//!
//! A wait for other users is an operation of its own, from when the step was due to when the others were there. It is in
//! flight, but not on its way to the target: gauges leave it out.

use plan::expr::{EvalError, Template, Value};
use plan::{MeetOp, Op};
use record::Outcome;

use crate::interpreter::{Flow, Interpreter};
use crate::meeting::Desk;
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::UserKey;
use crate::users::Wait;

impl Interpreter<'_> {
    fn desk(&mut self) -> &mut Desk<UserKey> {
        let desk = self.desk.as_deref_mut();
        desk.expect("a plan with steps between users declares what they share")
    }

    /// A step between users.
    pub(crate) fn meet(&mut self, now_ns: u64, key: UserKey, op: &MeetOp) -> Flow {
        match op {
            MeetOp::Next { counter, slot } => {
                let number = self.desk().next(*counter);
                self.assign(now_ns, key, *slot, number).unwrap_or(Flow::Next)
            }
            MeetOp::Rendezvous { rendezvous, .. } => {
                self.begin(now_ns, key);
                self.desk().arrive(now_ns, key, *rendezvous);
                self.wait_for_others(key, op)
            }
            MeetOp::Enqueue { queue, value, .. } => {
                self.begin(now_ns, key);
                self.enqueue(now_ns, key, *queue, value)
            }
            MeetOp::Dequeue { queue, .. } => {
                self.begin(now_ns, key);
                match self.desk().take(now_ns, key, *queue) {
                    Some(value) => self.take(now_ns, key, value),
                    None => self.wait_for_others(key, op),
                }
            }
        }
    }

    fn wait_for_others(&mut self, key: UserKey, op: &MeetOp) -> Flow {
        let until_ns = self.users[key].sent_ns.saturating_add(op.timeout_ns());
        self.wait_for(key, Wait::Others, until_ns);
        Flow::Wait
    }

    fn enqueue(&mut self, now_ns: u64, key: UserKey, queue: u16, value: &Template) -> Flow {
        let value: Result<Value, EvalError> = value.eval(&mut self.users.scope(now_ns, key));
        let value = match value {
            Ok(value) => value,
            Err(error) => return self.cannot(now_ns, key, error.to_string()),
        };
        let Err(full) = self.desk().put(queue, value) else {
            return self.done_at_once(now_ns, key);
        };
        let plan = self.plan;
        let name = &plan.meetings.queues[usize::from(queue)].name;
        let detail = || format!("the queue {name:?} is full: {full}");
        self.explain(now_ns, key, Outcome::Step, detail);
        self.record_operation(now_ns, key, Outcome::Step, 0);
        if self.is_attempt(key) {
            self.give_up_session(now_ns, key, Outcome::Step, 0);
            return Flow::Wait;
        }
        self.next_is_due(key, now_ns);
        Flow::Next
    }

    /// A value was there at once.
    fn take(&mut self, now_ns: u64, key: UserKey, value: Value) -> Flow {
        match self.keep_taken(now_ns, key, value) {
            true => self.done_at_once(now_ns, key),
            false => {
                self.record_operation(now_ns, key, Outcome::NoMemory, 0);
                Flow::NoMemory
            }
        }
    }

    /// The user has the value. False: there is no memory for it.
    fn keep_taken(&mut self, now_ns: u64, key: UserKey, value: Value) -> bool {
        let Some(slot) = self.users.op(key).and_then(Op::takes) else {
            return true;
        };
        self.trace_set(slot, &value);
        let is_kept = self.users.store(key, slot, value);
        if !is_kept {
            self.explain(now_ns, key, Outcome::NoMemory, || EXHAUSTED.to_owned());
        }
        is_kept
    }

    /// When it is next looked at who need not wait any longer.
    #[inline]
    pub(crate) fn meet_ns(&self) -> u64 {
        self.desk.as_ref().map_or(u64::MAX, |desk| desk.due_ns())
    }

    /// Lets the next user continue whose wait for others is over. False: there is none.
    #[inline]
    pub(crate) fn end_meeting(&mut self, now_ns: u64) -> bool {
        match &self.desk {
            Some(desk) if desk.due_ns() <= now_ns => self.end_wait(now_ns),
            _ => false,
        }
    }

    fn end_wait(&mut self, now_ns: u64) -> bool {
        let Some(handed) = self.desk().look(now_ns) else {
            return false;
        };
        let key = handed.user;
        self.trace_branch(key);
        if let Some(value) = handed.value
            && !self.keep_taken(now_ns, key, value)
        {
            self.fail(now_ns, key, Outcome::NoMemory, 0);
            return true;
        }
        // What follows is due when all were released. That this loop notices it later is lag.
        let at_ns = handed.at_ns.max(self.users[key].sent_ns);
        self.record_operation(at_ns, key, Outcome::Ok, 0);
        self.users[key].pc += 1;
        self.next_is_due(key, at_ns);
        self.proceed(now_ns, key);
        true
    }

    fn next_is_due(&mut self, key: UserKey, at_ns: u64) {
        let user = &mut self.users[key];
        user.due_ns = at_ns;
        user.ready_ns = at_ns;
    }

    /// A user has waited for others for as long as it may.
    pub(crate) fn give_up_meeting(&mut self, now_ns: u64, key: UserKey) {
        let Some(Op::Meet(op)) = self.users.op(key) else {
            return;
        };
        if !self.desk().give_up(key) {
            // The others are there; it is about to continue.
            return self.wait_for(key, Wait::Others, u64::MAX);
        }
        let waited_ms = now_ns.saturating_sub(self.users[key].sent_ns) / 1_000_000;
        let mut fails = false;
        let detail = match **op {
            MeetOp::Rendezvous { rendezvous, fails: is_final, .. } => {
                fails = is_final;
                let (others, users) = self.desk().present(rendezvous);
                let present = others + 1;
                format!("{present} of {users} users were there after {waited_ms} ms")
            }
            _ => format!("no value came within {waited_ms} ms"),
        };
        self.explain(now_ns, key, Outcome::Timeout, || detail);
        match fails {
            true => self.fail(now_ns, key, Outcome::Timeout, 0),
            false => self.complete(now_ns, key, Outcome::Timeout, 0),
        }
    }

    /// The user does not wait for others any more, if it did: it blocks nobody.
    pub(crate) fn leave_meeting(&mut self, now_ns: u64, key: UserKey) {
        if let Some(desk) = &mut self.desk {
            desk.leave(now_ns, key);
        }
    }
}
