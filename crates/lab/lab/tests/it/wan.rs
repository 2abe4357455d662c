//! Hosts, links, the forwarder and netem on the real kernel. They need root, or a user and network namespace, and those of
//! netem a kernel that has it; without they report that they are skipped.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

mod calibrating;
mod forwarding;
mod netem;
mod streams;
mod support;
