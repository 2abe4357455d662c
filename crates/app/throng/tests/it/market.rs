//! The market as processes of their own on real stores: what they keep while they are killed.

mod books;
mod faults;
mod ledgers;
mod nats;
mod players;
mod processes;
mod publication;
mod replica;
mod whole;
mod witness;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use testkit::services::Services;

use crate::stores::{address, metric, through, until};
use crate::support::{Database, Relay, pass};
use players::Players;
use processes::Processes;

/// Requests of the players, on each database. `MARKET_REQUESTS` sets it.
const REQUESTS: u64 = 20_000;
/// What they do follows from it. `MARKET_SEED` sets it.
const SEED: u64 = 1;
/// Time of a batch.
const BATCH: Duration = Duration::from_millis(200);
/// Between two processes that are killed, in milliseconds. `MARKET_KILL_EVERY` sets it: a resolver that is killed this
/// often settles small pools only.
const KILL_EVERY_MS: u64 = 200;
#[test]
fn money_is_kept_while_processes_are_killed() {
    let Some(services) = Services::start_beside(&["mysql", "postgres"], &["redis"]) else {
        return;
    };
    let Some(redis) = services.url("redis") else {
        return;
    };
    let number_of =
        |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let requests = number_of("MARKET_REQUESTS", REQUESTS);
    let seed = number_of("MARKET_SEED", SEED);
    let kill_every = Duration::from_millis(number_of("MARKET_KILL_EVERY", KILL_EVERY_MS));
    for (number, database) in (0..).zip(Database::each(&services, "ads_market_money")) {
        let redis = format!("{redis}{number}");
        let mut processes = Processes::start(&database.url, &redis);
        let players = Players::start(&processes.addresses(), requests, seed);
        let mut killed = 0;
        while !players.have_finished() {
            pass(kill_every);
            processes.kill_one(killed);
            killed += 1;
        }
        let played = players.end();
        // Resolvers that were killed all the time may have settled no pool yet. Nobody kills them now.
        let payouts = "SELECT count(*) FROM market_payouts WHERE amount > 0";
        until(&true, || database.number(payouts) > 0);
        processes.end_feed();
        let pending = "SELECT count(*) FROM market_events WHERE announced = 0";
        until(&0, || database.number(pending));
        processes.stop();
        let counted = books::check(&database, &played);
        // For whoever wants to know what the test did; nobody may read it.
        let _ = writeln!(
            std::io::stderr(),
            "{}: seed {seed}, {} requests, {} predictions accepted, {} refused, {} unknown of which {} were kept, {} pools \
             settled, {} payouts, {killed} processes killed",
            database.kind,
            played.requests,
            played.accepted_count(),
            played.refused,
            played.unknown.len(),
            counted.unknown_kept,
            counted.pools_settled,
            counted.payouts,
        );
        assert!(played.accepted_count() > 0 && counted.pools_settled > 0 && counted.payouts > 0);
    }
}

#[test]
fn every_subscriber_gets_every_message_once_and_in_order() {
    let Some(services) = Services::start_beside(&["mysql"], &["redis"]) else {
        return;
    };
    let (Some(redis), Some(database)) =
        (services.url("redis"), Database::on(&services, "mysql", "ads_market_news"))
    else {
        return;
    };
    let mut processes = Processes::start(&database.url, redis);
    let urls = processes.addresses().lock().unwrap().clone();
    let subscribers = publication::subscribe(&urls);
    Players::start(&processes.addresses(), 4_000, SEED).end();
    // The last change is published within the time of a batch.
    pass(BATCH * 3);
    processes.end_feed();
    pass(BATCH * 3);
    let mut last_total = 0;
    for (game, published) in publication::compare(subscribers) {
        assert_eq!(published.gaps, [0; 0], "g{game}");
        let mut distributions =
            published.by_number.values().filter(|m| m["type"] == "distribution");
        let mut times: Vec<f64> =
            distributions.clone().map(|m| m["sent_at_ms"].as_f64().unwrap()).collect();
        assert!(times.len() > 3, "g{game}: {} distributions", times.len());
        times.sort_by(f64::total_cmp);
        // The claim of a batch ends a little before its message is stamped.
        let least = BATCH.as_secs_f64() * 1e3 * 0.5;
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.clone().all(|gap| gap > least), "g{game}: {:?}", gaps.collect::<Vec<_>>());
        let last = distributions.next_back().unwrap();
        last_total += last["total"].as_u64().unwrap();
    }
    assert_eq!(last_total as i64, open_money(&database), "the last distributions are the newest");
    processes.stop();
}

/// Cents in open pools.
fn open_money(database: &Database) -> i64 {
    database.number(&format!(
        "SELECT {} FROM market_predictions p JOIN market_pools q ON p.pool = q.id WHERE q.outcome IS NULL",
        database.whole("COALESCE(SUM(p.amount), 0)")
    ))
}

#[test]
fn a_bus_that_was_away_is_reported_and_the_newest_state_follows() {
    let Some(services) = Services::start_beside(&["mysql"], &["redis"]) else {
        return;
    };
    let (Some(redis), Some(database)) =
        (services.url("redis"), Database::on(&services, "mysql", "ads_market_away"))
    else {
        return;
    };
    let relay = Relay::to(address(redis));
    // One process is cut off; the others go on.
    let mut processes = Processes::start(&database.url, redis);
    let cut_off = processes.add_api(&through(redis, &relay));
    let subscribers = publication::subscribe(std::slice::from_ref(&cut_off));
    Players::start(&processes.addresses(), 1_000, SEED).end();
    // What is lost before somebody's first message is no gap.
    until(&true, || subscribers.iter().all(|(_, one)| one.got_some()));
    pass(BATCH * 3);
    relay.cut();
    Players::start(&processes.addresses(), 2_000, SEED).end();
    pass(BATCH * 3);
    assert_eq!(metric(&cut_off, "market_bus_gaps_total"), 0.0, "nothing is known of it yet");
    relay.restore();
    // It connects again after a pause.
    until(&true, || metric(&cut_off, "market_bus_resubscribed_total") > 0.0);
    pass(BATCH * 4);
    processes.end_feed();
    pass(BATCH * 3);
    let last = last_numbers(redis);
    let mut gaps = 0;
    for (game, published) in publication::compare(subscribers) {
        let newest = published.by_number.keys().last().copied();
        assert_eq!(newest, last.get(&game).copied(), "the newest message of g{game}");
        // Two subscribers have the same.
        assert!(published.gaps.len().is_multiple_of(2), "{:?}", published.gaps);
        gaps += published.gaps.len() / 2;
    }
    assert!(gaps > 0, "nothing was lost");
    assert_eq!(metric(&cut_off, "market_bus_gaps_total"), gaps as f64);
    processes.stop();
}

/// By game: the number of the last message.
fn last_numbers(redis: &str) -> BTreeMap<u64, u64> {
    let mut client = redis::Client::open(redis).unwrap().get_connection().unwrap();
    let keys: Vec<String> = redis::cmd("KEYS").arg("market:*:bus:g*").query(&mut client).unwrap();
    let mut number = |key: &String| {
        let game = key.rsplit_once(":g").unwrap().1.parse().unwrap();
        let last = redis::cmd("HGET").arg(key).arg("seq").query(&mut client).unwrap();
        (game, last)
    };
    keys.iter().map(&mut number).collect()
}
