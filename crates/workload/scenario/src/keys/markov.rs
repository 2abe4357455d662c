//! Markov chains of steps.

use super::Default::{Absent, Required, Said};
use super::{Key, Kind, Table};

/// The keys of `chain`.
pub static MARKOV: Table = Table {
    name: "chain",
    groups: &[&[
        Key {
            name: "start",
            kind: Kind::Any(&[Kind::Text, Kind::Map(&Kind::Number)]),
            default: Said("the first state"),
            doc: "The initial state, or states with their probabilities, which sum to 1",
        },
        Key {
            name: "states",
            kind: Kind::Map(&Kind::Mapping(&STATE)),
            default: Required,
            doc: "The states by name",
        },
    ]],
};

/// The keys of `state`.
pub static STATE: Table = Table {
    name: "state",
    groups: &[&[
        Key { name: "steps", kind: Kind::Steps, default: Absent, doc: "The steps of the state" },
        Key {
            name: "think",
            kind: Kind::Dist,
            default: Absent,
            doc: "Wait before leaving the state, if the transition has no `think`",
        },
        Key {
            name: "next",
            kind: Kind::Map(&Kind::Any(&[Kind::Number, Kind::Mapping(&TRANSITION)])),
            default: Required,
            doc: "The next states with their probabilities, which sum to 1. `exit` ends \
                  the chain; the user continues with the next step",
        },
    ]],
};

/// The keys of `transition`.
pub static TRANSITION: Table = Table {
    name: "transition",
    groups: &[&[
        Key { name: "p", kind: Kind::Number, default: Required, doc: "Its probability" },
        Key {
            name: "think",
            kind: Kind::Dist,
            default: Said("that of the state"),
            doc: "Wait before the transition",
        },
    ]],
};

pub(crate) static STEP: Table = Table {
    name: "markov",
    groups: &[&[Key {
        name: "markov",
        kind: Kind::Mapping(&MARKOV),
        default: Required,
        doc: "A Markov chain: states with steps and transition probabilities",
    }]],
};
