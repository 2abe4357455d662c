//! One slice of a run as a state machine: time and news come in, commands go out.
//!
//! A driver calls [`Shard::advance`] until it says there is nothing due, tells what happened to
//! connections through the other `handle` methods, and after every call carries out
//! [`Shard::commands`]. It must pass times that never go back, and ask [`Shard::next_ns`] how
//! long it may sleep. The shard reads no clock and owns no socket.

mod admission;
mod background;
mod channels;
mod connections;
mod deflate;
mod events;
mod feeds;
mod http;
mod identities;
pub(crate) mod place;
mod poll;
mod pushes;
mod retry;
mod session;
mod stamps;
mod tcp;
mod websocket;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use plan::Plan;
use proto::Limits;
use proto::ws::Deflater;
use record::{Measurement, Outcome};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use stats::rng::{Purpose, Rng};

use crate::arrivals::{Arrival, Arrivals, Share, users_max};
use crate::command::Commands;
use crate::conn::Conn;
use crate::identity::Identity;
use crate::measure::{Delta, Gauges, Recorder};
use crate::sequences::Tracks;
use crate::slots::Slots;
use crate::user::{User, Wait};
use crate::wheel::Wheel;
use crate::wire::Wires;

/// Users and connections a shard makes room for ahead; more are taken, at the cost of a copy.
const CAPACITY_MAX: u64 = 20_000;
/// How long a leaving user waits for the peer's close frame.
pub(crate) const LEAVE_NS: u64 = 1_000_000_000;

/// What a shard needs besides the plan.
#[derive(Debug, Clone)]
pub struct Setup {
    pub share: Share,
    /// How many rows are gathered before they are handed over.
    pub rows_max: usize,
    /// Needed where an endpoint wants TLS.
    pub tls: Option<Arc<ClientConfig>>,
}

/// Why a shard cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// TLS wants a name to check the certificate against.
    #[error("{0:?} is neither a host name nor an address that a certificate can be for")]
    ServerName(String),
    /// An endpoint wants TLS and there is no configuration for it.
    #[error("no TLS configuration for an endpoint that needs it")]
    NoTls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// No step begins any more; operations in flight may end until then.
    Draining {
        until_ns: u64,
    },
    Over,
}

/// One shard. See the module's text for how it is driven.
#[derive(Debug)]
pub struct Shard<'p> {
    plan: &'p Plan,
    wires: Wires,
    limits: Limits,
    /// The same for bodies that never end.
    stream_limits: Limits,
    tls: Option<Arc<ClientConfig>>,
    /// By endpoint; `None` where it is plain TCP.
    server_names: Vec<Option<ServerName<'static>>>,
    /// The run's zero, nanoseconds since the Unix epoch.
    started_unix_ns: u64,
    users: Slots<User>,
    conns: Slots<Conn>,
    /// Of users whose sessions keep cookies or answer challenges.
    identities: HashMap<u32, Identity>,
    /// Of messages that stand for themselves.
    deflater: Option<Deflater>,
    /// Of users that get numbered messages.
    tracks: Tracks,
    generation: u32,
    /// Idle connections that any user may take, by endpoint.
    pool: Vec<Vec<u32>>,
    wheel: Wheel,
    arrivals: Arrivals<'p>,
    upcoming: Option<Arrival>,
    /// False once users that fall due are refused.
    admits: bool,
    /// While it is true nobody starts.
    paused: bool,
    /// Users of a pause that come when it is over, in the order they were due.
    waiting: VecDeque<Arrival>,
    /// When the last pause was over; those who waited for that are due then.
    resumed_ns: u64,
    /// Connections being set up, upgrades included.
    setting_up: u64,
    /// Nobody starts while so many connections are being set up.
    setting_up_max: u64,
    /// The upcoming user was due and had to wait for that.
    held: bool,
    recorder: Recorder,
    commands: Commands,
    /// Mask keys and nonces.
    wire_rng: Rng,
    /// When steps stop beginning.
    end_ns: u64,
    /// From when on the run is over once no user is present; `u64::MAX`: it ends by the clock.
    done_from_ns: u64,
    state: State,
    /// Users that were idle when the run ended, still to be let go.
    leaving: Vec<u32>,
    in_flight: u64,
    scratch: Vec<u8>,
}

impl<'p> Shard<'p> {
    /// A shard for its share of `plan`, at time 0.
    pub fn new(plan: &'p Plan, setup: &Setup) -> Result<Shard<'p>, SetupError> {
        let capacity = setup.share.portion(users_max(plan)).min(CAPACITY_MAX) as usize;
        let mut arrivals = Arrivals::new(plan, setup.share);
        let upcoming = arrivals.next();
        let limits = Limits {
            body_bytes_max: plan.options.response_bytes_max as u64,
            message_bytes_max: plan.options.message_bytes_max,
            ..Limits::DEFAULT
        };
        if setup.tls.is_none() && plan.endpoints.iter().any(|e| e.tls) {
            return Err(SetupError::NoTls);
        }
        Ok(Shard {
            plan,
            wires: Wires::new(plan),
            limits,
            stream_limits: Limits {
                body_bytes_max: u64::MAX,
                ..limits
            },
            tls: setup.tls.clone(),
            server_names: server_names(plan)?,
            started_unix_ns: 0,
            users: Slots::with_capacity(capacity),
            conns: Slots::with_capacity(capacity),
            identities: HashMap::new(),
            deflater: None,
            tracks: Tracks::default(),
            generation: 0,
            pool: vec![Vec::new(); plan.endpoints.len()],
            wheel: Wheel::with_capacity(capacity),
            arrivals,
            upcoming,
            admits: true,
            paused: false,
            waiting: VecDeque::new(),
            resumed_ns: 0,
            setting_up: 0,
            setting_up_max: plan
                .options
                .connecting_max
                .map_or(u64::MAX, |max| setup.share.portion(max)),
            held: false,
            recorder: Recorder::new(plan, setup.share.index as u16, setup.rows_max),
            commands: Commands::default(),
            wire_rng: Rng::new(plan.seed, u64::from(setup.share.index), Purpose::Wire),
            end_ns: plan.end_ns(),
            done_from_ns: plan
                .phases
                .last()
                .filter(|last| last.until_done)
                .map_or(u64::MAX, |last| last.start_ns),
            state: State::Running,
            leaving: Vec::new(),
            in_flight: 0,
            scratch: Vec::new(),
        })
    }

    /// Nobody starts while so many connections are being set up, in all shards together: for a
    /// driver that knows what its network takes, where the scenario says nothing.
    pub fn hold_starts_above(&mut self, connecting_max: u64, share: Share) {
        self.setting_up_max = share.portion(connecting_max);
    }

    /// Says when the run's zero is, in nanoseconds since the Unix epoch (0 until then): stamps and
    /// `now()` count from it.
    pub fn set_started(&mut self, unix_ns: u64) {
        self.started_unix_ns = unix_ns;
    }

    /// What is to be done now. The driver clears it once it is done.
    pub fn commands(&mut self) -> &mut Commands {
        &mut self.commands
    }

    /// True once the shard has nothing more to do; [`Shard::finish`] is then due.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Nothing happens of itself before this time. It can be in the past: then call
    /// [`Shard::advance`] at once.
    pub fn next_ns(&self) -> u64 {
        let next = self.wheel.next_ns().min(self.recorder.cut_ns());
        match self.state {
            State::Running => {
                let done_ns = if self.is_done() {
                    self.done_from_ns
                } else {
                    u64::MAX
                };
                next.min(self.admission_ns()).min(done_ns).min(self.end_ns)
            }
            State::Draining { until_ns } if self.leaving.is_empty() && self.users.len() > 0 => {
                next.min(until_ns)
            }
            State::Draining { .. } => 0,
            State::Over => u64::MAX,
        }
    }

    /// Does at most one thing that is due: starts a user, fires a timer, lets a user go. Returns
    /// false where nothing was left to do.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        if now_ns >= self.recorder.cut_ns() {
            self.recorder.cut(now_ns, self.gauges());
        }
        match self.state {
            State::Running if now_ns >= self.end_ns => self.begin_drain(),
            State::Running if self.is_done() && now_ns >= self.done_from_ns => {
                self.end_ns = now_ns;
                self.begin_drain();
            }
            State::Running => {
                if self.admit(now_ns) {
                    return true;
                }
            }
            State::Draining { until_ns } if now_ns >= until_ns => self.give_up(now_ns),
            State::Draining { .. } => {
                if let Some(key) = self.leaving.pop() {
                    self.let_go(now_ns, key);
                    return true;
                }
                if self.users.len() == 0 {
                    self.state = State::Over;
                }
            }
            State::Over => return false,
        }
        match self.wheel.pop(now_ns) {
            Some(key) => {
                self.fire(now_ns, key);
                true
            }
            None => false,
        }
    }

    /// Ends the run early: as if the last phase ended now.
    pub fn stop(&mut self, now_ns: u64) {
        self.end_ns = self.end_ns.min(now_ns);
    }

    /// Closes the last interval. Nothing may be called after it but the `take` methods.
    pub fn finish(&mut self, now_ns: u64) {
        self.recorder.finish(now_ns, self.gauges());
    }

    /// The intervals that were closed since the last call.
    pub fn take_deltas(&mut self) -> Vec<Delta> {
        self.recorder.take_deltas()
    }

    /// Measured rows, once enough have gathered, or any where `all`.
    pub fn take_rows(&mut self, all: bool) -> Option<Vec<Measurement>> {
        self.recorder.take_rows(all)
    }

    /// Takes back rows that nobody could take: half are kept, as from now on of all. Returns the
    /// new rate, one in how many.
    pub fn thin_rows(&mut self, rows: Vec<Measurement>) -> u32 {
        self.recorder.thin(rows)
    }

    /// True where the plan ends with its last user, and there will be none any more.
    fn is_done(&self) -> bool {
        let nobody_comes = self.upcoming.is_none() && self.waiting.is_empty();
        self.done_from_ns < u64::MAX && nobody_comes && self.users.len() == 0
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            users: self.users.len() as u64,
            connections: self.conns.len() as u64,
            in_flight: self.in_flight,
            ..Gauges::default()
        }
    }

    fn unix_ms(&self, now_ns: u64) -> i64 {
        ((self.started_unix_ns + now_ns) / 1_000_000) as i64
    }

    fn fire(&mut self, now_ns: u64, key: u32) {
        if self.users[key].background {
            self.fire_background(now_ns, key);
            if self.users.get(key).is_none() {
                return;
            }
        }
        let user = &self.users[key];
        if user.deadline_ns > now_ns {
            // The wait that this timer was set for ended; a later one has its own deadline.
            let deadline_ns = user.deadline_ns;
            self.arm(key, deadline_ns);
            return;
        }
        match user.wait {
            Wait::Until => self.proceed(now_ns, key),
            Wait::Leaving => self.remove_user(key),
            Wait::Retry => self.connect_again(now_ns, key),
            Wait::Connect => self.time_out(now_ns, key, Outcome::ConnectTimeout),
            Wait::Response | Wait::Upgrade | Wait::Reply | Wait::Close => {
                self.time_out(now_ns, key, Outcome::Timeout);
            }
            Wait::Nothing => {}
        }
    }

    /// From now on no step begins. Idle users are let go one by one, between other news, so that
    /// replies still in flight are timed as before.
    fn begin_drain(&mut self) {
        self.upcoming = None;
        self.waiting.clear();
        self.state = State::Draining {
            until_ns: self.end_ns + self.plan.options.drain_ns,
        };
        self.leaving = self.users.keys();
    }

    fn let_go(&mut self, now_ns: u64, key: u32) {
        if self
            .users
            .get(key)
            .is_some_and(|user| user.wait == Wait::Until)
        {
            self.leave(now_ns, key);
        }
    }

    /// The drain is over: what is still in flight stays unfinished.
    fn give_up(&mut self, now_ns: u64) {
        for key in self.users.keys() {
            if self.users[key].wait.in_flight() {
                self.record_operation(now_ns, key, Outcome::Unfinished, 0);
            }
            self.give_up_background(now_ns, key);
            self.remove_user(key);
        }
        self.leaving.clear();
        self.state = State::Over;
    }
}

fn server_names(plan: &Plan) -> Result<Vec<Option<ServerName<'static>>>, SetupError> {
    let names = plan.endpoints.iter().map(|endpoint| {
        if !endpoint.tls {
            return Ok(None);
        }
        let name = plan
            .options
            .tls
            .server_name
            .as_ref()
            .unwrap_or(&endpoint.host)
            .clone();
        ServerName::try_from(name.clone())
            .map(Some)
            .map_err(|_| SetupError::ServerName(name))
    });
    names.collect()
}
