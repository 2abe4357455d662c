//! The kinds of phases.

use super::Default::{Absent, Required, Said, Text};
use super::phase::{COMMON, FOR, SPACING};
use super::recorded::{ON_OFF, RATES, REPLAY, TRACE};
use super::{Key, Kind, Table};

const USERS_MAX: &[Key] = &[Key {
    name: "users_max",
    kind: Kind::Count,
    default: Absent,
    doc: "Largest number of users that the phase starts",
}];

const UNTIL: &[Key] = &[Key {
    name: "until",
    kind: Kind::Word(&["end", "done"]),
    default: Text("end"),
    doc: "`done` (last phase only): the phase ends as soon as no user is active",
}];

const ITERATIONS: &[Key] = &[Key {
    name: "iterations",
    kind: Kind::Any(&[Kind::Count, Kind::Text]),
    default: Said("as many as there is time for"),
    doc: "How many sessions its users begin: `1000` all users together, `100 each` each of them. \
          A user for whom none is left leaves. As the last phase it ends with its last user",
}];

const NAME: &[Key] = &[Key {
    name: "name",
    kind: Kind::Text,
    default: Said("`hold`, `hold-2`"),
    doc: "Name of the phase in figures and thresholds",
}];

/// The kinds of phases.
pub static PHASES: &[Table] = &[
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
                doc: "Users start as a Poisson process with this rate",
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
                doc: "The rate changes linearly from the first value to the second",
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
                doc: "Consecutive rates; each becomes a phase of its own: `steps-1`, \
                      `steps-2`, …",
            }],
            &[Key {
                name: "each",
                kind: Kind::Duration,
                default: Required,
                doc: "Duration of each step",
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
                doc: "Open phases that run concurrently, at most 256, each with its own \
                      users. The group lasts as long as its longest phase",
            },
            Key {
                name: "name",
                kind: Kind::Text,
                default: Said("`together`, `together-2`"),
                doc: "Name of the group, as one phase, in figures and thresholds",
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
                doc: "No user starts for this long; active users continue",
            }],
            NAME,
            UNTIL,
        ],
    },
    Table {
        name: "users",
        groups: &[
            &[Key {
                name: "users",
                kind: Kind::Any(&[Kind::Count, Kind::CountRange]),
                default: Required,
                doc: "A closed population of this many users; each restarts its session \
                      when it ends. `0..500`: their number changes linearly, and users stay \
                      from phase to phase",
            }],
            FOR,
            ITERATIONS,
            UNTIL,
            COMMON,
        ],
    },
];

/// The keys of `range of rates`.
pub static STEP_RANGE: Table = Table {
    name: "range of rates",
    groups: &[&[
        Key { name: "from", kind: Kind::Rate, default: Required, doc: "The first rate" },
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
            doc: "Difference between consecutive rates",
        },
    ]],
};

/// An item of the arrivals that is no phase.
pub static SINGLE: Table = Table {
    name: "single user",
    groups: &[&[
        Key {
            name: "at",
            kind: Kind::Duration,
            default: Required,
            doc: "When the user starts, relative to the start of the run; before the \
                  last phase ends. It starts in addition to the phases' users",
        },
        Key {
            name: "session",
            kind: Kind::Text,
            default: Required,
            doc: "The session that the user runs",
        },
    ]],
};
