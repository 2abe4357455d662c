//! What the servers share below their protocols: threads, listeners, request heads, sockets.

mod accept;
mod clock;
mod crew;
pub(crate) mod database;
pub(crate) mod events;
mod files;
pub(crate) mod frames;
mod head;
mod http;
mod lookout;
pub(crate) mod metrics;
mod process;
mod rewind;
mod socket;
mod threads;

pub(crate) use accept::{BREATH, accept_all};
pub(crate) use clock::wall_ms;
pub use crew::Port;
pub(crate) use crew::{Crew, Post, Setup};
pub(crate) use files::{limit_open_files, open_files_max};
pub(crate) use head::{Asked, Door, Opening, Route, accepted, read_opening, route};
pub(crate) use http::serve_http;
pub(crate) use lookout::{Event, Lookout};
pub use process::Stop;
pub(crate) use process::run_until;
pub(crate) use socket::{Limits, Socket};
pub(crate) use threads::{CONNECTIONS_MAX, connections_each, enough_threads, threads_of_cores};

/// Most connections that wait to be accepted, for each listener: as many as the kernel lets wait
/// (`net.core.somaxconn` cuts this). A storm then waits instead of having its SYNs dropped.
pub(crate) const BACKLOG: u32 = 65_535;

/// Holds options against what the types do not say: the first rule that does not hold is the error.
pub(crate) fn hold<const N: usize>(rules: [(bool, &'static str); N]) -> Result<(), &'static str> {
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(rule),
        None => Ok(()),
    }
}

/// Resolves once `stop` turns true, and also when nobody is left to turn it.
pub(crate) async fn stopped(stop: &mut tokio::sync::watch::Receiver<bool>) {
    // An error means that the sender is gone: then there is nothing left to serve for.
    let _ = stop.wait_for(|stop| *stop).await;
}
