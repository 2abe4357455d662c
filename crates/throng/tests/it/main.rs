//! The binary as people use it, and the rules of the house.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod analyze;
mod capacity;
mod cli;
mod compare;
mod events;
mod examples;
mod experiments;
mod faults;
#[cfg(feature = "web")]
mod pages;
mod people;
mod runs;
mod support;
mod thesis;
mod tidy;
mod tsung;
mod workers;
