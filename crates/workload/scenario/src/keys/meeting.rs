//! State that users share, and the steps that use it.

use super::Default::{Absent, Required, Said, Text};
use super::matching::key;
use super::tags::TAGS;
use super::{Kind, Table};

/// The keys of `shared`.
pub static SHARED: Table = Table {
    name: "shared",
    groups: &[&[
        key(
            "rendezvous",
            Kind::Map(&Kind::Count),
            Absent,
            "Where users wait for each other, by name: how many are released together, 2 or more",
        ),
        key(
            "counters",
            Kind::Map(&Kind::Any(&[Kind::Count, Kind::Nothing])),
            Absent,
            "Counters by name: their first number, 1 if nothing is written",
        ),
        key(
            "queues",
            Kind::Map(&Kind::Any(&[Kind::Count, Kind::Nothing])),
            Absent,
            "Queues by name: how many values they hold, 1 to 1,000,000; 10,000 if nothing is written",
        ),
    ]],
};

/// Fates of users whose time is over, in the order of their meanings.
pub const ON_TIMEOUT: &[&str] = &["continue", "fail"];

pub(crate) static RENDEZVOUS: Table = Table {
    name: "rendezvous",
    groups: &[&[
        key(
            "rendezvous",
            Kind::Text,
            Required,
            "Waits until as many users are at this rendezvous as `shared` says. All are then released at the same instant",
        ),
        key(
            "timeout",
            Kind::Duration,
            Said("`options.timeout`"),
            "Limit for the wait. A user whose time is over has an error of kind `timeout`",
        ),
        key(
            "on_timeout",
            Kind::Word(ON_TIMEOUT),
            Text("continue"),
            "Whether such a user continues, or ends its session",
        ),
        key("as", Kind::Text, Said("`rendezvous` and the name"), "Name of the measure"),
        TAGS,
    ]],
};

pub(crate) static NEXT: Table = Table {
    name: "next",
    groups: &[&[key(
        "next",
        Kind::Map(&Kind::Text),
        Required,
        "Variables, each with the counter whose next number it gets",
    )]],
};

pub(crate) static ENQUEUE: Table = Table {
    name: "enqueue",
    groups: &[&[
        key(
            "enqueue",
            Kind::Text,
            Required,
            "Puts a value at the end of this queue. If the queue is full, that is an error of kind `step`, and the user \
             continues",
        ),
        key("value", Kind::Json, Required, "The value"),
        key("as", Kind::Text, Said("`enqueue` and the name"), "Name of the measure"),
        TAGS,
    ]],
};

pub(crate) static DEQUEUE: Table = Table {
    name: "dequeue",
    groups: &[&[
        key(
            "dequeue",
            Kind::Text,
            Required,
            "Takes the first value of this queue; if there is none, waits for one",
        ),
        key("save", Kind::Text, Required, "The variable that gets it"),
        key(
            "timeout",
            Kind::Duration,
            Said("`options.timeout`"),
            "Limit for the wait; `0s`: none. A user whose time is over has an error of kind `timeout`, and continues if \
             it has a value from before",
        ),
        key("as", Kind::Text, Said("`dequeue` and the name"), "Name of the measure"),
        TAGS,
    ]],
};
