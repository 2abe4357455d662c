//! A message queue in front of PostgreSQL: frames in, stored functions out.
//!
//! A middleware as a course on systems performance would build one, with every pool of a size that can be set and
//! every request's time in four parts. `docs/queue-reference.md` describes the wire format.
//!
//! ```text
//!   client ⇄ connection ──► jobs (bounded) ──► worker ⇄ its database connection
//!            a task of a                       a task of one thread
//!            frontend's thread ◄── answer ─────┘
//! ```
//!
//! A connection carries out one request at a time, so answers keep their order. Workers write answers as bytes; the
//! frontend sends them, and the worker is free while it does.

mod clock;
mod connection;
mod front;
#[doc(hidden)]
pub mod fuzzing;
mod jobs;
mod listener;
mod metrics;
mod options;
mod state;
mod store;
mod waiters;
mod wire;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use server::database::ServerAddress;
use server::http::{ConnectionLimits, serve_connections};
use server::{
    Ready, ServerError, ServerOptions, Serving, Shutdown, Stop, ThreadWork, operator_routes,
};

use jobs::JobReceiver;
use state::State;
use store::memory::Memory;
use store::{InMemory, Store, postgres, schema};
use workers::{Work, Workers};

pub use options::{Fill, Index, PopLocking, QueueOptions, Wait};
pub use store::schema::SchemaError;

/// Most connections of operators.
const OPERATORS_MAX: usize = 256;
/// How long workers may take to end when all clients are gone.
const WORKERS_END_WITHIN: Duration = Duration::from_secs(1);

/// Figures of a queue from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Connections of clients.
    pub connections: u64,
    /// Requests that were answered without an error.
    pub done: u64,
    /// Requests that were answered with one.
    pub failed: u64,
}

/// Why a queue could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// It could not be served.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Messages cannot be kept in the store.
    #[error("cannot use the store {at}: {problem}")]
    Store {
        /// The server, without its password.
        at: String,
        /// Why not.
        problem: SchemaError,
    },
    /// Memory does not hold what it is to be filled with.
    #[error("cannot fill the store: {problem}")]
    Fill {
        /// Why not.
        problem: String,
    },
}

/// Changes of a database without serving it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetUp {
    /// Drops tables and functions.
    pub drops: bool,
    /// Then makes or migrates them, and fills them if that is wished.
    pub inits: bool,
}

/// Serves until `shutdown` resolves, and then answers the requests in progress.
///
/// `ready` is called with the address as soon as connections are accepted and the store is there. Must be called on a
/// tokio runtime with time enabled; connections are served on threads of their own.
///
/// # Errors
/// On invalid options, when an address cannot be listened on, when the store cannot be used, or when a thread crashed.
pub fn serve(
    options: QueueOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'static, Report, QueueError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    options: QueueOptions,
    ready: Ready,
    mut shutdown: Shutdown,
) -> Result<Report, QueueError> {
    options.check()?;
    let options = options.stretched();
    let (jobs, receiver) = jobs::queue(options.queue_max);
    let state = Arc::new(State::new(&options, jobs.waiting()));
    let starting = start(&options, receiver, &state);
    // A fill may take minutes, and a database that hangs for ever.
    let mut workers = tokio::select! {
        biased;
        () = &mut shutdown => return Ok(report(&state)),
        workers = starting => workers?,
    };

    let (stop_operators, operators_stop) = oneshot::channel::<()>();
    let operators = operators(&options, &state, async { drop(operators_stop.await) });
    let front = async {
        let own = Arc::clone(&state);
        let drained = Arc::clone(&state);
        let work = move |context| -> ThreadWork {
            Box::pin(front::serve(context, Arc::clone(&own), jobs.clone()))
        };
        let stop = async {
            tokio::select! {
                () = &mut shutdown => {}
                () = workers.ended() => {}
            }
        };
        let drain = || drained.drain.begin();
        let served = server::serve(&options.server, work, ready, stop, drain).await;
        drop(stop_operators);
        served
    };
    tokio::try_join!(front, operators)?;
    // With the last thread went the last one who could put requests into the queue, or wait for an answer: a worker that
    // still waits for the database does so for nobody.
    if let Ok(ended) = timeout(WORKERS_END_WITHIN, workers.join()).await {
        ended.map_err(|_| ServerError::Crashed)?;
    }
    Ok(report(&state))
}

/// The workers, on a store that can be used.
async fn start(
    options: &QueueOptions,
    jobs: JobReceiver,
    state: &Arc<State>,
) -> Result<Workers, QueueError> {
    let store = open(options, state).await?;
    let work = Work::new(options, store, jobs, Arc::clone(state));
    let started = Workers::start(work).await.map_err(ServerError::Process)?;
    started.map_err(|error| unusable(options.store.as_ref(), error.into()))
}

fn report(state: &State) -> Report {
    let (done, failed) = state.metrics.totals();
    Report { connections: state.metrics.connections_opened.get(), done, failed }
}

/// [`serve`] on a runtime of its own, until `stop`; raises the limit on open files first. For a process that
/// does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: QueueOptions, stop: Stop, ready: Ready) -> Result<Report, QueueError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}

/// Sets a database up, without serving it.
///
/// # Errors
/// On invalid options, when the database cannot be used, and when the process cannot be set up.
pub fn set_up(options: &QueueOptions, set_up: SetUp, stop: Stop) -> Result<(), QueueError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| async {
        options.check()?;
        let Some(address) = &options.store else {
            let rule = "init and drop need a store";
            return Err(ServerError::Options(rule).into());
        };
        tokio::select! {
            () = shutdown => Ok(()),
            done = set_up_at(address, options, set_up) => {
                done.map_err(|problem| unusable(Some(address), problem))
            }
        }
    })
}

async fn set_up_at(
    address: &ServerAddress,
    options: &QueueOptions,
    set_up: SetUp,
) -> Result<(), SchemaError> {
    if set_up.drops {
        schema::drop_all(address, options.store_wait).await?;
    }
    if set_up.inits {
        schema::init(address, options.store_wait).await?;
        if let Some(fill) = options.fill {
            schema::fill(address, options.store_wait, fill).await?;
        }
    }
    Ok(())
}

/// The store; with its tables and what it is to be filled with, unless another process has seen to that.
async fn open(options: &QueueOptions, state: &State) -> Result<Store, QueueError> {
    let texts_max = options.payload_max;
    let Some(address) = &options.store else {
        let memory = Memory::default();
        if let Some(fill) = options.fill {
            let filled = memory.fill(fill);
            filled.map_err(|error| QueueError::Fill { problem: error.to_string() })?;
        }
        let waiters = Arc::clone(&state.waiters);
        return Ok(Store::Memory(Arc::new(InMemory { memory, waiters, texts_max })));
    };
    if options.sets_up() {
        let inits = SetUp { drops: false, inits: true };
        let ready = set_up_at(address, options, inits).await;
        ready.map_err(|problem| unusable(Some(address), problem))?;
    }
    Ok(Store::Postgres(Arc::new(postgres::Settings {
        address: address.clone(),
        limit: options.store_wait,
        pop: options.pop,
        is_durable: options.durable,
        notifies: options.listens(),
        // The options bound it.
        texts_max: i64::try_from(texts_max).unwrap_or(i64::MAX),
    })))
}

fn unusable(address: Option<&ServerAddress>, problem: SchemaError) -> QueueError {
    QueueError::Store {
        at: address.map_or_else(|| "memory".to_owned(), ToString::to_string),
        problem,
    }
}

/// Serves `/metrics` and `/healthz`, if that is wished.
async fn operators(
    options: &QueueOptions,
    state: &Arc<State>,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServerError> {
    let Some(listen) = options.metrics else {
        return Ok(());
    };
    let mut server = ServerOptions::single_threaded();
    server.listen = listen;
    server.own_files = false;
    let counts = Arc::default();
    let router = operator_routes(state);
    let limits = ConnectionLimits {
        connections_max: OPERATORS_MAX,
        stop_within: options.server.stop_within,
    };
    let work =
        move |context| serve_connections(context, limits, Arc::clone(&counts), router.clone());
    server::serve(&server, work, |_| {}, shutdown, || {}).await
}
