//! What agents keep on their disks until the controller has stored it.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use record::Run;
use record::schema::{EventKind, RunStatus, Verdict};
use rustix::process::{Pid, Signal, kill_process};

use super::{FANS, Server, VISITORS, agent, agents, by_fleet, has_nats, is_whole, spools};
use crate::support::{Ended, Relay, Running, Served, Space, pass};
use crate::workers::planned;

/// What a run has of each user by plan: its loop, when it was due, how often it did what.
pub(super) type Users = BTreeMap<u64, (u16, u64, BTreeMap<u16, u64>)>;

/// Makes the visitors come for eight seconds.
const LONG: [&str; 2] = ["--set", "arrivals.0.for=8s"];

/// The rows of the long run of visitors on one machine, which nothing disturbs.
pub(super) fn unbroken() -> &'static Users {
    static USERS: OnceLock<Users> = OnceLock::new();
    USERS.get_or_init(|| {
        let alone = Space::new();
        alone.file("thinks.txt", "10ms\n20ms\n30ms\n");
        Ended::of(alone.run_text(VISITORS, &LONG).env("PAGE", "games")).with(0);
        let users = planned(&alone.only());
        assert!(users.len() > 250, "{}", users.len());
        users
    })
}

/// The long run of visitors by the fleet, of a target that outlives its controller.
pub(super) fn visitors(space: &Space, server: &Server, target: &Served, args: &[&str]) -> Command {
    let target = format!("target={}", target.url);
    by_fleet(space, server, VISITORS, &[&LONG[..], &["--set", &target], args].concat())
}

/// Insists that the run lost nothing: second follows second, and the rows are those of the plan.
#[track_caller]
pub(super) fn is_unbroken(run: &Run) {
    let workers = &run.info().workers;
    assert!(workers.iter().all(|worker| worker.lost_at_ns.is_none()));
    let mut until_ns = 0;
    for row in &run.series().unwrap() {
        assert_eq!((row.start_ns, row.loops_lost), (until_ns, 0));
        until_ns = row.end_ns;
    }
    let found = planned(run);
    let expected = unbroken();
    assert_eq!(found.len(), expected.len(), "users");
    assert!(found == *expected, "their rows");
}

/// For how long an agent is cut off, seconds; 60 takes a minute and a half.
const CUT: &str = "THRONG_FLEET_CUT_S";

/// It makes its part of the plan alone, and what it has measured is counted to the last operation.
#[test]
fn an_agent_without_nats_measures_what_the_plan_says_to_the_last_operation() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let _agents = agents(&space, &server, 2);
    let relay = Relay::to(([127, 0, 0, 1], server.port).into());
    let _third = agent(&space, &format!("nats://{}", relay.address), 3);
    let seconds = std::env::var(CUT).map_or(5, |seconds| seconds.parse().expect(CUT));
    let lost_after = format!("{}s", seconds + 30);
    let args = ["--lost-after", &lost_after];
    let mut running = Running::start(&mut visitors(&space, &server, &target, &args));
    running.second();
    relay.cut();
    pass(Duration::from_secs(seconds));
    relay.restore();
    let ended = running.end().with(0);
    ended.stderr_contains("agent a3 reports again");
    is_unbroken(&space.only());
}

/// Files of spools that are there.
fn spool_files(space: &Space) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(spools(space));
    let directories = entries.into_iter().flatten().flatten();
    directories.map(|entry| entry.path()).collect()
}

#[test]
fn a_store_that_nats_loses_is_sent_again() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let mut agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut visitors(&space, &server, &target, &[]));
    running.second();
    while spool_files(&space).len() < 3 {
        running.second();
    }
    let _server = server.lose_store(&space, Duration::from_secs(1));
    let ended = running.end().with(0);
    ended.stderr_contains("NATS is back");
    is_unbroken(&space.only());
    // Agents forget what the controller has.
    agents.iter_mut().for_each(|agent| {
        agent.line();
        assert!(agent.line().contains("ended"));
    });
    assert_eq!(spool_files(&space), Vec::<std::path::PathBuf>::new());
}

/// The longest is as long as an agent is waited for by default, twice.
#[test]
fn connections_that_are_cut_lose_nothing() {
    if !has_nats() {
        return;
    }
    for (cut_s, args) in [(1, &["--lost-after", "30s"]), (10, &["--lost-after", "30s"])] {
        let space = Space::new();
        let server = Server::start(&space, None);
        let target = Served::start(&["market"]);
        let relay = Relay::to(([127, 0, 0, 1], server.port).into());
        let url = format!("nats://{}", relay.address);
        let _agents =
            [agent(&space, &server.url(), 1), agent(&space, &url, 2), agent(&space, &url, 3)];
        let mut running = Running::start(&mut visitors(&space, &server, &target, args));
        running.second();
        relay.cut();
        pass(Duration::from_secs(cut_s));
        relay.restore();
        running.end().with(0);
        is_unbroken(&space.only());
    }
}

#[test]
fn a_worker_that_is_killed_while_nats_is_away_loses_only_what_it_had_not_written() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut by_fleet(&space, &server, FANS, &[]));
    running.second();
    let port = server.port;
    server.stop();
    pass(Duration::from_secs(4));
    agents[1].kill_child();
    pass(Duration::from_secs(1));
    let _server = Server::start(&space, Some(port));
    let ended = running.end().with(2);
    ended.stdout_contains("agent a2: its process ended");
    reported_while_away(&space, 3_000_000_000);
}

#[test]
fn an_agent_that_is_killed_and_starts_again_sends_the_rest() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let mut agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut by_fleet(&space, &server, FANS, &[]));
    running.second();
    let port = server.port;
    server.stop();
    pass(Duration::from_secs(4));
    agents[1].kill();
    pass(Duration::from_secs(1));
    let server = Server::start(&space, Some(port));
    // Its card is of the memory of NATS.
    let mut again = agent(&space, &server.url(), 2);
    assert!(again.line().contains("agent a2 sends what run"));
    let ended = running.end().with(2);
    ended.stdout_contains("agent a2: it was killed, and started again");
    reported_while_away(&space, 3_000_000_000);
}

#[test]
fn an_agent_that_is_stopped_while_nats_is_away_sends_the_rest_when_it_is_started_again() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let mut agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut by_fleet(&space, &server, FANS, &[]));
    running.second();
    let port = server.port;
    server.stop();
    pass(Duration::from_secs(4));
    agents[1].signal(Signal::TERM);
    assert!(agents[1].ends_within(Duration::from_secs(20)));
    let server = Server::start(&space, Some(port));
    let mut again = agent(&space, &server.url(), 2);
    assert!(again.line().contains("agent a2 sends what run"));
    running.end().with(2);
    reported_while_away(&space, 3_000_000_000);
}

/// Insists that the second worker, which is lost, has reported this long after NATS had gone, and that the rows of it are
/// as many as its seconds counted.
#[track_caller]
fn reported_while_away(space: &Space, after_ns: u64) {
    let run = space.only();
    let summary = space.summary();
    assert_eq!(run.info().status, RunStatus::Complete);
    assert_eq!(summary.verdict, Verdict::Untrusted);
    let events = run.events().unwrap();
    let reported = events.iter().find_map(|event| match &event.what {
        EventKind::WorkerLost { worker: 1, reported_ns, .. } => Some(*reported_ns),
        _ => None,
    });
    let reported_ns = reported.expect("the second worker was lost");
    assert!(reported_ns >= after_ns, "{reported_ns}");
    // Of 60 users each agent had 20.
    assert_eq!(summary.users.lost + summary.users.never_came, 20);
    let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(!codes.contains(&"sums-broken"), "{codes:?}");
}

/// Its rows come late, and all of them.
#[test]
fn a_spool_that_is_full_holds_rows_back_and_loses_none() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let url = server.url();
    let mut small = crate::support::throng(["agent", "--nats", &url, "--name", "a1"]);
    small.args(["--spool-max", "1KiB", "--spool"]).arg(spools(&space));
    let mut small = Running::start(&mut small);
    small.line();
    let mut running = Running::start(&mut by_fleet(&space, &server, FANS, &[]));
    running.second();
    running.end().with(0);
    is_whole(&space);
}

#[test]
fn a_worker_of_a_stopped_agent_is_gone_with_its_spool() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let mut agents = agents(&space, &server, 2);
    let mut running = Running::start(&mut by_fleet(&space, &server, FANS, &[]));
    running.second();
    let worker: Vec<Pid> = agents[1].children();
    agents[1].signal(Signal::TERM);
    let ended = running.end().with(2);
    ended.stdout_contains("agent a2: its agent was stopped");
    assert!(agents[1].ends_within(Duration::from_secs(20)));
    assert!(kill_process(worker[0], Signal::INT).is_err(), "it is gone");
    assert!(spool_files(&space).is_empty());
}
