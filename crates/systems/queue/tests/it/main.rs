//! The queue on real sockets, spoken to by an independent client; where PostgreSQL is installed, on that as well.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

mod bad_frames;
mod database;
mod operations;
mod starts;
mod support;
mod waiting;
