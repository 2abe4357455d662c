//! The run directory as its users see it.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod corpus;
mod directory;
mod documented;
mod faults;
mod parts;
mod sample;
