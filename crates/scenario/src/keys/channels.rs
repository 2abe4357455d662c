//! Steps of protocols of channels over WebSocket.

use super::Default::{Absent, Required, Said, Text};
use super::matching::{AS, EXPECT};
use super::{Default, Key, Kind, Table};

const fn key(name: &'static str, kind: Kind, default: Default, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default,
        doc,
    }
}

/// The protocols, and the versions of Phoenix' serializer.
pub(crate) const PROTOCOLS: &[&str] = &["phoenix", "actioncable", "socket.io"];
pub(crate) const VSNS: &[&str] = &["2.0.0", "1.0.0"];

/// How messages may be compressed.
pub(crate) const COMPRESS: &[&str] = &["none", "shared", "separate"];

/// What a step that opens a WebSocket says of its protocol.
pub(super) const OPENING: &[Key] = &[
    key(
        "protocol",
        Kind::Word(PROTOCOLS),
        Absent,
        "The [protocol of channels](#channels) that is spoken over it; the step waits for its greeting, too",
    ),
    key(
        "vsn",
        Kind::Word(VSNS),
        Text("2.0.0"),
        "Of `phoenix`: the version of its messages",
    ),
    key(
        "heartbeat",
        Kind::Duration,
        Text("30s"),
        "Of `phoenix`: from one heartbeat to the next",
    ),
    key(
        "compress",
        Kind::Word(COMPRESS),
        Text("none"),
        "Offers to compress messages (permessage-deflate, RFC 7692): `shared`, each may refer to those \
         before; `separate`, each stands for itself, both ways",
    ),
    key(
        "subprotocols",
        Kind::OneOrMore(&Kind::Text),
        Said("those of the `protocol`"),
        "Offered to the server, which may choose one; another choice is an error",
    ),
];

const PARAMS: Key = key(
    "params",
    Kind::Json,
    Absent,
    "Of `actioncable`: what stands in the identifier besides the channel's name",
);
const REPLY: Key = key(
    "reply",
    Kind::Mapping(&EXPECT),
    Absent,
    "What answers it and is waited for",
);
const TIMEOUT: Key = key(
    "timeout",
    Kind::Duration,
    Said("`options.timeout`"),
    "For the server's answer",
);

pub(crate) const JOIN: Table = Table {
    name: "join",
    groups: &[&[
        key(
            "join",
            Kind::Template,
            Required,
            "Joins this topic (`phoenix`), channel (`actioncable`) or namespace (`socket.io`), and waits \
             until the server says so; a refusal ends the session",
        ),
        key(
            "payload",
            Kind::Json,
            Absent,
            "What is sent with it (`phoenix`), or what authenticates (`socket.io`)",
        ),
        PARAMS,
        AS,
        TIMEOUT,
    ]],
};

pub(crate) const PUSH: Table = Table {
    name: "push",
    groups: &[&[
        key(
            "push",
            Kind::Mapping(&PUSHED),
            Required,
            "Of `phoenix`: sends an event to a topic",
        ),
        REPLY,
        AS,
    ]],
};

pub(crate) static PUSHED: Table = Table {
    name: "pushed",
    groups: &[&[
        key("event", Kind::Template, Required, "The event's name"),
        key("payload", Kind::Json, Text("{}"), "Its payload"),
        key(
            "topic",
            Kind::Template,
            Said("the one joined last"),
            "A topic that was joined",
        ),
    ]],
};

pub(crate) const PERFORM: Table = Table {
    name: "perform",
    groups: &[&[
        key(
            "perform",
            Kind::Mapping(&PERFORMED),
            Required,
            "Of `actioncable`: calls an action of a channel",
        ),
        REPLY,
        AS,
    ]],
};

pub(crate) static PERFORMED: Table = Table {
    name: "performed",
    groups: &[&[
        key("action", Kind::Template, Required, "The action's name"),
        key(
            "data",
            Kind::Json,
            Absent,
            "A mapping: what it is called with",
        ),
        key(
            "channel",
            Kind::Template,
            Said("the one joined last"),
            "A channel that was joined",
        ),
        PARAMS,
    ]],
};

pub(crate) const EMIT: Table = Table {
    name: "emit",
    groups: &[&[
        key(
            "emit",
            Kind::Mapping(&EMITTED),
            Required,
            "Of `socket.io`: sends an event to a namespace",
        ),
        REPLY,
        AS,
    ]],
};

pub(crate) static EMITTED: Table = Table {
    name: "emitted",
    groups: &[&[
        key("event", Kind::Template, Required, "The event's name"),
        key(
            "args",
            Kind::Json,
            Absent,
            "A list: its arguments; anything else: its only argument",
        ),
        key(
            "namespace",
            Kind::Template,
            Said("the one joined last"),
            "A namespace that was joined",
        ),
    ]],
};

pub(crate) const LEAVE: Table = Table {
    name: "leave",
    groups: &[&[
        key(
            "leave",
            Kind::Any(&[Kind::Nothing, Kind::Template]),
            Said("the one joined last"),
            "Leaves a topic, channel or namespace",
        ),
        PARAMS,
        AS,
        TIMEOUT,
    ]],
};
