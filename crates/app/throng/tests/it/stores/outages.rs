//! Clients that leave, databases that do not answer, and a cache that comes back with old counts: what was
//! answered is recorded, and what was refused did not happen.

use std::any::Any;
use std::net::Ipv4Addr;
use std::process::{Child, Command};

use mysql::prelude::Queryable;

use super::*;

impl Database {
    /// Keeps everybody else from a table until what is returned is dropped.
    fn lock(&self, table: &str) -> Box<dyn Any> {
        match self.kind {
            "mysql" => {
                let mut client = mysql::Conn::new(&*self.url).unwrap();
                client.query_drop(format!("LOCK TABLES {table} WRITE")).unwrap();
                Box::new(client)
            }
            _ => {
                let mut client = self.postgres();
                client.batch_execute(&format!("BEGIN; LOCK TABLE {table}")).unwrap();
                Box::new(client)
            }
        }
    }

    /// Returns when somebody waits for what is locked.
    fn is_waited_for(&self) {
        let waiting = match self.kind {
            "mysql" => {
                "SELECT count(*) FROM information_schema.processlist \
                 WHERE db = database() AND state LIKE 'Waiting for table%'"
            }
            _ => {
                "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database \
                 WHERE NOT granted AND datname = current_database()"
            }
        };
        until(&1, || self.number(waiting));
    }

    fn events(&self) -> i64 {
        self.number("SELECT count(*) FROM ads_events")
    }
}

/// Exactly `wanted` more ads are served, not counting requests refused meanwhile. What others gave back is
/// known a second later.
fn serves_more(url: &str, wanted: usize, what: &str) {
    let mut served = 0;
    until(&wanted, || {
        served += usize::from(ad(url).is_some());
        served
    });
    std::thread::park_timeout(Duration::from_millis(1500));
    assert_eq!(fetch(url, "GET", "/publishers/p1/api/").0, 204, "{what}");
}

#[test]
fn a_client_that_leaves_keeps_its_record() {
    let Some(services) = Services::start_beside(&["mysql", "postgres"], &["redis"]) else {
        return;
    };
    let redis = services.url("redis");
    for cache in [None, redis] {
        let name = format!("ads_left_{}", cache.is_some());
        for database in Database::each(&services, &name) {
            let space = Space::new();
            let log = space.path("access.log");
            let mut more = vec!["--store-wait", "20s", "--access-log", log.to_str().unwrap()];
            more.extend(cache.iter().flat_map(|cache| ["--cache", cache]));
            let server = Served::start(&small(&database.url, &more));
            let steps = events(&ad(&server.url).unwrap());
            let lock = database.lock("ads_events");
            let address: SocketAddr = server.url.trim_start_matches("http://").parse().unwrap();
            let mut client = TcpStream::connect(address).unwrap();
            let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", steps[0].1);
            client.write_all(request.as_bytes()).unwrap();
            // Its record waits for the table when it leaves.
            database.is_waited_for();
            drop(client);
            std::thread::park_timeout(Duration::from_millis(200));
            drop(lock);
            let what = database.kind;
            until(&1.0, || metric(&server.url, "ads_impressions_total"));
            for ((method, path), status) in steps.iter().zip([200, 302, 302, 200]) {
                assert_eq!(fetch(&server.url, method, path).0, status, "{what} {path}");
            }
            assert_eq!(metric(&server.url, "ads_repeated_total"), 1.0, "{what}");
            server.stop();
            assert_eq!(database.events(), 5, "{what}");
            let text = std::fs::read_to_string(&log).unwrap();
            assert_eq!(text.lines().count(), 6, "{what}: {text}");
        }
    }
}

#[test]
fn an_event_is_answered_after_it_is_recorded() {
    let Some(services) = Services::start_beside(&["mysql", "postgres"], &["redis"]) else {
        return;
    };
    let redis = services.url("redis");
    for cache in [None, redis] {
        let name = format!("ads_pending_{}", cache.is_some());
        for database in Database::each(&services, &name) {
            let mut more = vec!["--store-wait", "2s"];
            more.extend(cache.iter().flat_map(|cache| ["--cache", cache]));
            let server = Served::start(&small(&database.url, &more));
            let what = database.kind;
            let steps = events(&ad(&server.url).unwrap());
            let lock = database.lock("ads_events");
            std::thread::scope(|scope| {
                let (url, [impression, redeem, ..]) = (&server.url, &steps);
                scope.spawn(move || assert_eq!(fetch(url, "GET", &impression.1).0, 503));
                database.is_waited_for();
                scope.spawn(move || assert_eq!(fetch(url, "GET", &impression.1).0, 503));
                scope.spawn(move || {
                    let status = fetch(url, "POST", &redeem.1).0;
                    assert!([409, 503].contains(&status), "{what}: {status}");
                });
            });
            drop(lock);
            // What was refused did not happen, and happens now.
            until(&200, || fetch(&server.url, "GET", &steps[0].1).0);
            for ((method, path), status) in steps.iter().zip([200, 302, 302, 200]).skip(1) {
                assert_eq!(fetch(&server.url, method, path).0, status, "{what} {path}");
            }
            server.stop();
            assert_eq!(database.events(), 5, "{what}");
        }
    }
}

#[test]
fn an_event_is_recorded_though_its_client_left() {
    let Some(services) = Services::start_beside(&["mysql", "postgres"], &["redis"]) else {
        return;
    };
    let Some(redis) = services.url("redis") else {
        return;
    };
    for database in Database::each(&services, "ads_died") {
        let what = database.kind;
        let more = ["--cache", redis, "--store-wait", "1s"];
        let survivor = Served::start(&small(&database.url, &more));
        let victim = Served::start(&small(&database.url, &more));
        let steps = events(&ad(&victim.url).unwrap());
        let lock = database.lock("ads_events");
        let address: SocketAddr = victim.url.trim_start_matches("http://").parse().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", steps[0].1);
        client.write_all(request.as_bytes()).unwrap();
        database.is_waited_for();
        drop(victim);
        drop(lock);
        // Whether it was recorded or not is found in the database.
        until(&200, || fetch(&survivor.url, "GET", &steps[0].1).0);
        assert_eq!(fetch(&survivor.url, "POST", &steps[1].1).0, 302, "{what}");
        survivor.stop();
        assert_eq!(database.events(), 3, "{what}");
    }
}

#[test]
fn a_recovered_database_is_detected_without_traffic() {
    let Some(services) = Services::shared(&["mysql", "postgres"]) else {
        return;
    };
    for database in Database::each(&services, "ads_refusing") {
        let server = Served::start(&small(&database.url, &[]));
        let rename = |from: &str, to: &str| {
            database.run(&format!("ALTER TABLE {from} RENAME TO {to}"));
        };
        rename("ads_performance", "elsewhere");
        assert_eq!(ad(&server.url), None, "{}", database.kind);
        assert_eq!(fetch(&server.url, "GET", "/healthz").0, 503);
        rename("elsewhere", "ads_performance");
        until(&200, || fetch(&server.url, "GET", "/healthz").0);
        assert!(ad(&server.url).is_some(), "{}", database.kind);
    }
}

#[test]
fn a_frozen_database_uses_up_no_campaign() {
    let Some(services) = Services::start(&["mysql", "postgres", "redis"]) else {
        return;
    };
    let redis = services.url("redis");
    for cache in [None, redis] {
        let name = format!("ads_frozen_{}", cache.is_some());
        for database in Database::each(&services, &name) {
            let mut more = vec!["--campaign-limit", "3", "--store-connections", "2"];
            more.extend(["--store-wait", "2s"]);
            more.extend(cache.iter().flat_map(|cache| ["--cache", cache]));
            let server = Served::start(&small(&database.url, &more));
            let offer = ad(&server.url).unwrap();
            let frozen = services.freeze(database.kind);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| assert_eq!(ad(&server.url), None));
                }
            });
            drop(frozen);
            let what = database.kind;
            serves_more(&server.url, 2, what);
            let [(method, impression), ..] = events(&offer);
            assert_eq!(fetch(&server.url, method, &impression).0, 200, "{what}");
        }
    }
}

#[test]
fn an_event_refused_by_a_frozen_cache_has_no_effect() {
    let Some(services) = Services::start_beside(&["mysql", "postgres"], &["redis"]) else {
        return;
    };
    let Some(redis) = services.url("redis") else {
        return;
    };
    for database in Database::each(&services, "ads_stuck") {
        let what = database.kind;
        let more = ["--cache", redis, "--campaign-limit", "5"];
        let more = [&more[..], &["--store-wait", "2s"]].concat();
        let server = Served::start(&small(&database.url, &more));
        let steps = events(&ad(&server.url).unwrap());
        let frozen = services.freeze("redis");
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(fetch(&server.url, "GET", &steps[0].1).0, 503));
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(ad(&server.url), None));
            }
        });
        drop(frozen);
        until(&200, || fetch(&server.url, "GET", "/healthz").0);
        for ((method, path), status) in steps.iter().zip([200, 302, 302, 200]) {
            assert_eq!(fetch(&server.url, method, path).0, status, "{what} {path}");
        }
        assert_eq!(metric(&server.url, "ads_repeated_total"), 0.0, "{what}");
        serves_more(&server.url, 4, what);
        server.stop();
        assert_eq!(database.events(), 9, "{what}");
    }
}

/// A cache of the test's own, which stores its data in a folder. It ends with the test.
struct Keeping(Child);

impl Keeping {
    /// `None`, said aloud, where Redis is not installed.
    fn start(folder: &Space, port: u16) -> Option<Keeping> {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--dir"]).arg(folder.path(""));
        let Ok(child) = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() else {
            skip("no redis-server");
            return None;
        };
        until(&true, || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        Some(Keeping(child))
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn stale_counts_of_a_returning_cache_are_rejected() {
    let Some(services) = Services::shared(&["mysql", "postgres"]) else {
        return;
    };
    for database in Database::each(&services, "ads_old") {
        let what = database.kind;
        let folder = Space::new();
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let Some(cache) = Keeping::start(&folder, port) else {
            return;
        };
        let url = format!("redis://127.0.0.1:{port}/");
        let more = ["--cache", &*url, "--campaign-limit", "20"];
        let server = Served::start(&small(&database.url, &more));
        let offer = ad(&server.url).unwrap();
        let mut client = redis::Client::open(&*url).unwrap();
        redis::cmd("SAVE").exec(&mut client).unwrap();
        // Of all this the snapshot does not know.
        let [(_, impression), ..] = events(&offer);
        assert_eq!(fetch(&server.url, "GET", &impression).0, 200, "{what}");
        assert_eq!((0..9).filter_map(|_| ad(&server.url)).count(), 9, "{what}");
        drop(cache);
        assert_eq!(ad(&server.url), None, "{what}");
        let _cache = Keeping::start(&folder, port).unwrap();
        until(&200, || fetch(&server.url, "GET", "/healthz").0);
        assert_eq!(fetch(&server.url, "GET", &impression).0, 200, "{what}");
        assert_eq!(metric(&server.url, "ads_impressions_total"), 1.0, "{what}");
        assert_eq!(metric(&server.url, "ads_repeated_total"), 1.0, "{what}");
        serves_more(&server.url, 10, what);
    }
}

#[test]
fn asynchronous_records_survive_a_slow_database() {
    let Some(services) = Services::shared(&["mysql", "postgres"]) else {
        return;
    };
    for database in Database::each(&services, "ads_slow") {
        let more = ["--writes", "async", "--store-wait", "2s"];
        let more = [&more[..], &["--store-connections", "2"]].concat();
        let server = Served::start(&small(&database.url, &more));
        let lock = database.lock("ads_events");
        assert_eq!((0..20).filter_map(|_| ad(&server.url)).count(), 20);
        // Several times as long as a statement may take.
        std::thread::park_timeout(Duration::from_secs(9));
        drop(lock);
        until(&20, || database.events());
        let lost = metric(&server.url, "ads_records_lost_total");
        assert_eq!(lost, 0.0, "{}", database.kind);
    }
}
