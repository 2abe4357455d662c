//! Several runs, through the files of their run directories.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod capacity;
mod windows;
