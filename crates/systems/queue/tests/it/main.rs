//! The queue on real sockets, spoken to by an independent client; where PostgreSQL is installed, on that as well.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

mod bad_frames;
mod database;
#[path = "../../../../../tests/needs.rs"]
#[expect(dead_code, reason = "shared data is for other tests")]
mod needs;
mod operations;
#[path = "../../../../../tests/queue_client.rs"]
mod queue_client;
#[path = "../../../../../tests/services.rs"]
#[expect(dead_code, reason = "TLS and WebSockets of servers are for other tests")]
mod services;
mod starts;
mod support;
mod waiting;
