//! One loop's slice of a run as a state machine: time and news come in, commands go out.
//!
//! A driver calls [`Shard::advance`] until nothing is due, reports what happened to connections
//! through the `handle` methods, and after every call carries out [`Shard::commands`]. It must pass
//! times that never go back, and read from [`Shard::next_ns`] how long it may sleep. The shard owns no socket. It reads no
//! clock but the driver's, around work of its own that may take long ([`Shard::time_work_with`]).

mod admission;
mod takers;

use std::net::SocketAddr;
use std::sync::Arc;

use crate::meeting::{Desk, Meeting};
use plan::builtin;
use plan::{EndpointId, Plan};
use record::{Measurement, Outcome};
use rustls::ClientConfig;
use stats::rng::{Purpose, Rng};

use crate::addresses::Choice;
use crate::command::{Commands, ConnId};
use crate::conn::{Connections, Resolver};
use crate::failures::FailureReport;
use crate::interpreter::Interpreter;
use crate::measure::{Delta, Recorder};
use crate::schedule::arrivals::{Arrival, Source, users_max};
use crate::schedule::share::Share;
use crate::scripts::Scripts;
use crate::tables::budget::Budget;
use crate::tables::slots::{Key, UserKey};
use crate::tls::TlsClients;
use crate::trace::{Trace, TraceRequest};
use crate::users::{User, Users};
use crate::vus::Vus;
use crate::work::Clock;
use admission::{Admission, AdmissionDecision};
use takers::Takers;

/// Users and connections a shard makes room for ahead; more are taken, at the cost of a copy.
const CAPACITY_MAX: u64 = 20_000;
/// The error of a user that falls due after arrivals were closed.
const CLOSED: &str = "memory ran short before this user was due: no more users start";

/// Everything that a shard needs besides the plan.
#[derive(Debug, Clone)]
pub struct Setup {
    pub share: Share,
    /// How many rows are gathered before they are handed over.
    pub rows_max: usize,
    /// Required if an endpoint wants TLS.
    pub tls: Option<Arc<ClientConfig>>,
    /// Memory for what users save and what connections buffer, shared by the loops of a process.
    pub buffers: Arc<Budget>,
    /// State that the users of a process share.
    pub meeting: Arc<Meeting>,
}

/// Why a shard cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// TLS wants a name to check the certificate against.
    #[error("{0:?} is not a host name or address that a certificate can name")]
    ServerName(String),
    /// An endpoint wants TLS and there is no configuration for it.
    #[error("no TLS configuration for an endpoint that needs it")]
    NoTls,
    /// The plan's JavaScript cannot be loaded.
    #[error("the script cannot be loaded: {0}")]
    Script(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// No session begins any more; those that are there may finish until then.
    Draining {
        until_ns: u64,
    },
    Over,
}

/// One loop's slice of a run. See the module's text for how it is driven.
#[derive(Debug)]
pub struct Shard<'p> {
    plan: &'p Plan,
    admission: Admission<'p>,
    interpreter: Interpreter<'p>,
    /// The users of the run that bring rows of data that are used once.
    takers: Vec<Takers>,
    /// From when on the run is over once no user is present; `u64::MAX`: it ends by the clock.
    done_from_ns: u64,
    state: State,
    /// The time that sessions have to finish after the end.
    drain_ns: u64,
    /// Users that were idle when the run ended, still to be let go.
    leaving: Vec<UserKey>,
}

impl<'p> Shard<'p> {
    /// A shard for its share of `plan`, at time 0.
    pub fn new(plan: &'p Plan, setup: &Setup) -> Result<Shard<'p>, SetupError> {
        if setup.tls.is_none() && plan.endpoints.iter().any(|e| e.tls) {
            return Err(SetupError::NoTls);
        }
        let share = setup.share;
        let capacity = share.portion(users_max(plan)).min(CAPACITY_MAX) as usize;
        let tls = TlsClients::new(plan, setup.tls.clone()).map_err(SetupError::ServerName)?;
        let wire_rng = Rng::new(plan.seed, u64::from(share.index), Purpose::Wire);
        let mut users = Users::with_capacity(plan, capacity, &setup.buffers);
        users.scripts = Scripts::load(plan).map_err(SetupError::Script)?;
        let conns = Connections::new(plan, tls, wire_rng, capacity, &setup.buffers);
        let recorder = Recorder::new(plan, share.index as u16, setup.rows_max);
        let mut interpreter =
            Interpreter::new(plan, users, conns, recorder, &setup.buffers, &setup.meeting);
        interpreter.vus = Vus::new(plan, share, &setup.buffers);
        if !plan.meetings.is_empty() {
            interpreter.desk = Some(Box::new(Desk::new(&setup.meeting, share.index)));
        }
        Ok(Shard {
            plan,
            admission: Admission::new(plan, share),
            interpreter,
            takers: Takers::of_plan(plan),
            done_from_ns: plan.done_from_ns().unwrap_or(u64::MAX),
            state: State::Running,
            drain_ns: plan.options.drain_ns,
            leaving: Vec::new(),
        })
    }

    /// No user starts while this many connections are being set up, in all shards together: for a
    /// driver that knows what its network takes, if the scenario sets no limit.
    pub fn hold_starts_above(&mut self, connecting_max: u64, share: Share) {
        self.admission.hold_above(share.portion(connecting_max));
    }

    /// Finds users' addresses of endpoints that a proxy is given as addresses. Without it the names are given.
    pub fn resolve_with(&mut self, resolve: Box<dyn FnMut(EndpointId, Choice) -> SocketAddr>) {
        self.interpreter.conns.resolve_with(Resolver(resolve));
    }

    /// Times work of our own by this clock. Without it such work counts as the target's time.
    pub fn time_work_with(&mut self, clock: Box<dyn Clock>) {
        self.interpreter.work.clock = Some(clock);
    }

    /// Runs this user and reports what it does. The plan starts no users of its own.
    pub fn trace(&mut self, request: &TraceRequest) {
        self.admission.put_first(Arrival {
            due_ns: 0,
            user: request.user,
            source: Source::Single,
            session: request.session,
            repeats_until_ns: None,
            sessions: None,
        });
        self.interpreter.recorder.trace = Some(Box::new(Trace::new(request)));
        self.interpreter.conns.payload = Some(Vec::new());
    }

    /// Events of a trace happen at this time.
    fn set_trace_time(&mut self, now_ns: u64) {
        if let Some(trace) = &mut self.interpreter.recorder.trace {
            trace.now_ns = now_ns;
        }
    }

    /// Sets the run's zero, in nanoseconds since the Unix epoch (0 until then): stamps and `now()`
    /// count from it.
    pub fn set_started(&mut self, unix_ns: u64) {
        self.interpreter.users.zero_unix_ns = unix_ns;
    }

    /// The commands to carry out now. The driver clears them once they are done.
    #[inline]
    pub fn commands(&mut self) -> &mut Commands {
        &mut self.interpreter.conns.commands
    }

    /// True once the shard has nothing more to do; [`Shard::finish`] is then due.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Nothing happens of itself before this time. It can be in the past: then call
    /// [`Shard::advance`] at once.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        let users = &self.interpreter.users;
        let next = users
            .wheel
            .next_ns()
            .min(self.interpreter.recorder.cut_ns())
            .min(self.interpreter.meet_ns());
        match self.state {
            State::Running => {
                let done_ns = if self.is_done() { self.done_from_ns } else { u64::MAX };
                let setting_up = self.interpreter.conns.setting_up();
                next.min(self.admission.next_ns(setting_up))
                    .min(done_ns)
                    .min(self.interpreter.end_ns)
            }
            State::Draining { until_ns } if self.leaving.is_empty() && users.len() > 0 => {
                next.min(until_ns)
            }
            State::Draining { .. } => 0,
            State::Over => u64::MAX,
        }
    }

    /// Does at most one thing that is due: starts a user, fires a timer, lets a user go. Returns
    /// false if nothing was left to do.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        self.begin_turn(now_ns);
        self.set_read_late(0);
        let did = self.do_due(now_ns);
        self.interpreter.end_turn();
        did
    }

    /// The turn of [`Shard::advance`].
    fn do_due(&mut self, now_ns: u64) -> bool {
        match self.state {
            State::Running if now_ns >= self.interpreter.end_ns => self.begin_drain(),
            State::Running if self.is_done() && now_ns >= self.done_from_ns => {
                self.interpreter.end_ns = now_ns;
                self.begin_drain();
            }
            State::Running => {
                if self.admit(now_ns) {
                    return true;
                }
            }
            State::Draining { until_ns } if now_ns >= until_ns => {
                self.interpreter.give_up_all(now_ns);
                self.leaving.clear();
                self.state = State::Over;
            }
            State::Draining { until_ns } => {
                if let Some(key) = self.leaving.pop() {
                    self.interpreter.leave_if_idle(now_ns, key, until_ns);
                    return true;
                }
                if self.interpreter.users.len() == 0 {
                    self.state = State::Over;
                }
            }
            State::Over => return false,
        }
        if self.interpreter.end_meeting(now_ns) {
            return true;
        }
        match self.interpreter.users.wheel.pop(now_ns) {
            Some(key) => {
                self.interpreter.fire(now_ns, UserKey::new(key));
                true
            }
            None => false,
        }
    }

    /// Starts the next user, refuses it or skips it, if it is due and does not have to wait.
    fn admit(&mut self, now_ns: u64) -> bool {
        let setting_up = self.interpreter.conns.setting_up();
        let counts = &mut self.interpreter.recorder.counts;
        match self.admission.next(now_ns, setting_up, counts) {
            AdmissionDecision::Nobody => return false,
            AdmissionDecision::Skipped => {}
            AdmissionDecision::Refused(arrival) => self.refuse(now_ns, arrival),
            AdmissionDecision::Start(arrival) => self.start(now_ns, arrival),
        }
        true
    }

    fn start(&mut self, now_ns: u64, arrival: Arrival) {
        let mut user = User::new(self.plan.seed, arrival.user, arrival.session, arrival.due_ns);
        user.repeats_until_ns = arrival.repeats_until_ns.unwrap_or(0);
        for takers in &self.takers {
            if let Some(rows) = takers.rows(&arrival) {
                self.interpreter.meeting.stock().bring_rows(takers.data, rows);
            }
        }
        if let Some(part) = arrival.sessions {
            user.has_number_of_sessions = true;
            self.interpreter.meeting.stock().bring_sessions(arrival.user, part);
        }
        let key = self.interpreter.users.insert(user);
        let present = self.interpreter.users.len();
        self.interpreter.recorder.user_started(present);
        self.interpreter.proceed(now_ns, key);
    }

    fn refuse(&mut self, now_ns: u64, arrival: Arrival) {
        let connect = builtin::CONNECT;
        let outcome = Outcome::NoMemory;
        let recorder = &mut self.interpreter.recorder;
        recorder.counts.users_refused += 1;
        let failed = FailureReport::new(now_ns, connect, outcome, arrival.user);
        recorder.explain(&failed, || CLOSED.to_owned());
        recorder.check(connect, outcome);
    }

    /// No more users start: those that fall due from now on count as refused for want of memory.
    /// Users that are present continue as planned.
    pub fn close_arrivals(&mut self) {
        self.admission.refuse();
    }

    /// No user starts until arrivals are resumed. Users that are present continue as planned.
    pub fn pause_arrivals(&mut self) {
        self.admission.pause();
    }

    /// Users start again: those that are due from now on, and those that waited for this.
    pub fn resume_arrivals(&mut self, now_ns: u64) {
        self.admission.resume(now_ns);
    }

    /// Users of another shard's share, or of a part of it, that are due from `from_ns` on are started by this one.
    pub fn adopt(&mut self, share: Share, from_ns: u64) {
        self.admission.adopt(self.plan, share, from_ns);
    }

    /// Users that are due from then on wait until this is raised.
    pub fn hold_starts_from(&mut self, until_ns: u64) {
        self.admission.hold_from(until_ns);
    }

    /// Ends the run early: as if the last phase ended now.
    pub fn stop(&mut self, now_ns: u64) {
        self.interpreter.end_ns = self.interpreter.end_ns.min(now_ns);
    }

    /// Sessions have this long from now at most to finish once the run has ended.
    pub fn cut_short(&mut self, now_ns: u64, finish_ns: u64) {
        self.drain_ns = self.drain_ns.min(finish_ns);
        if let State::Draining { until_ns } = &mut self.state {
            *until_ns = (*until_ns).min(now_ns.saturating_add(finish_ns));
        }
    }

    /// True if the plan ends with its last user, and there will be none any more.
    #[inline]
    fn is_done(&self) -> bool {
        let is_empty = self.admission.is_over() && self.interpreter.users.len() == 0;
        self.done_from_ns < u64::MAX && is_empty
    }

    /// From now on no session begins. Users that have nothing to finish are let go one by one, between
    /// other news, so that replies still in flight are timed as before.
    fn begin_drain(&mut self) {
        let counts = &mut self.interpreter.recorder.counts;
        self.admission.end(self.interpreter.end_ns, counts);
        self.state = State::Draining { until_ns: self.interpreter.end_ns + self.drain_ns };
        self.leaving = self.interpreter.users.keys();
    }

    /// The driver made the TCP connection.
    pub fn handle_connected(&mut self, now_ns: u64, id: ConnId) {
        self.begin_turn(now_ns);
        self.interpreter.connected(now_ns, id);
        self.interpreter.end_turn();
    }

    /// The driver could not make the TCP connection.
    pub fn handle_connect_failed(
        &mut self,
        now_ns: u64,
        id: ConnId,
        outcome: Outcome,
        detail: &str,
    ) {
        self.begin_turn(now_ns);
        self.interpreter.connect_failed(now_ns, id, outcome, detail);
        self.interpreter.end_turn();
    }

    /// Bytes received from now on may have been there for this long before they were read: the loop
    /// was busy, or not running. That part of a latency is not the peer's.
    #[inline]
    pub fn set_read_late(&mut self, late_ns: u64) {
        self.interpreter.messages.read_late_ns = late_ns;
    }

    /// All news that came before this time were handled. No operation is given up before the driver
    /// has looked for what came within its time.
    #[inline]
    pub fn set_seen(&mut self, seen_ns: u64) {
        self.interpreter.seen_ns = seen_ns;
    }

    /// The peer sent bytes.
    pub fn handle_received(&mut self, now_ns: u64, id: ConnId, bytes: &[u8]) {
        self.begin_turn(now_ns);
        self.interpreter.received(now_ns, id, bytes);
        self.interpreter.end_turn();
    }

    /// The peer closed its side, or the connection broke: then `failure` says how.
    pub fn handle_closed(&mut self, now_ns: u64, id: ConnId, failure: Option<(Outcome, &str)>) {
        self.begin_turn(now_ns);
        self.interpreter.closed(now_ns, id, failure);
        self.interpreter.end_turn();
    }

    /// Something happens now. Before anything of it is counted, the intervals that have ended are closed.
    fn begin_turn(&mut self, now_ns: u64) {
        self.set_trace_time(now_ns);
        self.interpreter.begin_turn(now_ns);
        if now_ns >= self.interpreter.recorder.cut_ns() {
            self.interpreter.count_scripts();
            let gauges = self.interpreter.gauges();
            self.interpreter.recorder.cut(now_ns, gauges);
        }
    }

    /// Closes the last interval. Nothing may be called after it but the `take` methods.
    pub fn finish(&mut self, now_ns: u64) {
        self.interpreter.count_scripts();
        let gauges = self.interpreter.gauges();
        self.interpreter.recorder.finish(now_ns, gauges);
    }

    /// The intervals that were closed since the last call.
    #[inline]
    pub fn take_deltas(&mut self) -> Vec<Delta> {
        self.interpreter.recorder.take_deltas()
    }

    /// Measured rows, once enough have gathered, or any if `all`.
    #[inline]
    pub fn take_rows(&mut self, all: bool) -> Option<Vec<Measurement>> {
        self.interpreter.recorder.take_rows(all)
    }

    /// Takes back rows that could not be written in time: half are kept, and half of all from now on.
    /// Returns the new rate: one row in this many.
    pub fn thin_rows(&mut self, rows: Vec<Measurement>) -> u32 {
        self.interpreter.recorder.thin(rows)
    }
}
