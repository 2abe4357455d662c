//! Steps of MQTT.

use super::Default::{Absent, Required, Said, Text};
use super::graphql::SUBSCRIBED;
use super::matching::{EXPECT, TEMPLATES, key};
use super::tags::TAGS;
use super::{Default, Key, Kind, Table};

/// Versions of the protocol.
pub const MQTT_VERSIONS: &[&str] = &["3.1.1", "5"];
/// How often a message is delivered.
pub const QOS: &[&str] = &["0", "1", "2"];
/// When retained messages come to a subscription.
pub const RETAINED: &[&str] = &["always", "new", "never"];

/// The name of a step's measure.
const fn named(default: Default) -> Key {
    key("as", Kind::Text, default, "Name of the measure")
}

const QOS_OF_MESSAGE: Key = key(
    "qos",
    Kind::Word(QOS),
    Text("0"),
    "How it is delivered: `0` at most once, `1` at least once, `2` exactly once",
);
const PAYLOAD: Key = key(
    "payload",
    Kind::Json,
    Absent,
    "Its payload: a mapping or list as JSON, text literally; empty if left out",
);
const RETAIN: Key =
    key("retain", Kind::Bool, Text("false"), "The server keeps it for later subscribers");
const TIMEOUT: Key = key(
    "timeout",
    Kind::Duration,
    Said("`options.timeout`"),
    "Limit for the server's acknowledgement",
);

pub(crate) static MQTT: Table = Table {
    name: "mqtt",
    groups: &[&[
        key(
            "mqtt",
            Kind::Any(&[Kind::Nothing, Kind::Template]),
            Said("the target, over TCP"),
            "Opens a connection of [MQTT](mqtt.md), and waits until the server accepts the client: \
             `HOST:PORT`, `mqtt://HOST` (port 1883), `mqtts://HOST` (TLS, port 8883); over a WebSocket with a \
             path relative to the target, `ws://` or `wss://`",
        ),
        key("version", Kind::Word(MQTT_VERSIONS), Text("3.1.1"), "Version of the protocol"),
        key(
            "client_id",
            Kind::Template,
            Said("empty: the server gives one"),
            "The client identifier, which no other client may have",
        ),
        key("user", Kind::Template, Absent, "The user name"),
        key("password", Kind::Template, Absent, "The password"),
        key(
            "keep_alive",
            Kind::Duration,
            Text("60s"),
            "A ping is sent if nothing else was for this time, in seconds; a ping without an answer by the \
             next one has lost the connection",
        ),
        key(
            "clean",
            Kind::Bool,
            Text("true"),
            "The server forgets an earlier session of this client (clean session, or clean start)",
        ),
        key(
            "session_expiry",
            Kind::Duration,
            Said("the session ends with the connection"),
            "Version 5: how long the server keeps the session after the connection",
        ),
        key(
            "will",
            Kind::Mapping(&WILL),
            Absent,
            "What the server publishes if it loses the client",
        ),
        key(
            "topic_aliases",
            Kind::Count,
            Said("none"),
            "Version 5: how many topics each side may name by a number instead of their text, 1 to 1,000; fewer if the \
             server takes fewer",
        ),
        key(
            "authentication",
            Kind::Mapping(&AUTHENTICATION),
            Absent,
            "Version 5: [authentication by a method](mqtt.md#authentication-by-a-method)",
        ),
        key(
            "reconnect",
            Kind::Bool,
            Text("false"),
            "A lost connection [reconnects](mqtt.md#lost-connections) and subscribes again. Each attempt is \
             an operation of the measure `reconnect`, each subscription of `rejoin`",
        ),
        key("headers", TEMPLATES, Absent, "Over a WebSocket: headers of the upgrade request"),
        named(Text("mqtt")),
        key(
            "timeout",
            Kind::Duration,
            Said("`options.timeout`"),
            "Limit for connecting and the server's acceptance",
        ),
        TAGS,
    ]],
};

/// The keys of `authentication`.
pub static AUTHENTICATION: Table = Table {
    name: "authentication",
    groups: &[&[
        key("method", Kind::Text, Required, "The method's name, which the server knows"),
        key(
            "data",
            Kind::OneOrMore(&Kind::Template),
            Absent,
            "What the method sends: with the introduction, and of a list in answer to each further packet of the server",
        ),
    ]],
};

/// The keys of `will`.
pub static WILL: Table = Table {
    name: "will",
    groups: &[&[
        key("topic", Kind::Template, Required, "The topic"),
        PAYLOAD,
        QOS_OF_MESSAGE,
        RETAIN,
        key(
            "delay",
            Kind::Duration,
            Said("none"),
            "Version 5: pause between the loss and the message",
        ),
    ]],
};

const SUBSCRIPTION: Kind =
    Kind::Any(&[Kind::Template, Kind::List(&Kind::Template), Kind::Mapping(&SUBSCRIBED)]);

pub(crate) static SUBSCRIBE: Table = Table {
    name: "subscribe",
    groups: &[&[
        key(
            "subscribe",
            SUBSCRIPTION,
            Required,
            "MQTT: subscribes to a topic, to all that match a filter (`rooms/+/said`, `rooms/#`), or to a list of them in \
             one packet, and waits for the server's acknowledgement; a refusal ends the session. `graphql-ws`: a mapping; begins an operation, \
             and does not wait for what it brings",
        ),
        key("qos", Kind::Word(QOS), Text("0"), "MQTT: the highest QoS of the messages"),
        key(
            "no_local",
            Kind::Bool,
            Text("false"),
            "Version 5: what the user itself publishes does not come",
        ),
        key(
            "retained",
            Kind::Word(RETAINED),
            Text("always"),
            "Version 5: when the server sends retained messages; `new`: if the subscription is new",
        ),
        key(
            "id",
            Kind::Count,
            Absent,
            "Version 5: the identifier that messages of this subscription come with, as their `id`",
        ),
        key(
            "reply",
            Kind::Mapping(&EXPECT),
            Absent,
            "`graphql-ws`: the result of this operation to wait for",
        ),
        named(Said("`subscribe`; of an operation of GraphQL its name as written")),
        TIMEOUT,
        TAGS,
    ]],
};

pub(crate) static UNSUBSCRIBE: Table = Table {
    name: "unsubscribe",
    groups: &[&[
        key(
            "unsubscribe",
            Kind::Any(&[Kind::Nothing, Kind::Template, Kind::List(&Kind::Template)]),
            Said("the one that was subscribed last"),
            "Ends a subscription to a topic or filter, as it was written, or to a list of them, or the operation of this id (`graphql-ws`)",
        ),
        named(Text("unsubscribe")),
        TIMEOUT,
        TAGS,
    ]],
};

pub(crate) static PUBLISH: Table = Table {
    name: "publish",
    groups: &[&[
        key(
            "publish",
            Kind::Mapping(&MQTT_MESSAGE),
            Required,
            "Publishes a message. With QoS 1 and 2 the step waits for the server's acknowledgement \
             (PUBACK, PUBCOMP)",
        ),
        key("reply", Kind::Mapping(&EXPECT), Absent, "With QoS 0: the message to wait for"),
        named(Text("publish")),
        TIMEOUT,
        TAGS,
    ]],
};

/// The keys of a message that is published.
pub static MQTT_MESSAGE: Table = Table {
    name: "mqtt_message",
    groups: &[&[
        key("topic", Kind::Template, Required, "The topic; the user need not be subscribed to it"),
        PAYLOAD,
        key(
            "bytes",
            Kind::List(&Kind::Map(&Kind::Template)),
            Absent,
            "The payload in binary form, instead of `payload`; parts as those of `send`",
        ),
        QOS_OF_MESSAGE,
        RETAIN,
        key("properties", TEMPLATES, Absent, "Version 5: user properties"),
        key(
            "content_type",
            Kind::Template,
            Absent,
            "Version 5: what the payload is, such as `application/json`",
        ),
        key(
            "response_topic",
            Kind::Template,
            Absent,
            "Version 5: the topic that an answer goes to",
        ),
        key(
            "correlation",
            Kind::Template,
            Absent,
            "Version 5: by what the answer is known to belong to this message",
        ),
        key("expires", Kind::Duration, Absent, "Version 5: how long it is of use, in seconds"),
        key("utf8", Kind::Bool, Text("false"), "Version 5: marks the payload as a text in UTF-8"),
    ]],
};
