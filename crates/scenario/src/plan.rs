//! What a scenario compiles to: flat programs, phases and options, all names resolved.
//!
//! A [`Plan`] is immutable and shared by every loop. Times are nanoseconds (`u64`), rates are
//! per second (`f64`), sizes are bytes. Nothing in it refers back to the text it came from.

mod auth;
mod channels;
mod data;
mod numbered;
mod phases;
mod tcp;
mod wire;

pub use auth::Digest;
pub use channels::{ChannelOp, ChannelVerb, Protocol};
pub use data::{Data, DataId, End, Feed, Found, Order, Table};
pub use numbered::Numbered;
pub use phases::{Phase, PhaseKind, Series, Single, Spacing, Trace};

use std::net::IpAddr;
use std::ops::Range;

use proto::ws::Offer;
use stats::dist::Dist;

use crate::expr::binary::NumberForm;
use crate::expr::{Expr, Template};
use crate::probes::Probe;

pub use tcp::{Payload, TcpOpen};
pub use wire::Wire;

/// Index of a [`Session`] in [`Plan::sessions`].
pub type SessionId = u16;
/// Index of a [`Measure`] in [`Plan::measures`].
pub type MeasureId = u16;
/// Index of an [`Endpoint`] in [`Plan::endpoints`].
pub type EndpointId = u16;
/// Index of a user's variable, in `0..Session::slots_count`.
pub type Slot = u16;
/// Index of a user's register (loop counter, pace mark, transaction start), in
/// `0..Session::registers_count`.
pub type Register = u16;
/// Index into [`Session::ops`].
pub type Pc = u32;

/// Everything a worker needs to know to play its part of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The scenario's name; names the run directory.
    pub name: String,
    /// Every random draw of the run follows from it.
    pub seed: u64,
    /// What is under load.
    pub target: Target,
    /// Where connections go. For [`Target::Url`] the first is the target; for
    /// [`Target::Builtin`] the first is a placeholder until [`Plan::set_target`].
    pub endpoints: Vec<Endpoint>,
    /// Where the target is several servers: each one's endpoint and weight. A user belongs to one
    /// of them, and its steps to endpoint 0 go there. Empty: there is one.
    pub servers: Vec<(EndpointId, f64)>,
    /// The programs users run.
    pub sessions: Vec<Session>,
    /// Everything that is measured, by name. The first entries are the [`builtin`] ones.
    pub measures: Vec<Measure>,
    /// Where steps are counted that could not be done and are no operations: a `set` whose value cannot
    /// be computed, a `feed` that finds no row. [`builtin::CONNECT`] where there are no such steps.
    pub faults: MeasureId,
    /// Users' own data.
    pub data: Vec<Data>,
    /// Messages that arrive unasked, tried in order.
    pub messages: Vec<Unasked>,
    /// In order, gapless from 0.
    pub phases: Vec<Phase>,
    /// Users that start at times of their own, beside the phases; in the order of their times.
    pub singles: Vec<Single>,
    /// Run-wide settings.
    pub options: Options,
    /// What must hold for the run to pass.
    pub thresholds: Vec<Threshold>,
    /// Which overrides hold secrets, by their place in the list: the record leaves out their values.
    pub secret_sets: Vec<usize>,
    /// What is asked on the server's side.
    pub probes: Vec<Probe>,
}

/// What is under load.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A server that is already there; `endpoints[0]` says where.
    Url(String),
    /// One of Throng's own systems, started for the run and stopped after it.
    Builtin {
        /// As in `throng serve NAME`.
        name: String,
        /// Passed on as `--key value`.
        args: Vec<(String, String)>,
    },
}

/// A place connections are made to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// True for `https` and `wss`.
    pub tls: bool,
    /// Host name or literal address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path that relative step paths are appended to, without a trailing slash; often empty.
    pub base_path: String,
}

/// One program and its weight among those that arrivals choose from.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// As written in the scenario.
    pub name: String,
    /// Relative share; ≥ 0.
    pub weight: f64,
    /// Its users keep cookies.
    pub cookies: bool,
    /// The program. A user that runs off its end has finished.
    pub ops: Vec<Op>,
    /// How often parts of the program are expected to be done.
    pub visits: Vec<Visits>,
    /// How many variables a user has.
    pub slots_count: u16,
    /// How many registers a user has.
    pub registers_count: u16,
    /// Names of the slots, for messages and tests.
    pub slot_names: Vec<String>,
}

/// How often some instructions are expected to be done, each time what is around them is done
/// once. Those of a part within another multiply.
#[derive(Debug, Clone, PartialEq)]
pub struct Visits {
    pub instructions: Range<Pc>,
    pub expected: f64,
}

/// One instruction of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Send an HTTP request and wait for its response.
    Http(Box<HttpOp>),
    /// Open a WebSocket (connect, TLS, upgrade) and wait for it. A user has at most one.
    WsOpen(Box<WsOpen>),
    /// Open a stream of server-sent events and wait for its head. It takes the WebSocket's place: a
    /// user has at most one of either.
    SseOpen(Box<SseOpen>),
    /// Ask again and again, beside the steps, for messages. It takes the WebSocket's place, too.
    Poll(Box<Poll>),
    /// Open a plain TCP connection and wait for it. It takes the WebSocket's place, too.
    TcpOpen(Box<TcpOpen>),
    /// Send a message; wait for its reply if there is one.
    WsSend(Box<WsSend>),
    /// Join, push to or leave a channel over the WebSocket.
    Channel(Box<ChannelOp>),
    /// Wait for a message.
    WsExpect(Box<Expect>),
    /// Close the WebSocket with this status and wait for the peer's close; or the event
    /// stream; or poll no more.
    WsClose { code: u16 },
    /// Wait; the draw is in seconds, negative draws count as 0.
    Think(Dist),
    /// Wait so many seconds; below zero counts as 0.
    ThinkFor(Expr),
    /// Wait until `every` seconds after the last time this op was due (the first time: no wait).
    /// The due times form a schedule that replies cannot delay.
    Pace { register: Register, every: Dist },
    /// Assign a variable.
    Set { slot: Slot, value: Template },
    /// Take a row of the users' own data, or finish where there is none.
    Feed(Box<Feed>),
    /// Count `measure` as an error of kind `check` where `condition` is false; the user goes on.
    Check { condition: Expr, measure: MeasureId },
    /// Start a counted loop: evaluate `times`, jump to `end` when it is below 1.
    LoopStart {
        register: Register,
        times: Expr,
        end: Pc,
    },
    /// Count one round; jump back to `body` while rounds are left.
    LoopEnd { register: Register, body: Pc },
    /// Go to `to`.
    Jump(Pc),
    /// Go to `to` when the condition is false.
    JumpUnless { condition: Expr, to: Pc },
    /// Go to one of the branches, with probability in proportion to its weight.
    Choose(Vec<(f64, Pc)>),
    /// Begin the session anew, at most `times_max` times a user; then the user has finished.
    Restart { register: Register, times_max: u64 },
    /// A named transaction starts.
    TransactionStart { register: Register },
    /// It ends: measure from its start to now.
    TransactionEnd {
        register: Register,
        measure: MeasureId,
    },
    /// The user has finished.
    Stop,
}

/// An HTTP request and what is done with its response.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpOp {
    pub endpoint: EndpointId,
    /// Upper-case method.
    pub method: String,
    /// Path and query, beginning with `/`; the endpoint's base path is already in front.
    pub path: Template,
    /// The variable that `path` begins with, where it does: it holds a path below the target or a
    /// whole URL, which says the endpoint.
    pub located_by: Option<Slot>,
    /// Step headers, then run-wide headers not overridden; never `host`, `content-length` or
    /// `connection` unless the scenario wrote them.
    pub headers: Vec<(String, Template)>,
    /// Names of the cookies that the step itself gives, in its header `cookie`: the user's others
    /// are put before them.
    pub own_cookies: Vec<String>,
    pub body: Option<Template>,
    /// Who answers digest challenges.
    pub digest: Option<Box<Digest>>,
    /// Response latency goes here.
    pub measure: MeasureId,
    /// Which statuses are no error.
    pub status: StatusRule,
    pub save: Vec<Save>,
    /// Evaluated after `save`; a false one counts as error kind `check`.
    pub check: Vec<Expr>,
    /// From the request being sent to the response's end.
    pub timeout_ns: u64,
}

impl HttpOp {
    /// True where the response body has to be kept until its end.
    pub fn keeps_body(&self) -> bool {
        self.save.iter().any(|s| s.from.reads_body())
    }
}

/// Which HTTP statuses are no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusRule {
    /// 100–399.
    BelowFourHundred,
    /// Inclusive ranges.
    Ranges(Vec<(u16, u16)>),
}

impl StatusRule {
    /// True where `status` is no error.
    pub fn allows(&self, status: u16) -> bool {
        match self {
            StatusRule::BelowFourHundred => (100..400).contains(&status),
            StatusRule::Ranges(ranges) => {
                ranges.iter().any(|&(lo, hi)| (lo..=hi).contains(&status))
            }
        }
    }
}

/// Opening a WebSocket.
#[derive(Debug, Clone, PartialEq)]
pub struct WsOpen {
    pub endpoint: EndpointId,
    /// Path and query, base path in front.
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    /// The compression of messages that is offered (RFC 7692).
    pub compress: Option<Offer>,
    /// The protocol of channels that is spoken over it.
    pub protocol: Option<Protocol>,
    /// Handshake latency: connect, TLS, upgrade and the protocol's greeting together.
    pub measure: MeasureId,
    pub timeout_ns: u64,
}

/// Opening a stream of server-sent events.
#[derive(Debug, Clone, PartialEq)]
pub struct SseOpen {
    pub endpoint: EndpointId,
    /// Path and query, base path in front.
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    /// Connect, TLS and the response's head together.
    pub measure: MeasureId,
    pub timeout_ns: u64,
    /// What becomes of a lost stream; `None`: the session cannot go on.
    pub reconnect: Option<Reconnect>,
}

/// Opening a lost event stream anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    /// From the loss to the next attempt, unless the server said otherwise (`retry`).
    pub pause_ns: u64,
    /// Each attempt, due when the pause is over.
    pub measure: MeasureId,
}

/// Requests beside the steps whose responses hold messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Poll {
    pub endpoint: EndpointId,
    /// Path and query, base path in front; rendered for each request.
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    /// From one request being due to the next; `None`: the next follows the response at once.
    pub every_ns: Option<u64>,
    /// Where the response has its list of messages; `None`: the body is one message.
    pub each: Option<Vec<String>>,
    /// Before the messages are handed on.
    pub save: Vec<Save>,
    pub status: StatusRule,
    /// Response latency of each request.
    pub measure: MeasureId,
    /// From a request being sent to its response's end.
    pub timeout_ns: u64,
    /// From a failure to the next request.
    pub pause_ns: u64,
}

/// Sending a message over a WebSocket or a framed TCP connection.
#[derive(Debug, Clone, PartialEq)]
pub struct WsSend {
    pub payload: Payload,
    /// Of a WebSocket: a binary frame instead of a text frame.
    pub binary: bool,
    /// What answers it. Its measure runs from the send being due to the reply.
    pub reply: Option<Expect>,
    /// Where there is no reply, the send itself is counted here (response = its lag).
    pub measure: MeasureId,
}

/// A message that is waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// All must hold. Empty: the next message that is not one of [`Plan::messages`].
    pub when: Vec<Match>,
    pub save: Vec<Save>,
    /// Evaluated after `save`; a false one counts as error kind `check`.
    pub check: Vec<Expr>,
    pub measure: MeasureId,
    /// From being sent to the reply.
    pub timeout_ns: u64,
}

/// One condition on a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    pub from: Source,
    pub test: MatchTest,
}

/// What the text taken from a message must be.
#[derive(Debug, Clone, PartialEq)]
pub enum MatchTest {
    /// Equal to the template's value: strings by their text, numbers and booleans by value.
    Equals(Template),
    /// Present, whatever its value.
    Exists,
}

/// Keeping a part of a response or message in a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Save {
    pub slot: Slot,
    pub from: Source,
    /// Used where the source has nothing; without it that is an error of kind `save`.
    pub default: Option<Template>,
}

/// Where in a response or message to look.
#[derive(Debug, Clone)]
pub enum Source {
    /// RFC 6901, already unescaped into its tokens. Empty: the whole document.
    Pointer(Vec<String>),
    /// A group of the first match in the body or message.
    Regex {
        regex: regex::bytes::Regex,
        group: usize,
        /// Over an HTTP response as it came: status line, headers, empty line and body.
        whole: bool,
    },
    /// An HTTP response header, lower-case name; the first one of that name.
    Header(String),
    /// The HTTP status as an integer.
    Status,
    /// The whole body or message as text.
    Body,
    /// The name of a server-sent event, or of a channel's.
    Event,
    /// The topic, identifier or namespace of a channel's message.
    Topic,
    /// The last id that the event stream said.
    EventId,
    /// A number so many bytes behind a message's beginning.
    Number { form: NumberForm, at: u32 },
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Source::Pointer(a), Source::Pointer(b)) => a == b,
            (
                Source::Regex {
                    regex: a,
                    group,
                    whole,
                },
                Source::Regex {
                    regex: b,
                    group: g,
                    whole: w,
                },
            ) => a.as_str() == b.as_str() && group == g && whole == w,
            (Source::Header(a), Source::Header(b)) => a == b,
            (Source::Number { form, at }, Source::Number { form: f, at: a }) => {
                (form, at) == (f, a)
            }
            (Source::Status, Source::Status)
            | (Source::Body, Source::Body)
            | (Source::Event, Source::Event)
            | (Source::Topic, Source::Topic)
            | (Source::EventId, Source::EventId) => true,
            _ => false,
        }
    }
}

impl Source {
    /// True where the body or message text itself is looked at.
    pub fn reads_body(&self) -> bool {
        matches!(
            self,
            Source::Pointer(_) | Source::Regex { .. } | Source::Body | Source::Number { .. }
        )
    }
}

/// A kind of message that arrives without being asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Unasked {
    /// As written: the key under `messages`.
    pub name: String,
    pub when: Vec<Match>,
    /// Where the sender's timestamp is and how to read it; without it the message is counted only.
    pub sent_at: Option<SentAt>,
    /// Its number, where it has one: then it is told which of them each user got.
    pub numbered: Option<Numbered>,
    pub measure: MeasureId,
}

/// A timestamp inside a message.
#[derive(Debug, Clone, PartialEq)]
pub struct SentAt {
    /// JSON pointer tokens.
    pub pointer: Vec<String>,
    /// Nanoseconds per unit of the number found: 1e9 for seconds since the epoch, 1e6 for ms, …
    pub unit_ns: f64,
}

/// Something that is measured or counted under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    pub name: String,
    pub kind: MeasureKind,
}

/// Where a measure's times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureKind {
    /// TCP (and TLS) connection set-up.
    Connect,
    /// An HTTP request, or a WebSocket send or expect.
    Request,
    /// Opening a WebSocket or an event stream.
    Handshake,
    /// An unasked message: from the sender's stamp to its receipt.
    Message,
    /// A named group of steps.
    Transaction,
    /// Conditions; only errors are counted.
    Check,
}

/// Measures every plan has, at fixed places.
pub mod builtin {
    use super::MeasureId;
    /// TCP and TLS connection set-up, one entry a connection.
    pub const CONNECT: MeasureId = 0;
    /// How many there are.
    pub const COUNT: usize = 1;
}

/// Run-wide settings. Defaults are in `docs/scenario-reference.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// TCP and TLS set-up of one connection.
    pub connect_timeout_ns: u64,
    pub connect_retries: ConnectRetries,
    /// Connections that may be set up at once, in all loops together, before users that fall due
    /// have to wait; `None`: as the network takes them.
    pub connecting_max: Option<u64>,
    /// After the last phase no step begins; those in flight get this long.
    pub drain_ns: u64,
    /// Local addresses to connect from, in turn. Empty: the kernel's choice, and 127.0.0.0/8 is
    /// used up address by address where the target is on loopback and ports run out.
    pub source_addresses: Vec<IpAddr>,
    pub tls: Tls,
    pub http_connections: HttpConnections,
    /// The body of an HTTP response, without chunked coding. Heads have a limit of their own.
    pub response_bytes_max: usize,
    /// One WebSocket message or server-sent event.
    pub message_bytes_max: usize,
    pub mode: Mode,
    /// How many event loops; `None`: the mode's own rule.
    pub loops_count: Option<u32>,
    /// Above this p99 lag the run is not trusted.
    pub lag_max_ns: u64,
}

/// What becomes of a connection that the target refused, reset or did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectRetries {
    /// How often it is tried again for one operation; 0: never.
    pub times: u8,
    /// How long after it failed.
    pub pause_ns: u64,
}

/// Who owns HTTP connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpConnections {
    /// Each user keeps one per endpoint until it finishes.
    User,
    /// A loop's users share idle ones; more are opened when none is idle.
    Shared,
}

/// How the loops wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Precise while the planned users fit, else wide.
    Auto,
    /// One loop a core that sleeps until just before the next due time and then spins.
    Precise,
    /// Several loops a core, millisecond punctuality, any number of users.
    Wide,
}

/// Certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// False: any certificate is accepted (said aloud in the run's findings).
    pub verify: bool,
    /// PEM files of further trusted roots.
    pub ca_files: Vec<String>,
    /// Sent and checked instead of the endpoint's host.
    pub server_name: Option<String>,
}

/// A condition that decides whether the run passes.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// As written.
    pub text: String,
    pub figure: Figure,
    pub comparison: Comparison,
    /// In the figure's base unit: nanoseconds, per second, a share in 0..=1, or a count.
    pub limit: f64,
}

/// `<`, `<=`, `>`, `>=`, `==`, `!=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Comparison {
    /// Does `left ⟨comparison⟩ right` hold?
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterEqual => left >= right,
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
        }
    }
}

/// A figure of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// Users whose first connection was made, over users that started one: `connected`.
    Connected,
    /// Users that started: `users`.
    Users,
    /// Users that could not be started for want of files, ports or memory: `refused`.
    Refused,
    /// What connections took on the wire, over the whole run: `segments_out`, ….
    Wire(Wire),
    /// A figure of one measure, or of all together where `measure` is `None` (only for
    /// [`Stat::Errors`], [`Stat::ErrorRate`], [`Stat::Count`] and [`Stat::Rate`]).
    Measure {
        stat: Stat,
        measure: Option<MeasureId>,
        basis: Basis,
        /// Index into [`Plan::phases`]; `None`: the whole run.
        phase: Option<usize>,
    },
}

/// Which number of a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stat {
    /// Operations that ended, well or not: `count(x)`.
    Count,
    /// Of them, per second: `rate(x)`.
    Rate,
    /// Failed operations: `errors(x)`.
    Errors,
    /// Failed operations as a share of all: `error_rate(x)`.
    ErrorRate,
    Mean,
    Min,
    Max,
    /// In 0..=1: `p98(x)`.
    Quantile(f64),
}

/// Which of a measure's three durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// done − due: `p98(x)`.
    Response,
    /// done − sent: `p98(x.service)`.
    Service,
    /// sent − due: `p98(x.lag)`.
    Lag,
}

impl Plan {
    /// When the last phase ends.
    pub fn end_ns(&self) -> u64 {
        self.phases.last().map_or(0, Phase::end_ns)
    }

    /// How many users all phases together are expected to start.
    pub fn users_planned(&self) -> f64 {
        self.phases.iter().map(Phase::users_planned).sum::<f64>() + self.singles.len() as f64
    }

    /// Puts the address of a started built-in target in the placeholder's place.
    pub fn set_target(&mut self, host: &str, port: u16) {
        let endpoint = &mut self.endpoints[0];
        endpoint.host = host.to_owned();
        endpoint.port = port;
    }
}
