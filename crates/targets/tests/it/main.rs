//! The servers on real sockets, spoken to by independent clients.
#![expect(
    clippy::unwrap_used,
    reason = "the tests' helpers fail tests by panicking, too"
)]

mod bad_input;
mod chat;
mod echo;
mod framing;
mod market;
mod opening;
mod process;
mod rest;
mod slow;
mod stall;
mod stopping;
mod support;
