//! A market while what is behind it fails: every request is answered in time, no cent is lost, and it recovers by
//! itself.

mod disk;
mod refusing;
mod relays;
mod servers;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::books;
use super::players::{Players, Seen};
use super::publication::{self, Subscriber};
use super::witness::Witness;
use crate::stores::{metric, until};
use crate::support::{Database, Served, pass};

/// How long a request may wait for the store, for the cache or for the bus.
const WAIT: Duration = Duration::from_millis(1_500);
const WAIT_TEXT: &str = "1500ms";
/// A request may have to wait for the cache and then for the store, on a machine that is busy with other tests.
const ANSWERED_WITHIN: Duration = Duration::from_secs(6);
/// How long something is wrong: longer than anybody may wait.
const WRONG_FOR: Duration = Duration::from_secs(2);

/// A market in one process, with players and subscribers.
struct Market {
    served: Served,
    players: Players,
    subscribers: Vec<(u64, Subscriber)>,
}

impl Market {
    fn start(store: &str, redis: [&str; 2], more: &[&str]) -> Market {
        let [bus, cache] = redis;
        let shared = [
            "market",
            "--store",
            store,
            "--bus",
            bus,
            "--cache",
            cache,
            "--store-wait",
            WAIT_TEXT,
            "--store-connections",
            "4",
            "--threads",
            "1",
            "--batch",
            "200ms",
            "--goal-every",
            "500ms",
        ];
        let served = Served::start(&[&shared[..], more].concat());
        let addresses = Arc::new(Mutex::new(vec![served.url.clone()]));
        let subscribers = publication::subscribe(&addresses.lock().unwrap());
        Market { players: Players::few(&addresses), served, subscribers }
    }

    /// Waits until players put money on pools, and pools are settled.
    fn plays(&self) {
        let accepted = || self.players.seen.accepted.load(Ordering::Relaxed);
        let settled = || self.metric("market_pools_settled_total");
        let before = (accepted(), settled());
        until(&true, || accepted() > before.0 && settled() > before.1);
    }

    fn metric(&self, name: &str) -> f64 {
        metric(&self.served.url, name)
    }

    /// Begins something bad, ends it, and waits until all is well. Every request meanwhile is answered, and in time.
    fn survives(&self, what: &str, begin: impl FnOnce(), end: impl FnOnce()) -> Seen {
        self.plays();
        self.players.seen.take();
        begin();
        pass(WRONG_FOR);
        end();
        self.plays();
        let seen = self.players.seen.take();
        let lost = seen.lost.load(Ordering::Relaxed);
        assert_eq!(lost, 0, "{what}: requests without an answer");
        let slowest = seen.slowest();
        assert!(slowest < ANSWERED_WITHIN, "{what}: {slowest:?}");
        seen
    }

    /// The same of something that no answer needs. On a machine that is too busy, the store itself may be late.
    fn needs_nothing_of(&self, what: &str, begin: impl FnOnce(), end: impl FnOnce()) {
        let late = || self.metric("market_store_late_total");
        let before = late();
        let seen = self.survives(what, begin, end);
        let late = late() - before;
        assert!(unavailable(&seen) as f64 <= late, "{what}: {late}, {seen:?}");
    }

    /// Ends the market and holds its books against what the players know, and what its subscribers got against what
    /// was seen to be published. Returns the number of messages that subscribers did not get.
    fn end(self, database: &Database, witness: Option<Witness>) -> usize {
        let played = self.players.stop();
        // The last change is published within the time of a batch.
        pass(WAIT);
        let last = witness.as_ref().map(Witness::last).unwrap_or_default();
        let published = publication::compare(self.subscribers);
        for (game, last) in last {
            let newest = published[&game].by_number.last_key_value();
            let newest = newest.map(|(number, _)| *number);
            assert!(newest >= Some(last), "g{game}: {newest:?} < {last}");
        }
        let gaps = metric(&self.served.url, "market_bus_gaps_total");
        // Two subscribers of each game miss the same.
        let missed = published.values().map(|game| game.gaps.len()).sum();
        assert_eq!(missed as f64, 2.0 * gaps, "gaps are reported");
        self.served.stop();
        let counted = books::check(database, &played);
        assert!(played.accepted_count() > 0 && counted.pools_settled > 0 && counted.payouts > 0);
        if let Some(witness) = witness {
            check_announcements(database, witness);
        }
        missed
    }
}

/// Whatever was settled and marked as announced was announced, once.
fn check_announcements(database: &Database, witness: Witness) {
    let count = |condition: &str| {
        let count = "SELECT count(*) FROM market_events WHERE";
        database.number(&format!("{count} {condition}"))
    };
    // One that was just published need not be marked yet.
    let marked = count("announced = 1");
    let settled = count("pool IS NOT NULL");
    let announced = witness.end();
    assert!(
        (marked..=settled).contains(&announced),
        "{marked} events are marked as announced, {settled} settled a pool, {announced} were announced"
    );
}

fn unavailable(seen: &Seen) -> u64 {
    seen.unavailable.load(Ordering::Relaxed)
}
