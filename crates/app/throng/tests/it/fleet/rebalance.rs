//! Shares of lost agents that others take over from a stated moment on.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use record::Run;
use record::schema::{EventKind, Summary, Verdict};

use super::{Server, agent, agents, are_free, by_fleet, has_nats};
use crate::support::{Ended, Relay, Running, Space, pass, server, throng};

/// Users who come once each, and stay for a while.
const COMERS: &str = r#"
name: comers
target: http://127.0.0.1:1
options: { loops: 3, lag_max: 5s, drain: 5s }
sessions:
  comer:
    - get: "/u/${user}"
      as: comes
    - think: 2s
arrivals: [ { constant: 30/s, for: 20s, name: come }, { hold: 3s } ]
"#;
/// Of the plan.
const USERS: u64 = 600;

/// How often each user came, as the target counts.
type Came = Arc<Mutex<BTreeMap<u64, u64>>>;

/// A target that counts who comes, and its URL.
fn target() -> (Came, String) {
    let came = Came::default();
    let counted = Arc::clone(&came);
    let address = server(move |mut stream| {
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                std::io::Read::read_exact(&mut stream, &mut byte)?;
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head);
            let user = head.split(['/', ' ']).nth(3).unwrap_or_default();
            if let Ok(user) = user.parse() {
                *counted.lock().unwrap().entry(user).or_default() += 1;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    });
    (came, format!("target=http://{address}"))
}

fn comers(space: &Space, server: &Server, target: &str, args: &[&str]) -> Command {
    let common = ["--set", target, "--on-loss", "rebalance"];
    by_fleet(space, server, COMERS, &[&common[..], args].concat())
}

/// From when the share of this worker was started by others, and how many users it had from then on.
#[track_caller]
fn dealt(run: &Run, lost: u32) -> (u64, u64) {
    let events = run.events().unwrap();
    let mut deals = events.iter().filter_map(|event| match &event.what {
        EventKind::ShareDealt { worker, from_ns, users, .. } if *worker == lost => {
            Some((*from_ns, *users))
        }
        _ => None,
    });
    let deal = deals.next().expect("its share was dealt");
    assert_eq!(deals.next(), None, "once");
    deal
}

/// Insists that nobody came twice and that everybody came who was due from this moment on; and that the sums hold.
#[track_caller]
fn all_came_once(came: &Came, summary: &Summary, from_ns: u64) {
    let came = came.lock().unwrap();
    let twice: Vec<_> = came.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "more than once: {twice:?}");
    // User n is due after n/30 s.
    let due = (0..USERS).filter(|user| user * 1_000_000_000 / 30 >= from_ns);
    let missing: Vec<u64> = due.filter(|user| !came.contains_key(user)).collect();
    assert!(missing.is_empty(), "never: {missing:?}");
    let users = &summary.users;
    assert_eq!(users.started + users.never_came, USERS, "{users:?}");
    let ended = users.finished + users.failed + users.stopped + users.cut_off;
    assert_eq!(users.started, ended + users.lost, "{users:?}");
    assert_eq!(users.due, Some(users.started), "{users:?}");
    let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes.first(), Some(&"worker-lost"), "{codes:?}");
    assert!(!codes.contains(&"sums-broken"), "{codes:?}");
    assert_ne!(summary.verdict, Verdict::Untrusted, "{codes:?}");
}

#[test]
fn the_users_of_a_killed_worker_are_started_by_the_others() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let agents = agents(&space, &server, 3);
    let (came, target) = target();
    let mut running = Running::start(&mut comers(&space, &server, &target, &[]));
    running.second();
    agents[1].kill_child();
    let ended = running.end().with(0);
    ended.stderr_contains("of worker 2 are started by the others from");
    ended.stdout_contains("worker 2 of 3 was lost at");
    ended.stdout_contains("were dealt to the others");
    let run = space.only();
    let summary = space.summary();
    let (from_ns, users) = dealt(&run, 1);
    assert_eq!(summary.users.dealt, users);
    // Its agent says at once that it is gone.
    assert!(from_ns < 12_000_000_000, "{from_ns}");
    // Ten a second, of those whose number leaves one when divided by three.
    let due = (1..USERS).step_by(3);
    let due = due.filter(|user| user * 1_000_000_000 / 30 >= from_ns);
    assert_eq!(due.count() as u64, users);
    assert!(summary.users.lost > 0, "{:?}", summary.users);
    all_came_once(&came, &summary, from_ns);
    are_free(&server, 3);
}

/// While it is away, and when it is back, it starts nobody whom others start.
#[test]
fn an_agent_that_returns_after_its_share_was_dealt_starts_nobody() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let _agents = agents(&space, &server, 2);
    let relay = Relay::to(([127, 0, 0, 1], server.port).into());
    let _third = agent(&space, &format!("nats://{}", relay.address), 3);
    let (came, target) = target();
    let mut command = comers(&space, &server, &target, &["--lost-after", "6s"]);
    let mut running = Running::start(&mut command);
    running.second();
    relay.cut();
    while !running.stderr_line().contains("are started by the others") {}
    // The moment has passed by then.
    pass(Duration::from_secs(6));
    relay.restore();
    let ended = running.end().with(0);
    ended.stdout_contains("worker 3 of 3 was lost at");
    let run = space.only();
    let summary = space.summary();
    let (from_ns, users) = dealt(&run, 2);
    assert!(users > 50, "{users}");
    all_came_once(&came, &summary, from_ns);
    are_free(&server, 3);
}

/// The next one knows what was dealt, and deals it no more.
#[test]
fn a_controller_that_attaches_knows_what_was_dealt() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let agents = agents(&space, &server, 3);
    let (came, target) = target();
    let mut running = Running::start(&mut comers(&space, &server, &target, &[]));
    let first = running.stderr_line();
    let run = first.split_whitespace().nth(1).unwrap().to_owned();
    running.second();
    agents[0].kill_child();
    while !running.stderr_line().contains("are started by the others") {}
    // Its record has it after three intervals.
    pass(Duration::from_secs(4));
    running.kill();
    let (from_ns, users) = dealt(&space.only(), 0);
    let elsewhere = Space::new();
    let mut attach = throng(["fleet", "attach", &run, "--fleet", &server.url(), "--runs"]);
    Ended::of(attach.arg(elsewhere.path("runs"))).with(0);
    assert_eq!(dealt(&elsewhere.only(), 0), (from_ns, users));
    all_came_once(&came, &elsewhere.summary(), from_ns);
}
