//! Keys of what is done with responses and messages: checking, matching, saving.

use super::Default::{Absent, Said, Text};
use super::{Default, Key, Kind, Table};

pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    default: Default,
    doc: &'static str,
) -> Key {
    Key {
        name,
        kind,
        default,
        doc,
    }
}

pub(super) const TEMPLATES: Kind = Kind::Map(&Kind::Template);
pub(super) const CHECKS: Kind = Kind::OneOrMore(&Kind::Expression);
pub(super) const SAVES: Kind = Kind::Map(&Kind::Any(&[Kind::Text, Kind::Mapping(&SAVE)]));

pub(super) const AS: Key = key(
    "as",
    Kind::Text,
    Said("the event or action where it is the same for every user, else the step's own name"),
    "What it is measured as",
);

pub(crate) static EXPECT: Table = Table {
    name: "reply",
    groups: &[&[
        key(
            "when",
            Kind::Mapping(&WHEN),
            Said("the next message that is not one of `messages`"),
            "Which message it is: all conditions must hold",
        ),
        key(
            "save",
            SAVES,
            Absent,
            "Parts of the message kept in variables",
        ),
        key(
            "check",
            CHECKS,
            Absent,
            "What must hold after `save`; else it is an error of kind `check`",
        ),
        key(
            "as",
            Kind::Text,
            Said("for `reply` the send's own; for `expect` its first condition, else `expect`"),
            "What it is measured as",
        ),
        key(
            "within",
            Kind::Duration,
            Said("`options.timeout`"),
            "How long it is waited for",
        ),
    ]],
};

/// Besides these, any key that is a JSON pointer, or a number at a place.
pub(crate) static WHEN: Table = Table {
    name: "when",
    groups: &[&[
        key(
            "/pointer",
            Kind::Any(&[Kind::Scalar, Kind::Template]),
            Absent,
            "The value there must be this one; `{exists: true}`: it must be there",
        ),
        key(
            "u8@0",
            Kind::Any(&[Kind::Scalar, Kind::Template]),
            Absent,
            "The number so many bytes behind the message's beginning must be this one; `u16be@1`, `f64le@8`",
        ),
        key("regex", Kind::Text, Absent, "Must match the message's text"),
        key("body", Kind::Template, Absent, "The message's whole text"),
        key(
            "event",
            Kind::Template,
            Absent,
            "The name of a server-sent event, `message` where it has none of its own; or of a channel's event",
        ),
        key(
            "topic",
            Kind::Template,
            Absent,
            "A channel's topic (`phoenix`), identifier (`actioncable`) or namespace (`socket.io`)",
        ),
        key(
            "id",
            Kind::Template,
            Absent,
            "The last id that the event stream said",
        ),
    ]],
};

/// The words that stand for a part of a response or message.
pub(crate) const SAVE_WORDS: &[&str] = &["status", "body", "event", "id", "topic"];

/// Where a regex is sought.
pub(crate) const REGEX_PARTS: &[&str] = &["body", "response"];

pub(crate) static SAVE: Table = Table {
    name: "save",
    groups: &[&[
        key(
            "pointer",
            Kind::Text,
            Absent,
            "JSON pointer; in short the pointer itself: `/games/0/id`; a message's number in short: `u32be@4`",
        ),
        key(
            "regex",
            Kind::Text,
            Absent,
            "The first match in the body or message",
        ),
        key(
            "group",
            Kind::Count,
            Said("1 where the regex has a group, else 0"),
            "Which group of the match; 0: the whole match",
        ),
        key(
            "in",
            Kind::Word(REGEX_PARTS),
            Text("body"),
            "Where the regex is sought: in the body, or in the whole response as it came, with \
             status line and headers",
        ),
        key("header", Kind::Text, Absent, "A response header"),
        key(
            "from",
            Kind::Word(SAVE_WORDS),
            Absent,
            "The HTTP status, the whole body, an event's name, a server-sent event's id, a channel's topic; in short the word itself",
        ),
        key(
            "default",
            Kind::Template,
            Said("an error of kind `save`"),
            "Used where there is no such part",
        ),
    ]],
};
