//! The servers on real sockets, spoken to by independent clients.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

mod chat;
mod echo;
mod stall;
mod worker;
