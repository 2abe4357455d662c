//! The top level, target, options, messages and sessions.

use super::Default::{Absent, Required, Said, Text};
use super::auth::{AUTH, SIGN};
use super::data::DATA;
use super::grpc::GRPC_FILES;
use super::matching::WHEN;
use super::meeting::SHARED;
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
            name: "options",
            kind: Kind::Mapping(&OPTIONS),
            default: Absent,
            doc: "Run-wide settings",
        },
        Key {
            name: "script",
            kind: Kind::Text,
            default: Absent,
            doc: "File in JavaScript whose functions [expressions can call](scripts.md); relative to the \
                  scenario's directory",
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
            default: Required,
            doc: "How users arrive: consecutive phases",
        },
        Key {
            name: "thresholds",
            kind: Kind::List(&Kind::Text),
            default: Absent,
            doc: "Conditions that must hold for the run to pass",
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

/// The keys of `target`.
pub static TARGET_URL: Table = Table {
    name: "target",
    groups: &[&[
        Key {
            name: "url",
            kind: Kind::Target,
            default: Said("either `url` or `servers`"),
            doc: "`http://`, `https://`, `ws://` or `wss://` with a host and optionally \
                  a port and a base path; or `tcp://` or `tls://` with a host and a \
                  port; or a [Unix socket](connecting.md#unix-sockets): `unix:/run/app.sock`, \
                  relative to the scenario, or with a base path `unix:/run/app.sock:/api`",
        },
        Key {
            name: "servers",
            kind: Kind::List(&Kind::Mapping(&SERVER)),
            default: Absent,
            doc: "Several servers; each user is assigned to one, drawn by weight",
        },
        Key {
            name: "tls",
            kind: Kind::Mapping(&TLS),
            default: Absent,
            doc: "Certificate settings; the same as `options.tls`",
        },
        Key {
            name: "http",
            kind: Kind::Word(HTTP_VERSIONS),
            default: Absent,
            doc: "Which HTTP is spoken; the same as `options.http`",
        },
        Key {
            name: "proxy",
            kind: Kind::Text,
            default: Absent,
            doc: "The proxy; the same as `options.proxy`",
        },
        Key {
            name: "no_proxy",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Absent,
            doc: "Hosts without it; the same as `options.no_proxy`",
        },
    ]],
};

/// The words of `http`, in the order of their meanings.
pub const HTTP_VERSIONS: &[&str] = &["1.1", "2", "auto"];

/// The keys of `server`.
pub static SERVER: Table = Table {
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
            doc: "The server's share of the users",
        },
    ]],
};

/// The keys of `tls`.
pub static TLS: Table = Table {
    name: "tls",
    groups: &[&[
        Key {
            name: "verify",
            kind: Kind::Bool,
            default: Text("true"),
            doc: "`false` accepts any certificate; the run reports this",
        },
        Key {
            name: "ca",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Absent,
            doc: "PEM files with additional trusted certificates: those of authorities, or of the servers \
                  themselves; relative to the scenario's directory",
        },
        Key {
            name: "cert",
            kind: Kind::Text,
            default: Absent,
            doc: "PEM file with the certificate that users present to servers that request one, and those \
                  between it and its authority; with `key`",
        },
        Key {
            name: "key",
            kind: Kind::Text,
            default: Absent,
            doc: "PEM file with its private key, not encrypted. It is read when the run starts, and not \
                  recorded",
        },
        Key {
            name: "server_name",
            kind: Kind::Text,
            default: Said("the URL's host"),
            doc: "Sent to the server (SNI) and checked against its certificate",
        },
    ]],
};

/// The keys of `connect_retries`.
pub static CONNECT_RETRIES: Table = Table {
    name: "connect_retries",
    groups: &[&[
        Key {
            name: "times",
            kind: Kind::Count,
            default: Required,
            doc: "Retries for one request or handshake, 0 to 100. Each attempt is \
                  counted as `connect`. The latency of the waiting operation starts \
                  when it was due, and its own `timeout` ends it",
        },
        Key {
            name: "pause",
            kind: Kind::Duration,
            default: Text("1s"),
            doc: "Pause between a failure and the next attempt",
        },
    ]],
};

/// The keys of `dns`.
pub static DNS: Table = Table {
    name: "dns",
    groups: &[&[
        Key {
            name: "resolvers",
            kind: Kind::Count,
            default: Text("1"),
            doc: "How many resolvers the users of a region are behind, 1 to 256. Each queries by itself, \
                  and so may know other addresses than the others",
        },
        Key {
            name: "ignore_ttl",
            kind: Kind::Share,
            default: Text("0%"),
            doc: "Share of users that keep the run's first answer until its end. Which users these \
                  are follows from the seed",
        },
    ]],
};

/// Content codings, as `accept-encoding` names them.
pub const CODINGS: &[&str] = &["gzip", "deflate", "br", "zstd"];

/// The keys of `options`.
pub static OPTIONS: Table = Table {
    name: "options",
    groups: &[&[
        Key {
            name: "connect_timeout",
            kind: Kind::Duration,
            default: Text("10s"),
            doc: "Limit for the TCP and TLS set-up of one connection. The `timeout` of \
                  the operation that needs the connection applies too",
        },
        Key {
            name: "connect_retries",
            kind: Kind::Mapping(&CONNECT_RETRIES),
            default: Said("no retries"),
            doc: "Retries connections that the target refused, reset or did not answer",
        },
        Key {
            name: "connecting_max",
            kind: Kind::Count,
            default: Said("4,096 if the target is on loopback, else no limit"),
            doc: "Largest number of connections, including upgrades, that are set up at \
                  the same time. Users that are due meanwhile start late; the run \
                  reports how many",
        },
        Key {
            name: "connections_max",
            kind: Kind::Count,
            default: Text("6"),
            doc: "Largest number of HTTP/1.1 connections of one user to one endpoint, for the branches of \
                  [`parallel`](scenario.md#branches-at-the-same-time). Further requests wait for one of them",
        },
        Key {
            name: "timeout",
            kind: Kind::Duration,
            default: Text("30s"),
            doc: "Limit for one response, reply, WebSocket handshake or event-stream \
                  head, counted from when the request was sent. A step's own `timeout` \
                  or `within` overrides it",
        },
        Key {
            name: "continue_timeout",
            kind: Kind::Duration,
            default: Text("1s"),
            doc: "How long a request with `expect: 100-continue` waits for the server's 100 before it sends its \
                  body without one",
        },
        Key {
            name: "drain",
            kind: Kind::Duration,
            default: Text("30s"),
            doc: "Time that sessions have to finish after the last phase; no new session \
                  starts. `0s` cuts all sessions off at once. Users in a `forever` loop \
                  leave when their operation in flight is done",
        },
        Key {
            name: "source_addresses",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Said(
                "chosen by the kernel; on loopback the addresses of \
                           127.0.0.0/8 in turn",
            ),
            doc: "Local addresses to connect from, in turn: addresses, ranges \
                  (`10.0.0.5..10.0.0.9`) or networks (`127.0.0.0/24`); at most 65,536 \
                  in total",
        },
        Key {
            name: "dns",
            kind: Kind::Mapping(&DNS),
            default: Said("a resolver for each region; all users obey the TTL"),
            doc: "How users learn of the addresses of names. Names are resolved again during \
                  the run as their TTL says; new connections go to the new addresses",
        },
        Key {
            name: "headers",
            kind: Kind::Map(&Kind::Template),
            default: Absent,
            doc: "Headers of every HTTP request, event stream and WebSocket handshake, \
                  unless the step sets the same header. Values may contain only \
                  parameters, `user`, `iteration` and functions",
        },
        Key {
            name: "auth",
            kind: Kind::Mapping(&AUTH),
            default: Absent,
            doc: "Credentials for steps without their own `auth`. The same expressions \
                  are allowed as in `headers`",
        },
        Key {
            name: "sign",
            kind: Kind::Mapping(&SIGN),
            default: Absent,
            doc: "Signs requests without their own `sign` or `auth`, instead of `auth`. The same \
                  expressions are allowed as in `headers`",
        },
        Key {
            name: "cookies",
            kind: Kind::Bool,
            default: Text("false"),
            doc: "Users store the cookies that responses and handshakes set, and send \
                  them back",
        },
        Key {
            name: "redirects",
            kind: Kind::Count,
            default: Text("10"),
            doc: "Redirects that a request follows, 0 to 50. One more is an error of kind \
                  `redirect`",
        },
        Key {
            name: "redirect_hosts",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Absent,
            doc: "Further hosts that redirects may lead to, as URLs without a path. Hosts \
                  of the target and of steps need not be listed",
        },
        Key {
            name: "accept_encoding",
            kind: Kind::OneOrMore(&Kind::Word(CODINGS)),
            default: Said("none are requested"),
            doc: "Content codings that requests accept. Bodies are decoded where something \
                  is saved from them",
        },
        Key {
            name: "tls",
            kind: Kind::Mapping(&TLS),
            default: Absent,
            doc: "Certificate settings",
        },
        Key {
            name: "proxy",
            kind: Kind::Text,
            default: Text("none"),
            doc: "[Proxy](connecting.md#proxies) through which hosts are reached: `http://user:password@host:port`, \
                  `socks5://…` (names are resolved here) or `socks5h://…` (the proxy resolves them); `environment`: \
                  those of `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`; `none`. Built-in targets are \
                  reached without it",
        },
        Key {
            name: "no_proxy",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Absent,
            doc: "Hosts that are reached without the proxy: names, with all names below them; addresses; networks \
                  (`10.0.0.0/8`); `*`. With a port, at this port only",
        },
        Key {
            name: "http",
            kind: Kind::Word(HTTP_VERSIONS),
            default: Text("1.1"),
            doc: "Which HTTP requests, event streams and polls speak. `2`: HTTP/2, which a \
                  server without TLS has to expect; `auto`: what the server chooses while \
                  TLS is set up (ALPN), and HTTP/1.1 without TLS. See [HTTP/2](http.md#http2)",
        },
        Key {
            name: "websockets",
            kind: Kind::Word(&["upgrade", "streams"]),
            default: Text("upgrade"),
            doc: "`upgrade`: each WebSocket is opened by HTTP/1.1, on a connection of its own; `streams`: it is a stream of \
                  HTTP/2 where `http` is `2` or `auto`. See [WebSockets over HTTP/2](http.md#websockets-over-http2)",
        },
        Key {
            name: "http_connections",
            kind: Kind::Word(&["user", "shared"]),
            default: Text("user"),
            doc: "`user`: each user has its own connection to each host; `shared`: \
                  users share idle connections, and those of HTTP/2",
        },
        Key {
            name: "response_max",
            kind: Kind::Size,
            default: Text("16MiB"),
            doc: "Largest HTTP response body; a larger one is an error. A head larger \
                  than 64 KiB, or with more than 128 headers, is an error too",
        },
        Key {
            name: "message_max",
            kind: Kind::Size,
            default: Text("16MiB"),
            doc: "Largest message of a WebSocket, TCP connection or gRPC call, and largest \
                  server-sent event; a larger one is an error",
        },
        Key {
            name: "script_time_max",
            kind: Kind::Duration,
            default: Text("10ms"),
            doc: "CPU time that one call of a [script](scripts.md#limits) may use, at most 10s",
        },
        Key {
            name: "script_memory_max",
            kind: Kind::Size,
            default: Text("32MiB"),
            doc: "Memory that scripts may use on each event loop, 2MiB to 1GiB",
        },
        Key {
            name: "mode",
            kind: Kind::Word(&["auto", "precise", "wide"]),
            default: Text("auto"),
            doc: "`precise`: one event loop per core, accurate to microseconds; `wide`: \
                  several loops per core, accurate to milliseconds, for any number of \
                  users; `auto` chooses by the number of users",
        },
        Key {
            name: "loops",
            kind: Kind::Count,
            default: Said("set by the mode"),
            doc: "Number of event loops, 1 to 1024. If there are fewer precise loops \
                  than cores, each loop has a core of its own",
        },
        Key {
            name: "lag_max",
            kind: Kind::Duration,
            default: Text("50ms"),
            doc: "If the generator's lag (p99 of sent − due) is above this, the run is \
                  not trusted",
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
        Key {
            name: "steps",
            kind: Kind::Steps,
            default: Required,
            doc: "The steps",
        },
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
        Key {
            name: "steps",
            kind: Kind::Steps,
            default: Required,
            doc: "The user's steps",
        },
    ]],
};
