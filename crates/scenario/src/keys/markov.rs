//! Markov chains of steps.

use super::Default::{Absent, Required, Said};
use super::{Key, Kind, Table};

pub(crate) static MARKOV: Table = Table {
    name: "chain",
    groups: &[&[
        Key {
            name: "start",
            kind: Kind::Any(&[Kind::Text, Kind::Map(&Kind::Number)]),
            default: Said("the first state"),
            doc: "Where it begins: a state, or states with their probabilities, which sum to 1",
        },
        Key {
            name: "states",
            kind: Kind::Map(&Kind::Mapping(&STATE)),
            default: Required,
            doc: "The states by name",
        },
    ]],
};

pub(crate) static STATE: Table = Table {
    name: "state",
    groups: &[&[
        Key {
            name: "steps",
            kind: Kind::Steps,
            default: Absent,
            doc: "What a user does in it",
        },
        Key {
            name: "think",
            kind: Kind::Dist,
            default: Absent,
            doc: "How long it waits before it leaves the state, where the transition says nothing",
        },
        Key {
            name: "next",
            kind: Kind::Map(&Kind::Any(&[Kind::Number, Kind::Mapping(&TRANSITION)])),
            default: Required,
            doc: "The states that follow, with their probabilities, which sum to 1; `exit` is the \
                  chain's end, after which the user goes on with the next step",
        },
    ]],
};

pub(crate) static TRANSITION: Table = Table {
    name: "transition",
    groups: &[&[
        Key {
            name: "p",
            kind: Kind::Number,
            default: Required,
            doc: "Its probability",
        },
        Key {
            name: "think",
            kind: Kind::Dist,
            default: Said("the state's own"),
            doc: "How long the user waits before it goes there",
        },
    ]],
};

pub(super) const STEP: Table = Table {
    name: "markov",
    groups: &[&[Key {
        name: "markov",
        kind: Kind::Mapping(&MARKOV),
        default: Required,
        doc: "States, what users do in them, and where they go from each with which probability",
    }]],
};
