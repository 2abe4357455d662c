//! Populations side by side.

use super::Default::{Required, Said};
use super::tags::POPULATION_TAGS;
use super::{Key, Kind, Table};

/// The keys of `population`.
pub static POPULATION: Table = Table {
    name: "population",
    groups: &[&[
        Key {
            name: "arrivals",
            kind: Kind::List(&Kind::Phase),
            default: Required,
            doc: "How its users arrive: consecutive phases, from the start of the run. One that begins later begins with \
                  a `hold`",
        },
        Key {
            name: "session",
            kind: Kind::Text,
            default: Said("drawn by weight"),
            doc: "The session that its users run, in phases that name none",
        },
        Key {
            name: "sessions",
            kind: Kind::Map(&Kind::Number),
            default: Said("the sessions' own weights"),
            doc: "Weights of the sessions, in phases that name none; sessions that are not listed have weight 0",
        },
        POPULATION_TAGS,
    ]],
};
