//! The cache on a real Redis, around a store that counts its reads.

mod counting;
mod outages;

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::bus::model::{Outcome, Score, Shares};
use crate::outside::bus::testing::{LONG, Redis};
use counting::{Counting, READERS_MAX};
use server::metrics::Page;

const GAME: GameId = GameId(1);

fn options(redis: &Redis, inner: &Arc<Counting>, queries: Queries) -> CachedOptions {
    CachedOptions {
        address: redis.address(),
        read_address: None,
        market: "test".to_owned(),
        games: 2,
        wait: Duration::from_secs(5),
        driver: Driver::Async,
        queries,
        inner: inner.clone(),
    }
}

fn open(redis: &Redis, inner: &Arc<Counting>) -> CachedStore {
    CachedStore::open(options(redis, inner, Queries::Pipelined)).unwrap()
}

fn goal(number: u64) -> Event {
    Event { game: GAME, number, outcome: Outcome::Home }
}

async fn predict(store: &dyn Store, pool: u64, amount: u64) -> Verdict {
    let prediction = Prediction {
        user: User::Named("ann".into()),
        pool: PoolId(pool),
        outcome: Outcome::Home,
        amount,
    };
    store.predict(&prediction).await.unwrap()
}

/// The id and the money of the pool that a store says is open.
async fn current(store: &dyn Store) -> (u64, u64) {
    let pool = store.current_pool(GAME).await.unwrap().unwrap();
    assert_eq!((pool.game, pool.outcome), (GAME, None));
    (pool.id.0, pool.shares.total())
}

async fn published(store: &dyn Store) -> (u64, u64) {
    let pool = store.open_pool(GAME).await.unwrap().unwrap();
    (pool.id.0, pool.shares.total())
}

#[tokio::test]
async fn what_one_process_writes_others_read_without_the_store() {
    let Some(redis) = Redis::start() else { return };
    let inner = Counting::new(2);
    let one = open(&redis, &inner);
    let other = open(&redis, &inner);
    // Whoever finds nothing fills the cache.
    assert_eq!(current(&one).await, (1, 0));
    assert_eq!(inner.reads(), 1);
    predict(&one, 1, 7).await;
    assert_eq!(current(&other).await, (1, 0), "nothing was published since");
    assert_eq!(published(&one).await, (1, 7));
    assert_eq!(inner.reads(), 1);
    assert_eq!(current(&other).await, (1, 7));
    // The first answer is the store's, which knows the names.
    let games = one.games().await.unwrap();
    assert_eq!(other.games().await.unwrap(), games);
    assert_eq!(inner.reads(), 2);
    one.settle(goal(1)).await.unwrap();
    assert_eq!(current(&other).await, (3, 0));
    let score = Score { home: 1, away: 0 };
    assert_eq!(other.games().await.unwrap()[0].score, score);
    let game = other.game(GAME).await.unwrap().unwrap();
    assert_eq!((game.score, game.home), (score, games[0].home));
    assert_eq!(other.games().await.unwrap()[1], games[1]);
    assert_eq!(inner.reads(), 0);
    let metrics = other.metrics();
    assert_eq!((metrics.pool_hits.get(), metrics.pool_misses.get()), (3, 0));
    assert_eq!((metrics.games_hits.get(), metrics.games_misses.get()), (3, 1));
    let mut page = Page::new("market");
    metrics.write(&mut page);
    let page = page.finish();
    for line in [
        "market_cache_pool_hits_total 3",
        "market_cache_games_misses_total 1",
        "market_cache_failures_total 0",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} {page}");
    }
    assert_eq!(other.game(GameId(9)).await, Ok(None));
    assert_eq!(other.current_pool(GameId(9)).await, Ok(None));
}

#[tokio::test]
async fn round_trips_are_as_documented() {
    let Some(redis) = Redis::start() else { return };
    for (queries, games, fill, settle) in
        [(Queries::Pipelined, 1, 1, 1), (Queries::Sequential, 2, 2, 2)]
    {
        let inner = Counting::new(2);
        let mut options = options(&redis, &inner, queries);
        options.market = format!("{queries:?}");
        let store = CachedStore::open(options).unwrap();
        let before = AtomicU64::new(store.metrics().round_trips());
        let trips = || {
            let now = store.metrics().round_trips();
            now - before.swap(now, Ordering::Relaxed)
        };
        store.games().await.unwrap();
        assert_eq!(trips(), fill, "{queries:?}: games, missed first");
        store.games().await.unwrap();
        assert_eq!(trips(), games, "{queries:?}: games");
        store.game(GAME).await.unwrap();
        assert_eq!(trips(), 1, "{queries:?}: game");
        current(&store).await;
        assert_eq!(trips(), 2, "{queries:?}: pool, missed");
        current(&store).await;
        assert_eq!(trips(), 1, "{queries:?}: pool");
        published(&store).await;
        assert_eq!(trips(), 1, "{queries:?}: published");
        store.settle(goal(1)).await.unwrap();
        assert_eq!(trips(), settle, "{queries:?}: settled");
        predict(&store, 3, 1).await;
        store.open_account(&User::Connection(1)).await.unwrap();
        store.pools(GAME).await.unwrap();
        assert_eq!(trips(), 0, "{queries:?}: the store's alone");
    }
}

/// Runs `work` on a runtime of its own.
fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

#[test]
fn no_reader_gets_an_older_pool_than_was_settled_or_published() {
    const POOLS: u64 = 150;
    let Some(redis) = Redis::start() else { return };
    let inner = Counting::new(2);
    let stores = [(); 3].map(|()| open(&redis, &inner));
    let [resolver, publisher, reader] = &stores;
    // What was settled, and what was published: the pool, and the money in it.
    let newest = Mutex::new((1, 0));
    let at_least = |version: (u64, u64)| {
        let mut newest = newest.lock().unwrap();
        *newest = version.max(*newest);
    };
    let is_over = || newest.lock().unwrap().0 > 2 * POOLS;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            on_a_runtime(async {
                for number in 1..=POOLS {
                    let settlement = resolver.settle(goal(number)).await.unwrap();
                    at_least((settlement.next.0, 0));
                    tokio::task::yield_now().await;
                }
            });
        });
        scope.spawn(|| {
            on_a_runtime(async {
                while !is_over() {
                    let open = newest.lock().unwrap().0;
                    predict(publisher, open, 1).await;
                    at_least(published(publisher).await);
                }
            });
        });
        // A reader that knows nothing of its own: each reads with a new store's knowledge.
        scope.spawn(|| {
            on_a_runtime(async {
                while !is_over() {
                    let expected = *newest.lock().unwrap();
                    let found: Option<OpenRecord> = reader.read(&[GAME]).await.pop().unwrap();
                    if let Some(record) = found {
                        let pool = record.pool(GAME);
                        let found = (pool.id.0, pool.shares.total());
                        assert!(found >= expected, "{found:?} {expected:?}");
                    }
                }
            });
        });
    });
    let written: u64 = stores.iter().map(|it| it.metrics().written.get()).sum();
    assert!(written >= 2 * POOLS, "{written}");
}

#[tokio::test]
async fn a_slow_writer_does_not_put_an_older_pool_back() {
    let Some(redis) = Redis::start() else { return };
    let inner = Counting::new(2);
    let slow = open(&redis, &inner);
    let other = open(&redis, &inner);
    let held = inner.permits.acquire_many(READERS_MAX).await.unwrap();
    let reading = async { published(&slow).await };
    let settling = async {
        while inner.reads() == 0 {
            tokio::task::yield_now().await;
        }
        // The slow one has read the pool, and has not written it.
        predict(&other, 1, 5).await;
        other.settle(goal(1)).await.unwrap();
        drop(held);
    };
    let (read, ()) = tokio::join!(reading, settling);
    assert_eq!(read, (1, 0));
    assert_eq!(slow.metrics().overtaken.get(), 1);
    assert_eq!(current(&slow).await, (3, 0));
    assert_eq!(current(&other).await, (3, 0));
}

#[tokio::test]
async fn older_records_are_refused_and_the_same_one_kept_longer() {
    let Some(redis) = Redis::start() else { return };
    let inner = Counting::new(2);
    let store = open(&redis, &inner);
    let put = async |pool: u64, away: u64| {
        let shares = Shares { away, ..Shares::default() };
        let pool = Pool { id: PoolId(pool), game: GAME, shares, outcome: None };
        let command = OpenRecord::from(&pool).put(&store.names, GAME);
        store.answer::<bool>(Purpose::Write, command).await
    };
    let large = u64::MAX;
    for (pool, away, kept) in [
        (1, 9, true),
        (1, 8, false),
        (1, 9, true),
        (1, 10, true),
        (1, large, true),
        (1, large - 1, false),
        (3, 0, true),
        (1, large, false),
        (11, 0, true),
        (9, 1, false),
    ] {
        assert_eq!(put(pool, away).await, Some(kept), "{pool} {away}");
    }
    let key = OpenRecord::key(&store.names, GAME);
    let mut connection = redis.connection();
    let left_ms: i64 = redis::cmd("PTTL").arg(&key).query(&mut connection).unwrap();
    assert!((1..=5000).contains(&left_ms), "{left_ms}");
    // What cannot be read is replaced.
    redis::cmd("SET").arg(&key).arg("?").exec(&mut connection).unwrap();
    assert_eq!(current(&store).await, (1, 0));
    assert_eq!(inner.reads(), 1);
    assert_eq!(current(&store).await, (1, 0));
    assert_eq!(inner.reads(), 0);
}

#[tokio::test]
async fn a_reader_that_knows_a_newer_pool_takes_the_stores() {
    let Some(redis) = Redis::start() else { return };
    let inner = Counting::new(2);
    let store = open(&redis, &inner);
    let other = open(&redis, &inner);
    assert_eq!(current(&store).await, (1, 0));
    // Settled by somebody who could not write it.
    inner.settle(goal(1)).await.unwrap();
    assert_eq!(current(&store).await, (1, 0));
    // A refusal says which pool is open.
    let verdict = predict(&store, 1, 1).await;
    assert!(matches!(verdict, Verdict::Refused { .. }), "{verdict:?}");
    assert_eq!(current(&store).await, (3, 0));
    assert_eq!(store.metrics().older.get(), 1);
    assert_eq!(current(&other).await, (3, 0));
    assert_eq!(other.metrics().pool_hits.get(), 1);
}

#[tokio::test]
async fn a_score_that_the_store_gave_does_not_replace_what_was_settled() {
    let Some(redis) = Redis::start() else { return };
    let inner = Counting::new(2);
    let resolver = open(&redis, &inner);
    let slow = open(&redis, &inner);
    let before = inner.games().await.unwrap();
    resolver.settle(goal(1)).await.unwrap();
    // It read them before.
    slow.fill_scores(&before).await;
    let score = Score { home: 1, away: 0 };
    slow.games().await.unwrap();
    inner.reads();
    assert_eq!(slow.games().await.unwrap()[0].score, score);
    assert_eq!(inner.reads(), 0);
    assert_eq!(slow.metrics().overtaken.get(), 3);
}
