//! The ad network on real sockets.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

mod ads;
