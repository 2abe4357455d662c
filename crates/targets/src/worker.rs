//! A worker: it answers `/work` after a service time, and says how long it queued and how long it worked.
//!
//! `docs/balancing.md` describes it.
//!
//! ```text
//!   requests ─► places, bounded ─► turns, in the order of arrival ─► work: CPU burned, or a timer ─► answer
//!                 └ 503 beyond       └ queueing time                  └ work time, by the pace
//! ```

mod burn;
mod http;
mod metrics;
mod options;
mod pace;
mod station;

use std::net::SocketAddr;
use std::sync::Arc;

use server::http::{ConnectionLimits, serve_connections};
use server::{Drain, ServerError, Stop};

use http::Worker;
use metrics::Metrics;
use station::Station;

pub use options::{Cpu, WorkerOptions};
pub use pace::Pace;

/// What a worker did in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Requests worked on.
    pub done: u64,
    /// Requests that failed by the error rate.
    pub failed: u64,
    /// Requests refused because the queue was full.
    pub refused: u64,
}

/// Runs a worker until `shutdown` resolves; requests in progress are then answered, for `stop_within` at most.
/// `ready` is called with the address as soon as connections are accepted; the times of faults begin
/// shortly before.
///
/// # Errors
/// On bad options, when the address cannot be listened on, or a thread crashed.
pub async fn serve(
    options: WorkerOptions,
    ready: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()>,
) -> Result<Report, ServerError> {
    options.check()?;
    let server = options.server.clone();
    let limits = ConnectionLimits {
        connections_max: options.connections_max,
        stop_within: server.stop_within,
    };
    let worker = Arc::new(Worker {
        station: Station::start(options).map_err(ServerError::Process)?,
        metrics: Metrics::default(),
        drain: Drain::default(),
    });
    let counts = Arc::clone(&worker.metrics.connections);
    let router = http::router(&worker);
    let work =
        move |context| serve_connections(context, limits, Arc::clone(&counts), router.clone());
    server::serve(&server, work, ready, shutdown, || worker.drain.begin()).await?;
    Ok(Report {
        done: worker.metrics.done.get(),
        failed: worker.metrics.failed.get(),
        refused: worker.metrics.refused.get(),
    })
}

/// [`serve`] on a runtime of its own, until `stop`. For a process that does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(
    options: WorkerOptions,
    stop: Stop,
    ready: impl FnOnce(SocketAddr),
) -> Result<Report, ServerError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}

/// [`serve`] on a runtime of its own, for as long as the process lives; for a thread of a process that does something
/// else.
///
/// # Errors
/// As [`serve`].
pub fn run_within_process(
    options: WorkerOptions,
    ready: impl FnOnce(SocketAddr),
) -> Result<Report, ServerError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ServerError::Process)?;
    runtime.block_on(serve(options, ready, std::future::pending()))
}
