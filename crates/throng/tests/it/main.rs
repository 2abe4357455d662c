//! The binary as people use it, and the rules of the house.

mod cli;
mod examples;
mod faults;
mod runs;
mod support;
mod tidy;
