//! The binary as people use it, and the rules of the house.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod cli;
mod examples;
mod faults;
mod runs;
mod support;
mod tidy;
mod tsung;
mod workers;
