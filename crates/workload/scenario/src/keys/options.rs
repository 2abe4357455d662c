//! `options`, with `connect_retries` and `dns`.

use super::Default::{Absent, Required, Said, Text};
use super::auth::{AUTH, SIGN};
use super::target::{HTTP_VERSIONS, TLS};
use super::{Key, Kind, Table};

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

/// Content codings, as `accept-encoding` names them, and the word for none of them.
pub const CODINGS: &[&str] = &["gzip", "deflate", "br", "zstd", NO_CODING];

/// The word with which requests accept no content coding.
pub const NO_CODING: &str = "none";

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
                  leave when their operation in flight is done; a pause before the loop is not part of it",
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
            name: "hosts",
            kind: Kind::Map(&Kind::Text),
            default: Absent,
            doc: "Addresses at which hosts are reached instead of those of their names, with a port or without: \
                  `shop.test: 10.0.0.5`, `shop.test:443: 10.0.0.5:8443`, `\"*.shop.test\": 10.0.0.6`. The header `host` and \
                  the name for TLS stay",
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
            name: "secrets",
            kind: Kind::OneOrMore(&Kind::Text),
            default: Absent,
            doc: "Further names whose values are secret in queries, forms and JSON, and as variables \
                  and parameters, besides `password`, `token` and the like",
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
            default: Text("true"),
            doc: "Users store the cookies that responses and handshakes set, and send \
                  them back, as browsers do. `false`: they ignore them",
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
            default: Said("all four, of requests; none, of event streams"),
            doc: "Content codings that requests accept; `none`: no `accept-encoding` is sent. Bodies are \
                  decoded where something is saved from them. Event streams accept `gzip` where it is \
                  listed here",
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
            kind: Kind::Word(&["user", "shared", "session", "request"]),
            default: Text("user"),
            doc: "`user`: each user has its own connection to each host; `shared`: \
                  users share idle connections, and those of HTTP/2; `session`: each user has its own, and a user \
                  that starts again opens others; `request`: each request has its own, which needs HTTP/1.1",
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
        Key {
            name: "samples",
            kind: Kind::Count,
            default: Text("5"),
            doc: "How many failures of each kind are kept as their users saw them, without secrets, 0 to 20; \
                  `0`: none. See [errors](run-directory.md#errorsjsonl)",
        },
    ]],
};
