//! The verbs that take a program with pages and systems under test.

pub(crate) mod serve;
pub(crate) mod ui;
