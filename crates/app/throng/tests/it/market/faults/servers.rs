//! Servers that are stopped, killed and frozen, and return with their data.

use std::cell::RefCell;

use testkit::services::Services;

use super::*;

/// Stops, kills and freezes a server behind a market.
fn server_returns(kind: &'static str, server: &'static str) {
    let services = match server {
        "redis" => Services::start_beside(&[kind], &["redis"]),
        _ => Services::start(&[kind, "redis"]),
    };
    let Some(services) = services else {
        return;
    };
    let (Some(redis), Some(database)) =
        (services.url("redis"), Database::on(&services, kind, "market_returns"))
    else {
        return;
    };
    // In good order, Redis then keeps its data. If it is killed, what it has is old.
    let mut config = redis::cmd("CONFIG");
    config.arg("SET").arg("save").arg("3600 1");
    let mut client = redis::Client::open(redis).unwrap().get_connection().unwrap();
    config.exec(&mut client).unwrap();
    let market = Market::start(&database.url, [redis; 2], &[]);
    let goes_through = |what: &str, begin: &dyn Fn(), end: &dyn Fn()| {
        if server == "redis" {
            return market.needs_nothing_of(what, begin, end);
        }
        let seen = market.survives(what, begin, end);
        assert!(unavailable(&seen) > 0, "{server} {what}: {seen:?}");
    };
    let again = || services.start_again(server);
    goes_through("stopped", &|| services.stop(server), &again);
    goes_through("killed", &|| services.kill(server), &again);
    let frozen = RefCell::new(None);
    let freeze = || drop(frozen.replace(Some(services.freeze(server))));
    goes_through("frozen", &freeze, &|| drop(frozen.take()));
    market.end(&database, None);
}

#[test]
fn a_mariadb_that_returns_has_every_cent() {
    server_returns("mysql", "mysql");
}

#[test]
fn a_postgresql_that_returns_has_every_cent() {
    server_returns("postgres", "postgres");
}

#[test]
fn a_redis_that_returns_with_old_data_repeats_no_number() {
    server_returns("mysql", "redis");
}
