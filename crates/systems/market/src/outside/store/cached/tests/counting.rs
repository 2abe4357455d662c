//! A store that counts how often it is read, and can be held up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Semaphore;

use crate::bus::model::{Event, Game, GameId, PlacedPrediction, Pool, PoolId, User};
use crate::ledger::Money;
use crate::store::{Memory, Store};
use crate::transactions::{Answer, Prediction, Settlement, Verdict};

/// Reads of open pools at a time.
pub(super) const READERS_MAX: u32 = 1000;

pub(super) struct Counting {
    inner: Memory,
    reads: AtomicU64,
    /// Lets answers about open pools out.
    pub(super) permits: Semaphore,
}

impl Counting {
    pub(super) fn new(games: u32) -> Arc<Self> {
        Arc::new(Self {
            inner: Memory::new(games, 1_000_000, 0),
            reads: AtomicU64::new(0),
            permits: Semaphore::new(READERS_MAX as usize),
        })
    }

    /// Reads since the last call.
    pub(super) fn reads(&self) -> u64 {
        self.reads.swap(0, Ordering::SeqCst)
    }

    fn count(&self) {
        self.reads.fetch_add(1, Ordering::SeqCst);
    }
}

impl Store for Counting {
    fn games(&self) -> Answer<'_, Vec<Game>> {
        self.count();
        self.inner.games()
    }

    fn game(&self, id: GameId) -> Answer<'_, Option<Game>> {
        self.count();
        self.inner.game(id)
    }

    fn pools(&self, game: GameId) -> Answer<'_, Option<Vec<Pool>>> {
        self.count();
        self.inner.pools(game)
    }

    fn pool(&self, id: PoolId) -> Answer<'_, Option<Pool>> {
        self.count();
        self.inner.pool(id)
    }

    fn open_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        self.count();
        Box::pin(async move {
            let pool = self.inner.open_pool(game).await;
            drop(self.permits.acquire().await);
            pool
        })
    }

    fn predictions(&self, pool: PoolId) -> Answer<'_, Vec<PlacedPrediction>> {
        self.inner.predictions(pool)
    }

    fn open_account<'a>(&'a self, user: &'a User) -> Answer<'a, u64> {
        self.inner.open_account(user)
    }

    fn close_accounts<'a>(&'a self, users: &'a [User]) -> Answer<'a, ()> {
        self.inner.close_accounts(users)
    }

    fn predict<'a>(&'a self, prediction: &'a Prediction) -> Answer<'a, Verdict> {
        self.inner.predict(prediction)
    }

    fn last_event(&self, game: GameId) -> Answer<'_, u64> {
        self.inner.last_event(game)
    }

    fn record(&self, event: Event) -> Answer<'_, bool> {
        self.inner.record(event)
    }

    fn unsettled(&self) -> Answer<'_, Vec<Event>> {
        self.inner.unsettled()
    }

    fn pending(&self) -> Answer<'_, Vec<Event>> {
        self.inner.pending()
    }

    fn settle(&self, event: Event) -> Answer<'_, Settlement> {
        self.inner.settle(event)
    }

    fn announced(&self, event: Event) -> Answer<'_, ()> {
        self.inner.announced(event)
    }

    fn audit(&self) -> Answer<'_, Money> {
        self.inner.audit()
    }
}
