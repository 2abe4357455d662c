//! The language of scenarios and experiments: every mapping as a table of keys.
//!
//! The tables are the only place where a key's name, type, default and meaning stand. The check
//! for unknown keys, the JSON Schema ([`crate::schema()`]) and the reference in `docs/scenario-reference.md`
//! ([`crate::reference()`]) follow from them. A step may also have its table beside what it compiles to.
//! [`other_tools`] knows the words of other load generators, and what to write instead of them.

mod arrivals;
mod auth;
pub(crate) mod channels;
pub(crate) mod data;
mod dist;
mod document;
mod experiment;
pub(crate) mod graphql;
pub(crate) mod grpc;
pub(crate) mod markov;
pub(crate) mod matching;
pub(crate) mod meeting;
pub(crate) mod mqtt;
mod options;
pub mod other_tools;
mod phase;
mod population;
mod probes;
mod recorded;
mod requests;
pub(crate) mod retry;
pub(crate) mod steps;
pub(crate) mod tags;
mod target;
pub(crate) mod tcp;

pub use self::document::{
    ABORT, DOCUMENT, INCLUDE, K6, MESSAGE, METRIC, METRIC_KINDS, SESSION, SETUP, STAMPS,
};
pub use self::graphql::{GRAPHQL_REQUEST, SUBSCRIBED};
pub use self::grpc::GRPC_FILES;
pub use arrivals::{PHASES, SINGLE, STEP_RANGE};
pub use auth::{AUTH, AWS, CREDENTIALS, SIGN};
pub use channels::{
    COMPRESS, EMITTED, INVOKED, JITTERS, PERFORMED, PROTOCOLS, PUSHED, RECONNECT, VSNS,
};
pub use data::{DATA, ORDERS};
pub use dist::{DIST, GAMMA, LOGNORMAL, MIXTURE_PART, NORMAL, PARETO, UNIFORM, WEIBULL};
pub use experiment::{CLAIM, COMPARE, EXPERIMENT, FACTOR, PUBLISHED, PUBLISHED_VALUE, RESPONSE};
pub use markov::{MARKOV, STATE, TRANSITION};
pub use matching::{EXPECT, MQTT_HEADERS, REGEX_PARTS, SAVE, SAVE_WORDS, WHEN};
pub use meeting::{ON_TIMEOUT, SHARED};
pub use mqtt::{AUTHENTICATION, MQTT_MESSAGE, MQTT_VERSIONS, QOS, RETAINED, WILL};
pub use options::{CODINGS, CONNECT_RETRIES, DNS, NO_CODING, OPTIONS};
pub use population::POPULATION;
pub use probes::{PROBES, PROCESS};
pub use recorded::SOURCES;
pub use requests::{EXPECTATIONS, HTTP_REQUEST, PART, WEBSOCKET};
pub use retry::FAILURES;
pub use steps::{CHOICE, ITEMS};
pub use target::{HTTP_VERSIONS, SERVER, TARGET_URL, TLS};
pub use tcp::{COUNTS, FRAMING, WIDTHS};

/// Units of times that are numbers.
pub const TIME_UNITS: &[&str] = &["s", "ms", "us", "ns"];
/// Their lengths in nanoseconds.
pub const TIME_UNITS_NS: [f64; 4] = [1e9, 1e6, 1e3, 1.0];

/// One key of a mapping.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// The kind of value behind the key.
    pub kind: Kind,
    /// The value if the key is not written.
    pub default: Default,
    /// One sentence or two, Markdown, without a full stop at the end.
    pub doc: &'static str,
}

/// The value of a key that is not written.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// It must be written.
    Required,
    /// It must be written unless this key of the same mapping is.
    RequiredWithout(&'static str),
    /// Nothing, or what its doc says.
    Absent,
    /// As if this text stood there.
    Text(&'static str),
    /// A sentence about it.
    Said(&'static str),
}

/// The keys of one mapping.
#[derive(Debug)]
pub struct Table {
    /// Names it in messages, in the schema and in the documentation.
    pub name: &'static str,
    /// The keys, in groups that several tables may share.
    pub groups: &'static [&'static [Key]],
}

impl Table {
    /// All keys, in the order of the documentation.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + Clone {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys().map(|key| key.name)
    }

    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }

    /// The first key: the one that a step, phase or distribution is called by.
    pub fn verb(&self) -> &'static str {
        self.names().next().unwrap_or(self.name)
    }
}

/// Kinds of values behind a key.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text without variables.
    Text,
    /// A URL, or the name of a built-in system.
    Target,
    /// Text in which `${…}` is filled in for each user.
    Template,
    /// A value that becomes JSON, filled in for each user.
    Json,
    /// An expression.
    Expression,
    /// A duration: `250ms`, `3s`, `1h30m`.
    Duration,
    /// A duration or a distribution of durations.
    Dist,
    /// A rate: `120/s`.
    Rate,
    /// Two rates: `0/s..120/s`.
    RateRange,
    /// A size: `4KiB`.
    Size,
    /// A percentage: `20%`.
    Share,
    /// A whole number.
    Count,
    /// Two whole numbers: `0..500`.
    CountRange,
    /// A number without a unit.
    Number,
    Bool,
    /// A number, a word or text.
    Scalar,
    /// Nothing stands behind it.
    Nothing,
    /// One of these words.
    Word(&'static [&'static str]),
    List(&'static Kind),
    /// One value of this kind, or a list of them.
    OneOrMore(&'static Kind),
    /// Names chosen by the author, each with such a value.
    Map(&'static Kind),
    Mapping(&'static Table),
    /// A list of steps.
    Steps,
    /// One step.
    Step,
    /// A phase of the arrivals.
    Phase,
    /// Something that is queried on the server's side.
    Probe,
    /// Any of these.
    Any(&'static [Kind]),
}

impl Kind {
    /// The kind in the words of the documentation.
    pub fn described(&self) -> String {
        match self {
            Kind::Text => "text".to_owned(),
            Kind::Target => "URL, or name of a built-in system".to_owned(),
            Kind::Template => "template".to_owned(),
            Kind::Json => "JSON template".to_owned(),
            Kind::Expression => "expression".to_owned(),
            Kind::Duration => "duration".to_owned(),
            Kind::Dist => "duration or distribution".to_owned(),
            Kind::Rate => "rate".to_owned(),
            Kind::RateRange => "two rates".to_owned(),
            Kind::Size => "size".to_owned(),
            Kind::Share => "percentage".to_owned(),
            Kind::Count => "whole number".to_owned(),
            Kind::CountRange => "two of them".to_owned(),
            Kind::Number => "number".to_owned(),
            Kind::Bool => "`true` or `false`".to_owned(),
            Kind::Scalar => "number, word or text".to_owned(),
            Kind::Nothing => "nothing".to_owned(),
            Kind::Word(words) => {
                words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(" or ")
            }
            Kind::List(of) => format!("list: {}", of.described()),
            Kind::OneOrMore(of) => format!("{}, or a list of them", of.described()),
            Kind::Map(of) => format!("names, each with: {}", of.described()),
            Kind::Mapping(table) => {
                let anchor = table.name.replace(' ', "-");
                format!("mapping: [{}](#keys-of-{anchor})", table.name)
            }
            Kind::Steps => "list of [steps](#steps)".to_owned(),
            Kind::Step => "a [step](#steps)".to_owned(),
            Kind::Phase => "[phase](#arrivals)".to_owned(),
            Kind::Probe => "[probe](#probes)".to_owned(),
            Kind::Any(kinds) => kinds.iter().map(Kind::described).collect::<Vec<_>>().join("; or "),
        }
    }
}

impl Kind {
    /// How such a value is written, for hints.
    pub fn example(&self) -> &'static str {
        match self {
            Kind::Text | Kind::Word(_) => "…",
            Kind::Target => "http://127.0.0.1:8080/",
            Kind::Template => "/path",
            Kind::Json => "{ op: hello }",
            Kind::Expression => "n > 3",
            Kind::Duration => "30s",
            Kind::Dist => "1s..15s",
            Kind::Rate => "10/s",
            Kind::RateRange => "0/s..10/s",
            Kind::Size => "16MiB",
            Kind::Share => "20%",
            Kind::Count => "10",
            Kind::CountRange => "0..10",
            Kind::Number | Kind::Scalar => "1",
            Kind::Bool => "true",
            Kind::Nothing => "",
            Kind::List(Kind::Phase) => "[ { constant: 10/s, for: 30s } ]",
            Kind::List(Kind::Any([Kind::Steps, ..])) => "[ { get: /a.css }, { get: /b.js } ]",
            Kind::List(_) => "[ … ]",
            Kind::OneOrMore(of) => of.example(),
            Kind::Map(Kind::Any([Kind::Steps, ..])) => "{ visitor: [ { get: / } ] }",
            Kind::Map(Kind::Rate) => "{ \"08:00\": 10/s }",
            Kind::Map(_) => "{ name: … }",
            Kind::Mapping(table) if std::ptr::eq(*table, &WHEN) => "{ /type: hello }",
            Kind::Mapping(_) => "{ … }",
            Kind::Steps => "[ { think: 1s } ]",
            Kind::Step => "{ think: 1s }",
            Kind::Phase => "{ hold: 30s }",
            Kind::Probe => "host",
            Kind::Any(kinds) => kinds.first().map_or("…", Kind::example),
        }
    }
}

/// The designs of experiments.
pub const DESIGNS: &[&str] = &["full", "2^k", "2^(k-r)", "sweep"];
