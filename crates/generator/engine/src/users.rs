//! The virtual users of a shard: what each one is made of, and the table of them with their timers.

mod branches;

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use crate::fetch::Branches;
use plan::Plan;
use plan::expr::{Context, EvalError, Value};
use plan::secret::{HIDDEN, hide};
use plan::{EndpointId, MeasureId, Op, ScriptOp, Session, SessionId, Slot};
use record::{Measurement, Outcome};
use stats::rng::{Purpose, Rng};

use crate::schedule::arrivals::by_weight;
use crate::schedule::wheel::Wheel;
use crate::scripts::Scripts;
use crate::tables::budget::{Budget, CHARGED_BYTES_MIN, Charges};
use crate::tables::slots::{ConnSlot, Key, Slots, UserKey};

/// The event that a user waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: it is being run right now.
    Nothing,
    /// A time: a think or a pace.
    Until,
    /// The start of its next session, after one that failed.
    Restart,
    /// A connection for its current step.
    Connect,
    /// The time at which its failed connection is tried again.
    Retry,
    /// The response to its HTTP request.
    Response,
    /// The answer to its WebSocket upgrade or its request for an event stream.
    Upgrade,
    /// A message or an event.
    Reply,
    /// The peer's close frame.
    Close,
    /// A connection of its user's, of which other branches use as many as there may be.
    Turn,
    /// Other users: at a rendezvous, or for a value of a queue.
    Others,
    /// The end of its branches; of a branch, that of the others.
    Branches,
    /// The peer's close frame, for tidiness, after the session is over.
    Leaving,
}

impl Wait {
    /// True while an operation is in flight.
    pub(crate) fn in_flight(self) -> bool {
        match self {
            Wait::Connect
            | Wait::Retry
            | Wait::Response
            | Wait::Upgrade
            | Wait::Reply
            | Wait::Close
            | Wait::Turn
            | Wait::Others => true,
            Wait::Nothing | Wait::Until | Wait::Restart | Wait::Leaving | Wait::Branches => false,
        }
    }
}

/// A virtual user. Idle, it owns no buffer.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) number: u64,
    /// When the current step is, or the next will be, due.
    pub(crate) due_ns: u64,
    /// When the user could have begun it: later than due if a paced step fell due while the
    /// step before was still in flight.
    pub(crate) ready_ns: u64,
    pub(crate) sent_ns: u64,
    /// When the wait ends of itself. The timer may fire earlier and is then armed again.
    pub(crate) deadline_ns: u64,
    /// Closed populations: start again until then; 0: do not.
    pub(crate) repeats_until_ns: u64,
    pub(crate) think: Rng,
    pub(crate) choice: Rng,
    pub(crate) value: Rng,
    pub(crate) slots: Box<[Value]>,
    pub(crate) registers: Box<[u64]>,
    pub(crate) pc: u32,
    pub(crate) iteration: u32,
    /// The first of its connections, which are linked by `Conn::next`.
    pub(crate) conn: ConnSlot,
    /// Application bytes of the operation in flight.
    pub(crate) bytes_out: u32,
    pub(crate) bytes_in: u32,
    /// For how long steps towards its answer may have been there before they were read, in microseconds.
    pub(crate) late_us: u32,
    pub(crate) session: SessionId,
    pub(crate) wait: Wait,
    /// True from its first connection on.
    pub(crate) connected: bool,
    /// How often the operation in flight tried its connection again.
    pub(crate) retries: u8,
    /// True from its first connection on that has due times of its own in the background.
    pub(crate) background: bool,
    /// It is a branch of a user.
    pub(crate) is_branch: bool,
    /// It begins as many sessions as the stock of its process has for it.
    pub(crate) has_number_of_sessions: bool,
}

impl User {
    pub(crate) fn new(seed: u64, number: u64, session: SessionId, due_ns: u64) -> User {
        User {
            number,
            due_ns,
            ready_ns: due_ns,
            sent_ns: due_ns,
            deadline_ns: u64::MAX,
            repeats_until_ns: 0,
            think: Rng::new(seed, number, Purpose::Think),
            choice: Rng::new(seed, number, Purpose::Choice),
            value: Rng::new(seed, number, Purpose::Value),
            slots: Box::default(),
            registers: Box::default(),
            pc: 0,
            iteration: 0,
            conn: ConnSlot::NONE,
            bytes_out: 0,
            bytes_in: 0,
            late_us: 0,
            session,
            wait: Wait::Nothing,
            connected: false,
            retries: 0,
            background: false,
            is_branch: false,
            has_number_of_sessions: false,
        }
    }
}

static NOTHING: Value = Value::Nothing;

/// A user's values as expressions see them.
pub(crate) struct Scope<'a> {
    pub(crate) slots: &'a [Value],
    /// Values that `setup` has set for all users.
    pub(crate) shared: &'a [Value],
    pub(crate) user: u64,
    pub(crate) iteration: u64,
    pub(crate) now_ms: i64,
    pub(crate) rng: &'a mut Rng,
    /// `None`: the plan has no script, or the values are no user's.
    pub(crate) scripts: Option<&'a mut Scripts>,
}

impl Context for Scope<'_> {
    fn var(&self, slot: Slot) -> &Value {
        &self.slots[slot.index()]
    }
    fn shared(&self, slot: Slot) -> &Value {
        self.shared.get(slot.index()).unwrap_or(&NOTHING)
    }
    fn user(&self) -> u64 {
        self.user
    }
    fn iteration(&self) -> u64 {
        self.iteration
    }
    fn now_ms(&self) -> i64 {
        self.now_ms
    }
    fn rng(&mut self) -> &mut Rng {
        self.rng
    }
    fn call_script(&mut self, function: u16, arguments: &[Value]) -> Result<Value, EvalError> {
        match &mut self.scripts {
            Some(scripts) => scripts.call(function, arguments, self.now_ms, self.rng),
            None => Err(EvalError::Script("no script is loaded".to_owned())),
        }
    }
}

impl User {
    /// A row with what it has from the user and its operation.
    pub(crate) fn row(&self, measure: MeasureId) -> Measurement {
        Measurement {
            due_ns: 0,
            sent_ns: 0,
            done_ns: 0,
            user: self.number,
            measure: measure.0,
            session: self.session.0,
            loop_id: 0,
            outcome: Outcome::Ok,
            status: 0,
            weight: 1,
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
        }
    }

    /// The user's values at `unix_ms`, and those that all users share.
    pub(crate) fn scope<'a>(&'a mut self, unix_ms: i64, shared: &'a [Value]) -> Scope<'a> {
        Scope {
            slots: &self.slots,
            shared,
            user: self.number,
            iteration: u64::from(self.iteration),
            now_ms: unix_ms,
            rng: &mut self.value,
            scripts: None,
        }
    }
}

/// The users that are present, and their timers, one for each. Their branches have rows and timers of their own.
#[derive(Debug)]
pub(crate) struct Users<'p> {
    plan: &'p Plan,
    table: Slots<UserKey, User>,
    pub(crate) branches: Branches<UserKey>,
    pub(crate) wheel: Wheel,
    /// Memory of the values that users have saved, by key.
    saved: Charges,
    /// The plan's JavaScript.
    pub(crate) scripts: Option<Box<Scripts>>,
    /// The run's zero, nanoseconds since the Unix epoch.
    pub(crate) zero_unix_ns: u64,
    /// When work of our own was last done.
    pub(crate) worked_ns: u64,
    /// When the sessions of the users were due, by key; `None`: nobody needs to know how long they take.
    sessions_due_ns: Option<Vec<u64>>,
}

impl<'p> Users<'p> {
    pub(crate) fn with_capacity(
        plan: &'p Plan,
        capacity: usize,
        buffers: &Arc<Budget>,
    ) -> Users<'p> {
        Users {
            plan,
            table: Slots::with_capacity(capacity),
            branches: Branches::default(),
            wheel: Wheel::with_capacity(capacity),
            saved: Charges::new(buffers),
            scripts: None,
            zero_unix_ns: 0,
            worked_ns: 0,
            sessions_due_ns: plan.times_sessions().then(Vec::new),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.table.count() - self.branches.count()
    }

    /// The users, without their branches.
    pub(crate) fn keys(&self) -> Vec<UserKey> {
        let mut keys = self.table.keys();
        keys.retain(|&key| !self.table[key].is_branch);
        keys
    }

    pub(crate) fn get(&self, key: UserKey) -> Option<&User> {
        self.table.get(key)
    }

    /// Adds a user that is about to run its session's first step.
    pub(crate) fn insert(&mut self, mut user: User) -> UserKey {
        let session = &self.plan.sessions[user.session.index()];
        user.slots = vec![Value::default(); session.slots_count as usize].into();
        user.registers = vec![0; session.registers_count as usize].into();
        let key = self.table.insert(user);
        self.begin_session(key);
        key
    }

    /// The user's session begins, and is due when its first step is.
    pub(crate) fn begin_session(&mut self, key: UserKey) {
        let Some(all) = &mut self.sessions_due_ns else {
            return;
        };
        let place = key.place() as usize;
        if all.len() <= place {
            all.resize(place + 1, 0);
        }
        all[place] = self.table[key].due_ns;
    }

    /// When the user's session was due; `None` if nobody needs to know.
    pub(crate) fn session_due_ns(&self, key: UserKey) -> Option<u64> {
        self.sessions_due_ns.as_ref()?.get(key.place() as usize).copied()
    }

    pub(crate) fn remove(&mut self, key: UserKey) {
        self.wheel.disarm(key.place());
        self.saved.clear(key.place());
        if self.table.remove(key).is_some_and(|user| user.is_branch) {
            self.branches.forget(key);
        }
    }

    /// Gives a variable of the user a value. False: there is no memory for it.
    pub(crate) fn store(&mut self, key: UserKey, slot: Slot, value: Value) -> bool {
        let slots = &mut self.table[key].slots;
        let place = slot.index();
        if large_bytes(&value) > 0 || self.saved.has(key.place()) {
            let others = slots.iter().enumerate().filter(|(other, _)| *other != place);
            let others: usize = others.map(|(_, value)| large_bytes(value)).sum();
            if !self.saved.set(key.place(), others + large_bytes(&value)) {
                return false;
            }
        }
        slots[place] = value;
        true
    }

    /// The result of `read`, during which these bytes are held. `None`: there is no memory for that.
    pub(crate) fn while_held<T>(&self, bytes: usize, read: impl FnOnce() -> T) -> Option<T> {
        self.saved.while_held(bytes, read)
    }

    /// The user's variables are empty again.
    pub(crate) fn clear_variables(&mut self, key: UserKey) {
        self.table[key].slots.fill(Value::Nothing);
        self.saved.clear(key.place());
    }

    /// The text without what the user's secret variables hold.
    pub(crate) fn discreet(&self, key: UserKey, mut text: String) -> String {
        for slot in &self.session(key).secret_slots {
            if let Some(value) = self.table[key].slots.get(slot.index()) {
                hide(&mut text, &value.to_text(), HIDDEN);
            }
        }
        if let Some(setup) = &self.plan.setup {
            let secret = setup.session.secret_slots.iter();
            for value in secret.filter_map(|slot| self.plan.shared.get(slot.index())) {
                hide(&mut text, &value.to_text(), HIDDEN);
            }
        }
        text
    }

    /// The program that the user runs.
    pub(crate) fn session(&self, key: UserKey) -> &'p Session {
        &self.plan.sessions[self.table[key].session.index()]
    }

    /// The instruction that the user is at; `None`: its program is over.
    pub(crate) fn op(&self, key: UserKey) -> Option<&'p Op> {
        self.session(key).ops.get(self.table[key].pc as usize)
    }

    /// The time, in a turn that began at `turn_ns`: work of our own may have been done in it.
    #[inline]
    pub(crate) fn now_ns(&self, turn_ns: u64) -> u64 {
        turn_ns.max(self.worked_ns)
    }

    pub(crate) fn unix_ms(&self, now_ns: u64) -> i64 {
        ((self.zero_unix_ns + self.now_ns(now_ns)) / 1_000_000) as i64
    }

    /// The user's values as expressions see them now.
    pub(crate) fn scope(&mut self, now_ns: u64, key: UserKey) -> Scope<'_> {
        self.clear_blame();
        let unix_ms = self.unix_ms(now_ns);
        Scope {
            scripts: self.scripts.as_deref_mut(),
            ..self.table[key].scope(unix_ms, &self.plan.shared)
        }
    }

    /// Runs a step in JavaScript; what comes out is for these variables.
    pub(crate) fn run_script(
        &mut self,
        now_ns: u64,
        key: UserKey,
        op: &ScriptOp,
    ) -> Result<Vec<(Slot, Value)>, EvalError> {
        let mut scope = self.scope(now_ns, key);
        let inputs = op.inputs.iter().map(|input| input.eval(&mut scope));
        let inputs = inputs.collect::<Result<Vec<Value>, EvalError>>()?;
        let Scope { scripts: Some(scripts), now_ms, rng, .. } = scope else {
            return Err(EvalError::Script("no script is loaded".to_owned()));
        };
        let values = scripts.run(op.step, &inputs, now_ms, rng)?;
        Ok(op.outputs.iter().copied().zip(values).collect())
    }

    /// The outcome of a step that could not be done: that of a script if one failed when the step's last
    /// expression was evaluated.
    pub(crate) fn blame(&self) -> Outcome {
        match &self.scripts {
            Some(scripts) if scripts.has_failed => Outcome::Script,
            _ => Outcome::Step,
        }
    }

    /// No script has failed yet in what comes next.
    pub(crate) fn clear_blame(&mut self) {
        if let Some(scripts) = &mut self.scripts {
            scripts.has_failed = false;
        }
    }

    /// The endpoint that a step of this user goes to, if the plan says `planned`: of several
    /// servers the user's own, which follows from its number.
    pub(crate) fn endpoint(&self, key: UserKey, planned: EndpointId) -> EndpointId {
        let servers = &self.plan.servers;
        if planned != EndpointId(0) || servers.is_empty() {
            return planned;
        }
        let share = Rng::new(self.plan.seed, self.table[key].number, Purpose::Server).unit();
        servers[by_weight(share, servers.iter().map(|(_, weight)| *weight))].0
    }
}

/// Bytes of a value that count.
fn large_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) | Value::Number(text) if text.len() >= CHARGED_BYTES_MIN => text.len(),
        Value::Bytes(bytes) if bytes.len() >= CHARGED_BYTES_MIN => bytes.len(),
        _ => 0,
    }
}

impl Index<UserKey> for Users<'_> {
    type Output = User;
    fn index(&self, key: UserKey) -> &User {
        &self.table[key]
    }
}

impl IndexMut<UserKey> for Users<'_> {
    fn index_mut(&mut self, key: UserKey) -> &mut User {
        &mut self.table[key]
    }
}
