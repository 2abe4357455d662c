//! Keys that several kinds of phases have.

use super::Default::{Required, Said, Text};
use super::{Key, Kind};

pub(super) const COMMON: &[Key] = &[
    Key {
        name: "name",
        kind: Kind::Text,
        default: Said("the phase's kind: `ramp`, `hold`, `hold-2`"),
        doc: "Name of the phase in figures and thresholds",
    },
    Key {
        name: "session",
        kind: Kind::Text,
        default: Said("drawn by weight"),
        doc: "The session that its users run",
    },
    Key {
        name: "sessions",
        kind: Kind::Map(&Kind::Number),
        default: Said("the sessions' own weights"),
        doc: "Weights of the sessions in this phase; sessions that are not listed have \
              weight 0",
    },
];

pub(super) const FOR: &[Key] =
    &[Key { name: "for", kind: Kind::Duration, default: Required, doc: "Duration of the phase" }];

pub(super) const SPACING: &[Key] = &[Key {
    name: "spacing",
    kind: Kind::Word(&["even", "poisson"]),
    default: Text("even"),
    doc: "Whether users arrive evenly or as a Poisson process",
}];
