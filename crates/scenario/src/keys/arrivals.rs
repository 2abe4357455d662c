//! The kinds of phases.

use super::Default::{Absent, Required, Said, Text};
use super::phase::{COMMON, FOR, SPACING};
use super::recorded::{ON_OFF, RATES, REPLAY, TRACE};
use super::{Key, Kind, Table};

const USERS_MAX: &[Key] = &[Key {
    name: "users_max",
    kind: Kind::Count,
    default: Absent,
    doc: "It starts so many users at most, however long it lasts",
}];

const NAME: &[Key] = &[Key {
    name: "name",
    kind: Kind::Text,
    default: Said("`hold`, `hold-2`"),
    doc: "Names the phase in figures and thresholds",
}];

pub(crate) static PHASES: &[Table] = &[
    Table {
        name: "constant",
        groups: &[
            &[Key {
                name: "constant",
                kind: Kind::Rate,
                default: Required,
                doc: "Users start at this rate, evenly spaced",
            }],
            FOR,
            USERS_MAX,
            COMMON,
        ],
    },
    Table {
        name: "poisson",
        groups: &[
            &[Key {
                name: "poisson",
                kind: Kind::Rate,
                default: Required,
                doc: "Users start as a Poisson process of this rate",
            }],
            FOR,
            USERS_MAX,
            COMMON,
        ],
    },
    Table {
        name: "ramp",
        groups: &[
            &[Key {
                name: "ramp",
                kind: Kind::RateRange,
                default: Required,
                doc: "The rate goes in a straight line from the first to the second",
            }],
            FOR,
            SPACING,
            USERS_MAX,
            COMMON,
        ],
    },
    Table {
        name: "steps",
        groups: &[
            &[Key {
                name: "steps",
                kind: Kind::Any(&[Kind::List(&Kind::Rate), Kind::Mapping(&STEP_RANGE)]),
                default: Required,
                doc: "One rate after the other; each becomes a phase of its own: `steps-1`, \
                      `steps-2`, …",
            }],
            &[Key {
                name: "each",
                kind: Kind::Duration,
                default: Required,
                doc: "How long each lasts",
            }],
            SPACING,
            COMMON,
        ],
    },
    RATES,
    TRACE,
    REPLAY,
    ON_OFF,
    Table {
        name: "together",
        groups: &[&[
            Key {
                name: "together",
                kind: Kind::List(&Kind::Phase),
                default: Required,
                doc: "Open phases that go on side by side, at most 256, each with users of its own; it \
                      lasts as long as the longest of them",
            },
            Key {
                name: "name",
                kind: Kind::Text,
                default: Said("`together`, `together-2`"),
                doc: "Names all of them as one phase, in figures and thresholds",
            },
        ]],
    },
    Table {
        name: "hold",
        groups: &[
            &[Key {
                name: "hold",
                kind: Kind::Duration,
                default: Required,
                doc: "Nobody starts for so long; those that are there go on",
            }],
            NAME,
            &[Key {
                name: "until",
                kind: Kind::Word(&["end", "done"]),
                default: Text("end"),
                doc: "`done`, for the last phase only: it is over as soon as nobody is present",
            }],
        ],
    },
    Table {
        name: "users",
        groups: &[
            &[Key {
                name: "users",
                kind: Kind::Count,
                default: Required,
                doc: "A closed population: so many users, each starting its session anew when it \
                      ends",
            }],
            FOR,
            COMMON,
        ],
    },
];

pub(crate) static STEP_RANGE: Table = Table {
    name: "range of rates",
    groups: &[&[
        Key {
            name: "from",
            kind: Kind::Rate,
            default: Required,
            doc: "The first rate",
        },
        Key {
            name: "to",
            kind: Kind::Rate,
            default: Required,
            doc: "The last rate, or just past it",
        },
        Key {
            name: "by",
            kind: Kind::Rate,
            default: Required,
            doc: "From each to the next",
        },
    ]],
};

/// An item of the arrivals that is no phase.
pub(crate) static SINGLE: Table = Table {
    name: "single user",
    groups: &[&[
        Key {
            name: "at",
            kind: Kind::Duration,
            default: Required,
            doc: "When the user starts, from the run's start; beside the phases, and before the \
                  last one ends",
        },
        Key {
            name: "session",
            kind: Kind::Text,
            default: Required,
            doc: "Which session it runs",
        },
    ]],
};
