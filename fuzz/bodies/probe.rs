//! Fuzzing what the server side says of itself.

pub(crate) use probe::fuzzing::pages;
