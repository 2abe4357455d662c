//! Names that are resolved again during a run: who comes back when a region dies.

use std::process::Command;

use record::Outcome;
use record::schema::EventKind;
use stats::rng::{Purpose, Rng};
use testkit::needs::skip;

use super::Lab;
use crate::support::{Ended, root, throng};

const SECOND: u64 = 1_000_000_000;
/// The share of users that keep the first answer.
const IGNORING: f64 = 0.5;
const SEED: u64 = 11;
/// When the first region's instance is killed, and when it comes back.
const DIES_S: u64 = 4;
const BACK_S: u64 = 14;

const FAULTS: &str = "faults: [ { at: 4s, for: 10s, kill: web, region: near } ]\n";

/// Each user connects once.
const SCENARIO: &str = "
name: routing
target: http://first.lab/
seed: 11
regions: { near: 1 }
options: { dns: { resolvers: 2, ignore_ttl: 50% }, lag_max: 5s, timeout: 900ms, connect_timeout: 900ms }
sessions: { one: [ { get: /, as: page } ] }
arrivals: [ { constant: 20/s, for: 18s } ]
";

/// Whether a user keeps the first answer, as the documents say: the second draw of its own.
fn keeps(user: u64) -> bool {
    let mut draws = Rng::new(SEED, user, Purpose::Address);
    draws.next_u64();
    draws.unit() < IGNORING
}

/// Connections that the kernel of a host accepted.
fn accepted(lab: &Lab, host: &str) -> u64 {
    let ended = lab.exec(host, "grep ^Tcp: /proc/net/snmp");
    let mut lines = ended.out.lines().map(str::split_ascii_whitespace);
    let names = lines.next().unwrap();
    let values = lines.next().unwrap();
    let found = names.zip(values).find(|(name, _)| *name == "PassiveOpens");
    found.unwrap().1.parse().unwrap()
}

/// Questions for the name from the region of users.
fn questions(lab: &Lab) -> u64 {
    let status = lab.does(&["status"]);
    let line = status.lines().find(|line| {
        line.trim_start().starts_with("name first.lab:") && line.ends_with("from near")
    });
    let count = line.and_then(|line| line.split(' ').rev().nth(3)?.parse().ok());
    count.unwrap_or(0)
}

#[test]
fn users_come_back_after_a_region_died_unless_they_ignore_the_ttl() {
    let Some(lab) = Lab::new("routing", FAULTS) else {
        return;
    };
    lab.up();
    let scenario = lab.space.file("routing.yaml", SCENARIO);
    let far_before = accepted(&lab, "web-far");
    let before = questions(&lab);
    let begun = super::now();
    let run = lab.records_inside(&scenario);
    let seconds = begun.elapsed().as_secs();
    let queried = questions(&lab) - before;
    let far = accepted(&lab, "web-far") - far_before;

    // By user: when it was due, in which group it is, and how it ended.
    let page = run.info().measures.iter().position(|m| m.name == "page");
    let page = page.unwrap() as u16;
    let mut users = Vec::new();
    run.requests(|rows| {
        for row in rows.iter().filter(|row| row.measure == page) {
            users.push((row.due_ns, keeps(row.user), row.outcome == Outcome::Ok));
        }
    })
    .unwrap();
    assert_eq!(users.len(), 360);
    let share = |from_s: u64, until_s: u64, keeping: bool| {
        let due = from_s * SECOND..until_s * SECOND;
        let group =
            users.iter().filter(|(due_ns, keeps, _)| due.contains(due_ns) && *keeps == keeping);
        let served = group.clone().filter(|(_, _, served)| *served).count();
        served as f64 / group.count() as f64
    };
    // A second for the health check, one for its attempt, one for the TTL, and time for a machine that is busy.
    let again_s = DIES_S + 5;
    for keeping in [false, true] {
        assert!(share(0, DIES_S - 1, keeping) > 0.9, "before");
        assert!(share(DIES_S, again_s, keeping) < 1.0, "at first");
        assert!(share(BACK_S + 2, 18, keeping) > 0.9, "at last");
    }
    assert!(share(again_s, BACK_S, false) > 0.9, "those that obey the TTL");
    assert_eq!(share(DIES_S + 1, BACK_S - 1, true), 0.0, "those that do not");

    // The name server counted: two questions of the system's resolver, one of each resolver at the start, and then one
    // of each in every second.
    assert!(queried >= 4 + 2 * 14 && queried <= 6 + 2 * (seconds + 1), "{queried}");
    // The kernel of the other region's host counted users that were served there, and health checks, one a second.
    let served_far = users.iter().filter(|(due_ns, keeps, served)| {
        (again_s * SECOND..BACK_S * SECOND).contains(due_ns) && !keeps && *served
    });
    let served_far = served_far.count() as u64;
    assert!(
        (served_far..=served_far + 20 * 5 + 2 * seconds + 10).contains(&far),
        "{served_far} {far}"
    );
    let changes: Vec<_> = run
        .events()
        .unwrap()
        .into_iter()
        .filter_map(|event| match event.what {
            EventKind::AddressesChanged { name, addresses, .. } => {
                Some((event.at_ns / SECOND, name, addresses))
            }
            _ => None,
        })
        .collect();
    assert!((2..=8).contains(&changes.len()), "{changes:?}");
    assert!(changes.iter().all(|(_, name, _)| name == "first.lab"));
    assert!(changes[0].2.contains_key("198.18.4.1"), "{changes:?}");
    let last = changes.last().unwrap();
    assert!(last.2.contains_key("198.18.0.1"), "{changes:?}");
    let summary = run.summary().unwrap().unwrap();
    let reported = summary.findings.iter().any(|f| f.code == "addresses-changed");
    assert!(reported, "{:?}", summary.findings);
}

/// They take a quarter of an hour: here they are only checked.
#[test]
fn the_examples_of_routing_and_of_mobile_users_are_right() {
    let at_root = |words: &[&str]| {
        let mut command = throng(words);
        Ended::of(command.current_dir(root()))
    };
    for (lab, said, experiment, runs) in [
        (
            "examples/lab/routing.yaml",
            "name geolocation.lab: of api, kept for 10 s",
            "examples/lab/routing-experiment.yaml",
            "14 runs",
        ),
        (
            "examples/lab/matchmaking.yaml",
            "name matchmaking.lab: of api, kept for 10 s",
            "examples/lab/matchmaking-experiment.yaml",
            "8 runs",
        ),
        (
            "examples/lab/mobile.yaml",
            "region ireland-mobile-3g: ireland 320 ms",
            "examples/lab/mobile-experiment.yaml",
            "9 runs",
        ),
        (
            "examples/lab/split.yaml",
            "service apart: on app",
            "examples/lab/split-experiment.yaml",
            "10 runs",
        ),
    ] {
        at_root(&["lab", "check", lab]).with(0).stdout_contains(said);
        at_root(&["experiment", experiment, "--plan", "--dir", "nowhere"])
            .with(0)
            .stdout_contains(runs);
    }
    for scenario in [
        "examples/lab/routing-scenario.yaml",
        "examples/lab/mobile-scenario.yaml",
        "examples/lab/split-scenario.yaml",
    ] {
        at_root(&["check", scenario]).with(0);
    }
    let python = Command::new("python3")
        .args(["-m", "py_compile", "examples/lab/split.py"])
        .env("PYTHONPYCACHEPREFIX", std::env::temp_dir())
        .current_dir(root())
        .status();
    match python {
        Ok(status) => assert!(status.success()),
        Err(_) => skip("Python is not installed"),
    }
}
