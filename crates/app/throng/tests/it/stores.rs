//! The ad network on real database servers and a real cache: what is kept, what is shared, what happens
//! when one of them is lost.

mod outages;
mod tls;

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use testkit::needs::skip;
use testkit::services::Services;

use crate::support::{Database, Ended, Relay, Running, Served, Space, root, throng};

/// What the servers of `scripts/services` are protected by.
const PASSWORD: &str = "open-sesame";

/// The URL with another address.
pub(crate) fn through(url: &str, relay: &Relay) -> String {
    let (before, rest) = url.rsplit_once('@').unwrap();
    let (_, path) = rest.split_once('/').unwrap();
    format!("{before}@{}/{path}", relay.address)
}

pub(crate) fn address(url: &str) -> SocketAddr {
    let (_, rest) = url.rsplit_once('@').unwrap();
    rest.split('/').next().unwrap().parse().unwrap()
}

/// A server of ads with few of them, all in one campaign.
fn small<'a>(store: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let ads = ["ads", "--ads", "50", "--short-list", "50", "--long-list", "50"];
    let mut args = [&ads[..], &["--threads", "1", "--store", store]].concat();
    args.extend(more);
    args
}

/// Status and text of an answer, on a connection of its own.
pub(crate) fn fetch(url: &str, method: &str, path: &str) -> (u16, String) {
    let address: SocketAddr = url.trim_start_matches("http://").parse().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

pub(crate) fn ad(url: &str) -> Option<Value> {
    let (status, text) = fetch(url, "GET", "/publishers/p1/api/?user_id=u1");
    (status == 200).then(|| serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap())
}

/// The requests of an offer's events, in their order.
pub(crate) fn events(ad: &Value) -> [(&'static str, String); 4] {
    let text = |name: &str| ad[name].as_str().unwrap().to_owned();
    let id = text("offer_id");
    let advertiser = text("advertiser");
    [
        ("GET", format!("/offers/{id}/impression.gif")),
        ("POST", format!("/offers/{id}/redeem/")),
        ("GET", format!("/offers/{id}/claim/")),
        ("GET", format!("/advertisers/{advertiser}/convert.gif?offer_id={id}")),
    ]
}

pub(crate) fn metric(url: &str, name: &str) -> f64 {
    let (_, text) = fetch(url, "GET", "/metrics");
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

/// Polls until the answer is this one; an answer that never comes fails the test by timeout.
pub(crate) fn until<T: PartialEq + std::fmt::Debug>(wanted: &T, mut look: impl FnMut() -> T) {
    let mut last = None;
    for _ in 0..400 {
        let found = look();
        if found == *wanted {
            return;
        }
        last = Some(found);
        std::thread::park_timeout(Duration::from_millis(50));
    }
    panic!("it never came to {wanted:?}, but to {last:?}");
}

#[test]
fn databases_keep_sessions_and_counts() {
    let Some(services) = Services::start_beside(&["mysql", "postgres"], &["redis"]) else {
        return;
    };
    let redis = services.url("redis");
    for (number, (writes, cached)) in
        [("sync", false), ("async", false), ("sync", true), ("async", true)].into_iter().enumerate()
    {
        for database in Database::each(&services, &format!("ads{number}")) {
            let mut more = vec!["--writes", writes, "--campaign-limit", "3"];
            match (cached, redis) {
                (true, Some(redis)) => more.extend(["--cache", redis]),
                (true, None) => continue,
                (false, _) => {}
            }
            let what = format!("{} {more:?}", database.kind);
            let args = small(&database.url, &more);
            let server = Served::start(&args);
            let offer = ad(&server.url).unwrap();
            let steps = events(&offer);
            // What comes too early is refused and not recorded.
            assert_eq!(fetch(&server.url, "POST", &steps[1].1).0, 409, "{what}");
            for ((method, path), status) in steps.iter().zip([200, 302, 302, 200]) {
                assert_eq!(fetch(&server.url, method, path).0, status, "{what} {path}");
                // The same once more is answered and counts once.
                assert_eq!(fetch(&server.url, method, path).0, status, "{what} {path}");
            }
            let second = ad(&server.url).unwrap();
            let [impression, redeem, ..] = events(&second);
            assert_eq!(fetch(&server.url, "GET", &impression.1).0, 200, "{what}");
            assert_eq!(metric(&server.url, "ads_repeated_total"), 4.0, "{what}");
            server.stop();
            let count = |table: &str| database.number(&format!("SELECT count(*) FROM {table}"));
            assert_eq!((count("ads_offers"), count("ads_events")), (2, 7), "{what}");
            let sum = "SELECT CAST(sum(total) AS DECIMAL(9,0)) FROM ads_performance";
            let one = format!("SELECT count(*) FROM ({sum} HAVING sum(total) = 7) AS x");
            assert_eq!(database.number(&one), 1, "{what}");

            // A server that starts again goes on: offers, counts and numbers.
            let server = Served::start(&args);
            assert_eq!(fetch(&server.url, "POST", &redeem.1).0, 302, "{what}");
            let third = ad(&server.url).unwrap();
            let ids: HashSet<_> = [&offer, &second, &third].map(|ad| &ad["offer_id"]).into();
            assert_eq!(ids.len(), 3, "{what}");
            assert_eq!(ad(&server.url), None, "{what}: the campaign was shown three times");
            server.stop();
            if let (true, Some(redis)) = (cached, redis) {
                // What Redis forgot is put back from the database.
                let mut client = redis::Client::open(redis).unwrap();
                redis::cmd("FLUSHALL").exec(&mut client).unwrap();
                let server = Served::start(&args);
                assert_eq!(ad(&server.url), None, "{what}");
                assert_eq!(fetch(&server.url, "GET", &events(&third)[0].1).0, 200, "{what}");
            }
        }
    }
}

#[test]
fn errors_of_store_urls_hide_the_password() {
    let refused = |args: &[&str], code: i32, message: &str| {
        let mut command = throng(["serve"].iter().chain(args));
        command.args(["--listen", "127.0.0.1:0"]);
        let ended = Ended::of(&mut command).with(code);
        ended.stderr_contains(message);
        for text in [&ended.out, &ended.err] {
            assert!(!text.contains("hunter2"), "{text}");
        }
    };
    for url in ["mysql://me:hunter2@127.0.0.1:1/db", "postgres://me:hunter2@127.0.0.1:1/db"] {
        // Port 1 of loopback: nobody listens there.
        let shown = url.replace("hunter2", "***");
        refused(&small(url, &[]), 69, &format!("cannot keep records in {shown}"));
    }
    refused(&small("mysql://me:hunter2@h/", &[]), 64, "give the name of a database");
    refused(&small("http://me:hunter2@h/db", &[]), 64, "is not a supported store");
    refused(&small("env:NO_SUCH_VARIABLE", &[]), 64, "env:NO_SUCH_VARIABLE");
    refused(
        &["ads", "--cache", "redis://:hunter2@127.0.0.1:1/"],
        64,
        "a cache needs a database server",
    );
    refused(
        &["ads", "--processes", "2", "--store", "ads.sqlite"],
        64,
        "the embedded store is for one process alone",
    );

    let Some(services) = Services::shared(&["mysql", "postgres"]) else {
        return;
    };
    let cache = "redis://:hunter2@127.0.0.1:1/";
    for database in Database::each(&services, "ads_taken") {
        refused(
            &small(&database.url, &["--cache", cache, "--seed", "2"]),
            69,
            "cannot use the cache redis://:***@127.0.0.1:1/",
        );
        let server = Served::start(&small(&database.url, &["--seed", "2"]));
        // Without a cache a server has its database for itself, and its seed stays.
        refused(&small(&database.url, &["--seed", "2"]), 69, "another server uses it exclusively");
        drop(server);
        refused(&small(&database.url, &[]), 69, "created with seed 2 and 50 ads");
        database.run("UPDATE ads_mark SET version = 7");
        refused(&small(&database.url, &[]), 69, "its tables have version 7");
    }
    for database in Database::each(&services, "ads_other_tables") {
        database.run("CREATE TABLE something (else_ INTEGER)");
        refused(&small(&database.url, &[]), 69, "it has tables of another program");
    }
}

#[test]
fn requests_fail_while_a_store_is_away_and_then_succeed() {
    let Some(services) = Services::start_beside(&["mysql", "postgres"], &["redis"]) else {
        return;
    };
    let Some(redis) = services.url("redis") else {
        return;
    };
    for database in Database::each(&services, "ads_lost") {
        let what = database.kind;
        let relays = [&*database.url, redis].map(|url| Relay::to(address(url)));
        let store = through(&database.url, &relays[0]);
        let cache = through(redis, &relays[1]);
        let server = Served::start(&small(&store, &["--cache", &cache, "--store-wait", "2s"]));
        for (relay, code, name) in
            [(&relays[0], "store", "ads_store"), (&relays[1], "cache", "ads_cache")]
        {
            let offer = ad(&server.url).unwrap();
            let [(_, impression), ..] = events(&offer);
            relay.cut();
            let (status, text) = fetch(&server.url, "GET", &impression);
            assert_eq!(status, 503, "{what} {code}: {text}");
            assert!(text.contains(&format!(r#""code":"{code}""#)), "{what}: {text}");
            assert_eq!(ad(&server.url), None, "{what} {code}");
            until(&503, || fetch(&server.url, "GET", "/healthz").0);
            assert!(metric(&server.url, &format!("{name}_lost_total")) >= 1.0);
            relay.restore();
            until(&200, || fetch(&server.url, "GET", "/healthz").0);
            // What was refused did not happen, and happens now.
            assert_eq!(fetch(&server.url, "GET", &impression).0, 200, "{what} {code}");
            assert!(ad(&server.url).is_some(), "{what} {code}");
            assert!(metric(&server.url, &format!("{name}_renewed_total")) >= 1.0);
        }
        assert_eq!(metric(&server.url, "ads_impressions_total"), 2.0, "{what}");
    }
}

/// A server of several processes, as a process that can be ended.
fn several(store: &str, more: &[&str]) -> (Running, String) {
    let mut command = throng(["serve"].iter().chain(&small(store, more)));
    command.args(["--processes", "2", "--listen", "127.0.0.1:0"]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    let line = running.line();
    let url = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
    (running, url)
}

fn children(pid: u32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn processes_share_campaigns_and_a_log() {
    let Some(services) = Services::start_beside(&["mysql", "postgres"], &["redis"]) else {
        return;
    };
    let Some(redis) = services.url("redis") else {
        return;
    };
    for database in Database::each(&services, "ads_shared") {
        let space = Space::new();
        let log = space.path("access.log");
        let log_name = log.to_str().unwrap();
        let more = ["--cache", redis, "--campaign-limit", "100", "--access-log", log_name];
        let (running, url) = several(&database.url, &more);
        let is_over = AtomicBool::new(false);
        // Each on a connection of its own, which the kernel gives to any of the processes.
        let served: usize = std::thread::scope(|scope| {
            let requests: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..50).filter(|_| ad(&url).is_some()).count()))
                .collect();
            // Whichever process is queried meanwhile, no figure falls.
            let watching = scope.spawn(|| {
                let mut last = 0.0;
                while !is_over.load(Ordering::Relaxed) {
                    let now = metric(&url, "ads_served_total");
                    assert!(now >= last, "{now} ads served after {last}");
                    last = now;
                }
            });
            let served: Vec<_> =
                requests.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            is_over.store(true, Ordering::Relaxed);
            watching.join().unwrap();
            served.into_iter().map(Result::unwrap).sum()
        });
        assert_eq!(served, 100, "{}", database.kind);
        // Either process reports the figures of both.
        until(&100.0, || metric(&url, "ads_served_total"));
        running.interrupt();
        let ended = running.end().with(0);
        ended.stderr_contains("ads stopped: 100 ads served");
        assert_eq!(database.number("SELECT count(*) FROM ads_offers"), 100);
        assert_eq!(database.number("SELECT processes FROM ads_mark"), 2);
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.lines().count(), 200);
        // Both wrote, and all of it is read.
        let mut model = throng(["model"]);
        model.arg(&log).arg("-o").arg(space.path("model.yaml"));
        Ended::of(&mut model).with(0).stdout_contains("200 requests");
    }
    let Some(database) = Database::each(&services, "ads_killed").pop() else {
        return skip("no database server");
    };
    let (running, _) = several(&database.url, &["--cache", redis]);
    let first = children(running.pid())[0];
    let pid = rustix::process::Pid::from_raw(first).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let ended = running.end().with(69);
    ended.stderr_contains(&format!("(pid {first}) ended unexpectedly: signal: 9"));
    let (running, url) = several(&database.url, &["--cache", redis]);
    drop(running);
    // Who started them died without a word: they end by themselves.
    let address: SocketAddr = url.trim_start_matches("http://").parse().unwrap();
    until(&true, || TcpStream::connect(address).is_err());
    assert!(!url.contains(PASSWORD));
}

/// The mean of a metric's values within a time, in seconds.
fn mean(probes: &record::Probes, role: &str, metric: &str, from_s: i64, to_s: i64) -> f64 {
    let place = probes.list.iter().position(|info| info.role == role && info.metric == metric);
    let place = place.unwrap_or_else(|| panic!("{role} reports no {metric}"));
    let within = from_s * 1_000_000_000..to_s * 1_000_000_000;
    let rows = probes.rows.iter();
    let values: Vec<f64> = rows
        .filter(|row| row.probe as usize == place && within.contains(&row.at_ns))
        .map(|row| row.value)
        .collect();
    assert!(!values.is_empty(), "{role} {metric} has no value from {from_s} to {to_s} s");
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn three_databases_are_in_one_report() {
    let Some(services) = Services::start(&["mysql", "postgres", "redis"]) else {
        return;
    };
    let databases = Database::each(&services, "ads_report");
    let redis = services.url("redis");
    let ([mariadb, postgres], Some(redis)) = (&databases[..], redis) else {
        return;
    };
    let servers = [mariadb, postgres]
        .map(|database| Served::start(&small(&database.url, &["--cache", redis])));
    let space = Space::new();
    let mut run = space.run(&[]);
    run.arg(root().join("examples/ads/databases.yaml"));
    let urls = servers.each_ref().map(|server| &server.url);
    for set in [
        &format!("mariadb={}", urls[0]),
        &format!("postgres={}", urls[1]),
        "rate=100/s",
        "before=3s",
        "length=5s",
        "think=20ms",
    ] {
        run.args(["--set", set]);
    }
    run.env("MYSQL_URL", &mariadb.url).env("POSTGRES_URL", &postgres.url).env("REDIS_URL", redis);
    let ended = Ended::of(&mut run).with(0);
    let record = space.only();
    let probes = record.probes().unwrap();
    // Before the load nothing happens but what the probes themselves do.
    for (role, metric) in [
        ("mariadb", "Queries"),
        ("mariadb", "Com_insert"),
        ("postgres", "xact_commit"),
        ("postgres", "tup_inserted"),
        ("redis", "total_commands_processed"),
    ] {
        let before = mean(&probes, role, metric, 0, 3);
        let under = mean(&probes, role, metric, 4, 8);
        assert!(under > before + 20.0, "{role} {metric}: {before}/s, then {under}/s");
    }
    // In the one page, and in the one table.
    let directory = &space.directories()[0];
    let page = std::fs::read_to_string(directory.join("report.html")).unwrap();
    let mut export = throng(["export", "--csv"]);
    export.arg(space.path("figures")).arg(directory);
    Ended::of(&mut export).with(0);
    let table = std::fs::read_to_string(space.path("figures").join("probes.csv")).unwrap();
    for name in ["Queries", "xact_commit", "total_commands_processed"] {
        assert!(page.contains(&format!("\"{name}\"")), "the page has no {name}");
        assert!(table.contains(name), "the table has no {name}");
    }
    for text in [&ended.out, &ended.err, &table, &page] {
        assert!(!text.contains(PASSWORD), "a password is shown");
    }
}
