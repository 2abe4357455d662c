//! Fuzzing what agents and runs of a fleet say of themselves.

pub(crate) use fleet::fuzzing::cards;
