//! The compiled form of a scenario, and the evaluation of its expressions.
//!
//! A [`Plan`] is immutable and shared by every loop: flat programs, phases and options, all names
//! resolved. Times are nanoseconds (`u64`), rates are per second (`f64`), sizes are bytes. Nothing in it
//! refers back to the text it came from. [`meters`], [`prices`] and [`probes`] are the compiled forms of
//! the smaller documents.

mod auth;
pub mod calls;
mod channels;
mod data;
mod decimal;
mod elements;
pub mod expr;
pub mod graphql;
mod hash;
mod hosts;
mod http;
mod ids;
pub mod json;
mod k6;
mod load_setting;
mod matching;
mod measures;
mod meetings;
mod messages;
pub mod meters;
mod metrics;
mod mqtt;
mod numbered;
mod once;
mod options;
mod pattern;
mod phases;
mod populations;
pub mod prices;
pub mod probes;
mod reconnect;
mod regions;
mod remote;
mod script;
pub mod secret;
mod session;
mod streams;
mod tcp;
pub mod thresholds;
mod via;
mod wire;

pub use auth::{Aws, Digest};
pub use channels::{ChannelOp, ChannelVerb, Protocol};
pub use data::{Data, DrawnRow, End, Feed, Order, Table};
pub use elements::Elements;
pub use hosts::{HostAddress, reached};
pub use http::{HttpOp, StatusRule, is_secret_header};
pub use ids::{DataId, EndpointId, MeasureId, MessageId, MetricId, Pc, Register, SessionId, Slot};
pub use k6::{K6File, K6Metric, K6Name, K6Next, K6Op, K6Script, K6Socket};
pub use load_setting::LoadSetting;
pub use matching::{Match, MatchTest, Save, Source, pointer_text};
pub use measures::{
    GROUP, GROUP_SEPARATOR, Measure, MeasureKind, Tags, all_tags, builtin, difference, has_tag,
};
pub use meetings::{Counter, MeetOp, Meetings, Queue, Rendezvous};
pub use messages::{Acknowledgement, Expect, PushedMessage, SendOp, SentAt};
pub use metrics::Metric;
pub use mqtt::{Delivery, MessageProperties, MqttAuthentication, MqttOpen, MqttWill};
pub use numbered::MessageNumber;
pub use once::Once;
pub use options::{
    ConnectRetries, Dns, HttpConnections, HttpVersion, Mode, Options, Tls, TlsResumption,
    WebSockets,
};
pub use pattern::{PATTERN_STEPS_MAX, Pattern, TooManySteps};
pub use phases::{
    Iterations, Phase, PhaseKind, Population, RATE_MAX_PER_S, START_SLACK, Series, Single, Spacing,
    Trace, closed_until_ns,
};
pub use populations::{NamedPopulation, POPULATION};
pub use reconnect::{Backoff, Jitter, Pauses, WsReconnect};
pub use regions::{REGION, RecordedMeasures, Region};
pub use script::{Script, ScriptFile, ScriptOp, ScriptStep};
pub use session::*;
pub use streams::{Poll, Reconnect, SseOpen, WsOpen};
pub use tcp::{Payload, TcpOpen};
pub use thresholds::{
    Abort, Basis, Comparison, Figure, PreciseFigure, Precision, Stat, Threshold, Until,
};
pub use via::{Proxy, ProxyCredentials, ProxyKind, Via};
pub use wire::Wire;

use std::sync::Arc;

use grpc::Schema;
use serde::Serialize;

use expr::Value;
use probes::Probe;

/// Everything a worker needs to know to play its part of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The scenario's name; names the run directory.
    pub name: String,
    /// Every random draw of the run follows from it.
    pub seed: u64,
    /// The target is expected to fall behind: that it does is no failure.
    pub expects_overload: bool,
    /// The system under load.
    pub target: Target,
    /// The addresses that connections go to. For [`Target::Url`] the first is the target; for
    /// [`Target::Builtin`] the first is a placeholder until [`Plan::set_target`].
    pub endpoints: Vec<Endpoint>,
    /// The proxies that endpoints are reached through.
    pub proxies: Vec<Proxy>,
    /// The servers of a target that consists of several: each one's endpoint and weight. A user
    /// belongs to one of them, and its steps to endpoint 0 go there. Empty: there is one.
    pub servers: Vec<(EndpointId, f64)>,
    /// The regions that users connect from; empty: the scenario does not say.
    pub regions: Vec<Region>,
    /// The programs users run.
    pub sessions: Vec<Session>,
    /// Steps that run once before any user starts.
    pub setup: Option<Box<Once>>,
    /// Steps that run once when all users are gone.
    pub teardown: Option<Box<Once>>,
    /// The values of the variables of [`Plan::setup`], by their slots, once it has run.
    pub shared: Vec<Value>,
    /// Everything that is measured, by name. The first entries are the [`builtin`] ones.
    pub measures: Vec<Measure>,
    /// Numbers of the scenario's own that are no times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// The measure of steps that could not be done and are no operations: a `set` whose value
    /// cannot be computed, a `feed` that finds no row. Open WebSockets, TCP connections and event
    /// streams that were lost between steps are counted there, too. [`builtin::CONNECT`] if there
    /// are no such steps. [`MeasureKind::Step`] but for that.
    pub faults: MeasureId,
    /// Redirects that were followed, one row each. [`builtin::CONNECT`] where none are.
    pub redirects: MeasureId,
    /// Users' own data.
    pub data: Vec<Data>,
    /// Functions and steps in JavaScript.
    pub script: Option<Arc<Script>>,
    /// A script of k6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k6: Option<Arc<K6Script>>,
    /// The files that the scenario includes.
    pub included: Vec<Included>,
    /// The messages and methods of gRPC calls; empty where there are none.
    pub calls: Arc<Schema>,
    /// Rendezvous, counters and queues that users share while they run.
    pub meetings: Meetings,
    /// Messages that the server pushes, tried in order.
    pub messages: Vec<PushedMessage>,
    /// The phases in order, gapless from 0: the stretches of the run, and the arrivals of its users unless there are
    /// [`Plan::populations`].
    pub phases: Vec<Phase>,
    /// Populations with names, side by side. Their users come instead of those of the phases; empty: there is one
    /// population, without a name.
    pub populations: Vec<NamedPopulation>,
    /// Users that start at times of their own, beside the phases; in the order of their times.
    pub singles: Vec<Single>,
    /// Run-wide settings.
    pub options: Options,
    /// Conditions that must hold for the run to pass.
    pub thresholds: Vec<Threshold>,
    /// The thresholds that end the run as soon as they do not hold.
    pub aborts: Vec<Abort>,
    /// The figures that end the run as soon as they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Which overrides hold secrets, by their place in the list: the record leaves out their values.
    pub secret_sets: Vec<usize>,
    /// Secrets in the scenario's own text: the record leaves them out as well.
    #[serde(skip)]
    pub secret_texts: Vec<secret::SecretText>,
    /// Names whose values are hidden in texts that are recorded.
    #[serde(skip)]
    pub secret_names: secret::SecretNames,
    /// Secret overrides that reach cookies only: an experiment may compare settings that cookies
    /// carry.
    pub cookie_sets: Vec<usize>,
    /// Probes that query the server's side.
    pub probes: Vec<Probe>,
    /// Scaling groups for the lab that the run takes place in, instead of the lab's own: a mapping as JSON. The lab
    /// checks it.
    pub scaling: Option<String>,
}

/// A file that a scenario includes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Included {
    /// As the scenario names it, relative to its folder.
    pub name: String,
    /// The place where its text begins among all texts: the scenario's own comes first, and after each there is a line
    /// break. Places of secrets are counted so.
    pub start: usize,
    /// As it was read.
    pub text: Arc<str>,
}

/// The system under load.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

impl Target {
    /// Passwords in the addresses that a built-in system is given.
    pub fn passwords(&self) -> impl Iterator<Item = &str> {
        let args: &[(String, String)] = match self {
            Target::Url(_) => &[],
            Target::Builtin { args, .. } => args,
        };
        args.iter().filter_map(|(_, value)| secret::password_of(value))
    }
}

/// A place connections are made to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// True for `https` and `wss`.
    pub tls: bool,
    /// Host name or literal address, without brackets.
    pub host: String,
    /// TCP port. Of a Unix socket it is that of URLs without one.
    pub port: u16,
    /// Path that relative step paths are appended to, without a trailing slash; often empty.
    pub base_path: String,
    /// How connections reach it.
    pub via: Via,
}

impl Plan {
    /// When the last phase ends.
    pub fn end_ns(&self) -> u64 {
        self.phases.last().map_or(0, Phase::end_ns)
    }

    /// The end of a run that is over as soon as all users are done, if the target takes no time, or as soon as enough is
    /// known, if that is at the first look; of any other run its end. Sessions take their mean time.
    pub fn least_end_ns(&self) -> u64 {
        let lasts = self.arrivals().filter_map(<[Phase]>::last);
        let end_ns = lasts.map(|last| self.least_end_of(last)).max().unwrap_or(0);
        let known_ns = self.until.as_ref().map(|until| until.first_look_ns(&self.phases));
        known_ns.map_or(end_ns, |known_ns| known_ns.min(end_ns))
    }

    /// The latest end of the load: that of the last phase, or of the time in which enough is to be known.
    pub fn most_end_ns(&self) -> u64 {
        let at_most_ns = self.until.as_ref().map_or(u64::MAX, |until| until.at_most_ns);
        at_most_ns.min(self.end_ns())
    }

    fn least_end_of(&self, last: &Phase) -> u64 {
        if !last.until_done {
            return last.end_ns();
        }
        let users = last.users_planned().max(1.0);
        let rounds =
            last.sessions_planned().map_or(1.0, |sessions| (sessions as f64 / users).ceil());
        let sessions = self.sessions.iter().filter(|session| session.weight > 0.0);
        let length_ns = sessions.map(Session::length_mean_ns).fold(0.0, f64::max);
        // Casts saturate.
        last.start_ns + ((rounds * length_ns) as u64).min(last.duration_ns)
    }

    /// How many users all populations together are expected to start.
    pub fn users_planned(&self) -> f64 {
        let planned: f64 = self.arrivals().flatten().map(Phase::users_planned).sum();
        planned + self.singles.len() as f64
    }

    /// True if a threshold needs to know how long sessions take.
    pub fn times_sessions(&self) -> bool {
        self.thresholds.iter().any(|threshold| threshold.figure.times_sessions())
    }

    /// The measures of a run's record; [`Threshold`]s refer to them.
    pub fn recorded(&self) -> RecordedMeasures {
        RecordedMeasures::new(&self.measures, &self.messages, &self.regions)
    }

    /// Whether any user may run the session of this number.
    pub fn has_users_of(&self, session: usize) -> bool {
        self.arrivals().flatten().any(|phase| self.phase_has_users_of(phase, session))
            || self.singles.iter().any(|single| single.session.index() == session)
    }

    /// Whether users of this phase may run the session of this number.
    pub fn phase_has_users_of(&self, phase: &Phase, session: usize) -> bool {
        let draws = |phase: &Phase| match (&phase.session, &phase.weights) {
            (Some(id), _) => id.index() == session,
            (None, Some(weights)) => weights.get(session).is_some_and(|weight| *weight > 0.0),
            (None, None) => self.sessions[session].weight > 0.0,
        };
        phase.parts().any(|part| !matches!(part.kind, PhaseKind::Hold) && draws(part))
    }

    /// Puts the address of a started built-in target in the placeholder's place.
    pub fn set_target(&mut self, host: &str, port: u16) {
        let endpoint = &mut self.endpoints[0];
        endpoint.host = host.to_owned();
        endpoint.port = port;
    }
}
