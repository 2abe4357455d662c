//! What happens when the cache is lost, empty or behind.

use std::task::{Context, Poll, Waker};

use rustix::process::Signal;
use tokio::time::Instant;

use super::*;

/// Reads until the cache answers.
async fn until_hit(store: &CachedStore, expected: (u64, u64)) {
    let start = Instant::now();
    let hits = store.metrics().pool_hits.get();
    while store.metrics().pool_hits.get() == hits {
        assert_eq!(current(store).await, expected);
        assert!(start.elapsed() < LONG);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_empty_redis_is_filled_again() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let inner = Counting::new(2);
    let store = open(&redis, &inner);
    store.games().await.unwrap();
    predict(&store, 1, 3).await;
    assert_eq!(published(&store).await, (1, 3));
    let flush = redis::cmd("FLUSHALL");
    flush.exec(&mut redis.connection()).unwrap();
    inner.reads();
    assert_eq!(current(&store).await, (1, 3));
    assert_eq!(store.games().await.unwrap().len(), 2);
    assert_eq!(inner.reads(), 2);
    assert_eq!(current(&store).await, (1, 3));
    store.games().await.unwrap();
    assert_eq!(inner.reads(), 0);
    // And after a restart without data.
    redis.restart(|| ());
    until_hit(&store, (1, 3)).await;
    let mut page = Page::new("market");
    store.metrics().write(&mut page);
    let line = "market_cache_reconnects_total 1";
    assert!(page.finish().lines().any(|found| found == line));
}

#[tokio::test]
async fn a_frozen_redis_costs_its_wait_and_then_nothing() {
    let Some(redis) = Redis::start() else { return };
    let inner = Counting::new(2);
    let wait = Duration::from_millis(200);
    let store =
        CachedStore::open(CachedOptions { wait, ..options(&redis, &inner, Queries::Pipelined) })
            .unwrap();
    assert_eq!(current(&store).await, (1, 0));
    redis.signal(Signal::STOP);
    let mut late = 0;
    for number in 1..=10 {
        let start = Instant::now();
        let settlement = store.settle(goal(number)).await.unwrap();
        let next = settlement.next.0;
        assert_eq!(current(&store).await, (next, 0));
        predict(&store, next, 1).await;
        assert_eq!(published(&store).await, (next, 1));
        assert!(start.elapsed() < wait * 5, "{:?}", start.elapsed());
        late += u32::from(start.elapsed() >= wait);
    }
    // Once it is given up, nobody waits for it.
    assert!(late <= 2, "{late}");
    assert!(store.metrics().unwritten.get() >= 20);
    redis.signal(Signal::CONT);
    until_hit(&store, (21, 1)).await;
}

/// What a call answers when it is polled once: one that blocks never has to be polled again.
fn at_once<T>(mut answer: Answer<'_, T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match answer.as_mut().poll(&mut context) {
        Poll::Ready(answer) => answer.unwrap(),
        Poll::Pending => panic!("it does not block"),
    }
}

#[tokio::test]
async fn a_blocking_driver_waits_for_the_cache_itself() {
    let Some(redis) = Redis::start() else { return };
    let wait = Duration::from_millis(500);
    for queries in [Queries::Pipelined, Queries::Sequential] {
        let inner = Counting::new(2);
        let options = |market: &str, driver| CachedOptions {
            market: format!("{market}{queries:?}"),
            driver,
            wait,
            ..options(&redis, &inner, queries)
        };
        let awaiting = CachedStore::open(options("awaiting", Driver::Async)).unwrap();
        let mut answer = awaiting.current_pool(GAME);
        let mut context = Context::from_waker(Waker::noop());
        assert!(answer.as_mut().poll(&mut context).is_pending());
        drop(answer);
        let store = CachedStore::open(options("blocking", Driver::Blocking)).unwrap();
        for _ in 0..2 {
            assert_eq!(at_once(store.games()).len(), 2);
            assert_eq!(at_once(store.current_pool(GAME)).unwrap().id, PoolId(1));
        }
        let metrics = store.metrics();
        let hits = (metrics.games_hits.get(), metrics.pool_hits.get());
        assert_eq!(hits, (1, 1), "{queries:?}");
        // This thread drives no timer meanwhile, and still waits no longer than is allowed.
        redis.signal(Signal::STOP);
        let start = Instant::now();
        assert_eq!(at_once(store.current_pool(GAME)).unwrap().id, PoolId(1));
        let took = start.elapsed();
        redis.signal(Signal::CONT);
        assert!(took >= wait && took < wait * 4, "{queries:?}: {took:?}");
    }
}

#[tokio::test]
async fn a_replica_that_is_behind_is_not_believed() {
    let (Some(redis), Some(behind)) = (Redis::start(), Redis::start()) else {
        return;
    };
    let inner = Counting::new(2);
    let store = CachedStore::open(CachedOptions {
        read_address: Some(behind.address()),
        ..options(&redis, &inner, Queries::Pipelined)
    })
    .unwrap();
    let old = open(&behind, &inner);
    assert_eq!(current(&old).await, (1, 0));
    assert_eq!(current(&store).await, (1, 0));
    assert_eq!(store.metrics().pool_hits.get(), 1);
    store.settle(goal(1)).await.unwrap();
    assert_eq!(current(&store).await, (3, 0));
    assert_eq!(store.metrics().older.get(), 1);
    // The master has it.
    assert_eq!(current(&open(&redis, &inner)).await, (3, 0));
}

#[test]
fn a_cache_that_cannot_be_reached_is_refused_at_the_start() {
    let Some(redis) = Redis::start() else { return };
    let inner = Counting::new(2);
    let mut bad = options(&redis, &inner, Queries::Pipelined);
    let url = redis.url.replace("open-sesame", "shut");
    bad.read_address = Some(ServerAddress::cache(&url).unwrap());
    assert!(CachedStore::open(bad).is_err());
}
