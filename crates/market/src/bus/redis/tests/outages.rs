//! What happens when Redis, or a connection to it, is lost.

use rustix::process::Signal;

use super::*;
use crate::batch::publish_distributions;
use crate::model::{Outcome, PoolId, User};
use crate::options::MarketOptions;
use crate::state::MarketState;
use crate::transactions::Prediction;

/// Waits for the bus to return once more.
async fn returns(returned: &mut watch::Receiver<u64>) {
    let changed = tokio::time::timeout(LONG, returned.changed()).await;
    changed.expect("the bus returns").unwrap();
}

/// Publishes until it succeeds.
async fn publish(bus: &RedisBus, pool: u64, total: u64) -> bool {
    let start = Instant::now();
    loop {
        match bus.publish(GAME, state(pool, total)).await {
            Ok(published) => return published,
            Err(BusError::Unavailable(_)) if start.elapsed() < LONG => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Publishes while no process is subscribed: its subscription is cut in the same transaction.
fn publish_cut(redis: &Redis, publications: &[redis::Cmd]) {
    let mut all = redis::pipe();
    all.atomic()
        .cmd("CLIENT")
        .arg("KILL")
        .arg("TYPE")
        .arg("pubsub");
    for publication in publications {
        all.add_command(publication.clone());
    }
    all.exec(&mut redis.connection()).unwrap();
}

#[tokio::test]
async fn a_cut_subscription_gets_the_last_distribution_and_reports_the_rest() {
    let Some(redis) = Redis::start() else { return };
    let (bus, names) = (open(&redis), Names::new("test"));
    let mut channel = bus.subscribe(GAME);
    let mut returned = bus.returned();
    assert!(publish(&bus, 1, 1).await);
    let stamp = Stamp {
        seen: 0,
        sent_at_ms: 0.5,
    };
    let state = |total| {
        let update = (distribution(1, total), 0);
        scripts::publish_state(&names, GAME, update, &stamp, (true, None))
    };
    let event = |number| {
        let updates = [Update::FullTime, support::settled(1, 1)];
        scripts::publish_event(&names, GAME, (number, &updates), &stamp, 0)
    };
    publish_cut(&redis, &[event(1), state(2), state(3), event(2)]);
    returns(&mut returned).await;
    assert!(publish(&bus, 1, 4).await);
    let expected = [
        got(1, "distribution", Some(1)),
        // The event, and the first distribution.
        Got::Lost(3),
        got(5, "distribution", Some(3)),
        Got::Lost(2),
        got(8, "distribution", Some(4)),
    ];
    assert_eq!(up_to(&mut *channel, 8).await, expected);
    assert_eq!(bus.metrics().lost.get(), 5);
    assert_eq!(bus.metrics().resubscribed.get(), 1);
}

#[test]
fn nothing_comes_twice_or_late_while_subscriptions_are_cut() {
    const EACH: u64 = 40;
    let Some(redis) = Redis::start() else { return };
    let barrier = Barrier::new(3);
    let total = AtomicU64::new(0);
    let found = three(&redis, Claims::Atomic, async |process, bus| {
        let mut channel = bus.subscribe(GAME);
        barrier.wait().await;
        let mut all = Vec::new();
        let mut last = 0;
        for round in 0..EACH {
            if round % 4 == process {
                publish_cut(&redis, &[]);
            }
            publish(bus, 1, 1 + total.fetch_add(1, Ordering::SeqCst)).await;
            barrier.wait().await;
            // Everybody has the newest distribution before the next one comes, cut or not.
            let newest = total.load(Ordering::SeqCst);
            while last < newest {
                let found = next(&mut *channel).await;
                if let Got::Message(_, _, Some(total)) = found {
                    last = total;
                }
                all.push(found);
            }
            barrier.wait().await;
        }
        all
    });
    for all in found {
        let mut last = 0;
        for found in all {
            match found {
                Got::Lost(count) => last += count,
                Got::Message(seq, ..) => {
                    assert_eq!(seq, last + 1, "lost ones are counted exactly");
                    last = seq;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_flushed_redis_does_not_lower_numbers() {
    let Some(redis) = Redis::start() else { return };
    let old = open(&redis);
    let (mut channel, mut returned) = (old.subscribe(GAME), old.returned());
    for total in 1..=5 {
        old.publish(GAME, state(1, total)).await.unwrap();
    }
    assert_eq!(old.publish(GAME, event(7, 1, 3)).await, Ok(true));
    up_to(&mut *channel, 7).await;
    cmd("FLUSHALL").exec(&mut redis.connection()).unwrap();
    // A process that began after that knows of nothing.
    let new = open(&redis);
    let mut new_channel = new.subscribe(GAME);
    assert_eq!(new.publish(GAME, state(3, 6)).await, Ok(true));
    returns(&mut returned).await;
    // It was dropped by the old one. The same is published again when games are touched.
    assert_eq!(new.publish(GAME, state(3, 6)).await, Ok(true));
    assert_eq!(next(&mut *channel).await, got(8, "distribution", Some(6)));
    let expected = [
        got(1, "distribution", Some(6)),
        Got::Lost(6),
        got(8, "distribution", Some(6)),
    ];
    assert_eq!(up_to(&mut *new_channel, 8).await, expected);
    assert_eq!(old.metrics().raised.get(), 1);
    assert_eq!(old.metrics().dropped.get(), 1);
    // Events are remembered as well.
    for bus in [&old, &new] {
        assert_eq!(bus.publish(GAME, event(7, 1, 3)).await, Ok(false));
    }
}

#[tokio::test]
async fn a_process_that_only_read_the_numbers_keeps_them_too() {
    let Some(redis) = Redis::start() else { return };
    let first = open(&redis);
    for total in 1..=5 {
        first.publish(GAME, state(1, total)).await.unwrap();
    }
    assert_eq!(first.publish(GAME, event(1, 1, 3)).await, Ok(true));
    let bus = open(&redis);
    drop(first);
    let mut channel = bus.subscribe(GAME);
    cmd("FLUSHALL").exec(&mut redis.connection()).unwrap();
    assert_eq!(bus.publish(GAME, event(1, 1, 3)).await, Ok(false));
    assert_eq!(bus.publish(GAME, state(3, 1)).await, Ok(true));
    assert_eq!(next(&mut *channel).await, got(8, "distribution", Some(1)));
}

#[test]
fn a_restarted_redis_does_not_lower_numbers_whoever_is_first() {
    let Some(redis) = Redis::start() else { return };
    let redis = Mutex::new(redis);
    let barrier = Barrier::new(3);
    let total = AtomicU64::new(0);
    let address = redis.lock().unwrap();
    let buses = [(); 3].map(|()| open(&address));
    drop(address);
    let found = std::thread::scope(|scope| {
        let threads = buses.iter().zip(0..).map(|(bus, process)| {
            let (redis, barrier, total) = (&redis, &barrier, &total);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let mut channel = bus.subscribe(GAME);
                    let mut all = Vec::new();
                    for round in 0..4 {
                        barrier.wait().await;
                        for _ in 0..8 {
                            let next = 1 + total.fetch_add(1, Ordering::SeqCst);
                            publish(bus, 1, next).await;
                        }
                        barrier.wait().await;
                        if round % 3 == process {
                            redis.lock().unwrap().restart(|| ());
                        }
                    }
                    // Games are touched until all have the newest.
                    let newest = total.load(Ordering::SeqCst) + 1;
                    loop {
                        publish(bus, 1, newest).await;
                        let more =
                            tokio::time::timeout(Duration::from_millis(20), next(&mut *channel));
                        if let Ok(found) = more.await {
                            all.push(found.clone());
                            if matches!(found, Got::Message(_, _, Some(total)) if total == newest) {
                                break all;
                            }
                        }
                    }
                })
            })
        });
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.collect::<Vec<_>>()
    });
    for all in found {
        let mut last = 0;
        for found in &all {
            if let Got::Message(seq, ..) = found {
                assert!(*seq > last, "{last} {all:?}");
                last = *seq;
            }
        }
    }
}

#[tokio::test]
async fn a_frozen_redis_is_unavailable_in_time_and_returns() {
    let Some(redis) = Redis::start() else { return };
    let wait = Duration::from_millis(300);
    let bus = RedisBus::open(&RedisBusOptions {
        wait,
        ..options(&redis, Claims::Atomic)
    })
    .unwrap();
    let mut channel = bus.subscribe(GAME);
    assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(true));
    let mut returned = bus.returned();
    redis.signal(Signal::STOP);
    for _ in 0..20 {
        let start = Instant::now();
        let claim = bus.claim(GAME, LONG).await;
        assert!(matches!(claim, Err(BusError::Unavailable(_))), "{claim:?}");
        let publication = bus.publish(GAME, event(1, 1, 1)).await;
        assert!(matches!(publication, Err(BusError::Unavailable(_))));
        assert!(start.elapsed() < wait * 4, "{:?}", start.elapsed());
    }
    redis.signal(Signal::CONT);
    returns(&mut returned).await;
    // What was requested meanwhile may have been done, once.
    publish(&bus, 1, 2).await;
    let _ = bus.publish(GAME, event(1, 1, 1)).await.unwrap();
    let mut kinds = Vec::new();
    while kinds.len() < 4 {
        if let Got::Message(_, kind, _) = next(&mut *channel).await {
            kinds.push(kind);
        }
    }
    kinds.sort();
    assert_eq!(
        kinds,
        ["distribution", "distribution", "full_time", "settled"]
    );
}

#[tokio::test]
async fn a_redis_that_cannot_save_is_unavailable_and_keeps_its_numbers() {
    let Some(redis) = Redis::start() else { return };
    let bus = open(&redis);
    let mut channel = bus.subscribe(GAME);
    assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(true));
    let mut admin = redis.connection();
    let config = |name: &str, value: &str| {
        let mut set = cmd("CONFIG");
        set.arg("SET").arg(name).arg(value);
        set
    };
    let (_, folder): (String, String) = cmd("CONFIG")
        .arg("GET")
        .arg("dir")
        .query(&mut admin)
        .unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    config("save", "3600 1").exec(&mut admin).unwrap();
    cmd("BGSAVE").exec(&mut admin).unwrap();
    let mut events = 1;
    // It saves in the background, so that some events may still be published.
    let start = Instant::now();
    let refused = loop {
        assert!(start.elapsed() < LONG);
        match bus.publish(GAME, event(events, 1, 1)).await {
            Err(BusError::Unavailable(why)) => break why,
            published => assert_eq!(published, Ok(true)),
        }
        events += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(refused.contains("MISCONF"), "{refused}");
    assert!(bus.claim(GAME, LONG).await.is_err());
    assert!(bus.publish(GAME, state(1, 2)).await.is_err());
    config("stop-writes-on-bgsave-error", "no")
        .exec(&mut admin)
        .unwrap();
    assert_eq!(bus.publish(GAME, state(1, 2)).await, Ok(true));
    let last = 2 * events;
    let found = up_to(&mut *channel, last).await;
    assert_eq!(found.last(), Some(&got(last, "distribution", Some(2))));
    assert_eq!(found.len() as u64, last, "no number is missing: {found:?}");
}

#[test]
fn the_newest_distribution_comes_within_a_batch_of_the_return() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let batch = Duration::from_millis(500);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let bus = Arc::new(open(&redis));
        let mut returned = bus.returned();
        let mut state = MarketState::new(&MarketOptions::default());
        state.bus = bus.clone();
        let state = Arc::new(state);
        let toucher = Arc::clone(&state);
        tokio::spawn(async move {
            while returned.changed().await.is_ok() {
                for game in toucher.games() {
                    toucher.touch(game);
                }
            }
        });
        tokio::spawn(publish_distributions(Arc::clone(&state), GAME, batch));
        let predict = async || {
            let prediction = Prediction {
                user: User::Connection(1),
                pool: PoolId(1),
                outcome: Outcome::Home,
                amount: 1,
            };
            state.store.predict(&prediction).await.unwrap();
            state.touch(GAME);
        };
        let mut channel = bus.subscribe(GAME);
        predict().await;
        assert_eq!(next(&mut *channel).await, got(1, "distribution", Some(1)));
        redis.restart(|| ());
        predict().await;
        let mut returned = bus.returned();
        returns(&mut returned).await;
        let start = Instant::now();
        let found = up_to(&mut *channel, 2).await;
        assert_eq!(found.last(), Some(&got(2, "distribution", Some(2))));
        // And some time for a machine that is busy.
        assert!(start.elapsed() < batch * 2, "{:?}", start.elapsed());
    });
}
