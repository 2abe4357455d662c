//! Keys that several kinds of phases have.

use super::Default::{Required, Said, Text};
use super::{Key, Kind};

pub(super) const COMMON: &[Key] = &[
    Key {
        name: "name",
        kind: Kind::Text,
        default: Said("its kind: `ramp`, `hold`, `hold-2`"),
        doc: "Names the phase in figures and thresholds",
    },
    Key {
        name: "session",
        kind: Kind::Text,
        default: Said("drawn by weight"),
        doc: "Which session its users run",
    },
    Key {
        name: "sessions",
        kind: Kind::Map(&Kind::Number),
        default: Said("the sessions' own weights"),
        doc: "The phase's own weights, by session; those that are not named have none",
    },
];

pub(super) const FOR: &[Key] = &[Key {
    name: "for",
    kind: Kind::Duration,
    default: Required,
    doc: "How long it lasts",
}];

pub(super) const SPACING: &[Key] = &[Key {
    name: "spacing",
    kind: Kind::Word(&["even", "poisson"]),
    default: Text("even"),
    doc: "Whether users arrive evenly or as a Poisson process",
}];
