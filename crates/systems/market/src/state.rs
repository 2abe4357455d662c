//! State that all parts of a running market share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::delay::Delay;
use super::leaving::Leavers;
use super::metrics::Metrics;
use super::options::{Broadcast, Listing, MarketOptions};
use super::outside::Outside;
use super::rules::QuestionRule;
use super::social::{MemorySocial, Slots, Social};
use super::store::{self, Store};
use crate::bus::Bus;
use crate::bus::model::{GameId, PoolId};
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
    /// Games that are played; the others are slots of users' questions.
    played: u32,
    /// Users' questions and friends; `None`: there are none.
    pub(crate) social: Option<Arc<dyn Social>>,
    /// Questions that are asked after events.
    pub(crate) rules: Vec<QuestionRule>,
    admin_token: Option<String>,
    /// By game: the open pool, and the last of its predictions that was listed.
    listed: Vec<Mutex<(PoolId, u64)>>,
    /// By game: holds a permit when the distribution may have changed since it was last looked at.
    touched: Vec<Notify>,
    /// Holds a permit when an event was recorded since the resolver last looked.
    pub(crate) recorded: Notify,
}

impl MarketState {
    /// A market in memory.
    pub(crate) fn new(options: &MarketOptions) -> Self {
        let store = store::Memory::new(
            options.games_and_slots(),
            options.starting_balance,
            options.server.connections,
        );
        let slots =
            Slots { first: GameId(options.games.saturating_add(1)), count: options.questions };
        let social = (options.questions > 0).then(|| Arc::new(MemorySocial::new(slots)));
        let store = store.keeping_predictions(options.lists_predictions()).telling(social.clone());
        let store = Arc::new(store);
        let bus = Arc::new(crate::bus::Memory::new(options.games_and_slots()));
        let social = social.map(|social| social as Arc<dyn Social>);
        Self { social, ..Self::with(options, store, bus, Outside::default()) }
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
            played: options.games,
            social: None,
            rules: options.rules.clone(),
            admin_token: options.admin_token.clone(),
            listed: (0..options.games_and_slots()).map(|_| Mutex::new((PoolId(0), 0))).collect(),
            touched: (0..options.games_and_slots()).map(|_| Notify::new()).collect(),
            recorded: Notify::new(),
        }
    }

    /// Games that are played.
    pub(crate) fn played(&self) -> impl Iterator<Item = GameId> {
        GameId::all(self.played as usize)
    }

    /// Whether `game` is played, and no slot of users' questions.
    pub(crate) fn is_played(&self, game: GameId) -> bool {
        (1..=self.played).contains(&game.0)
    }

    /// The slots of users' questions.
    pub(crate) fn slots(&self) -> Slots {
        // There are at most 10,000 games with the slots.
        let count = self.touched.len() as u32 - self.played;
        Slots { first: GameId(self.played + 1), count }
    }

    /// The game, or the slot, of a pool.
    pub(crate) fn game_of(&self, pool: PoolId) -> Option<GameId> {
        pool.game(self.touched.len() as u64)
    }

    /// Whether a pool is one of users' questions.
    pub(crate) fn is_slots(&self, pool: PoolId) -> bool {
        self.game_of(pool).is_some_and(|game| !self.is_played(game))
    }

    /// The slot of a question's pool, and the number of the event that decides it: each event of a game settles one of its
    /// pools, the first one the first; `None`: it is no pool of a question.
    pub(crate) fn decider(&self, pool: PoolId) -> Option<(GameId, u64)> {
        let slot = self.game_of(pool).filter(|game| !self.is_played(*game))?;
        let before = (pool.0 - u64::from(slot.0)) / self.touched.len() as u64;
        Some((slot, before + 1))
    }

    /// Whether this is the word of administrators.
    pub(crate) fn is_admin(&self, token: Option<&str>) -> bool {
        token.is_some() && self.admin_token.as_deref() == token
    }

    /// The last prediction of a game's open pool that was listed; 0: none of this pool was.
    pub(crate) fn last_listed(&self, game: GameId, pool: PoolId) -> u64 {
        let (of, last) = *self.listed_in(game);
        if of == pool { last } else { 0 }
    }

    /// A distribution listed predictions of a pool up to this one.
    pub(crate) fn saw_listed(&self, game: GameId, pool: PoolId, last: u64) {
        let mut listed = self.listed_in(game);
        *listed = (*listed).max((pool, last));
    }

    fn listed_in(&self, game: GameId) -> MutexGuard<'_, (PoolId, u64)> {
        // Each change is one step. Ids come from the store, which plays the same games.
        self.listed[game.0 as usize - 1].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All games, and the slots of users' questions.
    pub(crate) fn games(&self) -> impl Iterator<Item = GameId> {
        GameId::all(self.touched.len())
    }

    /// Whether there is such a game or slot here.
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
