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
mod switches;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use server::http::{ConnectionLimits, serve_connections};
use server::{Drain, Ready, ServerError, Serving, Shutdown, Stop, stretch};

use http::Worker;
use metrics::Metrics;
use station::Station;
use switches::Signals;

pub use options::{Cpu, WorkerOptions};
pub use pace::Pace;
pub use switches::Fault;

/// Figures of a worker from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// Requests worked on.
    pub done: u64,
    /// Requests that failed by the error rate.
    pub failed: u64,
    /// Requests refused because the queue was full.
    pub refused: u64,
    /// Times that it restarted.
    pub restarts: u64,
}

/// Runs a worker until `shutdown` resolves; requests in progress are then answered, for `stop_within` at most.
/// `ready` is called with the address as soon as connections are accepted; the times of faults begin
/// shortly before.
///
/// # Errors
/// On bad options, when the address cannot be listened on, signals cannot be received, or a thread crashed.
pub fn serve(
    options: WorkerOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'static, Report, ServerError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    mut options: WorkerOptions,
    ready: Ready,
    mut shutdown: Shutdown,
) -> Result<Report, ServerError> {
    options.check()?;
    let mut signals =
        Signals::listen(options.on_usr1, options.on_usr2).map_err(ServerError::Process)?;
    let mut ready = Some(ready);
    let mut report = Report::default();
    loop {
        let mut address = options.server.listen;
        let up = |at| {
            address = at;
            if let Some(ready) = ready.take() {
                ready(at);
            }
        };
        let restarts = live(&options, &mut signals, up, &mut shutdown, &mut report).await?;
        if !restarts {
            return Ok(report);
        }
        report.restarts += 1;
        tokio::select! {
            () = &mut shutdown => return Ok(report),
            () = tokio::time::sleep(stretch(options.restart_for)) => {}
        }
        options.server.listen = address;
        options.restart_from = None;
    }
}

/// Runs a worker until a stop or a restart; whether it is the latter.
async fn live(
    options: &WorkerOptions,
    signals: &mut Signals,
    ready: impl FnOnce(SocketAddr) + Send,
    shutdown: &mut Shutdown,
    report: &mut Report,
) -> Result<bool, ServerError> {
    let server = options.server.clone();
    let limits = ConnectionLimits {
        connections_max: options.connections_max,
        stop_within: server.stop_within,
    };
    let worker = Arc::new(Worker {
        station: Station::start(options.clone()).map_err(ServerError::Process)?,
        metrics: Metrics::default(),
        drain: Drain::default(),
    });
    let counts = Arc::clone(&worker.metrics.connections);
    let router = http::router(&worker);
    let work =
        move |context| serve_connections(context, limits, Arc::clone(&counts), router.clone());
    let restarts = AtomicBool::new(false);
    let ending = async {
        tokio::select! {
            () = shutdown => {}
            () = restart(&worker.station, options.restart_from, signals) => restarts.store(true, Ordering::Relaxed),
        }
    };
    server::serve(&server, work, ready, ending, || worker.drain.begin()).await?;
    report.done += worker.metrics.done.get();
    report.failed += worker.metrics.failed.get();
    report.refused += worker.metrics.refused.get();
    Ok(restarts.load(Ordering::Relaxed))
}

/// Does what signals want, until it is time for a restart.
async fn restart(station: &Station, from: Option<Duration>, signals: &mut Signals) {
    let due = async {
        match from {
            Some(from) => station.reached(from).await,
            None => std::future::pending().await,
        }
    };
    let wanted = async {
        loop {
            match signals.next().await {
                Fault::Restart => return,
                fault => station.turn(fault),
            }
        }
    };
    tokio::select! {
        () = due => {}
        () = wanted => {}
    }
}

/// [`serve`] on a runtime of its own, until `stop`. For a process that does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: WorkerOptions, stop: Stop, ready: Ready) -> Result<Report, ServerError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}

/// [`serve`] on a runtime of its own, for as long as the process lives; for a thread of a process that does something
/// else.
///
/// # Errors
/// As [`serve`].
pub fn run_within_process(options: WorkerOptions, ready: Ready) -> Result<Report, ServerError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ServerError::Process)?;
    runtime.block_on(serve(options, ready, Box::pin(std::future::pending())))
}
