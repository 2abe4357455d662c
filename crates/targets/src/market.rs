//! A real-time parimutuel prediction market: who scores next?
//!
//! Games are played by a seeded event feed. Each always has one open pool, on which users put
//! money over a WebSocket; the pool's distribution is batched and broadcast to the game's
//! subscribers. The resolver settles the pool that an event decides: the winners share all of it,
//! and not a cent is made or lost. `docs/market.md` describes the protocol.
//!
//! ```text
//!   feed ── events ─► resolver ──► store ◄── desk ◄── front ◄─► clients
//!                        │           ▲        │ touch   ▲ one a thread
//!                        │           └─ batch ◄┘        │
//!                        └── news ──► bus ◄┘ distributions
//!                                      └──► fan-out, one a thread and game
//! ```

mod batch;
mod books;
mod bus;
mod desk;
mod draws;
mod fault;
mod feed;
mod house;
mod hub;
mod ledger;
mod metrics;
mod model;
mod options;
mod payout;
mod protocol;
mod resolver;
mod rest;
mod store;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use feed::Story;
use hub::Hub;
use server::Stop;
use server::reactor;
use server::{Crew, Setup, open_files_max, run_until};

pub use options::MarketOptions;

/// Events that may wait for the resolver.
const EVENTS_WAITING: usize = 1024;

/// What a market did in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// WebSockets opened.
    pub connections: u64,
    /// Predictions taken.
    pub predictions: u64,
    /// Pools settled.
    pub pools_settled: u64,
    /// Connections that were still there when the time for stopping was over.
    pub connections_cut: u64,
    /// Whether all money, counted account by account, is what was paid in.
    pub balanced: bool,
}

/// Why a market could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarketError {
    /// An option has a value that it may not have.
    #[error("{0}")]
    Options(&'static str),
    /// The address could not be listened at.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A serving thread crashed.
    #[error("a serving thread crashed")]
    Crashed,
    /// Runtime, signals or limits could not be set up.
    #[error("cannot set up the process")]
    Process(#[source] io::Error),
}

/// Runs a market until `shutdown` resolves, and then stops it gracefully: no new connections,
/// WebSockets closed with code 1001, an end after `stop_within` at the latest.
///
/// `ready` is called with the address as soon as connections are accepted. Must be called on a
/// tokio runtime with time enabled; connections are served on threads of their own.
///
/// # Errors
/// On bad options, when the address cannot be listened at, or when a serving thread crashed.
pub async fn serve(
    options: MarketOptions,
    ready: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()>,
) -> Result<Report, MarketError> {
    options.check()?;
    let options = options.with_enough_threads(open_files_max())?;
    let hub = Arc::new(Hub::new(&options));
    let crew = start(&options, &hub).await?;
    let play = play(&options, &hub);
    ready(crew.address());
    let drain = || {
        hub.drain();
        drop(play);
    };
    let served = crew.serve_until(shutdown, drain).await;
    served.map_err(|_| MarketError::Crashed)?;
    Ok(report(&hub).await)
}

/// [`serve`] on a runtime of its own, until `stop`; raises the limit on open files
/// first. For a process that does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(
    options: MarketOptions,
    stop: Stop,
    ready: impl FnOnce(SocketAddr),
) -> Result<Report, MarketError> {
    run_until(stop, |stopped| serve(options, ready, stopped)).map_err(MarketError::Process)?
}

async fn start(options: &MarketOptions, hub: &Arc<Hub>) -> Result<Crew, MarketError> {
    let setup = Setup {
        listen: options.listen,
        threads: options.threads,
        backlog: options.backlog,
        own_files: options.own_files,
        shared: false,
    };
    let (hub, work) = (Arc::clone(hub), options.front());
    Crew::start(setup, move |post| {
        reactor::serve(Arc::clone(&hub), work.clone(), post)
    })
    .await
    .map_err(|source| MarketError::Listen {
        address: options.listen,
        source,
    })
}

/// Starts what happens without connections: feed, resolver, batches. Dropping it ends them.
fn play(options: &MarketOptions, hub: &Arc<Hub>) -> JoinSet<()> {
    let mut play = JoinSet::new();
    let (events, happened) = mpsc::channel(EVENTS_WAITING);
    for game in hub.games() {
        let story = Story::new(options.seed, game, options.goal_every);
        play.spawn(feed::tell(story, events.clone()));
        play.spawn(batch::publish_distributions(
            Arc::clone(hub),
            game,
            options.batch,
        ));
    }
    play.spawn(resolver::resolve(Arc::clone(hub), happened));
    play
}

async fn report(hub: &Hub) -> Report {
    let metrics = &hub.metrics;
    Report {
        connections: metrics.connections.opened.get(),
        predictions: metrics.predictions_accepted.get(),
        pools_settled: metrics.pools_settled.get(),
        connections_cut: metrics.connections.cut.get(),
        balanced: hub.store.audit().await.is_ok_and(|money| money.balanced()),
    }
}

#[cfg(test)]
mod tests;
