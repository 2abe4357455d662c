//! Loops in worker processes: the same run as with threads, and what is reported if one is lost.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};

use record::Run;
use record::schema::{EventKind, RunStatus, Severity, Summary, Verdict};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Ended, Running, Served, Space, throng};

/// Visitors of a market who come and go. Some of what the plan is made of is not in the text: a
/// parameter that is set, the environment, a file.
const VISITORS: &str = r#"
name: visitors
seed: 5
params: { rate: 10/s, page: "${env('PAGE')}" }
target: market
options: { loops: 3 }
sessions:
  visitor:
    - get: /v1/${page}
      as: page
    - think: { empirical: thinks.txt }
    - get: /v1/games/g1/pools
      as: pools
arrivals: [ { poisson: "${rate}", for: 1s }, { hold: 1s } ]
"#;

/// Fans who stay for long.
const FANS: &str = r#"
name: fans
target: market
sessions:
  fan:
    - ws: /v1/stream
    - forever:
        - think: 50ms..150ms
        - send: { op: pools, game: g1 }
          reply: { when: { /re: pools } }
arrivals: [ { constant: 20/s, for: 3s, name: come }, { hold: 2s, name: stay } ]
thresholds: [ 'connected >= 100%', 'error_rate < 1%' ]
"#;

fn visitors(space: &Space, workers: &str) -> Command {
    space.file("thinks.txt", "10ms\n20ms\n30ms\n");
    let mut run = space.run_text(VISITORS, &["--workers", workers, "--set", "params.rate=40/s"]);
    run.env("PAGE", "games");
    run
}

/// What of a run is by plan: each user with its loop, the moment it was due, and how often it did
/// what.
pub(crate) fn planned(run: &Run) -> BTreeMap<u64, (u16, u64, BTreeMap<u16, u64>)> {
    let mut users = BTreeMap::new();
    run.requests(|rows| {
        for row in rows {
            let user = users.entry(row.user).or_insert((row.loop_id, u64::MAX, BTreeMap::new()));
            user.1 = user.1.min(row.due_ns);
            *user.2.entry(row.measure).or_default() += u64::from(row.weight);
        }
    })
    .unwrap();
    users
}

#[test]
fn worker_processes_plan_the_same_run_as_threads() {
    let runs = ["0", "2"].map(|workers| {
        let space = Space::new();
        Ended::of(&mut visitors(&space, workers)).with(0);
        space.market_is_gone();
        (space.only(), space.summary(), space)
    });
    let [(threads, in_threads, _), (workers, in_workers, _)] = &runs;
    let users = planned(threads);
    assert!(users.len() > 20, "{users:?}");
    assert_eq!(planned(workers), users);
    let counts = |summary: &Summary| -> Vec<(String, u64, u64)> {
        let measures = summary.measures.iter();
        let counts = measures.map(|m| (m.name.clone(), m.count, m.errors));
        counts.collect()
    };
    assert_eq!(counts(in_workers), counts(in_threads));
    let crowd = |summary: &Summary| (summary.users.started, summary.users.finished);
    assert_eq!(crowd(in_workers), crowd(in_threads));
    let pids: Vec<u32> = workers.info().workers.iter().map(|w| w.pid).collect();
    assert!(pids.len() == 2 && pids[0] != pids[1], "{pids:?}");
    let loops = workers.info().workers.iter();
    let loops: Vec<_> = loops.map(|w| (w.loops_first, w.loops)).collect();
    assert_eq!(loops, [(0, 1), (1, 2)]);
    assert_eq!(threads.info().workers, []);
    // On one machine there is one monotonic clock: the truth is 0, and the bound must hold it.
    for worker in &workers.info().workers {
        assert!(worker.clock_offset_ns.unsigned_abs() <= worker.clock_bound_ns, "{worker:?}");
    }
    assert!(in_workers.health.cpu_process_ns > 0 && in_workers.health.rss_peak_bytes > 0);
}

#[test]
fn a_url_can_be_loaded_by_workers() {
    let space = Space::new();
    let server = Served::start(&["hello"]);
    let mut run = space.load(&server.url, "20/s", "500ms");
    run.args(["--workers", "2", "--set", "thresholds=[errors == 0]"]);
    Ended::of(&mut run).with(0);
    assert_eq!(space.summary().users.started, 10);
}

/// The process of a worker of the run that goes on here.
fn pid(space: &Space, worker: usize) -> Pid {
    let pid = space.only().info().workers[worker].pid;
    Pid::from_raw(pid as i32).unwrap()
}

/// Runs the fans in four workers, and kills the second in the second second.
fn lossy(space: &Space, args: &[&str]) -> Running {
    let mut run = space.run_text(FANS, &["--workers", "4"]);
    let mut running = Running::start(run.args(args));
    // The first second has been printed, and the run continues.
    running.second();
    kill_process(pid(space, 1), Signal::KILL).unwrap();
    running
}

#[test]
fn a_killed_worker_makes_the_run_untrusted() {
    let space = Space::new();
    let ended = lossy(&space, &[]).end().with(2);
    ended.stdout_contains("UNTRUSTED");
    ended.stdout_contains("fatal: worker 2 of 4 was lost at");
    let run = space.only();
    let summary = space.summary();
    // The others went on to the planned end.
    assert_eq!(run.info().status, RunStatus::Complete);
    let finding = &summary.findings[0];
    assert_eq!((finding.severity, finding.code.as_str()), (Severity::Fatal, "worker-lost"));
    let fatal = summary.findings.iter();
    let fatal = fatal.filter(|f| f.severity == Severity::Fatal).count();
    assert_eq!(fatal, 1, "{:?}", summary.findings);
    let lost_at_ns = run.info().workers.iter().map(|w| w.lost_at_ns.is_some());
    assert_eq!(lost_at_ns.collect::<Vec<_>>(), [false, true, false, false]);
    // Of 60 users each worker had 15: those of this one were lost, or never came.
    let events = run.events().unwrap();
    let (users, due, pid) = events
        .iter()
        .find_map(|event| match event.what {
            EventKind::WorkerLost {
                worker: 1,
                loops_first: 1,
                loops: 1,
                users,
                users_due_after,
                pid,
                ..
            } => Some((users, users_due_after, pid)),
            _ => None,
        })
        .expect("the loss is an event");
    assert_eq!((users + due, pid), (15, run.info().workers[1].pid));
    assert!(users >= 5, "the first second was printed before");
    assert_eq!((summary.users.lost, summary.users.never_came), (users, due));
    assert_eq!(summary.users.started, 60 - due);
    assert!(summary.users.connected <= 45, "lost users are not connected");
    // The gap shows in the series, from some second to the end.
    let series = run.series().unwrap();
    let lost: Vec<u32> = series.iter().map(|row| row.loops_lost).collect();
    assert!(lost.is_sorted() && lost[0] == 0, "{lost:?}");
    assert_eq!(lost.last(), Some(&1));
    shown_by_the_others(&space, &run);
    space.market_is_gone();
}

/// `throng show --allow-lost-workers` judges the run again, and leaves its record as it is.
fn shown_by_the_others(space: &Space, run: &Run) {
    let strict = Ended::of(throng(["show"]).arg(run.path())).with(0);
    strict.stdout_contains("UNTRUSTED");
    let rest = Ended::of(throng(["show", "--allow-lost-workers"]).arg(run.path())).with(0);
    rest.stdout_contains("PASSED");
    rest.stdout_contains("warning: worker 2 of 4 was lost at");
    rest.stdout_contains("the verdict is based on the remaining workers");
    rest.stdout_contains("connected >= 100%");
    assert_eq!(space.summary().verdict, Verdict::Untrusted);
}

/// A worker that does not run holds its connections open, until it is lost after 11 s and its process ended.
#[test]
fn a_frozen_worker_is_lost_and_its_process_ended() {
    let space = Space::new();
    let text = FANS.replace("hold: 2s", "hold: 12s");
    let mut running = Running::start(&mut space.run_text(&text, &["--workers", "4"]));
    running.second();
    let frozen = pid(&space, 1);
    kill_process(frozen, Signal::STOP).unwrap();
    let ended = running.end().with(2);
    ended.stdout_contains("fatal: worker 2 of 4 was lost at");
    let run = space.only();
    assert_eq!(run.info().status, RunStatus::Complete);
    let why = run.events().unwrap().into_iter().find_map(|event| match event.what {
        EventKind::WorkerLost { why, .. } => Some(why),
        _ => None,
    });
    let why = why.expect("the loss is an event");
    assert!(why.starts_with("it was silent for 11"), "{why}");
    assert!(!std::path::Path::new(&format!("/proc/{}", frozen.as_raw_nonzero())).exists());
    let summary = space.summary();
    assert_eq!(summary.users.started + summary.users.never_came, 60);
    space.market_is_gone();
}

#[test]
fn allow_lost_workers_judges_the_others() {
    let space = Space::new();
    lossy(&space, &["--allow-lost-workers"]).end().with(0);
    let summary = space.summary();
    assert!(summary.allow_lost_workers);
    assert_eq!(summary.findings[0].code, "worker-lost");
    assert_eq!(summary.findings[0].severity, Severity::Warning);
    assert!(summary.thresholds.iter().all(|threshold| threshold.passed));
}

#[test]
fn a_run_without_remaining_workers_fails() {
    let space = Space::new();
    let mut run = space.run_text(FANS, &["--workers", "2", "--set", "arrivals.1.hold=60s"]);
    let mut running = Running::start(&mut run);
    running.second();
    for worker in 0..2 {
        kill_process(pid(&space, worker), Signal::KILL).unwrap();
    }
    let ended = running.end().with(2);
    ended.stdout_contains("the run failed after");
    ended.stdout_contains("all workers were lost");
    let run = space.only();
    assert_eq!(run.info().status, RunStatus::Failed);
    assert!(run.is_complete(), "{:?}", run.missing());
    space.market_is_gone();
}

#[test]
fn workers_end_with_their_controller() {
    let space = Space::new();
    let mut run = space.run_text(FANS, &["--workers", "2", "--set", "arrivals.1.hold=60s"]);
    let mut running = Running::start(&mut run);
    running.second();
    running.kill();
    // Workers and market hold the same standard error: this is their end, too.
    assert_eq!(running.end().code, None);
    space.market_is_gone();
}

#[test]
fn ctrl_c_reaches_the_workers_users() {
    let space = Space::new();
    let mut run = space.run_text(FANS, &["--workers", "2", "--set", "arrivals.1.hold=60s"]);
    let mut running = Running::start(&mut run);
    running.second();
    running.interrupt();
    let ended = running.end().with(2);
    ended.stdout_contains("the run was interrupted after");
    assert_eq!(space.only().info().status, RunStatus::Interrupted);
    // They left in good order.
    let users = space.summary().users;
    assert_eq!((users.finished, users.lost), (users.started, 0));
}

#[test]
fn a_rejected_worker_reports_the_reason_and_exits() {
    let controller = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = controller.local_addr().unwrap().to_string();
    let mut worker = throng(["worker", "--connect", &address]);
    let mut worker =
        worker.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    worker.stdin.take().unwrap().write_all(b"secret\n").unwrap();
    let (mut stream, _) = controller.accept().unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut hello = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut hello).unwrap();
    assert!(hello.starts_with(b"throng"));
    let hello = String::from_utf8_lossy(&hello);
    assert!(hello.contains("secret") && hello.contains(env!("CARGO_PKG_VERSION")));
    // As docs/worker-protocol.md has it: a frame of one, that there is a reason, and the reason.
    let why = b"other version";
    let mut answer = vec![2 + why.len() as u8, 0, 0, 0, 1, why.len() as u8];
    answer.extend(why);
    stream.write_all(&answer).unwrap();
    let output = worker.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(69));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("the controller refused this worker: other version"), "{said}");
}

#[test]
fn a_worker_without_a_controller_is_an_error() {
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    drop(nobody);
    let ended = Ended::of(&mut throng(["worker", "--connect", &address])).with(69);
    ended.stderr_contains("cannot reach the controller at");
}
