//! Hosts, links and the forwarder on the real kernel. They need root, or a user and network namespace; without they
//! report that they are skipped.
#![expect(
    clippy::unwrap_used,
    reason = "the tests' helpers fail tests by panicking, too"
)]

mod calibrating;
mod forwarding;
#[path = "../../../../tests/needs.rs"]
#[expect(dead_code, reason = "shared data is for other tests")]
mod needs;
mod streams;
mod support;
