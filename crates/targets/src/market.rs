//! A real-time parimutuel prediction market: who scores next?
//!
//! Games are played by a seeded event feed. Each always has one open pool, on which users put
//! money over a WebSocket; the pool's distribution is batched and broadcast to the game's
//! subscribers. The resolver settles the pool that an event decides: the winners share all of it,
//! and not a cent is made or lost. `docs/market.md` describes the protocol.
//!
//! ```text
//!   feed ── events ─► resolver ──► store ◄── connection ◄─► reactor ◄─► clients
//!                        │           ▲        │ touch   ▲ one a thread
//!                        │           └─ batch ◄┘        │
//!                        └── news ───► bus ◄┘ distributions
//!                                      └──► fan-out, one a thread and game
//! ```

mod batch;
mod books;
mod bus;
mod connection;
mod delay;
mod feed;
mod ledger;
mod metrics;
mod model;
mod options;
mod payout;
mod protocol;
mod resolver;
mod rest;
mod service;
mod state;
mod store;
mod transactions;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use server::{Operations, ServerError, Stop, reactor};

use feed::Story;
use state::MarketState;

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
) -> Result<Report, ServerError> {
    options.check()?;
    let options = options.with_enough_threads(server::open_files_max())?;
    let state = Arc::new(MarketState::new(&options));
    let play = play(&options, &state);
    let work = {
        let (state, reactor) = (Arc::clone(&state), options.reactor());
        move |context| reactor::serve(Arc::clone(&state), reactor.clone(), context)
    };
    let drain = || {
        state.drain().begin();
        drop(play);
    };
    server::serve(&options.server, work, ready, shutdown, drain).await?;
    Ok(report(&state).await)
}

/// [`serve`] on a runtime of its own, until `stop`; raises the limit on open files first. For a process that
/// does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(
    options: MarketOptions,
    stop: Stop,
    ready: impl FnOnce(SocketAddr),
) -> Result<Report, ServerError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}

/// Starts what happens without connections: feed, resolver, batches. Dropping it ends them.
fn play(options: &MarketOptions, state: &Arc<MarketState>) -> JoinSet<()> {
    let mut play = JoinSet::new();
    let (events, happened) = mpsc::channel(EVENTS_WAITING);
    for game in state.games() {
        let story = Story::new(options.seed, game, options.goal_every);
        play.spawn(feed::tell(story, events.clone()));
        play.spawn(batch::publish_distributions(
            Arc::clone(state),
            game,
            options.batch,
        ));
    }
    play.spawn(resolver::resolve(Arc::clone(state), happened));
    play
}

async fn report(state: &MarketState) -> Report {
    let metrics = &state.metrics;
    Report {
        connections: metrics.connections.opened.get(),
        predictions: metrics.predictions_accepted.get(),
        pools_settled: metrics.pools_settled.get(),
        connections_cut: metrics.connections.cut.get(),
        balanced: state
            .store
            .audit()
            .await
            .is_ok_and(|money| money.balanced()),
    }
}

#[cfg(test)]
mod tests;
