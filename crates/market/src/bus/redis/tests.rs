//! The bus on a real Redis.

mod outages;
pub(crate) mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::Instant;

use super::*;
use support::{Got, LONG, Redis, distribution, event, got, next, state, up_to};

const GAME: GameId = GameId(1);

fn options(redis: &Redis, claims: Claims) -> RedisBusOptions {
    RedisBusOptions {
        address: redis.address(),
        market: "test".to_owned(),
        games: 2,
        wait: Duration::from_secs(5),
        claims,
    }
}

fn open(redis: &Redis) -> RedisBus {
    RedisBus::open(&options(redis, Claims::Atomic)).unwrap()
}

/// Runs `process` three times at once, each on a thread with a bus and a runtime of its own.
fn three<T: Send>(
    redis: &Redis,
    claims: Claims,
    process: impl AsyncFn(u64, &RedisBus) -> T + Sync,
) -> Vec<T> {
    // All buses subscribe before anybody publishes.
    let buses = [(); 3].map(|()| RedisBus::open(&options(redis, claims)).unwrap());
    std::thread::scope(|scope| {
        let threads = (0..).zip(&buses).map(|(number, bus)| {
            let process = &process;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(process(number, bus))
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn numbers_have_no_gaps_and_every_subscriber_gets_all_in_order() {
    const ROUNDS: u64 = 100;
    const EACH: u64 = 12;
    let Some(redis) = Redis::start() else { return };
    let (total, messages) = (AtomicU64::new(0), AtomicU64::new(0));
    let barrier = Barrier::new(3);
    let received = three(&redis, Claims::Atomic, async |process, bus| {
        let mut channel = bus.subscribe(GAME);
        barrier.wait().await;
        let (mut all, mut refused) = (Vec::new(), 0);
        for round in 0..ROUNDS {
            for _ in 0..EACH {
                let update = state(1, 1 + total.fetch_add(1, Ordering::SeqCst));
                match bus.publish(GAME, update).await.unwrap() {
                    true => drop(messages.fetch_add(1, Ordering::SeqCst)),
                    false => refused += 1,
                }
            }
            // All three announce the same event.
            let published = bus.publish(GAME, event(round + 1, 1, 1)).await.unwrap();
            messages.fetch_add(if published { 2 } else { 0 }, Ordering::SeqCst);
            barrier.wait().await;
            let last = messages.load(Ordering::SeqCst);
            all.extend(up_to(&mut *channel, last).await);
            barrier.wait().await;
        }
        let metrics = bus.metrics();
        assert_eq!(metrics.lost.get(), 0, "process {process}");
        assert_eq!(metrics.received.get(), all.len() as u64);
        (all, refused)
    });
    let expected = messages.into_inner();
    let published: u64 = received.iter().map(|(_, refused)| refused).sum();
    assert_eq!(expected, 3 * ROUNDS * EACH - published + 2 * ROUNDS);
    assert!(expected > 2000, "{expected}");
    for (all, _) in &received {
        let mut totals = 0;
        for (found, seq) in all.iter().zip(1..) {
            let Got::Message(number, _, total) = found else {
                panic!("{found:?}");
            };
            assert_eq!(*number, seq);
            // An older distribution never follows a newer one.
            assert!(total.is_none_or(|total| total > totals));
            totals = total.unwrap_or(totals);
        }
        assert_eq!(all, &received[0].0);
    }
    assert_eq!(received[0].0.len() as u64, expected);
}

/// Times between distributions that three processes publish as the batches do, while money comes in all the time.
fn gaps_ms(redis: &Redis, claims: Claims, batch: Duration, batches: u32) -> Vec<f64> {
    let total = AtomicU64::new(0);
    let stamps = Mutex::new(Vec::new());
    three(redis, claims, async |_, bus| {
        let end = Instant::now() + batch * batches;
        while Instant::now() < end {
            if let Claim::Held(pause) = bus.claim(GAME, batch).await.unwrap() {
                tokio::time::sleep(pause).await;
                continue;
            }
            let update = state(1, 1 + total.fetch_add(1, Ordering::SeqCst));
            // The store takes 1 to 17 ms.
            let store = 1 + 4 * (total.load(Ordering::SeqCst) % 5);
            tokio::time::sleep(Duration::from_millis(store)).await;
            let stamp = wall_ms();
            match bus.publish(GAME, update).await {
                Ok(true) => stamps.lock().unwrap().push(stamp),
                Ok(false) | Err(BusError::Overtaken) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    let mut stamps = stamps.into_inner().unwrap();
    stamps.sort_by(f64::total_cmp);
    stamps.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn atomic_claims_keep_distributions_a_batch_apart() {
    let Some(redis) = Redis::start() else { return };
    let batch = Duration::from_millis(50);
    let gaps = gaps_ms(&redis, Claims::Atomic, batch, 30);
    assert!(gaps.len() >= 10, "{gaps:?}");
    // Redis counts whole milliseconds; the stamp is taken before the command is sent.
    let apart = |gap: &f64| *gap >= 48.0;
    assert!(gaps.iter().all(apart), "{gaps:?}");
}

#[test]
fn racing_claims_let_duplicates_through() {
    let Some(redis) = Redis::start() else { return };
    let batch = Duration::from_millis(50);
    let gaps = gaps_ms(&redis, Claims::Racing(ClaimSet::Late), batch, 30);
    let duplicates = gaps.iter().filter(|gap| **gap < 25.0).count();
    assert!(duplicates > 0, "{gaps:?}");
}

/// Three processes claim at the same time, and whoever won publishes.
fn published_at_once(claims: Claims) -> Option<(usize, usize)> {
    let redis = Redis::start()?;
    let barrier = Barrier::new(3);
    let found = three(&redis, claims, async |process, bus| {
        barrier.wait().await;
        let claim = bus.claim(GAME, LONG).await.unwrap();
        barrier.wait().await;
        let is_won = claim == Claim::Won;
        let update = state(1, 1 + process);
        let published = is_won && bus.publish(GAME, update).await.unwrap();
        (is_won, published)
    });
    let won = found.iter().filter(|(won, _)| *won).count();
    let published = found.iter().filter(|(_, published)| *published).count();
    Some((won, published))
}

#[test]
fn one_of_three_publishes_with_atomic_claims_and_all_with_late_racing_ones() {
    if let Some(found) = published_at_once(Claims::Atomic) {
        assert_eq!(found, (1, 1));
    }
    if let Some(found) = published_at_once(Claims::Racing(ClaimSet::Late)) {
        assert_eq!(found, (3, 3));
    }
}

#[tokio::test]
async fn a_racing_claim_that_is_set_is_respected() {
    let Some(redis) = Redis::start() else { return };
    for (set, game) in [(ClaimSet::Early, GameId(1)), (ClaimSet::Late, GameId(2))] {
        let [one, other] =
            [(); 2].map(|()| RedisBus::open(&options(&redis, Claims::Racing(set))).unwrap());
        assert_eq!(one.claim(game, LONG).await, Ok(Claim::Won));
        let early = other.claim(game, LONG).await.unwrap();
        assert_eq!(early == Claim::Won, set == ClaimSet::Late, "{early:?}");
        assert_eq!(one.publish(game, state(1, 1)).await, Ok(true));
        let late = other.claim(game, LONG).await.unwrap();
        assert!(
            matches!(late, Claim::Held(left) if left <= LONG),
            "{late:?}"
        );
    }
}

#[tokio::test]
async fn a_claim_that_publishes_nothing_new_is_released() {
    let Some(redis) = Redis::start() else { return };
    for claims in [Claims::Atomic, Claims::Racing(ClaimSet::Early)] {
        let [one, other] = [(); 2].map(|()| RedisBus::open(&options(&redis, claims)).unwrap());
        one.publish(GAME, state(1, 1)).await.unwrap();
        assert_eq!(one.claim(GAME, LONG).await, Ok(Claim::Won));
        assert_ne!(other.claim(GAME, LONG).await, Ok(Claim::Won));
        assert_eq!(one.publish(GAME, state(1, 1)).await, Ok(false));
        assert_eq!(other.claim(GAME, LONG).await, Ok(Claim::Won));
        assert_eq!(other.publish(GAME, state(1, 1)).await, Ok(false));
    }
}

#[tokio::test]
async fn round_trips_are_as_documented() {
    let Some(redis) = Redis::start() else { return };
    for (claims, expected) in [
        (Claims::Atomic, [1, 1, 1, 1, 1, 1]),
        (Claims::Racing(ClaimSet::Early), [2, 2, 1, 2, 2, 1]),
        (Claims::Racing(ClaimSet::Late), [1, 3, 1, 1, 2, 1]),
    ] {
        let options = RedisBusOptions {
            market: format!("{claims:?}").replace(['(', ')'], "-"),
            ..options(&redis, claims)
        };
        let [bus, other] = [(); 2].map(|()| RedisBus::open(&options).unwrap());
        let (short, mut found) = (Duration::from_secs(1), Vec::new());
        let before = AtomicU64::new(0);
        let trips = |bus: &RedisBus| {
            let now = bus.metrics().link.round_trips.get();
            now - before.swap(now, Ordering::Relaxed)
        };
        bus.claim(GAME, short).await.unwrap();
        found.push(trips(&bus));
        assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(true));
        found.push(trips(&bus));
        let held = other.claim(GAME, LONG).await.unwrap();
        assert_ne!(held, Claim::Won);
        found.push(other.metrics().link.round_trips.get());
        // Until its own claim is over.
        while bus.claim(GAME, LONG).await != Ok(Claim::Won) {
            trips(&bus);
        }
        found.push(trips(&bus));
        assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(false));
        found.push(trips(&bus));
        assert_eq!(bus.publish(GAME, event(1, 1, 3)).await, Ok(true));
        found.push(trips(&bus));
        assert_eq!(found, expected, "{claims:?}");
    }
}

#[tokio::test]
async fn a_batch_that_was_taken_over_is_not_published_in() {
    let Some(redis) = Redis::start() else { return };
    let (slow, other) = (open(&redis), open(&redis));
    let batch = Duration::from_millis(20);
    assert_eq!(slow.claim(GAME, batch).await, Ok(Claim::Won));
    // Until the slow one's is over.
    while other.claim(GAME, LONG).await != Ok(Claim::Won) {}
    assert_eq!(
        slow.publish(GAME, state(1, 5)).await,
        Err(BusError::Overtaken)
    );
    assert_eq!(other.publish(GAME, state(1, 6)).await, Ok(true));
}

#[tokio::test]
async fn nothing_older_is_published_and_no_event_twice() {
    let Some(redis) = Redis::start() else { return };
    let (one, other) = (open(&redis), open(&redis));
    let mut channel = other.subscribe(GAME);
    let large = u64::MAX;
    for (publication, is_new) in [
        (state(1, 9), true),
        (state(1, 9), false),
        (state(1, 8), false),
        (state(1, 10), true),
        (state(1, large - 1), true),
        (state(1, large), true),
        (state(1, large - 1), false),
        (event(1, 1, 3), true),
        (event(1, 1, 3), false),
        (state(1, large), false),
        (state(3, 0), true),
        (event(2, 3, 5), true),
        (event(1, 1, 3), false),
    ] {
        let shown = format!("{publication:?}");
        assert_eq!(one.publish(GAME, publication).await, Ok(is_new), "{shown}");
    }
    let kinds = up_to(&mut *channel, 9)
        .await
        .into_iter()
        .map(|it| match it {
            Got::Message(_, kind, total) => (kind, total),
            Got::Lost(count) => panic!("{count} lost"),
        });
    let found: Vec<_> = kinds.collect();
    let distribution = |total| ("distribution".to_owned(), Some(total));
    let [full_time, settled] = ["full_time", "settled"].map(|kind| (kind.to_owned(), None));
    assert_eq!(
        found,
        [
            distribution(9),
            distribution(10),
            distribution(large - 1),
            distribution(large),
            full_time.clone(),
            settled.clone(),
            distribution(0),
            full_time,
            settled
        ]
    );
    let mut page = server::metrics::Page::new("market");
    one.metrics().write(&mut page);
    let page = page.finish();
    for line in [
        "market_bus_published_total 9",
        "market_bus_duplicates_total 6",
        "market_bus_reconnects_total 0",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} {page}");
    }
    assert_eq!(other.queued_max(), 0);
    assert_eq!(one.publish(GameId(3), state(1, 1)).await, Ok(false));
}

#[tokio::test]
async fn a_text_has_its_least_length_and_the_publishers_clock() {
    let Some(redis) = Redis::start() else { return };
    let bus = open(&redis);
    let mut channel = bus.subscribe(GAME);
    let before = wall_ms();
    let publication = Publication::State {
        update: distribution(1, 7),
        bytes_min: 300,
    };
    bus.publish(GAME, publication).await.unwrap();
    let delivery = tokio::time::timeout(LONG, channel.next()).await.unwrap();
    let Some(crate::bus::Delivery::Notice(notice)) = delivery else {
        panic!("{delivery:?}");
    };
    let text = crate::protocol::text_of(&notice.frame);
    assert_eq!(text.len(), 300);
    let message: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        (&message["seq"], &message["game"]),
        (&1.into(), &"g1".into())
    );
    let stamp = message["sent_at_ms"].as_f64().unwrap();
    assert!(stamp >= before && stamp <= wall_ms(), "{before} {stamp}");
}

#[test]
fn what_cannot_be_opened_is_refused_with_a_reason() {
    let Some(redis) = Redis::start() else { return };
    let mut bad = options(&redis, Claims::Atomic);
    bad.market = "a*".to_owned();
    assert!(RedisBus::open(&bad).is_err());
    let mut bad = options(&redis, Claims::Atomic);
    let url = redis.url.replace("open-sesame", "shut");
    bad.address = ServerAddress::cache(&url).unwrap();
    let Err(BusError::Unavailable(why)) = RedisBus::open(&bad) else {
        panic!("opened with a wrong password");
    };
    assert!(!why.contains("shut"), "{why}");
    // Who may not subscribe learns why.
    let rules = ["ACL", "SETUSER", "default", "-psubscribe"];
    let mut rule = cmd(rules[0]);
    rule.arg(&rules[1..]).exec(&mut redis.connection()).unwrap();
    let mut bad = options(&redis, Claims::Atomic);
    bad.wait = Duration::from_millis(100);
    let Err(BusError::Unavailable(why)) = RedisBus::open(&bad) else {
        panic!("opened without a subscription");
    };
    assert!(why.contains("psubscribe"), "{why}");
}
