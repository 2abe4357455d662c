//! The servers on real sockets, spoken to by independent clients.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

mod chat;
#[path = "../../../../../tests/client.rs"]
mod client;
mod echo;
#[path = "../../../../../tests/http.rs"]
mod http;
mod stall;
mod worker;
