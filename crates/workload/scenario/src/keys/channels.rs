//! Steps of protocols of channels over WebSocket.

use super::Default::{Absent, Required, Said, Text};
use super::matching::{AS, EXPECT};
use super::tags::TAGS;
use super::tcp::RECORDS;
use super::{Default, Key, Kind, Table};

const fn key(name: &'static str, kind: Kind, default: Default, doc: &'static str) -> Key {
    Key { name, kind, default, doc }
}

/// The protocols.
pub const PROTOCOLS: &[&str] = &["phoenix", "actioncable", "socket.io", "graphql-ws", "signalr"];
/// Versions of Phoenix' serializer, the newest first.
pub const VSNS: &[&str] = &["2.0.0", "1.0.0"];

/// How messages may be compressed.
pub const COMPRESS: &[&str] = &["none", "shared", "separate"];

const RECONNECTS: Kind = Kind::Any(&[Kind::Bool, Kind::Mapping(&RECONNECT)]);

/// Keys of a step that opens a WebSocket, about its protocol.
pub(super) const OPENING: &[Key] = &[
    key(
        "protocol",
        Kind::Word(PROTOCOLS),
        Absent,
        "The [channel protocol](#channels) on the WebSocket. The step also waits for \
         the protocol's greeting",
    ),
    key("vsn", Kind::Word(VSNS), Text("2.0.0"), "For `phoenix`: the version of its message format"),
    key("heartbeat", Kind::Duration, Text("30s"), "For `phoenix`: interval between heartbeats"),
    key("init", Kind::Json, Absent, "For `graphql-ws`: payload of `connection_init`, a mapping"),
    key(
        "reconnect",
        RECONNECTS,
        Text("false"),
        "A lost WebSocket [reconnects](realtime.md#reconnecting). With a `protocol`: \
         at the times of its own client, and joins its channels again. Each attempt is an \
         operation of the measure `reconnect`, each join of `rejoin`",
    ),
    key(
        "compress",
        Kind::Word(COMPRESS),
        Text("none"),
        "Offers message compression (permessage-deflate, RFC 7692). `shared`: messages \
         share a compression context; `separate`: each message is compressed on its \
         own, in both directions",
    ),
    RECORDS,
    key(
        "subprotocols",
        Kind::OneOrMore(&Kind::Text),
        Said("those of `protocol`"),
        "Offered to the server, which may choose one of them; any other choice is an error",
    ),
];

/// How pauses are drawn.
pub const JITTERS: &[&str] = &["full", "equal", "none"];

pub(super) const PAUSE_MAX: Key =
    key("pause_max", Kind::Duration, Text("30s"), "The longest pause");
pub(super) const JITTER: Key = key(
    "jitter",
    Kind::Word(JITTERS),
    Text("full"),
    "`full`: a pause is drawn from 0 to its length; `equal`: from half of its length; \
     `none`: it is not drawn",
);

/// The keys of `reconnect`.
pub static RECONNECT: Table = Table {
    name: "reconnect",
    groups: &[&[
        key(
            "pause",
            Kind::Duration,
            Text("1s"),
            "Pause before the first attempt; it doubles with each further one",
        ),
        PAUSE_MAX,
        JITTER,
        key(
            "attempts",
            Kind::Count,
            Said("any number"),
            "Attempts after one loss; if the last one fails, the session ends",
        ),
        key(
            "send",
            Kind::OneOrMore(&Kind::Json),
            Absent,
            "Messages to send as soon as the WebSocket is open again, such as subscriptions: \
             a mapping as JSON, text literally",
        ),
    ]],
};

const PARAMS: Key = key(
    "params",
    Kind::Json,
    Absent,
    "For `actioncable`: further fields of the identifier, besides the channel's name",
);
const REPLY: Key = key("reply", Kind::Mapping(&EXPECT), Absent, "The reply to wait for");
const TIMEOUT: Key =
    key("timeout", Kind::Duration, Said("`options.timeout`"), "Limit for the server's reply");

pub(crate) static JOIN: Table = Table {
    name: "join",
    groups: &[&[
        key(
            "join",
            Kind::Template,
            Required,
            "Joins this topic (`phoenix`), channel (`actioncable`) or namespace \
             (`socket.io`) and waits for the server's confirmation. A refusal ends the \
             session",
        ),
        key(
            "payload",
            Kind::Json,
            Absent,
            "Payload of the join (`phoenix`), or authentication data (`socket.io`)",
        ),
        PARAMS,
        key(
            "rejoin",
            Kind::Bool,
            Text("false"),
            "For `phoenix`: joins the channel again if it fails at the server \
             (`phx_error`), 1 s, 2 s, 5 s and then every 10 s after the last failure, as \
             Phoenix' own client does. Each attempt is an operation of the measure \
             `rejoin`",
        ),
        AS,
        TIMEOUT,
        TAGS,
    ]],
};

pub(crate) static PUSH: Table = Table {
    name: "push",
    groups: &[&[
        key("push", Kind::Mapping(&PUSHED), Required, "For `phoenix`: sends an event to a topic"),
        REPLY,
        AS,
        TAGS,
    ]],
};

/// The keys of `pushed`.
pub static PUSHED: Table = Table {
    name: "pushed",
    groups: &[&[
        key("event", Kind::Template, Required, "The event's name"),
        key("payload", Kind::Json, Text("{}"), "Its payload"),
        key(
            "bytes",
            Kind::List(&Kind::Map(&Kind::Template)),
            Absent,
            "The payload in binary form, instead of `payload`; parts as those of `send`",
        ),
        key("topic", Kind::Template, Said("the one that was joined last"), "A joined topic"),
    ]],
};

pub(crate) static PERFORM: Table = Table {
    name: "perform",
    groups: &[&[
        key(
            "perform",
            Kind::Mapping(&PERFORMED),
            Required,
            "For `actioncable`: calls an action of a channel",
        ),
        REPLY,
        AS,
        TAGS,
    ]],
};

/// The keys of `performed`.
pub static PERFORMED: Table = Table {
    name: "performed",
    groups: &[&[
        key("action", Kind::Template, Required, "The action's name"),
        key("data", Kind::Json, Absent, "Arguments of the action, as a mapping"),
        key("channel", Kind::Template, Said("the one that was joined last"), "A joined channel"),
        PARAMS,
    ]],
};

pub(crate) static EMIT: Table = Table {
    name: "emit",
    groups: &[&[
        key(
            "emit",
            Kind::Mapping(&EMITTED),
            Required,
            "For `socket.io`: sends an event to a namespace",
        ),
        REPLY,
        AS,
        TAGS,
    ]],
};

/// The keys of `emitted`.
pub static EMITTED: Table = Table {
    name: "emitted",
    groups: &[&[
        key("event", Kind::Template, Required, "The event's name"),
        key("args", Kind::Json, Absent, "Arguments of the event: a list, or a single argument"),
        key(
            "namespace",
            Kind::Template,
            Said("the one that was joined last"),
            "A joined namespace",
        ),
    ]],
};

pub(crate) static INVOKE: Table = Table {
    name: "invoke",
    groups: &[&[
        key(
            "invoke",
            Kind::Mapping(&INVOKED),
            Required,
            "For `signalr`: calls a method of the hub. Without a `reply` the call requests no \
             result",
        ),
        REPLY,
        AS,
        TAGS,
    ]],
};

/// The keys of `invoked`.
pub static INVOKED: Table = Table {
    name: "invoked",
    groups: &[&[
        key("method", Kind::Template, Required, "The method's name"),
        key("args", Kind::Json, Absent, "Arguments of the method: a list, or a single argument"),
    ]],
};

pub(crate) static LEAVE: Table = Table {
    name: "leave",
    groups: &[&[
        key(
            "leave",
            Kind::Any(&[Kind::Nothing, Kind::Template]),
            Said("the one that was joined last"),
            "Leaves a topic, channel or namespace",
        ),
        PARAMS,
        AS,
        TIMEOUT,
        TAGS,
    ]],
};
