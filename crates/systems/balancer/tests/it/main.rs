//! The policies, held against their weights and against queueing theory; and the forwarder on real sockets, between
//! independent servers and clients.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

mod corpus;
mod faults;
mod forwarding;
mod policies;
mod requests;
mod routing;
mod shortage;
mod simulation;
mod support;
mod tunnels;
mod waits;
