//! The top level, messages, sessions, setup and teardown.

use super::Default::{Absent, Required, RequiredWithout, Said, Text};
use super::data::DATA;
use super::grpc::GRPC_FILES;
use super::matching::WHEN;
use super::meeting::SHARED;
use super::options::OPTIONS;
use super::population::POPULATION;
use super::target::TARGET_URL;
use super::{Key, Kind, TIME_UNITS, Table};

/// The keys of `scenario`.
pub static DOCUMENT: Table = Table {
    name: "scenario",
    groups: &[&[
        Key {
            name: "name",
            kind: Kind::Text,
            default: Said("the file's name"),
            doc: "Name of the run and of its directory",
        },
        Key {
            name: "target",
            kind: Kind::Any(&[
                Kind::Target,
                Kind::Mapping(&TARGET_URL),
                Kind::Map(&Kind::Map(&Kind::Scalar)),
            ]),
            default: Required,
            doc: "What is under load: a URL, the name of a built-in system, or a mapping",
        },
        Key {
            name: "seed",
            kind: Kind::Count,
            default: Text("1"),
            doc: "Seed of all random draws of the run",
        },
        Key {
            name: "expect",
            kind: Kind::Word(&["service", "overload"]),
            default: Text("service"),
            doc: "What the target is expected to do. `service`: answer as fast as requests \
                  are due; a run in which it falls behind does not pass. `overload`: fall \
                  behind",
        },
        Key {
            name: "params",
            kind: Kind::Map(&Kind::Scalar),
            default: Absent,
            doc: "Parameters with their default values. `${name}` inserts one anywhere \
                  in the file; `--set name=value` changes it",
        },
        Key {
            name: "include",
            kind: Kind::OneOrMore(&Kind::Any(&[Kind::Text, Kind::Mapping(&INCLUDE)])),
            default: Absent,
            doc: "[Other files](scenario.md#several-files) whose sessions, data, messages, metrics, functions and \
                  thresholds belong to this scenario; relative to its directory",
        },
        Key {
            name: "options",
            kind: Kind::Mapping(&OPTIONS),
            default: Absent,
            doc: "Run-wide settings",
        },
        Key {
            name: "script",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Absent,
            doc: "File in JavaScript whose functions [expressions can call](scripts.md), or several; relative to the \
                  scenario's directory",
        },
        Key {
            name: "k6",
            kind: Kind::Mapping(&K6),
            default: Absent,
            doc: "A [script of k6](k6.md), whose functions steps run",
        },
        Key {
            name: "messages",
            kind: Kind::Map(&Kind::Mapping(&MESSAGE)),
            default: Absent,
            doc: "Messages that the server pushes (over WebSocket, TCP, server-sent \
                  events or polling). Tried in this order if no step waits for the \
                  received message",
        },
        Key {
            name: "grpc",
            kind: Kind::Mapping(&GRPC_FILES),
            default: Absent,
            doc: "The `.proto` files of [gRPC calls](grpc.md). With it, `http` is `2`",
        },
        Key {
            name: "data",
            kind: Kind::Map(&Kind::Mapping(&DATA)),
            default: Absent,
            doc: "Data files by name; `feed` takes rows of them",
        },
        Key {
            name: "shared",
            kind: Kind::Mapping(&SHARED),
            default: Absent,
            doc: "[What users share](scenario.md#between-users) while they run: rendezvous, counters, queues",
        },
        Key {
            name: "metrics",
            kind: Kind::Map(&Kind::Any(&[Kind::Word(METRIC_KINDS), Kind::Mapping(&METRIC)])),
            default: Absent,
            doc: "[Numbers of the scenario's own](scenario.md#metrics-of-your-own) that are no times, by name: their kind, \
                  or a mapping; at most 64",
        },
        Key {
            name: "regions",
            kind: Kind::Map(&Kind::Number),
            default: Absent,
            doc: "[Where users connect from](scenario.md#regions): the share of each region, by name",
        },
        Key {
            name: "setup",
            kind: ONCE,
            default: Absent,
            doc: "[Steps that run once](scenario.md#setup-and-teardown) before any user starts. All users can read its variables",
        },
        Key {
            name: "teardown",
            kind: ONCE,
            default: Absent,
            doc: "Steps that run once when all users are gone, also after an interruption. They can read the variables of `setup`",
        },
        Key {
            name: "sessions",
            kind: Kind::Map(&Kind::Any(&[Kind::Steps, Kind::Mapping(&SESSION)])),
            default: Required,
            doc: "The users' programs by name",
        },
        Key {
            name: "arrivals",
            kind: Kind::List(&Kind::Phase),
            default: RequiredWithout("populations"),
            doc: "How users arrive: consecutive phases",
        },
        Key {
            name: "populations",
            kind: Kind::Map(&Kind::Mapping(&POPULATION)),
            default: Absent,
            doc: "[Populations side by side](arrivals.md#populations-side-by-side) by name, at most 64, each with arrivals of \
                  its own",
        },
        Key {
            name: "thresholds",
            kind: Kind::List(&Kind::Any(&[Kind::Text, Kind::Mapping(&ABORT)])),
            default: Absent,
            doc: "Conditions that must hold for the run to pass",
        },
        Key {
            name: "until",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Absent,
            doc: "A percentile and how precise it is to be, `p95(checkout) ± 2%, at most 30m`, or several: the run ends [as \
                  soon as that is known](scenario.md#ending-when-enough-is-known)",
        },
        Key {
            name: "probes",
            kind: Kind::List(&Kind::Probe),
            default: Absent,
            doc: "Sources on the server's side that are read once a second",
        },
        Key {
            name: "scaling",
            kind: Kind::Map(&Kind::Map(&Kind::Any(&[
                Kind::Scalar,
                Kind::List(&Kind::Map(&Kind::Scalar)),
            ]))),
            default: Absent,
            doc: "[Scaling groups](lab.md#scaling) of the lab that the run takes place in, by service, \
                  instead of those of the lab's file",
        },
    ]],
};

/// The keys of `include`.
pub static INCLUDE: Table = Table {
    name: "include",
    groups: &[&[
        Key {
            name: "file",
            kind: Kind::Text,
            default: Required,
            doc: "The file's name, relative to the scenario's directory",
        },
        Key {
            name: "with",
            kind: Kind::Map(&Kind::Scalar),
            default: Absent,
            doc: "Values of the file's `params`, instead of those that it has itself",
        },
    ]],
};

/// The keys of `message`.
pub static MESSAGE: Table = Table {
    name: "message",
    groups: &[&[
        Key {
            name: "when",
            kind: Kind::Mapping(&WHEN),
            default: Required,
            doc: "Which messages this entry describes: all conditions must hold",
        },
        Key {
            name: "sent_at",
            kind: Kind::Text,
            default: Said("the message is only counted"),
            doc: "Where the sender's timestamp is, a number since the Unix epoch: a JSON \
                  pointer, or a binary field (`u64be@4`). The message's latency is the \
                  time from this timestamp to receipt",
        },
        Key {
            name: "unit",
            kind: Kind::Word(TIME_UNITS),
            default: Text("ms"),
            doc: "Unit of the timestamp",
        },
        Key {
            name: "stamps",
            kind: Kind::Mapping(&STAMPS),
            default: Absent,
            doc: "What is done about [clocks that differ](realtime.md#clocks-that-differ)",
        },
        Key {
            name: "seq",
            kind: Kind::Text,
            default: Absent,
            doc: "Where the message's sequence number is: a JSON pointer, or a binary \
                  field (`u32be@4`). It must grow by one with each message. [Lost and \
                  repeated messages](realtime.md#numbered-messages) are then reported",
        },
        Key {
            name: "key",
            kind: Kind::Text,
            default: Said(
                "the channel's topic if there is one, else all messages form \
                           one sequence",
            ),
            doc: "Distinguishes sequences: a JSON pointer, or a binary field",
        },
        Key {
            name: "ack",
            kind: Kind::Any(&[Kind::Json, Kind::Bool]),
            default: Text("[]"),
            doc: "For `socket.io`: what the user answers if the server wants an \
                  acknowledgement: a list of arguments, or a single argument. `false`: \
                  nothing",
        },
        Key {
            name: "numbers",
            kind: Kind::Word(&["shared", "own"]),
            default: Text("shared"),
            doc: "`shared`: all who are subscribed to a sequence get the same numbers, \
                  so that [what one got another must get, too]\
                  (realtime.md#numbered-messages). `own`: each connection's messages \
                  are numbered for it alone; only gaps are lost then",
        },
        Key {
            name: "as",
            kind: Kind::Text,
            default: Said("the message's name"),
            doc: "Name of the measure",
        },
    ]],
};

/// The keys of `stamps of messages`.
pub static STAMPS: Table = Table {
    name: "stamps of messages",
    groups: &[&[Key {
        name: "correct",
        kind: Kind::Bool,
        default: Text("false"),
        doc: "Whether timestamps are corrected by the offset of their sender's clock, as \
              replies with a timestamp show it",
    }]],
};

const ONCE: Kind = Kind::Any(&[Kind::Steps, Kind::Mapping(&SETUP)]);

/// The keys of `setup` and `teardown`.
pub static SETUP: Table = Table {
    name: "setup",
    groups: &[&[
        Key { name: "steps", kind: Kind::Steps, default: Required, doc: "The steps" },
        Key {
            name: "time_limit",
            kind: Kind::Duration,
            default: Text("1m"),
            doc: "They are ended after this time, and have failed then",
        },
        Key {
            name: "cookies",
            kind: Kind::Bool,
            default: Said("`options.cookies`"),
            doc: "Whether cookies are stored, for these steps only",
        },
    ]],
};

/// The keys of `session`.
pub static SESSION: Table = Table {
    name: "session",
    groups: &[&[
        Key {
            name: "weight",
            kind: Kind::Number,
            default: Text("1"),
            doc: "The session's share, for phases that do not choose a session",
        },
        Key {
            name: "cookies",
            kind: Kind::Bool,
            default: Said("`options.cookies`"),
            doc: "Whether its users store cookies",
        },
        super::tags::SESSION_TAGS,
        Key { name: "steps", kind: Kind::Steps, default: Required, doc: "The user's steps" },
    ]],
};

/// Kinds of metrics, in the order of `MetricKind::ALL`.
pub const METRIC_KINDS: &[&str] = &["counter", "gauge", "share", "quantity"];

/// The keys of `metric`.
pub static METRIC: Table = Table {
    name: "metric",
    groups: &[&[
        Key {
            name: "kind",
            kind: Kind::Word(METRIC_KINDS),
            default: Required,
            doc: "What its numbers are. `counter`: amounts that are added up. `gauge`: a state, of which the last number \
                  counts. `share`: whether something was so. `quantity`: numbers that are distributed",
        },
        Key {
            name: "unit",
            kind: Kind::Text,
            default: Absent,
            doc: "Stands behind its numbers: up to 16 characters, none of them a digit",
        },
    ]],
};

/// The keys of `k6`.
pub static K6: Table = Table {
    name: "k6 script",
    groups: &[&[
        Key {
            name: "files",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Required,
            doc: "The script, and behind it the files that it imports or opens; relative to the scenario's directory",
        },
        Key { name: "env", kind: Kind::Map(&Kind::Text), default: Absent, doc: "`__ENV`" },
        Key {
            name: "options",
            kind: Kind::Text,
            default: Said("none"),
            doc: "The script's options, as JSON",
        },
    ]],
};

/// The keys of `abort`.
pub static ABORT: Table = Table {
    name: "abort",
    groups: &[&[
        Key {
            name: "abort",
            kind: Kind::Text,
            default: Required,
            doc: "A threshold on a figure of measures or metrics. The run ends as soon as it does not hold, and has failed then",
        },
        Key {
            name: "over",
            kind: Kind::Duration,
            default: Said("all from the start of the run, or of the phase that it names"),
            doc: "The last time that the figure is of at each look, whole seconds up to 1m",
        },
        Key {
            name: "after",
            kind: Kind::Duration,
            default: Said("as long as `over`"),
            doc: "Time from that start until the first look",
        },
    ]],
};
