//! Hosts, links and the forwarder on the real kernel. They need root, or a user and network namespace; without they
//! report that they are skipped.
#![expect(
    clippy::unwrap_used,
    reason = "the tests' helpers fail tests by panicking, too"
)]

mod forwarding;
mod streams;
mod support;
