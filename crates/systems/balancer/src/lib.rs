//! A load balancer for HTTP/1.1, its policies, and a simulator of both.
//!
//! `docs/balancing.md` describes it.
//!
//! ```text
//!                 ┌──────────────── no clock, no socket ───────────────┐
//!                 │ fleet ─► policy ─► backend      draws by the seed  │
//!                 └──▲──────────────────▲──────────────────────────────┘
//!                 sim: virtual time     the forwarder: sockets
//! ```

pub mod fleet;
pub mod hash;
pub mod http;
pub mod policy;
pub mod sim;

mod backends;
mod balance;
mod forward;
mod health;
mod latency;
mod options;
mod weights;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use server::access_log::AccessLog;
use server::{ServerError, ServerOptions, Serving, Shutdown, Stop, ThreadWork, stopped};
use tokio::sync::watch;

use forward::Router;

pub use backends::{BACKENDS_MAX, Backend, BackendsError, Source};
pub use balance::Balancer;
pub use health::{Health, HealthOptions, Sign};
pub use latency::PeakEwma;
pub use options::{BalancerOptions, Timeouts};
pub use server::access_log::LogFormat;
pub use weights::{LearnOptions, WorkReport};

/// Figures of a balancer from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Requests whose head was read.
    pub requests: u64,
    /// Responses that broke off in the middle.
    pub truncated: u64,
    /// Lines that the access log could not take.
    pub lines_dropped: u64,
}

/// Why a balancer could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BalancerError {
    /// It could not be served.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The backends cannot be used.
    #[error(transparent)]
    Backends(#[from] BackendsError),
    /// The access log cannot be written there.
    #[error("cannot write the access log {}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// An event that a balancer reports while it runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// Connections of clients are accepted at this address.
    Ready(SocketAddr),
    /// Those of operators at this one.
    Operable(SocketAddr),
    /// The list of backends was read again, and has this many; or it cannot be used, and the old one stays.
    Reloaded(Result<usize, BackendsError>),
}

/// Function that gets the events of a balancer, on the thread that awaits it.
pub type EventHandler = Box<dyn Fn(Event) + Send + Sync>;

/// Runs a balancer until `shutdown` resolves, and then until the requests in progress are answered, for `stop_within` at
/// most.
///
/// # Errors
/// On bad options, if backends, log or addresses cannot be used, or if a thread crashed.
pub fn serve(
    options: BalancerOptions,
    on_event: EventHandler,
    shutdown: Shutdown,
) -> Serving<'static, Report, BalancerError> {
    Box::pin(serve_until(options, on_event, shutdown))
}

async fn serve_until(
    options: BalancerOptions,
    on_event: EventHandler,
    shutdown: Shutdown,
) -> Result<Report, BalancerError> {
    options.check()?;
    let options = options.stretched();
    let backends = options.load()?;
    let (log, writing) = match &options.access_log {
        None => (None, None),
        Some(path) => {
            let started = AccessLog::start(path, options.log_format, Some("backend"));
            let (log, thread) =
                started.map_err(|source| BalancerError::Log { path: path.clone(), source })?;
            (Some(Arc::new(log)), Some(thread))
        }
    };
    let server = options.server.clone();
    let metrics_listen = options.metrics_listen;
    let router = Arc::new(Router::new(options, backends, log));
    let served = serve_all(&router, &server, metrics_listen, &on_event, shutdown).await;
    if let Some(log) = &router.log {
        log.end();
    }
    let crashed = writing.is_some_and(|thread| thread.join().is_err());
    served?;
    if crashed {
        return Err(ServerError::Crashed.into());
    }
    Ok(Report {
        requests: router.metrics.requests.get(),
        truncated: router.metrics.truncated.get(),
        lines_dropped: router.log.as_ref().map_or(0, |log| log.counts().dropped.get()),
    })
}

async fn serve_all(
    router: &Arc<Router>,
    server: &ServerOptions,
    metrics_listen: Option<SocketAddr>,
    on_event: &EventHandler,
    shutdown: Shutdown,
) -> Result<(), ServerError> {
    let (stop, mut clients_stop) = watch::channel(false);
    let (stop_operators, mut operators_stop) = watch::channel(false);
    let own = Arc::clone(router);
    let work = move |context| -> ThreadWork { Box::pin(forward::work(context, Arc::clone(&own))) };
    let clients = async {
        let ready = |address| on_event(Event::Ready(address));
        let stopping = stopped(&mut clients_stop);
        let result = server::serve(server, work, ready, stopping, || router.drain.begin()).await;
        // Operators could watch the drain; then they are served no longer.
        stop_operators.send_replace(true);
        result
    };
    let operators = async {
        let Some(listen) = metrics_listen else {
            return Ok(());
        };
        let ready = |address| on_event(Event::Operable(address));
        let result = forward::operate(router, listen, ready, stopped(&mut operators_stop)).await;
        stop.send_replace(true);
        result
    };
    let control = async {
        shutdown.await;
        stop.send_replace(true);
        std::future::pending::<()>().await;
    };
    let keeping = async {
        let reloaded = |result| on_event(Event::Reloaded(result));
        match forward::keep(router, reloaded).await {
            Err(error) => error,
            Ok(()) => std::future::pending().await,
        }
    };
    tokio::select! {
        (clients, operators) = async { tokio::join!(clients, operators) } => clients.and(operators),
        error = keeping => Err(ServerError::Process(error)),
        () = control => Ok(()),
    }
}

/// [`serve`] on a runtime of its own, until `stop`; raises the limit on open files first. For a process that does nothing
/// else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(
    options: BalancerOptions,
    stop: Stop,
    on_event: EventHandler,
) -> Result<Report, BalancerError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, on_event, shutdown))
}
