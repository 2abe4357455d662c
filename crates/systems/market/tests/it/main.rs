//! The market on real sockets, spoken to by independent clients.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

mod bad_input;
mod framing;
mod market;
mod opening;
mod process;
mod relay;
mod rest;
mod slow;
mod stopping;
mod support;
mod tls;
