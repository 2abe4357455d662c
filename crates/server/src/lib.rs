//! The framework that every built-in system under test is built on.
//!
//! An island with the systems: none of these crates imports another crate of the project. They are
//! built with the ecosystem's own (tokio, hyper, axum, tungstenite), so that they are an
//! independent oracle for the codecs on the other end of the wire.

mod accept;
mod clock;
pub mod database;
pub mod http;
pub mod metrics;
mod poller;
mod process;
pub mod reactor;
pub mod sse;
mod threads;
pub mod websocket;

pub use accept::accept_all;
pub use clock::wall_ms;
pub use process::{Stop, Stopped, run_until};
pub use threads::{
    CONNECTIONS_MAX, Crew, Port, Post, Setup, connections_each, enough_threads, limit_open_files,
    open_files_max, threads_of_cores,
};

/// Most connections that wait to be accepted, for each listener: as many as the kernel lets wait
/// (`net.core.somaxconn` cuts this). A storm then waits instead of having its SYNs dropped.
pub const BACKLOG: u32 = 65_535;

/// Holds options against what the types do not say: the first rule that does not hold is the error.
pub fn hold<const N: usize>(rules: [(bool, &'static str); N]) -> Result<(), &'static str> {
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(rule),
        None => Ok(()),
    }
}

/// Resolves once `stop` turns true, and also when nobody is left to turn it.
pub async fn stopped(stop: &mut tokio::sync::watch::Receiver<bool>) {
    // An error means that the sender is gone: then there is nothing left to serve for.
    let _ = stop.wait_for(|stop| *stop).await;
}
