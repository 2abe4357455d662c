//! Tags of sessions and steps.

use super::Default::Absent;
use super::{Key, Kind};

/// Tags of steps that measure something.
pub(crate) const TAGS: Key =
    key("[Tags](scenario.md#tags-and-groups), in addition to those of its session and groups");

/// Tags of a session.
pub(super) const SESSION_TAGS: Key = key("[Tags](scenario.md#tags-and-groups) of all its steps");

/// Tags of a population.
pub(super) const POPULATION_TAGS: Key = key(
    "[Tags](scenario.md#tags-and-groups) of all steps of its users, in addition to `population`, which is its name",
);

const fn key(doc: &'static str) -> Key {
    Key { name: "tags", kind: Kind::Map(&Kind::Scalar), default: Absent, doc }
}
