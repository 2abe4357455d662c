//! A real-time parimutuel prediction market: who scores next?
//!
//! Games are played by a seeded event feed. Each always has one open pool, on which users put
//! money over a WebSocket; the pool's distribution is batched and broadcast to the game's
//! subscribers. The resolver settles the pool that an event decides: the winners share all of it,
//! and not a cent is made or lost. `docs/market-reference.md` describes the protocol.
//!
//! ```text
//!   feed ──► store ◄──► resolver         connection ──► store
//!              ▲            │                 │ touch     ▲
//!              │ open pool  │ events          ▼           │ one reactor a thread
//!            batch ─────► bus ──► fan-out ──► clients ◄───┘
//! ```

mod backing;
mod batch;
mod books;
pub mod bus;
mod connection;
mod delay;
mod envelope;
mod feed;
mod leaving;
mod ledger;
mod metrics;
#[cfg(feature = "full")]
mod opening;
#[cfg(not(feature = "full"))]
#[path = "no_opening.rs"]
mod opening;
mod options;
#[cfg(feature = "full")]
pub mod outside;
#[cfg(not(feature = "full"))]
#[path = "no_outside.rs"]
pub mod outside;
mod payout;
mod protocol;
mod questions;
mod relay;
mod replay;
mod resolver;
mod rest;
mod rules;
mod service;
mod social;
mod state;
mod store;
mod transactions;

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use server::http::{ConnectionLimits, serve_connections};
use server::{Operations, Ready, ServerError, Serving, Shutdown, Stop, operator_routes, reactor};

use feed::Story;
use state::MarketState;

pub use crate::bus::{ClaimSet, Claims};
pub use backing::{Backing, MarketPart};
pub use options::{Broadcast, Listing, MarketOptions};
pub use outside::{BusAddress, BusAddressError, OpenError};
pub use replay::{REPLAY_FILE_MAX, Replay, ReplayError};
pub use rules::{QuestionRule, RuleError};
pub use store::{Driver, Queries};

/// Most connections of operators to a process that serves no users.
const OPERATORS_MAX: usize = 256;

/// Figures of a market from its start to its end.
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
    /// Whether all money, counted account by account, is what was paid in. `None` if it was not counted: an API or a
    /// feed does not, and the store may be away.
    pub balanced: Option<bool>,
}

/// Why a market could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarketError {
    /// It could not be served.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// State cannot be kept in the store.
    #[error("cannot use the store {at}")]
    Store {
        /// The server, without its password.
        at: String,
        /// Why not.
        source: OpenError,
    },
    /// The region's accounts cannot be kept there.
    #[error("cannot use the ledger {at}")]
    Ledger {
        /// The server, without its password.
        at: String,
        /// Why not.
        source: OpenError,
    },
    /// The address has no cache.
    #[error("cannot use the cache {at}: {problem}")]
    Cache {
        /// The server, without its password.
        at: String,
        /// Why not.
        problem: String,
    },
    /// The address has no bus.
    #[error("cannot use the bus {at}: {problem}")]
    Bus {
        /// The server, without its password.
        at: String,
        /// Why not.
        problem: String,
    },
}

/// Runs a market until `shutdown` resolves, and then stops it gracefully: no new connections,
/// WebSockets closed with code 1001, an end after `stop_within` at the latest.
///
/// `ready` is called with the address as soon as connections are accepted. Must be called on a
/// tokio runtime with time enabled; connections are served on threads of their own.
///
/// # Errors
/// On bad options, when the address cannot be listened at, or when a serving thread crashed.
pub fn serve(
    options: MarketOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'static, Report, MarketError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    options: MarketOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Result<Report, MarketError> {
    options.check()?;
    let options = options.stretched().with_enough_threads(server::open_files_max())?;
    if let Some(upstream) = &options.upstream {
        return relay::serve(&options, upstream, ready, shutdown).await;
    }
    let state = Arc::new(open(&options).await?);
    let play = play(&options, &state);
    let mut closing = JoinSet::new();
    closing.spawn(leaving::close_waiting(Arc::clone(&state)));
    let mut stopping = None;
    let drain = || {
        state.drain().begin();
        stopping = Some(Instant::now());
        drop(play);
    };
    if options.part.has_api() {
        let state = Arc::clone(&state);
        let reactor = options.reactor();
        let work = move |context| reactor::serve(Arc::clone(&state), reactor.clone(), context);
        server::serve(&options.server, work, ready, shutdown, drain).await?;
    } else {
        let counts = Arc::default();
        let router = operator_routes(&state);
        let limits = ConnectionLimits {
            connections_max: OPERATORS_MAX,
            stop_within: options.server.stop_within,
        };
        let work =
            move |context| serve_connections(context, limits, Arc::clone(&counts), router.clone());
        server::serve(&options.server, work, ready, shutdown, drain).await?;
    }
    // Whoever is left when the time is over keeps an account.
    let end = stopping.unwrap_or_else(Instant::now) + options.server.stop_within;
    let _ = timeout_at(end, state.leaving.finish()).await;
    Ok(report(&state).await)
}

/// [`serve`] on a runtime of its own, until `stop`; raises the limit on open files first. For a process that
/// does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: MarketOptions, stop: Stop, ready: Ready) -> Result<Report, MarketError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}

/// Opens store, cache and bus. Their clients block, so a thread of its own does it.
async fn open(options: &MarketOptions) -> Result<MarketState, MarketError> {
    let (opened, opening) = oneshot::channel();
    let own = options.clone();
    let thread = std::thread::Builder::new().name("open".to_owned());
    // Nobody waits any more if the market was stopped meanwhile.
    let started = thread.spawn(move || drop(opened.send(MarketState::open(&own))));
    started.map_err(ServerError::Process)?;
    opening.await.map_err(|_| ServerError::Crashed)?
}

/// Starts what happens without connections: feed, resolver, batches. Dropping it ends them.
fn play(options: &MarketOptions, state: &Arc<MarketState>) -> JoinSet<()> {
    let mut play = JoinSet::new();
    if options.part.has_feed() && options.has_feed {
        feed(options, state, &mut play);
    }
    if options.part.has_resolver() {
        play.spawn(resolver::resolve(Arc::clone(state)));
    }
    if !options.part.has_api() {
        return play;
    }
    opening::play(state, &mut play);
    for game in state.games() {
        play.spawn(batch::publish_distributions(Arc::clone(state), game, options.batch));
    }
    play
}

/// Starts what makes things happen in the games.
fn feed(options: &MarketOptions, state: &Arc<MarketState>, play: &mut JoinSet<()>) {
    match &options.replay {
        Some(replay) => {
            let replay = replay.clone();
            let speed = options.speed;
            play.spawn(feed::record_replay(Arc::clone(state), replay, speed));
        }
        None => {
            for game in state.played() {
                let story = Story::new(options.seed, game, options.goal_every);
                play.spawn(feed::record_story(Arc::clone(state), story));
            }
        }
    }
}

async fn report(state: &MarketState) -> Report {
    let metrics = &state.metrics;
    let money = match state.audits {
        true => state.store.audit().await.ok(),
        false => None,
    };
    Report {
        connections: metrics.connections.opened.get(),
        predictions: metrics.predictions_accepted.get(),
        pools_settled: metrics.pools_settled.get(),
        connections_cut: metrics.connections.cut.get(),
        balanced: money.map(|money| money.balanced()),
    }
}

#[cfg(test)]
mod tests;
