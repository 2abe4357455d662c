//! `target`: addresses, servers, TLS.

use super::Default::{Absent, Required, Said, Text};
use super::{Key, Kind, Table};

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
        Key {
            name: "resumption",
            kind: Kind::Word(&["own", "shared", "off"]),
            default: Text("own"),
            doc: "Which TLS sessions new connections resume. `own`: the user's, so that its first connection to a server \
                  is a full handshake; `shared`: those of all users; `off`: none. See \
                  [TLS sessions](http.md#tls-sessions)",
        },
    ]],
};
