//! Keys of what is done with responses and messages: checking, matching, saving.

use super::Default::{Absent, Said, Text};
use super::{Default, Key, Kind, Table};

pub(crate) const fn key(
    name: &'static str,
    kind: Kind,
    default: Default,
    doc: &'static str,
) -> Key {
    Key { name, kind, default, doc }
}

pub(crate) const TEMPLATES: Kind = Kind::Map(&Kind::Template);
pub(crate) const CHECKS: Kind = Kind::OneOrMore(&Kind::Expression);
pub(crate) const SAVES: Kind = Kind::Map(&Kind::Any(&[Kind::Text, Kind::Mapping(&SAVE)]));

pub(super) const AS: Key = key(
    "as",
    Kind::Text,
    Said("the event or action if it is the same for every user, else the step's name"),
    "Name of the measure",
);

/// The keys of `reply`.
pub static EXPECT: Table = Table {
    name: "reply",
    groups: &[&[
        key(
            "when",
            Kind::Mapping(&WHEN),
            Said("the next message that is not one of `messages`"),
            "Which message to wait for: all conditions must hold",
        ),
        key("save", SAVES, Absent, "Parts of the message to save in variables"),
        key(
            "check",
            CHECKS,
            Absent,
            "Conditions, evaluated after `save`; a false one is an error of kind `check`",
        ),
        key(
            "as",
            Kind::Text,
            Said(
                "for `reply` that of the send; for `expect` its first condition, else \
                  `expect`",
            ),
            "Name of the measure",
        ),
        key("within", Kind::Duration, Said("`options.timeout`"), "Limit for the wait"),
    ]],
};

/// Keys of `when`, besides any key that is a JSON pointer, or a number at a place.
pub static WHEN: Table = Table {
    name: "when",
    groups: &[&[
        key(
            "/pointer",
            Kind::Any(&[Kind::Scalar, Kind::Template]),
            Absent,
            "The value at this JSON pointer must equal this; `{exists: true}`: the \
             value must exist",
        ),
        key(
            "u8@0",
            Kind::Any(&[Kind::Scalar, Kind::Template]),
            Absent,
            "The binary number at this byte offset must equal this; other forms: \
             `u16be@1`, `f64le@8`, `varint@1`, `u32be@-4` from the end",
        ),
        key("regex", Kind::Text, Absent, "The message's text must match"),
        key("body", Kind::Template, Absent, "The complete text of the message"),
        key(
            "event",
            Kind::Template,
            Absent,
            "The name of the server-sent event (`message` if it has none), or of the \
             channel's event; of a message of MQTT `message` or `retained`",
        ),
        key(
            "topic",
            Kind::Template,
            Absent,
            "The channel's topic (`phoenix`), identifier (`actioncable`), namespace \
             (`socket.io`) or operation's id (`graphql-ws`); of a message of MQTT its topic, or a filter that matches it",
        ),
        key(
            "id",
            Kind::Template,
            Absent,
            "The last event id of the stream; of a message of MQTT 5 the identifier of a subscription",
        ),
    ]],
};

/// The words that stand for a part of a response or message.
pub const SAVE_WORDS: &[&str] = &["status", "body", "event", "id", "topic", "time", "bytes"];

/// The parts of a message of MQTT 5 that stand for headers, besides user properties.
pub const MQTT_HEADERS: &[&str] = &["content_type", "response_topic", "correlation", "expires"];

/// Parts of a response in which a regex is sought.
pub const REGEX_PARTS: &[&str] = &["body", "response"];

/// The keys of `save`.
pub static SAVE: Table = Table {
    name: "save",
    groups: &[&[
        key(
            "pointer",
            Kind::Text,
            Absent,
            "JSON pointer. Short form: the pointer itself, `/games/0/id`; for a binary \
             field of a message: `u32be@4`",
        ),
        key("regex", Kind::Text, Absent, "The first match in the body or message"),
        key(
            "css",
            Kind::Text,
            Absent,
            "The first element of an HTML page that this [CSS selector](http.md#elements-of-a-page) names: its text",
        ),
        key(
            "attr",
            Kind::Text,
            Absent,
            "For `css`: the value of this attribute, of the first element that has it",
        ),
        key(
            "all",
            Kind::Bool,
            Text("false"),
            "For `css`: the values of all such elements, as a list in JSON text",
        ),
        key(
            "group",
            Kind::Count,
            Said("1 if the regex has a group, else 0"),
            "Capture group; 0 is the complete match",
        ),
        key(
            "in",
            Kind::Word(REGEX_PARTS),
            Text("body"),
            "Where to search: in the body, or in the complete response with status line \
             and headers",
        ),
        key(
            "header",
            Kind::Text,
            Absent,
            "A response header; of a message of MQTT 5 `content_type`, `response_topic`, `correlation` or `expires` (seconds)",
        ),
        key("property", Kind::Text, Absent, "A user property of a message of MQTT 5"),
        key(
            "from",
            Kind::Word(SAVE_WORDS),
            Absent,
            "The HTTP status, the complete body, the event's name, the server-sent \
             event's id, the channel's topic, the response time in milliseconds, or all `bytes` of the body or \
             message. Short form: the word itself",
        ),
        key(
            "default",
            Kind::Template,
            Said("an error of kind `save`"),
            "Value if the part is missing",
        ),
    ]],
};
