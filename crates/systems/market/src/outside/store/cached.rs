//! A store behind a cache in Redis: what many requests read is read there, by all processes.
//!
//! Cached are the games' scores and their open pools. Whoever settles a pool writes both, and whoever is about to
//! publish a distribution writes the pool, before it is published. Each record carries a version, its pool
//! and the money in it: a slow writer never replaces a newer record by an older one. A reader that knows a
//! newer pool than the cache has takes the store's. Records expire, so that one whose successor could not
//! be written is not read for long. A Redis that is lost or empty costs time, never an answer.
//!
//! Accounts are not cached: what a request needs of one is its balance, which only the store knows.
//!
//! With a blocking driver whoever calls waits for Redis itself, as for the store ([`Driver`]).

mod metrics;
mod records;

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use redis::{Cmd, FromRedisValue};
use tokio::sync::OnceCell;

use crate::bus::model::{Event, Game, GameId, PlacedPrediction, Pool, PoolId, User};
use crate::ledger::Money;
use crate::outside::bus::redis::link::{Dialer, Link, LinkError, Thread};
use crate::store::{Driver, Queries, Store};
use crate::transactions::{Answer, Prediction, Settlement, StoreError, Verdict};
use records::{Names, OpenRecord, Record, ScoreRecord, Version};
use server::database::ServerAddress;

pub(crate) use metrics::CacheMetrics;

/// How many times the wait a start may take.
const START_WAITS: u32 = 4;

/// How a cache is used.
#[derive(Clone)]
pub(crate) struct CachedOptions {
    pub(crate) address: ServerAddress,
    /// A replica, which may be a little behind; for reads.
    pub(crate) read_address: Option<ServerAddress>,
    /// The market in its store, as [`BusOptions::market`](crate::outside::bus::BusOptions::market).
    pub(crate) market: String,
    /// Games 1 to this one.
    pub(crate) games: u32,
    /// How long any command and any attempt to connect may take.
    pub(crate) wait: Duration,
    pub(crate) driver: Driver,
    pub(crate) queries: Queries,
    /// The store behind the cache.
    pub(crate) inner: Arc<dyn Store>,
}

/// A store behind a cache. Calls may come from any runtime with time enabled.
pub(crate) struct CachedStore {
    inner: Arc<dyn Store>,
    names: Names,
    driver: Driver,
    queries: Queries,
    links: Arc<Links>,
    /// The games as the store has them; only their scores ever change.
    games: OnceCell<Vec<Game>>,
    /// By game: the newest version of its open pool that this process knows.
    known: Vec<Mutex<Version>>,
    metrics: Arc<CacheMetrics>,
    thread: Thread,
}

/// The connections to the cache.
struct Links {
    master: Link,
    replica: Option<Link>,
}

/// The purpose of a command.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Read,
    Write,
}

impl Links {
    /// The connection for a purpose.
    fn link(&self, purpose: Purpose) -> &Link {
        match (purpose, &self.replica) {
            (Purpose::Read, Some(replica)) => replica,
            _ => &self.master,
        }
    }
}

impl CachedStore {
    /// Connects. Blocks until that is done, a few times `wait` at most.
    ///
    /// # Errors
    /// When Redis cannot be reached or refuses.
    pub(crate) fn open(options: CachedOptions) -> Result<Self, LinkError> {
        let master = Dialer::new(options.address, options.wait)?;
        let replica = options.read_address.map(|it| Dialer::new(it, options.wait));
        let replica = replica.transpose()?;
        let dialers: Vec<Dialer> =
            [Some(&master), replica.as_ref()].into_iter().flatten().cloned().collect();
        let metrics = CacheMetrics::new(&dialers);
        let opening = dialers.clone();
        let links = Arc::new(Links { master: Link::new(master), replica: replica.map(Link::new) });
        let (ready, started) = mpsc::channel();
        let work = {
            let links = Arc::clone(&links);
            move || work(links, dialers, ready)
        };
        let thread = Thread::spawn("cache", work).map_err(|error| LinkError::Refused {
            address: "this machine".to_owned(),
            problem: error.to_string(),
        })?;
        for dialer in &opening {
            let started = started.recv_timeout(options.wait * START_WAITS);
            started.unwrap_or_else(|_| Err(dialer.last_problem()))?;
        }
        Ok(Self {
            inner: options.inner,
            names: Names::new(&options.market),
            driver: options.driver,
            queries: options.queries,
            links,
            games: OnceCell::new(),
            known: (0..options.games).map(|_| Mutex::default()).collect(),
            metrics: Arc::new(metrics),
            thread,
        })
    }

    /// Metrics of the cache.
    pub(crate) fn metrics(&self) -> &Arc<CacheMetrics> {
        &self.metrics
    }

    /// Remembers the newest version of a game's open pool, and returns it.
    fn know(&self, game: GameId, version: Version) -> Version {
        let Some(known) = game.index().and_then(|index| self.known.get(index)) else {
            return version;
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = version.max(*known);
        *known
    }

    fn known(&self, game: GameId) -> Version {
        self.know(game, Version::default())
    }

    /// Reads records; each that is missing or cannot be had is `None`.
    async fn read<R: Record>(&self, games: &[GameId]) -> Vec<Option<R>> {
        let keys: Vec<String> = games.iter().map(|game| R::key(&self.names, *game)).collect();
        let get = |name, keys: &[String]| {
            let mut get = redis::cmd(name);
            get.arg(keys);
            get
        };
        let texts = match self.queries {
            Queries::Pipelined => self.answer(Purpose::Read, get("MGET", &keys)).await,
            Queries::Sequential => {
                let mut texts = Vec::with_capacity(keys.len());
                for key in keys.chunks(1) {
                    let text = self.answer(Purpose::Read, get("GET", key)).await;
                    texts.push(text.flatten());
                }
                Some(texts)
            }
        };
        let texts: Vec<Option<String>> = texts.unwrap_or_else(|| vec![None; keys.len()]);
        let records = texts.into_iter().map(|text| R::parse(&text?));
        records.collect()
    }

    /// The answer of Redis to a command, if there is one.
    async fn answer<T>(&self, purpose: Purpose, command: Cmd) -> Option<T>
    where
        T: FromRedisValue + Send + 'static,
    {
        let links = Arc::clone(&self.links);
        let work = async move { links.link(purpose).command(&command).await.ok() };
        self.wait_for(work).await
    }

    /// Awaits what is done on the connections, or blocks until it is done there.
    async fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = Option<T>> + Send + 'static,
    ) -> Option<T> {
        match self.driver {
            Driver::Async => work.await,
            Driver::Blocking => self.thread.wait_for(work).flatten(),
        }
    }

    /// Sends commands that keep records, whose answers say whether they did. What fails expires soon.
    async fn write(&self, commands: &[Cmd]) {
        let mut kept: Vec<bool> = Vec::with_capacity(commands.len());
        match self.queries {
            Queries::Pipelined => {
                let mut all = redis::pipe();
                for command in commands {
                    all.add_command(command.clone());
                }
                let links = Arc::clone(&self.links);
                let work = async move { links.link(Purpose::Write).commands(&all).await.ok() };
                let answers: Option<Vec<bool>> = self.wait_for(work).await;
                kept.extend(answers.into_iter().flatten());
            }
            Queries::Sequential => {
                for command in commands {
                    kept.extend(self.answer::<bool>(Purpose::Write, command.clone()).await);
                }
            }
        }
        let (written, overtaken): (Vec<bool>, Vec<bool>) = kept.iter().partition(|kept| **kept);
        self.metrics.written.add(written.len() as u64);
        self.metrics.overtaken.add(overtaken.len() as u64);
        let failed = commands.len() - written.len() - overtaken.len();
        self.metrics.unwritten.add(failed as u64);
    }

    /// Keeps what the store says of an open pool.
    async fn write_open(&self, pool: &Pool) {
        let record = OpenRecord::from(pool);
        self.know(pool.game, record.version());
        self.write(&[record.put(&self.names, pool.game)]).await;
    }

    /// The record, unless this process knows a newer one.
    fn newest<R: Record>(&self, game: GameId, record: Option<R>) -> Option<R> {
        let record = record?;
        if record.is_behind(self.known(game)) {
            self.metrics.older.add(1);
            return None;
        }
        Some(record)
    }

    /// Games with their scores out of the cache; `None` if any is missing.
    async fn cached_games(&self, games: &[Game]) -> Option<Vec<Game>> {
        let ids: Vec<GameId> = games.iter().map(|game| game.id).collect();
        let scores: Vec<Option<ScoreRecord>> = self.read(&ids).await;
        let scored = games.iter().zip(scores).map(|(game, score)| {
            let score = self.newest(game.id, score)?.score;
            Some(Game { score, ..game.clone() })
        });
        scored.collect()
    }

    /// Keeps scores that the store gave, unless there are others: these may be a little behind.
    async fn fill_scores(&self, games: &[Game]) {
        let fill = games.iter().map(|game| ScoreRecord::fill(&self.names, game));
        let fill: Vec<Cmd> = fill.collect();
        self.write(&fill).await;
    }

    async fn read_games(&self) -> Result<Vec<Game>, StoreError> {
        if let Some(games) = self.games.get()
            && let Some(games) = self.cached_games(games).await
        {
            self.metrics.games_hits.add(1);
            return Ok(games);
        }
        self.metrics.games_misses.add(1);
        let games = self.inner.games().await?;
        // Another request may have done so meanwhile.
        let _ = self.games.set(games.clone());
        self.fill_scores(&games).await;
        Ok(games)
    }

    async fn read_game(&self, id: GameId) -> Result<Option<Game>, StoreError> {
        let known = self.games.get().into_iter().flatten();
        if let Some(game) = known.into_iter().find(|game| game.id == id)
            && let Some(games) = self.cached_games(std::slice::from_ref(game)).await
        {
            self.metrics.games_hits.add(1);
            return Ok(games.into_iter().next());
        }
        self.metrics.games_misses.add(1);
        let game = self.inner.game(id).await?;
        if let Some(game) = &game {
            self.fill_scores(std::slice::from_ref(game)).await;
        }
        Ok(game)
    }

    async fn read_current_pool(&self, game: GameId) -> Result<Option<Pool>, StoreError> {
        let found: Option<OpenRecord> = self.read(&[game]).await.pop().flatten();
        if let Some(record) = self.newest(game, found) {
            self.metrics.pool_hits.add(1);
            self.know(game, record.version());
            return Ok(Some(record.pool(game)));
        }
        self.metrics.pool_misses.add(1);
        // Not from a replica of the store: what is behind must not be kept.
        self.read_open_pool(game).await
    }

    async fn read_open_pool(&self, game: GameId) -> Result<Option<Pool>, StoreError> {
        let pool = self.inner.open_pool(game).await?;
        if let Some(pool) = &pool {
            self.write_open(pool).await;
        }
        Ok(pool)
    }

    async fn settle_and_write(&self, event: Event) -> Result<Settlement, StoreError> {
        let settlement = self.inner.settle(event).await?;
        let open = OpenRecord::opened(settlement.next);
        let score = ScoreRecord { pool: settlement.next, score: settlement.score };
        self.know(event.game, open.version());
        let names = &self.names;
        let game = event.game;
        self.write(&[open.put(names, game), score.put(names, game)]).await;
        Ok(settlement)
    }
}

impl Store for CachedStore {
    fn games(&self) -> Answer<'_, Vec<Game>> {
        Box::pin(self.read_games())
    }

    fn game(&self, id: GameId) -> Answer<'_, Option<Game>> {
        Box::pin(self.read_game(id))
    }

    fn pools(&self, game: GameId) -> Answer<'_, Option<Vec<Pool>>> {
        self.inner.pools(game)
    }

    fn pool(&self, id: PoolId) -> Answer<'_, Option<Pool>> {
        self.inner.pool(id)
    }

    fn current_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        Box::pin(self.read_current_pool(game))
    }

    fn open_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        Box::pin(self.read_open_pool(game))
    }

    fn predictions(&self, pool: PoolId) -> Answer<'_, Vec<PlacedPrediction>> {
        self.inner.predictions(pool)
    }

    fn predictions_after(&self, pool: PoolId, after: u64) -> Answer<'_, Vec<PlacedPrediction>> {
        self.inner.predictions_after(pool, after)
    }

    fn open_account<'a>(&'a self, user: &'a User) -> Answer<'a, u64> {
        self.inner.open_account(user)
    }

    fn close_accounts<'a>(&'a self, users: &'a [User]) -> Answer<'a, ()> {
        self.inner.close_accounts(users)
    }

    fn predict<'a>(&'a self, prediction: &'a Prediction) -> Answer<'a, Verdict> {
        Box::pin(async move {
            let verdict = self.inner.predict(prediction).await?;
            let open = match verdict {
                Verdict::Accepted { open, .. } | Verdict::Refused { open, .. } => Some(open),
                Verdict::Unknown => None,
            };
            if let Some(open) = open
                && let Some(game) = open.game(self.known.len() as u64)
            {
                self.know(game, OpenRecord::opened(open).version());
            }
            Ok(verdict)
        })
    }

    fn predictions_of<'a>(
        &'a self,
        pool: PoolId,
        names: &'a [String],
        max: usize,
    ) -> Answer<'a, Vec<PlacedPrediction>> {
        self.inner.predictions_of(pool, names, max)
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
        Box::pin(self.settle_and_write(event))
    }

    fn announced(&self, event: Event) -> Answer<'_, ()> {
        self.inner.announced(event)
    }

    fn audit(&self) -> Answer<'_, Money> {
        self.inner.audit()
    }
}

/// Work of the cache's thread, until the cache is dropped.
async fn work(links: Arc<Links>, dialers: Vec<Dialer>, ready: mpsc::Sender<Result<(), LinkError>>) {
    // Who opened the cache may have given up.
    let send = |result| drop(ready.send(result));
    for dialer in dialers {
        if let Err(error) = dialer.try_once().await {
            return send(Err(error));
        }
    }
    let maintain = async |link: &Link| {
        let is_ready = |number| {
            if number == 1 {
                send(Ok(()));
            }
        };
        link.maintain(async |_| Ok(()), is_ready).await;
    };
    let replica = async {
        match &links.replica {
            Some(link) => maintain(link).await,
            None => std::future::pending().await,
        }
    };
    tokio::join!(maintain(&links.master), replica);
}

#[cfg(test)]
mod tests;
