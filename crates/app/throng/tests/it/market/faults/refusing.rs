//! A Redis that refuses to write.

use redis::{Connection, cmd};
use testkit::services::Services;

use super::disk::Disk;
use super::*;

fn set(client: &mut Connection, name: &str, value: &str) {
    let mut config = cmd("CONFIG");
    config.arg("SET").arg(name).arg(value);
    config.exec(client).unwrap();
}

/// Has Redis save its data, and returns once that came to this.
fn save(client: &mut Connection, status: &str) {
    // It may be saving by itself.
    let _ = cmd("BGSAVE").exec(client);
    let line = format!("rdb_last_bgsave_status:{status}");
    until(&true, || {
        let info: String = cmd("INFO").arg("persistence").query(client).unwrap();
        info.lines().any(|found| found == line)
    });
}

#[test]
fn a_redis_that_cannot_write_delays_publications_and_loses_none() {
    // Its own disk, so that it can be full.
    let (Some(services), Some(with_disk)) =
        (Services::shared(&["mysql"]), Services::start_on_disk(&["redis"], "8m"))
    else {
        return;
    };
    let (Some(redis), Some(database)) =
        (with_disk.url("redis"), Database::on(&services, "mysql", "market_misconf"))
    else {
        return;
    };
    let client = redis::Client::open(redis).unwrap();
    let client = Mutex::new(client.get_connection().unwrap());
    let client = || client.lock().unwrap();
    set(&mut client(), "save", "3600 1");
    let disk = Disk::new(&with_disk);
    let witness = Witness::new(redis);
    let market = Market::start(&database.url, [redis; 2], &[]);
    let errors = || market.metric("market_bus_errors_total");
    let refuses = |what: &str, begin: &dyn Fn(), end: &dyn Fn()| {
        let before = errors();
        let wrong = || {
            begin();
            // Nothing is announced meanwhile; whoever won is paid.
            until(&true, || {
                let paid =
                    "SELECT count(*) FROM market_events WHERE announced = 0 AND pool IS NOT NULL";
                errors() > before && database.number(paid) > 4
            });
        };
        market.needs_nothing_of(what, wrong, end);
    };
    let fill = || {
        disk.fill();
        save(&mut client(), "err");
    };
    let free = || {
        disk.free();
        save(&mut client(), "ok");
    };
    refuses("MISCONF", &fill, &free);
    let memory = |value: &str| set(&mut client(), "maxmemory", value);
    refuses("no memory", &|| memory("1"), &|| memory("0"));
    assert_eq!(market.end(&database, Some(witness)), 0);
}
