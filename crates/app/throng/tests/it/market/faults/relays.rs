//! Connections that are cut, that bring half of a message, that are late or silent.

use testkit::services::Services;

use super::*;
use crate::stores::{address, through};
use crate::support::{Direction, Fault, Relay};

/// What is wrong with a connection, one after the other.
const FAULTS: [Fault; 7] = [
    Fault::Cut,
    Fault::Silence,
    Fault::HalfThenCut(Direction::ToServer),
    Fault::HalfThenCut(Direction::ToClient),
    Fault::HalfThenSilence(Direction::ToServer),
    Fault::HalfThenSilence(Direction::ToClient),
    LATE,
];
/// Late, and still in time.
const LATE: Fault = Fault::Delay(Duration::from_millis(20));

/// A market whose connections to its store are disturbed.
fn store_is_disturbed(kind: &'static str) {
    let Some(services) = Services::start_beside(&[kind], &["redis"]) else {
        return;
    };
    let (Some(redis), Some(database)) =
        (services.url("redis"), Database::on(&services, kind, "market_relayed"))
    else {
        return;
    };
    let relay = Relay::to(address(&database.url));
    let witness = Witness::new(redis);
    let market = Market::start(&through(&database.url, &relay), [redis; 2], &[]);
    for fault in FAULTS {
        let what = format!("{kind} {fault:?}");
        let seen = market.survives(&what, || relay.disturb(fault), || relay.restore());
        assert!(fault == LATE || unavailable(&seen) > 0, "{what}: {seen:?}");
    }
    assert_eq!(market.end(&database, Some(witness)), 0);
}

#[test]
fn a_mariadb_behind_a_bad_line_is_unavailable_in_time_and_loses_nothing() {
    store_is_disturbed("mysql");
}

#[test]
fn a_postgresql_behind_a_bad_line_is_unavailable_in_time_and_loses_nothing() {
    store_is_disturbed("postgres");
}

/// A market whose connections to its bus or its cache are disturbed.
fn redis_is_disturbed(is_bus: bool) {
    let Some(services) = Services::start_beside(&["mysql"], &["redis"]) else {
        return;
    };
    let (Some(redis), Some(database)) =
        (services.url("redis"), Database::on(&services, "mysql", "market_relayed"))
    else {
        return;
    };
    let relay = Relay::to(address(redis));
    let relayed = through(redis, &relay);
    let both = match is_bus {
        true => [&*relayed, redis],
        false => [redis, &*relayed],
    };
    let witness = Witness::new(redis);
    let market = Market::start(&database.url, both, &[]);
    for fault in FAULTS {
        let what = format!("bus: {is_bus}, {fault:?}");
        market.needs_nothing_of(&what, || relay.disturb(fault), || relay.restore());
    }
    let missed = market.end(&database, Some(witness));
    // Only what is under way when the bus goes is lost, if anything is: nobody else publishes.
    assert!(is_bus || missed == 0, "{missed}");
}

#[test]
fn a_bus_behind_a_bad_line_keeps_its_numbers_and_reports_what_is_lost() {
    redis_is_disturbed(true);
}

#[test]
fn a_cache_behind_a_bad_line_costs_time_and_no_answer() {
    redis_is_disturbed(false);
}

#[test]
fn a_blocking_driver_behind_a_bad_line_recovers() {
    let Some(services) = Services::start_beside(&["mysql"], &["redis"]) else {
        return;
    };
    let (Some(redis), Some(database)) =
        (services.url("redis"), Database::on(&services, "mysql", "market_blocked"))
    else {
        return;
    };
    let relays = [&*database.url, redis].map(|url| Relay::to(address(url)));
    let [store, cache] =
        [(&*database.url, 0), (redis, 1)].map(|(url, at)| through(url, &relays[at]));
    let witness = Witness::new(redis);
    let market = Market::start(&store, [redis, &cache], &["--driver", "blocking"]);
    for fault in [Fault::Silence, Fault::Cut, LATE] {
        let what = format!("blocking, {fault:?}");
        let begin = || relays.iter().for_each(|relay| relay.disturb(fault));
        let seen = market.survives(&what, begin, || relays.iter().for_each(Relay::restore));
        // What waited in the thread's queue may be answered when the line is good again.
        let noticed = unavailable(&seen) > 0 || seen.slowest() >= WAIT;
        assert!(fault == LATE || noticed, "{what}: {seen:?}");
    }
    assert_eq!(market.end(&database, Some(witness)), 0);
}
