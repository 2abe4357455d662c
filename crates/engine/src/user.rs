//! The bytes of one virtual user.

use plan::SessionId;
use plan::expr::{Context, Value};
use stats::rng::{Purpose, Rng};

/// No connection.
pub(crate) const NO_CONN: u32 = u32::MAX;

/// What a user waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: it is being run right now.
    Nothing,
    /// A time: a think, a pace, or its next start.
    Until,
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
    /// Its session is over; the peer's close frame, for tidiness.
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
            | Wait::Close => true,
            Wait::Nothing | Wait::Until | Wait::Leaving => false,
        }
    }
}

/// A virtual user. Idle, it owns no buffer.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) number: u64,
    /// When the current step is, or the next will be, due.
    pub(crate) due_ns: u64,
    /// When the user could have begun it: later than due where a paced step fell due while the
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
    pub(crate) conn: u32,
    /// Application bytes of the operation in flight.
    pub(crate) bytes_out: u32,
    pub(crate) bytes_in: u32,
    pub(crate) session: SessionId,
    pub(crate) wait: Wait,
    /// True from its first connection on.
    pub(crate) connected: bool,
    /// How often the operation in flight tried its connection again.
    pub(crate) retries: u8,
    /// True from its first connection on that has due times of its own beside the steps.
    pub(crate) background: bool,
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
            conn: NO_CONN,
            bytes_out: 0,
            bytes_in: 0,
            session,
            wait: Wait::Nothing,
            connected: false,
            retries: 0,
            background: false,
        }
    }
}

/// A user's values as expressions see them.
pub(crate) struct Scope<'a> {
    pub(crate) slots: &'a [Value],
    pub(crate) user: u64,
    pub(crate) iteration: u64,
    pub(crate) now_ms: i64,
    pub(crate) rng: &'a mut Rng,
}

impl Context for Scope<'_> {
    fn var(&self, slot: u16) -> &Value {
        &self.slots[slot as usize]
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
}

impl User {
    /// The user's values at `unix_ms`.
    pub(crate) fn scope(&mut self, unix_ms: i64) -> Scope<'_> {
        Scope {
            slots: &self.slots,
            user: self.number,
            iteration: u64::from(self.iteration),
            now_ms: unix_ms,
            rng: &mut self.value,
        }
    }
}
