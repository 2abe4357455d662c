//! Phases whose arrivals were recorded, follow the clock, or come from on/off sources.

use super::Default::{Required, Said, Text};
use super::phase::{COMMON, FOR, SPACING};
use super::{Default, Key, Kind, Table};

const fn key(name: &'static str, kind: Kind, default: Default, doc: &'static str) -> Key {
    Key { name, kind, default, doc }
}

const SPEED: Key = key(
    "speed",
    Kind::Number,
    Text("1"),
    "Plays the recording this many times faster: with 60 an hour takes a minute and has \
     the same number of users",
);

const COLUMN: Key = key(
    "column",
    Kind::Text,
    Said("the file contains only numbers or times"),
    "Column to read, if the file is CSV with a header row",
);

const PART: &[Key] = &[
    key(
        "from",
        Kind::Duration,
        Said("the start of the recording"),
        "Where in the recording the phase starts, in the recording's time",
    ),
    key(
        "for",
        Kind::Duration,
        Said("the rest of the recording"),
        "Duration of the phase, in the run's time",
    ),
];

pub(super) const RATES: Table = Table {
    name: "rates",
    groups: &[
        &[
            key(
                "rates",
                Kind::Map(&Kind::Rate),
                Required,
                "Rates by time of day, `\"08:00\"` or `\"08:00:30\"`. Each interval \
                 between two times becomes a phase of its own, named after its start: \
                 `rates-08:00`",
            ),
            key(
                "from",
                Kind::Text,
                Said("the first time"),
                "The time of day at which the phase starts, optionally with a date: \
                 `2026-03-29 06:00`",
            ),
            key(
                "zone",
                Kind::Text,
                Text("UTC"),
                "Time zone of the times, like `Europe/Berlin`. If `from` has a date, \
                 hours that daylight saving time skips or repeats are skipped or \
                 repeated",
            ),
        ],
        FOR,
        &[
            key(
                "between",
                Kind::Word(&["linear", "step"]),
                Text("linear"),
                "`linear`: the rate changes linearly to the next one; `step`: it stays \
                 constant until the next time",
            ),
            key(
                "speed",
                Kind::Number,
                Text("1"),
                "Plays the day this many times faster: with 60 an hour takes a minute. \
                 The rates do not change",
            ),
        ],
        SPACING,
        COMMON,
    ],
};

pub(super) const TRACE: Table = Table {
    name: "trace",
    groups: &[
        &[
            key(
                "trace",
                Kind::Text,
                Required,
                "A file with the number of users that start in each `bin`, separated by \
                 blanks, commas or newlines; `#` starts a comment",
            ),
            key("bin", Kind::Duration, Text("1s"), "Width of one bin, in the recording's time"),
            SPEED,
            key("scale", Kind::Number, Text("1"), "Factor for every number"),
            COLUMN,
        ],
        PART,
        SPACING,
        COMMON,
    ],
};

pub(super) const REPLAY: Table = Table {
    name: "replay",
    groups: &[
        &[
            key(
                "replay",
                Kind::Text,
                Required,
                "A file of times, one per line, in any order. Each starts a user. Times \
                 are seconds, or dates as in RFC 3339; `#` starts a comment",
            ),
            key(
                "begin",
                Kind::Word(&["zero", "first"]),
                Said("`first` for dates, `zero` for seconds"),
                "The time at which the phase starts: 0, or the earliest time of the \
                 file. Use `first` for seconds since the Unix epoch",
            ),
            SPEED,
            COLUMN,
        ],
        PART,
        COMMON,
    ],
};

pub(super) const ON_OFF: Table = Table {
    name: "on_off",
    groups: &[
        &[key(
            "on_off",
            Kind::Mapping(&SOURCES),
            Required,
            "Sources that alternate between on and off. Their sum is bursty at every \
             time scale",
        )],
        FOR,
        COMMON,
    ],
};

/// The keys of `sources`.
pub static SOURCES: Table = Table {
    name: "sources",
    groups: &[&[
        key("sources", Kind::Count, Required, "Number of sources, 1 to 100,000"),
        key(
            "rate",
            Kind::Rate,
            Required,
            "Rate at which users of one source start while it is on, evenly spaced",
        ),
        key(
            "on",
            Kind::Mapping(&super::PARETO),
            Required,
            "Distribution of the on time: Pareto with a shape above 1",
        ),
        key(
            "off",
            Kind::Mapping(&super::PARETO),
            Required,
            "Distribution of the off time: Pareto with a shape above 1",
        ),
    ]],
};
