//! State that all parts of a running market share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use super::delay::Delay;
use super::leaving::Leavers;
use super::metrics::Metrics;
use super::options::{Broadcast, Listing, MarketOptions};
use super::outside::Outside;
use super::store::{self, Store};
use crate::bus::Bus;
use crate::bus::model::GameId;
use server::Drain;

/// Store, bus, counters, and the state of the games' channels.
pub(crate) struct MarketState {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Arc<dyn Bus>,
    /// The parts that are outside of this process.
    pub(crate) outside: Outside,
    /// Whether all money is counted for the metrics and at the end.
    pub(crate) audits: bool,
    pub(crate) metrics: Metrics,
    pub(crate) delay: Delay,
    /// When distributions are published.
    pub(crate) broadcast: Broadcast,
    /// Contents of the reply to `pools`.
    pub(crate) pools: Listing,
    /// Contents of distributions.
    pub(crate) distribution: Listing,
    /// Least bytes of a distribution's text.
    pub(crate) broadcast_bytes_min: usize,
    pub(crate) drain: Drain,
    /// Users who have left.
    pub(crate) leaving: Leavers,
    connections: AtomicU64,
    /// By game: holds a permit when the distribution may have changed since it was last looked at.
    touched: Vec<Notify>,
    /// Holds a permit when an event was recorded since the resolver last looked.
    pub(crate) recorded: Notify,
}

impl MarketState {
    /// A market in memory.
    pub(crate) fn new(options: &MarketOptions) -> Self {
        let store =
            store::Memory::new(options.games, options.starting_balance, options.server.connections);
        let store = Arc::new(store.keeping_predictions(options.lists_predictions()));
        let bus = Arc::new(crate::bus::Memory::new(options.games));
        Self::with(options, store, bus, Outside::default())
    }

    /// A market with these.
    pub(crate) fn with(
        options: &MarketOptions,
        store: Arc<dyn Store>,
        bus: Arc<dyn Bus>,
        outside: Outside,
    ) -> Self {
        Self {
            store,
            bus,
            outside,
            // Whoever pays counts the money, and whoever has accounts of its own.
            audits: options.part.has_resolver() || options.backing.ledger.is_some(),
            metrics: Metrics::default(),
            delay: Delay::new(options),
            broadcast: options.broadcast,
            pools: options.pools,
            distribution: options.distribution,
            broadcast_bytes_min: options.broadcast_size,
            drain: Drain::default(),
            leaving: Leavers::default(),
            connections: AtomicU64::new(0),
            touched: (0..options.games).map(|_| Notify::new()).collect(),
            recorded: Notify::new(),
        }
    }

    /// All games.
    pub(crate) fn games(&self) -> impl Iterator<Item = GameId> {
        GameId::all(self.touched.len())
    }

    /// Whether `game` is played here.
    pub(crate) fn plays(&self, game: GameId) -> bool {
        game.index().is_some_and(|index| index < self.touched.len())
    }

    /// Says that the distribution of `game` has changed.
    pub(crate) fn touch(&self, game: GameId) {
        self.touched_in(game).notify_one();
    }

    /// Resolves when the distribution of `game` was touched since the last time.
    pub(crate) async fn touched(&self, game: GameId) {
        self.touched_in(game).notified().await;
    }

    fn touched_in(&self, game: GameId) -> &Notify {
        // Ids come from the store, which plays the same games.
        &self.touched[game.0 as usize - 1]
    }

    /// A number that no other connection has.
    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }
}
