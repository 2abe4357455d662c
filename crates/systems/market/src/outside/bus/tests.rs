//! What any bus outside of the process promises, on real servers.

pub(crate) mod outages;
pub(crate) mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::Instant;

use super::{BusOptions, Remote};
use crate::bus::model::GameId;
use crate::bus::{Bus, BusError, Claim, Claims, Delivery, Memory, Publication};
use server::wall_ms;
use support::{Got, LONG, Server, distribution, event, options, state, up_to};

const GAME: GameId = GameId(1);

/// Runs `process` three times at once, each on a thread with a bus and a runtime of its own.
pub(super) fn three<T: Send>(
    server: &Server,
    options: &BusOptions,
    process: impl AsyncFn(u64, &dyn Remote) -> T + Sync,
) -> Vec<T> {
    // All buses subscribe before anybody publishes.
    let buses = [(); 3].map(|()| server.open_with(options).unwrap());
    at_once(&buses, process)
}

/// Runs `process` with each of these at once, each on a thread with a runtime of its own.
fn at_once<T: Send>(
    buses: &[Arc<dyn Remote>],
    process: impl AsyncFn(u64, &dyn Remote) -> T + Sync,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads = (0..).zip(buses).map(|(number, bus)| {
            let process = &process;
            scope.spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(process(number, &**bus))
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn numbers_have_no_gaps_and_every_subscriber_gets_all_in_order() {
    const ROUNDS: u64 = 100;
    const EACH: u64 = 12;
    for server in Server::each() {
        let total = AtomicU64::new(0);
        let messages = AtomicU64::new(0);
        let barrier = Barrier::new(3);
        let received = three(&server, &options(Claims::Atomic), async |process, bus| {
            let mut channel = bus.subscribe(GAME);
            barrier.wait().await;
            let mut all = Vec::new();
            let mut refused = 0;
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
            let metrics = bus.hub().metrics();
            assert_eq!(metrics.lost.get(), 0, "process {process}");
            assert_eq!(metrics.received.get(), all.len() as u64);
            (all, refused)
        });
        let expected = messages.into_inner();
        let published: u64 = received.iter().map(|(_, refused)| refused).sum();
        assert_eq!(expected, 3 * ROUNDS * EACH - published + 2 * ROUNDS);
        // Processes that publish at once overtake each other.
        assert!(expected > 1000, "{expected}");
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
}

/// Times between `count` distributions that three processes publish as the batches do, while money comes in all the
/// time; fewer if a minute was too short.
pub(super) fn gaps_ms(server: &Server, claims: Claims, batch: Duration, count: usize) -> Vec<f64> {
    let total = AtomicU64::new(0);
    let stamps = Mutex::new(Vec::new());
    three(server, &options(claims), async |_, bus| {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end && stamps.lock().unwrap().len() < count {
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
    for server in Server::each() {
        let batch = Duration::from_millis(50);
        let gaps = gaps_ms(&server, Claims::Atomic, batch, 30);
        assert!(gaps.len() >= 29, "{gaps:?}");
        // Redis counts whole milliseconds; the stamp is taken before the command is sent.
        let apart = |gap: &f64| *gap >= 48.0;
        assert!(gaps.iter().all(apart), "{gaps:?}");
    }
}

/// Three processes claim at the same time, and whoever won publishes.
pub(super) fn published_at_once(server: &Server, claims: Claims) -> (usize, usize) {
    let barrier = Barrier::new(3);
    let found = three(server, &options(claims), async |process, bus| {
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
    (won, published)
}

#[test]
fn one_of_three_publishes_with_atomic_claims() {
    for server in Server::each() {
        assert_eq!(published_at_once(&server, Claims::Atomic), (1, 1));
    }
}

#[tokio::test]
async fn a_claim_that_publishes_nothing_new_is_released() {
    for server in Server::each() {
        let one = server.open();
        let other = server.open();
        released(&*one, &*other).await;
    }
}

pub(super) async fn released(one: &dyn Remote, other: &dyn Remote) {
    one.publish(GAME, state(1, 1)).await.unwrap();
    assert_eq!(one.claim(GAME, LONG).await, Ok(Claim::Won));
    assert_ne!(other.claim(GAME, LONG).await, Ok(Claim::Won));
    assert_eq!(one.publish(GAME, state(1, 1)).await, Ok(false));
    assert_eq!(other.claim(GAME, LONG).await, Ok(Claim::Won));
    assert_eq!(other.publish(GAME, state(1, 1)).await, Ok(false));
}

/// Round trips of a claim that is won, a distribution, a claim that another has, a claim after that, a distribution
/// that is not new, and an event.
pub(super) async fn round_trips(bus: &dyn Remote, other: &dyn Remote) -> Vec<u64> {
    let short = Duration::from_secs(1);
    let mut found = Vec::new();
    let before = AtomicU64::new(0);
    let trips = |bus: &dyn Remote| {
        let now = bus.hub().metrics().link.round_trips.get();
        now - before.swap(now, Ordering::Relaxed)
    };
    bus.claim(GAME, short).await.unwrap();
    found.push(trips(bus));
    let mut channel = other.subscribe(GAME);
    assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(true));
    found.push(trips(bus));
    // Until the other process knows of it.
    up_to(&mut *channel, 1).await;
    let held = other.claim(GAME, LONG).await.unwrap();
    assert_ne!(held, Claim::Won);
    found.push(other.hub().metrics().link.round_trips.get());
    // Until its own claim is over.
    while let Claim::Held(left) = bus.claim(GAME, LONG).await.unwrap() {
        trips(bus);
        tokio::time::sleep(left).await;
    }
    found.push(trips(bus));
    assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(false));
    found.push(trips(bus));
    assert_eq!(bus.publish(GAME, event(1, 1, 3)).await, Ok(true));
    found.push(trips(bus));
    found
}

#[tokio::test]
async fn round_trips_with_atomic_claims_are_as_documented() {
    for server in Server::each() {
        let bus = server.open();
        let other = server.open();
        assert_eq!(round_trips(&*bus, &*other).await, [1; 6]);
    }
}

#[tokio::test]
async fn a_batch_that_was_taken_over_is_not_published_in() {
    for server in Server::each() {
        let slow = server.open();
        let other = server.open();
        let batch = Duration::from_millis(20);
        assert_eq!(slow.claim(GAME, batch).await, Ok(Claim::Won));
        // Until the slow one's is over.
        while other.claim(GAME, LONG).await != Ok(Claim::Won) {}
        assert_eq!(slow.publish(GAME, state(1, 5)).await, Err(BusError::Overtaken));
        assert_eq!(other.publish(GAME, state(1, 6)).await, Ok(true));
    }
}

#[tokio::test]
async fn nothing_older_is_published_and_no_event_twice() {
    let memory = Memory::new(2);
    publish_old_and_new(&memory, &memory).await;
    for server in Server::each() {
        let one = server.open();
        let other = server.open();
        publish_old_and_new(&*one, &*other).await;
        let mut page = server::metrics::Page::new("market");
        one.hub().metrics().write(&mut page);
        let page = page.finish();
        for line in [
            "market_bus_published_total 9",
            "market_bus_duplicates_total 6",
            "market_bus_reconnects_total 0",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} {page}");
        }
        assert_eq!(other.hub().queued_max(), 0);
        assert_eq!(one.publish(GameId(3), state(1, 1)).await, Ok(false));
    }
}

/// Publishes through one, and receives through the other.
async fn publish_old_and_new(one: &dyn Bus, other: &dyn Bus) {
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
    let received = up_to(&mut *channel, 9).await.into_iter();
    let kinds = received.map(|it| match it {
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
}

#[tokio::test]
async fn a_text_has_its_least_length_and_the_publishers_clock() {
    for server in Server::each() {
        let bus = server.open();
        let mut channel = bus.subscribe(GAME);
        let before = wall_ms();
        let publication = Publication::State { update: distribution(1, 7), bytes_min: 300 };
        bus.publish(GAME, publication).await.unwrap();
        let delivery = tokio::time::timeout(LONG, channel.next()).await.unwrap();
        let Some(Delivery::Notice(notice)) = delivery else {
            panic!("{delivery:?}");
        };
        let text = crate::bus::messages::text_of(&notice.frame);
        assert_eq!(text.len(), 300);
        let message: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!((&message["seq"], &message["game"]), (&1.into(), &"g1".into()));
        let stamp = message["sent_at_ms"].as_f64().unwrap();
        assert!(stamp >= before && stamp <= wall_ms(), "{before} {stamp}");
    }
}

#[test]
fn what_cannot_be_opened_is_refused_with_a_reason() {
    for server in Server::each() {
        let bad = BusOptions { market: "a*".to_owned(), ..options(Claims::Atomic) };
        assert!(server.open_with(&bad).is_err());
        let url = server.url.replace("open-sesame", "shut");
        let address = super::BusAddress::parse(&url).unwrap();
        let opened = super::open(&address, &options(Claims::Atomic));
        let Err(BusError::Unavailable(why)) = opened else {
            panic!("opened with a wrong password");
        };
        assert!(!why.contains("shut"), "{why}");
    }
}
