//! Phases whose arrivals were recorded, follow the clock, or come from on/off sources.

use super::Default::{Required, Said, Text};
use super::phase::{COMMON, FOR, SPACING};
use super::{Default, Key, Kind, Table};

const fn key(name: &'static str, kind: Kind, default: Default, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default,
        doc,
    }
}

const SPEED: Key = key(
    "speed",
    Kind::Number,
    Text("1"),
    "How many times faster than it was recorded: 60 makes a minute of an hour, with as many users",
);

const COLUMN: Key = key(
    "column",
    Kind::Text,
    Said("the file is numbers or times alone"),
    "The file is CSV with a first row of names, and this is the column",
);

const PART: &[Key] = &[
    key(
        "from",
        Kind::Duration,
        Said("its beginning"),
        "How far into the recording the phase begins, in the recording's own time",
    ),
    key(
        "for",
        Kind::Duration,
        Said("to the recording's end"),
        "How long the phase lasts, in the run's time",
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
                "Rates by the time of day, `\"08:00\"` or `\"08:00:30\"`; each stretch between two of \
                 them becomes a phase of its own, named after its beginning: `rates-08:00`",
            ),
            key(
                "from",
                Kind::Text,
                Said("the first of the times"),
                "The time of day at which the phase begins, or a date with it: `2026-03-29 06:00`",
            ),
            key(
                "zone",
                Kind::Text,
                Text("UTC"),
                "Whose clock it is, like `Europe/Berlin`: where `from` has a date, hours that \
                 summer time skips or repeats are skipped or repeated",
            ),
        ],
        FOR,
        &[
            key(
                "between",
                Kind::Word(&["linear", "step"]),
                Text("linear"),
                "`linear`: the rate goes in a straight line to the next one; `step`: it stays until \
                 the next one's time",
            ),
            key(
                "speed",
                Kind::Number,
                Text("1"),
                "How many times faster than by the clock: 60 makes a minute of an hour; the rates \
                 stay as they are",
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
                "A file of numbers, separated by blanks, commas or line ends: how many users start \
                 in each `bin`; `#` begins a comment",
            ),
            key(
                "bin",
                Kind::Duration,
                Text("1s"),
                "What one number counts, as recorded",
            ),
            SPEED,
            key(
                "scale",
                Kind::Number,
                Text("1"),
                "Every number is multiplied by it",
            ),
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
                "A file of times, one a line, in any order: each starts a user. Seconds, or dates \
                 as in RFC 3339; `#` begins a comment",
            ),
            key(
                "begin",
                Kind::Word(&["zero", "first"]),
                Said("`first` for dates, `zero` for seconds"),
                "What the phase's start stands for: 0, or the earliest of the times, as seconds \
                 since the Unix epoch want it",
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
            "Sources that are on and off in turn; together they are bursty at every scale of time",
        )],
        FOR,
        COMMON,
    ],
};

pub(crate) static SOURCES: Table = Table {
    name: "sources",
    groups: &[&[
        key("sources", Kind::Count, Required, "How many, 1 to 100,000"),
        key(
            "rate",
            Kind::Rate,
            Required,
            "At which users of one source start while it is on, evenly spaced",
        ),
        key(
            "on",
            Kind::Mapping(&super::PARETO),
            Required,
            "How long it is on: a Pareto distribution whose shape is above 1",
        ),
        key(
            "off",
            Kind::Mapping(&super::PARETO),
            Required,
            "How long it is off, likewise",
        ),
    ]],
};
