//! The top level, target, options, messages and sessions.

use super::Default::{Absent, Required, Said, Text};
use super::auth::AUTH;
use super::data::DATA;
use super::matching::WHEN;
use super::{Key, Kind, Table};

pub(crate) static DOCUMENT: Table = Table {
    name: "scenario",
    groups: &[&[
        Key {
            name: "name",
            kind: Kind::Text,
            default: Said("the file's name"),
            doc: "Names the run and its directory",
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
            doc: "Every random draw of the run follows from it",
        },
        Key {
            name: "params",
            kind: Kind::Map(&Kind::Scalar),
            default: Absent,
            doc: "Names with default values that stand for `${name}` anywhere in the file and that \
                  `--set name=value` changes",
        },
        Key {
            name: "options",
            kind: Kind::Mapping(&OPTIONS),
            default: Absent,
            doc: "Run-wide settings",
        },
        Key {
            name: "messages",
            kind: Kind::Map(&Kind::Mapping(&MESSAGE)),
            default: Absent,
            doc: "Messages of WebSockets, TCP connections and polls, and server-sent events, tried in \
                  this order where no step waits for the one that came",
        },
        Key {
            name: "data",
            kind: Kind::Map(&Kind::Mapping(&DATA)),
            default: Absent,
            doc: "Users' own data by name: files of which `feed` takes rows",
        },
        Key {
            name: "sessions",
            kind: Kind::Map(&Kind::Any(&[Kind::Steps, Kind::Mapping(&SESSION)])),
            default: Required,
            doc: "The programs that users run, by name",
        },
        Key {
            name: "arrivals",
            kind: Kind::List(&Kind::Phase),
            default: Required,
            doc: "How users arrive: phases, one after the other",
        },
        Key {
            name: "thresholds",
            kind: Kind::List(&Kind::Text),
            default: Absent,
            doc: "What must hold for the run to pass",
        },
        Key {
            name: "probes",
            kind: Kind::List(&Kind::Probe),
            default: Absent,
            doc: "What is asked on the server's side once a second",
        },
    ]],
};

pub(crate) static TARGET_URL: Table = Table {
    name: "target",
    groups: &[&[
        Key {
            name: "url",
            kind: Kind::Target,
            default: Said("either this or `servers`"),
            doc: "`http://`, `https://`, `ws://` or `wss://`, a host, and perhaps a port and a \
                  path that relative paths are appended to; or `tcp://` or `tls://`, a host and a \
                  port",
        },
        Key {
            name: "servers",
            kind: Kind::List(&Kind::Mapping(&SERVER)),
            default: Absent,
            doc: "Several servers; each user belongs to one of them, drawn by weight",
        },
        Key {
            name: "tls",
            kind: Kind::Mapping(&TLS),
            default: Absent,
            doc: "Certificates; the same as `options.tls`",
        },
    ]],
};

pub(crate) static SERVER: Table = Table {
    name: "server",
    groups: &[&[
        Key {
            name: "url",
            kind: Kind::Target,
            default: Required,
            doc: "Scheme, host and port; all servers have the same scheme and path",
        },
        Key {
            name: "weight",
            kind: Kind::Number,
            default: Text("1"),
            doc: "Its share of the users",
        },
    ]],
};

pub(crate) static TLS: Table = Table {
    name: "tls",
    groups: &[&[
        Key {
            name: "verify",
            kind: Kind::Bool,
            default: Text("true"),
            doc: "`false` accepts any certificate, and the run says so",
        },
        Key {
            name: "ca",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Absent,
            doc: "PEM files of further trusted roots",
        },
        Key {
            name: "server_name",
            kind: Kind::Text,
            default: Said("the URL's host"),
            doc: "Sent to the server and looked for in its certificate",
        },
    ]],
};

pub(crate) static CONNECT_RETRIES: Table = Table {
    name: "connect_retries",
    groups: &[&[
        Key {
            name: "times",
            kind: Kind::Count,
            default: Required,
            doc: "How often for one request or handshake, 0 to 100; each attempt is counted as \
                  `connect`, and the operation that waits counts from when it was due and ends \
                  with its own `timeout`",
        },
        Key {
            name: "pause",
            kind: Kind::Duration,
            default: Text("1s"),
            doc: "From a failure to the next attempt",
        },
    ]],
};

pub(crate) static OPTIONS: Table = Table {
    name: "options",
    groups: &[&[
        Key {
            name: "connect_timeout",
            kind: Kind::Duration,
            default: Text("10s"),
            doc: "For the TCP and TLS set-up of one connection, within the `timeout` of what needs it",
        },
        Key {
            name: "connect_retries",
            kind: Kind::Mapping(&CONNECT_RETRIES),
            default: Said("a connection that fails is not tried again"),
            doc: "Connections that the target refused, reset or did not answer are tried again",
        },
        Key {
            name: "connecting_max",
            kind: Kind::Count,
            default: Said("4,096 where the target is on loopback, else no limit"),
            doc: "Connections, upgrades included, that may be set up at once; users that fall due \
                  meanwhile start late, and are told",
        },
        Key {
            name: "timeout",
            kind: Kind::Duration,
            default: Text("30s"),
            doc: "For one response, reply, WebSocket handshake or event stream's head, from when it \
                  was sent; a step's own `timeout` or `within` goes before it",
        },
        Key {
            name: "drain",
            kind: Kind::Duration,
            default: Text("10s"),
            doc: "After the last phase no step begins; those in flight get this long",
        },
        Key {
            name: "source_addresses",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Said("the kernel's choice; 127.0.0.0/8 address by address on loopback"),
            doc: "Local addresses to connect from in turn: addresses, ranges \
                  (`10.0.0.5..10.0.0.9`) or networks (`127.0.0.0/24`); at most 65,536 together",
        },
        Key {
            name: "headers",
            kind: Kind::Map(&Kind::Template),
            default: Absent,
            doc: "Sent with every HTTP request, event stream's included, and WebSocket handshake \
                  unless the step has its own of that name; only parameters, `user`, `iteration` and functions may stand in \
                  them",
        },
        Key {
            name: "auth",
            kind: Kind::Mapping(&AUTH),
            default: Absent,
            doc: "Who users are to servers, for steps that do not say it themselves; what may stand \
                  in `headers` may stand in it",
        },
        Key {
            name: "cookies",
            kind: Kind::Bool,
            default: Text("false"),
            doc: "Users keep the cookies that responses and handshakes set, and send them back",
        },
        Key {
            name: "tls",
            kind: Kind::Mapping(&TLS),
            default: Absent,
            doc: "Certificates",
        },
        Key {
            name: "http_connections",
            kind: Kind::Word(&["user", "shared"]),
            default: Text("user"),
            doc: "`user`: every user has its own connection to each host; `shared`: users share \
                  idle ones",
        },
        Key {
            name: "response_max",
            kind: Kind::Size,
            default: Text("16MiB"),
            doc: "Largest body of an HTTP response; a larger one is an error, and so is a head over 64 KiB",
        },
        Key {
            name: "message_max",
            kind: Kind::Size,
            default: Text("16MiB"),
            doc: "Largest message of a WebSocket or a TCP connection, or server-sent event; a larger one \
                  is an error",
        },
        Key {
            name: "mode",
            kind: Kind::Word(&["auto", "precise", "wide"]),
            default: Text("auto"),
            doc: "`precise`: one loop a core with microsecond punctuality; `wide`: several loops a \
                  core, millisecond punctuality, any number of users; `auto` chooses by the number \
                  of users",
        },
        Key {
            name: "loops",
            kind: Kind::Count,
            default: Said("the mode's own rule"),
            doc: "How many event loops, 1 to 1024. Precise loops that are fewer than the cores have one each to themselves",
        },
        Key {
            name: "lag_max",
            kind: Kind::Duration,
            default: Text("50ms"),
            doc: "A run whose own lag (p99 of sent − due) is above this cannot be trusted",
        },
    ]],
};

pub(crate) static MESSAGE: Table = Table {
    name: "message",
    groups: &[&[
        Key {
            name: "when",
            kind: Kind::Mapping(&WHEN),
            default: Required,
            doc: "Which messages are meant: all conditions must hold",
        },
        Key {
            name: "sent_at",
            kind: Kind::Text,
            default: Said("the message is counted only"),
            doc: "JSON pointer to the sender's timestamp, a number since the Unix epoch; the \
                  message's latency runs from there to its receipt",
        },
        Key {
            name: "unit",
            kind: Kind::Word(&["s", "ms", "us", "ns"]),
            default: Text("ms"),
            doc: "Unit of the timestamp",
        },
        Key {
            name: "seq",
            kind: Kind::Text,
            default: Absent,
            doc: "Where its number is, which grows by one from message to message: a JSON pointer, or \
                  a number at a place (`u32be@4`). Then [lost and repeated ones](scenario.md#numbered-messages) \
                  are told",
        },
        Key {
            name: "key",
            kind: Kind::Text,
            default: Said("a channel's topic, else all are one sequence"),
            doc: "What tells one sequence of numbers from another: a JSON pointer, or a number at a \
                  place",
        },
        Key {
            name: "as",
            kind: Kind::Text,
            default: Said("the message's name"),
            doc: "What it is measured as",
        },
    ]],
};

pub(crate) static SESSION: Table = Table {
    name: "session",
    groups: &[&[
        Key {
            name: "weight",
            kind: Kind::Number,
            default: Text("1"),
            doc: "Its share among the sessions, for phases that do not name one",
        },
        Key {
            name: "cookies",
            kind: Kind::Bool,
            default: Said("`options.cookies`"),
            doc: "Its users keep cookies",
        },
        Key {
            name: "steps",
            kind: Kind::Steps,
            default: Required,
            doc: "What a user does",
        },
    ]],
};
