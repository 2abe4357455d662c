//! A region's own ledger in front of a store that is far away.
//!
//! Accounts are in the ledger, and predictions are accepted there: nobody waits for the owner of the pools. A
//! **courier** brings what was accepted to the owner, gives back what came too late, and copies what was settled.
//! Several processes of a region may share a ledger; each has a courier, and what one has done the others find done.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use tokio::sync::Notify;

use super::Sql;
use super::sql::ledger::{DELIVERED_MAX, Entry};
use crate::bus::model::{Event, Game, GameId, PlacedPrediction, Pool, PoolId, User};
use crate::ledger::Money;
use crate::store::Store;
use crate::transactions::{Answer, Prediction, Settlement, StoreError, Verdict};
use server::metrics::{Counter, Page};

/// How often the courier looks for the owner's news at least.
const LOOK: Duration = Duration::from_millis(500);
/// How long it waits after a failure.
const PAUSE: Duration = Duration::from_millis(250);
/// How often a prediction that waits for the courier looks whether it has come.
const FOLLOW_LOOK: Duration = Duration::from_millis(10);
/// Most accepted predictions that may wait for the owner.
const OUTBOX_MAX: u64 = 1_000_000;
/// Most pools of a game that are copied in one go.
const COPIED_MAX: usize = 64;

#[expect(clippy::disallowed_methods, reason = "a server that stands alone has its own clock")]
fn now() -> Instant {
    Instant::now()
}

/// A store whose accounts are in a ledger of the region.
pub(crate) struct Regional {
    ledger: Arc<Sql>,
    owner_sql: Arc<Sql>,
    /// The owner, perhaps behind a cache.
    owner: Arc<dyn Store>,
    /// How long predictions are accepted without hearing of the owner.
    alone_max: Duration,
    /// How long a prediction waits for the courier.
    follow_max: Duration,
    /// By game: the open pool in the ledger, with the owner's distribution as it was received last.
    open: Vec<Mutex<Option<Pool>>>,
    /// By game: the open pool as it was announced.
    announced: Vec<AtomicU64>,
    last_news: Mutex<Instant>,
    /// Everything that the owner had settled by then was copied.
    copied_until: Mutex<Instant>,
    /// Accepted predictions that the owner has not decided, about.
    undecided: AtomicU64,
    /// Something was accepted, or may have been settled.
    news: Notify,
    metrics: RegionalMetrics,
}

/// Metrics of a courier.
#[derive(Debug, Default)]
struct RegionalMetrics {
    taken: Counter,
    returned: Counter,
    returned_cents: Counter,
    copied: Counter,
    failures: Counter,
}

impl Regional {
    /// A ledger of the store `owner_sql`; `owner` is the same, perhaps behind a cache. Predictions are accepted for
    /// `alone_max` without hearing of it, and wait for `follow_max` until a pool was copied that is known to be settled.
    pub(crate) fn new(
        ledger: Arc<Sql>,
        owner_sql: Arc<Sql>,
        owner: Arc<dyn Store>,
        games: u32,
        [alone_max, follow_max]: [Duration; 2],
    ) -> Self {
        Self {
            ledger,
            owner_sql,
            owner,
            alone_max,
            follow_max,
            open: (0..games).map(|_| Mutex::new(None)).collect(),
            announced: (0..games).map(|_| AtomicU64::new(0)).collect(),
            last_news: Mutex::new(now()),
            copied_until: Mutex::new(now()),
            undecided: AtomicU64::new(0),
            news: Notify::new(),
            metrics: RegionalMetrics::default(),
        }
    }

    /// Has the courier look at once.
    pub(crate) fn stir(&self) {
        self.news.notify_one();
    }

    /// Learns that a pool is open in a game. Until the ledger has copied the one before, predictions wait: they would
    /// be accepted for a pool that is settled, or be refused for one that is open.
    pub(crate) fn announce(&self, game: GameId, open: PoolId) {
        let place = game.index().filter(|place| *place < self.open.len());
        if let Some(place) = place {
            self.announced[place].fetch_max(open.0, Ordering::Relaxed);
            self.stir();
        }
    }

    /// Waits until the ledger knows the open pool that was announced for the game of a prediction.
    async fn follow(&self, pool: PoolId) -> Result<(), StoreError> {
        // A pool without a place is unknown, as will be found.
        let Some(place) = self.place_of(pool) else {
            return Ok(());
        };
        let announced = self.announced[place].load(Ordering::Relaxed);
        let is_behind = || match self.known(place) {
            Some(open) => open.id.0 < announced,
            None => announced > 0,
        };
        let why = "a settled pool could not be copied in time";
        self.wait_until(|| !is_behind(), why).await
    }

    /// Accepts a prediction of a pool that the ledger does not know, if it was opened by now: a user who comes from another
    /// region may know it from there. Such a user has to wait for the courier, and nobody else has: what a user
    /// says is no announcement.
    async fn accept_later(&self, prediction: &Prediction) -> Result<Verdict, StoreError> {
        let arrived = now();
        let is_current =
            || *self.copied_until.lock().unwrap_or_else(PoisonError::into_inner) >= arrived;
        let why = "the pool is unknown here, and its owner does not answer";
        self.wait_until(is_current, why).await?;
        self.ledger.accept(prediction).await
    }

    /// True if the pool, of which the ledger does not know, may have been opened after those that it knows.
    fn may_be_new(&self, pool: PoolId) -> bool {
        let place = self.place_of(pool);
        place.is_some_and(|place| self.known(place).is_none_or(|open| open.id < pool))
    }

    /// The place of the pool's game.
    fn place_of(&self, pool: PoolId) -> Option<usize> {
        pool.game(self.open.len() as u64).and_then(GameId::index)
    }

    /// Waits until this is so, for `follow_max` at most.
    async fn wait_until(&self, is_so: impl Fn() -> bool, why: &str) -> Result<(), StoreError> {
        let waiting = async {
            while !is_so() {
                tokio::time::sleep(FOLLOW_LOOK).await;
            }
        };
        let waited = tokio::time::timeout(self.follow_max, waiting).await;
        waited.map_err(|_| StoreError::Unavailable(why.to_owned()))
    }

    /// One round of the courier. `touch` is called with each game whose pool has more money now, as soon as
    /// it has. A failure in one game is left for the next round, and ends nothing in others.
    pub(crate) async fn carry(&self, touch: impl Fn(GameId)) -> Result<(), StoreError> {
        let entries = self.ledger.undecided().await?;
        let mut count = entries.len() as u64;
        if count >= DELIVERED_MAX {
            count = self.ledger.undecided_count().await?;
        }
        self.undecided.store(count, Ordering::Relaxed);
        // Beside each other, so that a round takes one trip to the owner.
        let (delivered, copied) = join(self.deliver(&entries, touch), self.copy_settled()).await;
        delivered.and(copied)
    }

    /// Brings predictions to the owner, the games beside each other.
    async fn deliver(&self, entries: &[Entry], touch: impl Fn(GameId)) -> Result<(), StoreError> {
        let touch = &touch;
        let mut by_game: BTreeMap<GameId, Vec<Entry>> = BTreeMap::new();
        for &entry in entries {
            // The ledger plays the same games, so that each pool has one.
            if let Some(game) = entry.pool.game(self.open.len() as u64) {
                by_game.entry(game).or_default().push(entry);
            }
        }
        let deliveries = by_game.iter().map(|(&game, entries)| async move {
            let taken = self.owner_sql.take(self.ledger.number(), game, entries);
            let taken = taken.await?;
            if !taken.is_empty() {
                touch(game);
            }
            self.decide(entries, &taken).await
        });
        join_all(deliveries).await.into_iter().collect()
    }

    async fn decide(&self, entries: &[Entry], taken: &[i64]) -> Result<(), StoreError> {
        let taken: HashSet<i64> = taken.iter().copied().collect();
        let ids = entries.iter().map(|entry| entry.id);
        let (taken, refused): (Vec<i64>, Vec<i64>) = ids.partition(|id| taken.contains(id));
        let decided = self.ledger.decide(taken, refused).await?;
        self.metrics.taken.add(decided.taken);
        self.metrics.returned.add(decided.refused);
        self.metrics.returned_cents.add(decided.cents);
        Ok(())
    }

    /// Copies pools that the owner has settled, and remembers the distributions of those that are open.
    async fn copy_settled(&self) -> Result<(), StoreError> {
        let begun = now();
        let open = self.owner_sql.open_pools().await?;
        *self.last_news.lock().unwrap_or_else(PoisonError::into_inner) = now();
        let caught_up = join_all(open.iter().map(|pool| self.catch_up(*pool))).await;
        let caught_up: Result<Vec<bool>, StoreError> = caught_up.into_iter().collect();
        if caught_up?.into_iter().all(|is_open_known| is_open_known) {
            *self.copied_until.lock().unwrap_or_else(PoisonError::into_inner) = begun;
        }
        Ok(())
    }

    /// Copies what was settled before this open pool. False if it could not all be copied yet.
    async fn catch_up(&self, open: Pool) -> Result<bool, StoreError> {
        let Some(place) = open.game.index().filter(|place| *place < self.open.len()) else {
            return Err(StoreError::UnknownGame);
        };
        for _ in 0..COPIED_MAX {
            let local = match self.known(place) {
                Some(local) => local.id,
                None => match self.ledger.open_pool(open.game).await? {
                    Some(local) => local.id,
                    None => return Err(StoreError::UnknownGame),
                },
            };
            if local >= open.id {
                self.remember(place, open);
                return Ok(true);
            }
            self.forget(place);
            if !self.ledger.is_used(local).await? {
                let game = self.owner.game(open.game).await?;
                let score = game.map(|game| game.score).unwrap_or_default();
                self.ledger.skip_to(open, score).await?;
                continue;
            }
            let closed = self.owner_sql.closed(self.ledger.number(), local).await?;
            let Some(closed) = closed else {
                // A replica of the owner may be behind.
                return Ok(false);
            };
            if self.ledger.copy(closed).await? {
                self.metrics.copied.add(1);
            }
        }
        Ok(false)
    }

    fn known(&self, place: usize) -> Option<Pool> {
        *self.open[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, place: usize, pool: Pool) {
        *self.open[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(pool);
    }

    /// The open pool must be read again.
    fn forget(&self, place: usize) {
        *self.open[place].lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// How long nothing came from the owner.
    fn alone(&self) -> Duration {
        let last_news = *self.last_news.lock().unwrap_or_else(PoisonError::into_inner);
        now().saturating_duration_since(last_news)
    }

    /// The pool with the owner's distribution, if it is open.
    fn shown(&self, pool: Pool) -> Pool {
        let place = pool.game.index().filter(|place| *place < self.open.len());
        match place.and_then(|place| self.known(place)) {
            Some(known) if known.id == pool.id => known,
            _ => pool,
        }
    }

    /// Adds what it counts to a page.
    pub(crate) fn write(&self, page: &mut Page) {
        let counters = [
            ("ledger_taken_total", "Predictions that the owner took", self.metrics.taken.get()),
            (
                "ledger_returned_total",
                "Predictions that came too late and were paid back",
                self.metrics.returned.get(),
            ),
            (
                "ledger_returned_cents_total",
                "Cents that were paid back",
                self.metrics.returned_cents.get(),
            ),
            ("ledger_copied_total", "Settled pools copied", self.metrics.copied.get()),
            (
                "ledger_failures_total",
                "Rounds of the courier that failed",
                self.metrics.failures.get(),
            ),
        ];
        for (name, help, value) in counters {
            page.counter(name, help, value);
        }
        let undecided = self.undecided.load(Ordering::Relaxed);
        page.gauge("ledger_undecided", "Predictions that the owner has not decided", undecided);
        let alone = u64::try_from(self.alone().as_millis()).unwrap_or(u64::MAX);
        page.gauge("ledger_alone_ms", "Milliseconds since the last message of the owner", alone);
    }
}

impl Regional {
    /// Waits until there may be something to carry.
    pub(crate) async fn news(&self) {
        drop(tokio::time::timeout(server::stretch(LOOK), self.news.notified()).await);
    }

    /// Counts a round that failed, and waits before the next one.
    pub(crate) async fn pause(&self) {
        self.metrics.failures.add(1);
        tokio::time::sleep(server::stretch(PAUSE)).await;
    }
}

impl Store for Regional {
    fn games(&self) -> Answer<'_, Vec<Game>> {
        self.ledger.games()
    }

    fn game(&self, id: GameId) -> Answer<'_, Option<Game>> {
        self.ledger.game(id)
    }

    fn pools(&self, game: GameId) -> Answer<'_, Option<Vec<Pool>>> {
        Box::pin(async move {
            let pools = self.ledger.pools(game).await?;
            Ok(pools.map(|pools| pools.into_iter().map(|pool| self.shown(pool)).collect()))
        })
    }

    fn pool(&self, id: PoolId) -> Answer<'_, Option<Pool>> {
        Box::pin(async move { Ok(self.ledger.pool(id).await?.map(|pool| self.shown(pool))) })
    }

    fn current_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        Box::pin(async move {
            let place = game.index().filter(|place| *place < self.open.len());
            match place.and_then(|place| self.known(place)) {
                Some(pool) => Ok(Some(pool)),
                None => self.ledger.open_pool(game).await,
            }
        })
    }

    /// The owner's: what is published.
    fn open_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        self.owner.open_pool(game)
    }

    fn open_account<'a>(&'a self, user: &'a User) -> Answer<'a, u64> {
        self.ledger.open_account(user)
    }

    fn close_accounts<'a>(&'a self, users: &'a [User]) -> Answer<'a, ()> {
        self.ledger.close_accounts(users)
    }

    fn predict<'a>(&'a self, prediction: &'a Prediction) -> Answer<'a, Verdict> {
        Box::pin(async move {
            if self.alone() > self.alone_max {
                let why = "the owner of the pools has not answered for too long";
                return Err(StoreError::Unavailable(why.to_owned()));
            }
            if self.undecided.load(Ordering::Relaxed) >= OUTBOX_MAX {
                let why = "too many predictions wait for the owner of the pools";
                return Err(StoreError::Unavailable(why.to_owned()));
            }
            self.follow(prediction.pool).await?;
            let mut verdict = self.ledger.accept(prediction).await?;
            if verdict == Verdict::Unknown && self.may_be_new(prediction.pool) {
                verdict = self.accept_later(prediction).await?;
            }
            if matches!(verdict, Verdict::Accepted { .. }) {
                self.undecided.fetch_add(1, Ordering::Relaxed);
                self.stir();
            }
            Ok(verdict)
        })
    }

    fn predictions(&self, pool: PoolId) -> Answer<'_, Vec<PlacedPrediction>> {
        self.owner.predictions(pool)
    }

    fn predictions_of<'a>(
        &'a self,
        pool: PoolId,
        names: &'a [String],
        max: usize,
    ) -> Answer<'a, Vec<PlacedPrediction>> {
        self.owner.predictions_of(pool, names, max)
    }

    fn last_event(&self, game: GameId) -> Answer<'_, u64> {
        self.owner.last_event(game)
    }

    fn record(&self, event: Event) -> Answer<'_, bool> {
        self.owner.record(event)
    }

    fn unsettled(&self) -> Answer<'_, Vec<Event>> {
        self.owner.unsettled()
    }

    fn pending(&self) -> Answer<'_, Vec<Event>> {
        self.owner.pending()
    }

    fn settle(&self, event: Event) -> Answer<'_, Settlement> {
        self.owner.settle(event)
    }

    fn announced(&self, event: Event) -> Answer<'_, ()> {
        self.owner.announced(event)
    }

    /// The ledger's money.
    fn audit(&self) -> Answer<'_, Money> {
        Box::pin(self.ledger.audit_ledger())
    }
}
