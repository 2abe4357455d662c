//! What happens when Redis, or a connection to it, is lost.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::AtomicU16;
use std::thread;

use tokio::time::Instant;

use super::*;
use crate::outside::bus::tests::outages::nothing_twice;
use support::{Got, distribution, event, got, publish, returns, up_to};

/// Publishes while no process is subscribed: its subscription is cut in the same transaction.
fn publish_cut(redis: &Redis, publications: &[redis::Cmd]) {
    let mut all = redis::pipe();
    all.atomic().cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub");
    for publication in publications {
        all.add_command(publication.clone());
    }
    all.exec(&mut redis.connection()).unwrap();
}

#[tokio::test]
async fn a_cut_subscription_gets_the_last_distribution_and_reports_the_rest() {
    let Some(redis) = Redis::start() else { return };
    let bus = open(&redis, Claims::Atomic);
    let names = Names::new("test");
    let mut channel = bus.subscribe(GAME);
    let mut returned = bus.hub().returned();
    assert!(publish(&bus, GAME, || state(1, 1)).await);
    let stamp = Stamp { seen: 0, sent_at_ms: 0.5 };
    let state = |total| {
        let update = distribution(1, total);
        scripts::publish_state(&names, GAME, update, 0, &stamp, true, None)
    };
    let event = |number| {
        let updates = [Update::FullTime, support::settled(1, 1)];
        scripts::publish_event(&names, GAME, number, &updates, &stamp, 0)
    };
    publish_cut(&redis, &[event(1), state(2), state(3), event(2)]);
    returns(&mut returned).await;
    assert!(publish(&bus, GAME, || super::state(1, 4)).await);
    let expected = [
        got(1, "distribution", Some(1)),
        // The event, and the first distribution.
        Got::Lost(3),
        got(5, "distribution", Some(3)),
        Got::Lost(2),
        got(8, "distribution", Some(4)),
    ];
    assert_eq!(up_to(&mut *channel, 8).await, expected);
    assert_eq!(bus.hub().metrics().lost.get(), 5);
    assert_eq!(bus.hub().metrics().resubscribed.get(), 1);
}

#[test]
fn nothing_comes_twice_or_late_while_subscriptions_are_cut() {
    let Some(redis) = Redis::start() else { return };
    let buses = [(); 3].map(|()| redis.open());
    nothing_twice(&buses, |_| publish_cut(&redis, &[]));
}

#[tokio::test]
async fn a_redis_that_cannot_save_is_unavailable_and_keeps_its_numbers() {
    let Some(redis) = Redis::start() else { return };
    let bus = open(&redis, Claims::Atomic);
    let mut channel = bus.subscribe(GAME);
    assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(true));
    let mut admin = redis.connection();
    let config = |name: &str, value: &str| {
        let mut set = cmd("CONFIG");
        set.arg("SET").arg(name).arg(value);
        set
    };
    let (_, folder): (String, String) =
        cmd("CONFIG").arg("GET").arg("dir").query(&mut admin).unwrap();
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
    config("stop-writes-on-bgsave-error", "no").exec(&mut admin).unwrap();
    assert_eq!(bus.publish(GAME, state(1, 2)).await, Ok(true));
    let last = 2 * events;
    let found = up_to(&mut *channel, last).await;
    assert_eq!(found.last(), Some(&got(last, "distribution", Some(2))));
    assert_eq!(found.len() as u64, last, "no number is missing: {found:?}");
}

fn port(redis: &Redis) -> u16 {
    let (_, port) = redis.url.trim_end_matches('/').rsplit_once(':').unwrap();
    let port = port.split('/').next().unwrap();
    port.parse().unwrap()
}

/// A name that leads to this port, and later perhaps to another: whoever connects gets there.
fn name(leads_to: &Arc<AtomicU16>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let leads_to = Arc::clone(leads_to);
    thread::spawn(move || {
        for near in listener.incoming() {
            let near = near.unwrap();
            let far = TcpStream::connect(("127.0.0.1", leads_to.load(Ordering::SeqCst))).unwrap();
            let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
            for (mut from, mut to) in [(near, far), back] {
                thread::spawn(move || {
                    // However it ends, so does the other side.
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    port
}

#[tokio::test]
async fn a_redis_that_became_a_replica_is_left_for_its_successor() {
    let (Some(old), Some(new)) = (Redis::start(), Redis::start()) else {
        return;
    };
    let leads_to = Arc::new(AtomicU16::new(port(&old)));
    let name = name(&leads_to).to_string();
    let url = old.url.replace(&port(&old).to_string(), &name);
    let address = ServerAddress::cache(&url).unwrap();
    let bus = RedisBus::open(&address, &options(Claims::Atomic)).unwrap();
    assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(true));
    leads_to.store(port(&new), Ordering::SeqCst);
    // It stays up, and so do its connections; of whom it is a replica does not matter.
    let mut demote = cmd("REPLICAOF");
    demote.arg("127.0.0.1").arg(port(&new));
    demote.exec(&mut old.connection()).unwrap();
    assert!(publish(&bus, GAME, || state(1, 2)).await);
    let keys: Vec<String> = cmd("KEYS").arg("*").query(&mut new.connection()).unwrap();
    assert!(!keys.is_empty(), "it was published at the successor");
    assert!(bus.hub().metrics().link.reconnects.get() > 0);
}
