//! The market over NATS, which is restarted without its data in the middle.

use std::process::{Child, Command, Stdio};

use testkit::services::Services;

use super::players::Players;
use super::processes::Processes;
use super::{BATCH, SEED, open_money, publication};
use crate::stores::{metric, until};
use crate::support::{Database, Space, pass};

/// Ended with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills the NATS server and starts another one, which knows nothing, in its place.
fn replace(services: &Services, url: &str, space: &Space) -> Started {
    let pid = services.pid("nats").to_string();
    let killed = Command::new("kill").args(["-KILL", &pid]).status().unwrap();
    assert!(killed.success());
    let (login, address) = url.strip_prefix("nats://").unwrap().rsplit_once('@').unwrap();
    let (user, password) = login.split_once(':').unwrap();
    let (host, port) = address.split_once(':').unwrap();
    let mut command = Command::new("nats-server");
    command.args(["--addr", host, "--port", port, "--user", user, "--pass", password]);
    command.args(["--jetstream", "--store_dir"]).arg(space.path("nats"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Started(command.spawn().unwrap())
}

#[test]
fn subscribers_over_nats_get_all_in_order_and_the_newest_after_a_restart() {
    let Some(services) = Services::start_beside(&["mysql"], &["nats"]) else {
        return;
    };
    let (Some(nats), Some(database)) =
        (services.url("nats"), Database::on(&services, "mysql", "ads_market_nats"))
    else {
        return;
    };
    let space = Space::new();
    let mut processes = Processes::start_with(&database.url, &["--bus", nats]);
    let urls = processes.addresses().lock().unwrap().clone();
    let play = |requests| drop(Players::start(&processes.addresses(), requests, SEED).end());

    let before = publication::subscribe(&urls);
    play(2_000);
    pass(BATCH * 3);
    let mut last = std::collections::BTreeMap::new();
    for (game, published) in publication::compare(before) {
        assert_eq!(published.gaps, [0; 0], "g{game}");
        last.insert(game, *published.by_number.keys().next_back().unwrap());
    }

    let across = publication::subscribe(&urls);
    let _started = replace(&services, nats, &space);
    until(&true, || {
        let returns = |url: &String| metric(url, "market_bus_resubscribed_total") > 0.0;
        urls.iter().all(returns)
    });
    play(2_000);
    // The last change is published within the time of a batch.
    pass(BATCH * 3);
    processes.end_feed();
    pass(BATCH * 3);
    let mut last_total = 0;
    // What they got is the same, under numbers that rise.
    for (game, published) in publication::compare(across) {
        let first = *published.by_number.keys().next().unwrap();
        assert!(first > last[&game], "g{game}: {first} after {}", last[&game]);
        let mut newest = published.by_number.values().rev();
        let newest = newest.find(|message| message["type"] == "distribution");
        last_total += newest.unwrap()["total"].as_i64().unwrap();
    }
    assert_eq!(last_total, open_money(&database));
    processes.stop();
}
