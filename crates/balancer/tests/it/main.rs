//! The policies, held against their weights and against queueing theory; and the forwarder on real sockets, between
//! independent servers and clients.
#![expect(
    clippy::unwrap_used,
    reason = "the tests' helpers fail tests by panicking, too"
)]

mod policies;
mod simulation;
