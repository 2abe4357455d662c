//! Several runs, through the files of their run directories.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod capacity;
#[expect(dead_code, reason = "the tests of `analyze` need more of it")]
#[path = "../../../../../tests/made.rs"]
mod made;
