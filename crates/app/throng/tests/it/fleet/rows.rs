//! Rows that stay with the agents, or that nobody writes.

use std::path::Path;
use std::time::Duration;

use record::Run;
use record::schema::{RowsKept, Verdict};

use super::spool::{is_unbroken, visitors};
use super::{Server, VISITORS, agent, agents, by_fleet, counts, has_nats, rows_of};
use crate::support::{Ended, Running, Served, Space, pass, throng};
use crate::workers::planned;

/// `throng fleet fetch` of the one run in this space.
fn fetch(server: &Server, run: &Run, args: &[&str]) -> Ended {
    let mut fetch = throng(["fleet", "fetch", "--nats", &server.url()]);
    Ended::of(fetch.args(args).arg(run.path()))
}

/// The users' rows of an undisturbed run on one machine, and its counts.
fn alone() -> Space {
    let alone = Space::new();
    alone.file("thinks.txt", "10ms\n20ms\n30ms\n");
    Ended::of(alone.run_text(VISITORS, &[]).env("PAGE", "games")).with(0);
    alone
}

/// What is in the directory of the agents' rows.
fn kept(space: &Space) -> usize {
    std::fs::read_dir(rows_of(space)).map_or(0, Iterator::count)
}

#[test]
fn rows_that_stay_with_the_agents_are_fetched_and_are_those_of_one_machine() {
    if !has_nats() {
        return;
    }
    let alone = alone();
    let space = Space::new();
    let server = Server::start(&space, None);
    let _agents = agents(&space, &server, 3);
    let runs = Space::new();
    let ended = Ended::of(&mut by_fleet(&runs, &server, VISITORS, &["--rows", "leave"])).with(0);
    ended.stdout_contains("stayed on the machines of 3 agents");
    let run = runs.only();
    assert_eq!(counts(&runs.summary()), counts(&alone.summary()));
    assert!(planned(&run).is_empty(), "no row is here");
    let workers = run.info().workers.iter();
    let parts: Vec<_> = workers.map(|w| w.rows.clone().unwrap()).collect();
    for rows in &parts {
        let part = rows.part.as_ref().unwrap();
        assert_eq!((rows.kept, rows.lost), (RowsKept::Agent, 0));
        let file = std::fs::metadata(rows.path.as_ref().unwrap()).unwrap();
        assert_eq!(part.bytes, file.len());
    }
    let shown = Ended::of(throng(["show", "--full"]).arg(run.path())).with(0);
    shown.stdout_contains("agents a1, a2, a3; `throng fleet fetch");
    let mut model = throng(["model", "--out"]);
    model.arg(runs.path("model")).arg(run.path());
    Ended::of(&mut model).with(65).stderr_contains("throng fleet fetch");
    let fetched = fetch(&server, &run, &[]).with(0);
    fetched.stdout_contains("as reported");
    fetched.stdout_contains("has all rows");
    assert_eq!(planned(&run), planned(&alone.only()));
    assert!(run.is_complete(), "{:?}", run.missing());
    // Once more changes nothing, and agents remove what is here.
    assert_eq!(kept(&space), 3);
    fetch(&server, &run, &["--remove"]).with(0).stdout_contains("agent a2 has removed its rows");
    assert_eq!(kept(&space), 0);
    let rows: u64 = parts.iter().map(|rows| rows.part.as_ref().unwrap().rows).sum();
    let mut read = 0;
    run.requests(|batch| read += batch.len() as u64).unwrap();
    assert_eq!(read, rows);
}

#[test]
fn an_agent_that_is_gone_or_has_other_rows_is_named() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let mut agents = agents(&space, &server, 2);
    let runs = Space::new();
    Ended::of(&mut by_fleet(&runs, &server, VISITORS, &["--rows", "leave"])).with(0);
    let run = runs.only();
    agents[1].kill();
    let part = |worker: usize| {
        let rows = run.info().workers[worker].rows.clone().unwrap();
        rows.path.unwrap()
    };
    let whole = std::fs::read(part(0)).unwrap();
    let mut changed = whole.clone();
    changed[100] ^= 1;
    std::fs::write(part(0), &changed).unwrap();
    // Its card lasts eight seconds.
    pass(Duration::from_secs(10));
    let ended = fetch(&server, &run, &[]).with(69);
    ended.stderr_contains("the rows of agent a1 are not those that it reported");
    ended.stderr_contains("agent a2 is not in the fleet: start it again");
    assert!(planned(&run).is_empty());
    std::fs::write(part(0), &whole[..whole.len() / 2]).unwrap();
    fetch(&server, &run, &[]).with(69).stderr_contains("requests.parquet ends after");
    // What could be fetched stays.
    std::fs::write(part(0), &whole).unwrap();
    fetch(&server, &run, &[]).with(69).stdout_contains("agent a1: ");
    let shown = Ended::of(throng(["show", "--full"]).arg(run.path())).with(0);
    shown.stdout_contains("of agent a2; `throng fleet fetch");
    let _second = agent(&space, &server.url(), 2);
    let ended = fetch(&server, &run, &[]).with(0);
    assert!(!ended.out.contains("agent a1: "), "{}", ended.out);
    assert!(planned(&run).len() > 50);
}

#[test]
fn rows_that_nobody_writes_are_reported_as_such() {
    if !has_nats() {
        return;
    }
    let alone = alone();
    let space = Space::new();
    let server = Server::start(&space, None);
    let _agents = agents(&space, &server, 2);
    let runs = Space::new();
    let args = ["--rows", "none", "--set", "options.loops=3"];
    let ended = Ended::of(&mut by_fleet(&runs, &server, VISITORS, &args)).with(0);
    ended.stdout_contains("no rows of single operations were written");
    let run = runs.only();
    let summary = runs.summary();
    assert_eq!(counts(&summary), counts(&alone.summary()));
    assert_eq!(summary.health.rows_kept, 0.0);
    assert!(!run.path().join("requests.parquet").exists());
    assert_eq!(kept(&space), 0);
    fetch(&server, &run, &[]).with(65).stderr_contains("there is nothing to fetch");
    let log = runs.path("tsung.dump");
    let args = ["--rows", "none", "--tsung-log", log.to_str().unwrap()];
    Ended::of(&mut by_fleet(&runs, &server, VISITORS, &args))
        .with(64)
        .stderr_contains("--tsung-log is made of rows");
}

/// Its segments are there, without a digest.
#[test]
fn the_rows_of_a_worker_that_was_killed_are_fetched_as_far_as_they_were_written() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let agents = agents(&space, &server, 2);
    let runs = Space::new();
    let mut running = Running::start(&mut visitors(&runs, &server, &target, &["--rows", "leave"]));
    // Rows older than five seconds are in a segment.
    running.second();
    pass(Duration::from_secs(5));
    agents[0].kill_child();
    running.end().with(2);
    let run = runs.only();
    assert_eq!(runs.summary().verdict, Verdict::Untrusted);
    let fetched = fetch(&server, &run, &[]).with(0);
    fetched.stdout_contains("agent a1: ");
    fetched.stdout_contains("its worker was lost before it reported their digest");
    let loops = &run.info().workers[0];
    let first = u16::try_from(loops.loops_first).unwrap();
    let mut of_lost = 0;
    run.requests(|batch| {
        let own = batch.iter().filter(|row| row.loop_id == first);
        of_lost += own.count();
    })
    .unwrap();
    assert!(of_lost > 0, "its first seconds are there");
}

#[test]
fn another_controller_has_the_references_as_well() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let _agents = agents(&space, &server, 3);
    let args = ["--rows", "leave"];
    let mut running = Running::start(&mut visitors(&space, &server, &target, &args));
    let first = running.stderr_line();
    let name = first.split_whitespace().nth(1).unwrap().to_owned();
    running.second();
    running.kill();
    let elsewhere = Space::new();
    let mut attach = throng(["fleet", "attach", &name, "--fleet", &server.url(), "--runs"]);
    Ended::of(attach.arg(elsewhere.path("runs"))).with(0);
    let run = elsewhere.only();
    fetch(&server, &run, &[]).with(0);
    is_unbroken(&run);
}

#[test]
fn a_place_where_no_rows_may_stay_is_an_error_before_the_start() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let file = space.file("file", "no directory");
    let mut agent = throng(["agent", "--nats", &server.url(), "--name", "a1"]);
    agent.arg("--spool").arg(space.path("spools"));
    agent.arg("--rows-dir").arg(Path::new(&file));
    let mut agent = Running::start(&mut agent);
    agent.line();
    let runs = Space::new();
    Ended::of(&mut by_fleet(&runs, &server, VISITORS, &["--rows", "leave"]))
        .with(71)
        .stderr_contains("no rows can be kept in");
    // Others are no concern of it.
    Ended::of(&mut by_fleet(&runs, &server, VISITORS, &[])).with(0);
}
