//! Runs by a fleet: the same as on one machine, and what is reported if agents or NATS go.

mod attach;
mod points;
mod rebalance;
mod rows;
mod secure;
mod spool;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use record::schema::{EventKind, RunStatus, Summary, Verdict};
use rustix::process::{Pid, Signal, kill_process};
use testkit::needs::skip;

use crate::support::{Ended, Relay, Running, Space, pass, throng, without_unshare};
use crate::workers::planned;

/// Visitors who come and go. Some of what the plan is made of is not in the text.
const VISITORS: &str = r#"
name: visitors
seed: 5
params: { rate: 40/s, page: "${env('PAGE')}" }
target: market
options: { loops: 3, lag_max: 5s }
sessions:
  visitor:
    - get: /v1/${page}
      as: page
    - think: { empirical: thinks.txt }
    - get: /v1/games/g1/pools
      as: pools
arrivals: [ { poisson: "${rate}", for: 2s }, { hold: 1s } ]
"#;

/// Fans who stay.
const FANS: &str = r#"
name: fans
target: market
options: { loops: 3, lag_max: 5s }
sessions:
  fan:
    - ws: /v1/stream
    - forever:
        - think: 50ms..150ms
        - send: { op: pools, game: g1 }
          reply: { when: { /re: pools } }
arrivals: [ { constant: 20/s, for: 3s, name: come }, { hold: 9s, name: stay } ]
thresholds: [ 'connected >= 100%', 'error_rate < 1%' ]
"#;

/// Whether nats-server is installed; otherwise the test is skipped.
fn has_nats() -> bool {
    let found = Command::new("nats-server").arg("--version").output().is_ok();
    if !found {
        skip("nats-server is not installed");
    }
    found
}

/// nats-server with a store that outlives it.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// On a free port, or the same as before.
    fn start(space: &Space, port: Option<u16>) -> Server {
        Server::start_with(space, port, &[])
    }

    /// The same with further arguments.
    fn start_with(space: &Space, port: Option<u16>, args: &[&OsStr]) -> Server {
        let store = space.path("nats");
        std::fs::create_dir_all(&store).unwrap();
        let mut command = Command::new("nats-server");
        let number = port.map_or("-1".to_owned(), |port| port.to_string());
        command.args(["--addr", "127.0.0.1", "--port", &number, "--jetstream", "--store_dir"]);
        command.arg(&store).arg("--ports_file_dir").arg(&store);
        command.args(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It ends with this value, also if the test does before it listens.
        let mut server = Server { child: command.spawn().unwrap(), port: 0 };
        let file = store.join(format!("nats-server_{}.ports", server.child.id()));
        let listening = || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let port = text.split("127.0.0.1:").nth(1)?;
            port.split('"').next()?.parse().ok()
        };
        let found = (0..200).find_map(|_| {
            let found = listening();
            if found.is_none() {
                pass(Duration::from_millis(50));
            }
            found
        });
        server.port = found.expect("nats-server listens");
        server
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// SIGTERM, and the end.
    fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, the end, and all that was stored is gone; then it starts again.
    fn lose_store(self, space: &Space, away: Duration) -> Server {
        let port = self.port;
        self.stop();
        std::fs::remove_dir_all(space.path("nats")).unwrap();
        pass(away);
        Server::start(space, Some(port))
    }

    /// Messages on these subjects, as they come: their subjects and bytes. As any client gets them, by the text protocol.
    fn listen(&self, subjects: &str) -> Receiver<(String, Vec<u8>)> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let text = format!("CONNECT {{\"verbose\":false}}\r\nSUB {subjects} 1\r\nPING\r\n");
        (&stream).write_all(text.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while !line.starts_with("PONG") {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0);
        }
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let text = String::from_utf8_lossy(&line).into_owned();
                let mut words = text.split_whitespace();
                let kind = words.next().unwrap_or_default();
                if kind == "PING" {
                    let _ = reader.get_mut().write_all(b"PONG\r\n");
                }
                if matches!(kind, "MSG" | "HMSG") {
                    let subject = words.next().unwrap_or_default().to_owned();
                    let bytes: usize = words.last().unwrap_or_default().parse().unwrap_or(0);
                    let mut body = vec![0; bytes + 2];
                    if reader.read_exact(&mut body).is_err()
                        || sender.send((subject, body)).is_err()
                    {
                        return;
                    }
                }
                line.clear();
            }
        });
        receiver
    }

    /// Publishes a message as any client can, by the text protocol.
    fn publish(&self, subject: &str, payload: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let text = format!(
            "CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n{payload}\r\nPING\r\n",
            payload.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut said = String::new();
        let mut bytes = [0; 4096];
        while !said.contains("PONG") {
            let count = stream.read(&mut bytes).unwrap();
            assert!(count > 0, "{said}");
            said += &String::from_utf8_lossy(&bytes[..count]);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Agent `aN`, which waits for runs, with the label `place=pN`.
fn agent(space: &Space, url: &str, number: u32) -> Running {
    let name = format!("a{number}");
    let label = format!("place=p{number}");
    let mut agent = throng(["agent", "--nats", url, "--name", &name, "--label", &label]);
    agent.arg("--spool").arg(spools(space));
    agent.arg("--rows-dir").arg(rows_of(space));
    let mut agent = Running::start(&mut agent);
    let line = agent.line();
    assert!(line.contains(&format!("agent {name} waits for runs")), "{line}");
    agent
}

/// Agents `a1` and so on.
fn agents(space: &Space, server: &Server, count: u32) -> Vec<Running> {
    let all = 1..=count;
    all.map(|number| agent(space, &server.url(), number)).collect()
}

/// Insists that all agents, this number, are free soon.
#[track_caller]
fn are_free(server: &Server, count: u32) {
    let noun = if count == 1 { "agent" } else { "agents" };
    let wanted = format!("{count} {noun}, {count} free");
    let mut said = String::new();
    for _ in 0..100 {
        let status = Ended::of(&mut throng(["fleet", "status", "--nats", &server.url()]));
        said = status.with(0).out;
        if said.contains(&wanted) {
            return;
        }
    }
    panic!("{said}");
}

/// Where they keep what was not stored yet.
fn spools(space: &Space) -> PathBuf {
    space.path("spools")
}

/// Where they keep rows that a run leaves.
fn rows_of(space: &Space) -> PathBuf {
    space.path("rows")
}

/// A run by the fleet. That the machine is busy with other tests must not end it.
fn by_fleet(space: &Space, server: &Server, text: &str, args: &[&str]) -> Command {
    space.file("thinks.txt", "10ms\n20ms\n30ms\n");
    let url = server.url();
    let fleet = ["--fleet", &url, "--clock-bound", "2s"];
    let mut run = space.run_text(text, &[&fleet[..], args].concat());
    run.env("PAGE", "games");
    run
}

fn counts(summary: &Summary) -> Vec<(String, u64, u64)> {
    let measures = summary.measures.iter();
    measures.map(|m| (m.name.clone(), m.count, m.errors)).collect()
}

#[test]
fn three_agents_make_the_run_of_one_machine_again_and_again() {
    if !has_nats() {
        return;
    }
    let alone = Space::new();
    alone.file("thinks.txt", "10ms\n20ms\n30ms\n");
    Ended::of(alone.run_text(VISITORS, &[]).env("PAGE", "games")).with(0);
    let space = Space::new();
    let server = Server::start(&space, None);
    let _agents = agents(&space, &server, 3);
    for round in 1..=2 {
        let space = Space::new();
        Ended::of(&mut by_fleet(&space, &server, VISITORS, &[])).with(0);
        let run = space.only();
        let expected = alone.only();
        let users = planned(&expected);
        assert!(users.len() > 50, "{}", users.len());
        assert_eq!(planned(&run), users, "round {round}");
        assert_eq!(counts(&space.summary()), counts(&alone.summary()));
        let names = run.info().workers.iter().map(|w| w.agent.as_deref().unwrap_or_default());
        assert_eq!(names.collect::<Vec<_>>(), ["a1", "a2", "a3"]);
        for worker in &run.info().workers {
            // On one machine there is one monotonic clock.
            assert!(worker.clock_offset_ns.unsigned_abs() <= worker.clock_bound_ns, "{worker:?}");
        }
    }
    let url = server.url();
    let listed = Ended::of(&mut throng(["fleet", "agents", "--nats", &url])).with(0);
    listed.stdout_contains("a2");
    listed.stdout_contains("place=p3");
    Ended::of(&mut throng(["fleet", "status", "--nats", &url]))
        .with(0)
        .stdout_contains("3 agents, 3 free");
}

#[test]
fn an_agent_that_is_killed_is_named_and_lost() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let mut agents = agents(&space, &server, 3);
    let mut run = by_fleet(&space, &server, FANS, &["--lost-after", "6s"]);
    let mut running = Running::start(&mut run);
    running.second();
    agents[1].kill();
    let ended = running.end().with(2);
    ended.stderr_contains("agent a2 has been silent for");
    ended.stdout_contains("fatal: worker 2 of 3 was lost at");
    ended.stdout_contains("agent a2");
    let run = space.only();
    let summary = space.summary();
    assert_eq!(run.info().status, RunStatus::Complete);
    // Of 60 users each agent had 20; those of this one were lost, or never came.
    assert_eq!(summary.users.lost + summary.users.never_came, 20);
    assert_eq!(summary.users.started, 60 - summary.users.never_came);
    assert_eq!(summary.verdict, Verdict::Untrusted);
    // The others are judged if that was requested.
    let rest = Ended::of(throng(["show", "--allow-lost-workers"]).arg(run.path())).with(0);
    rest.stdout_contains("PASSED");
}

#[test]
fn an_agent_that_is_cut_off_goes_on_and_reports_when_it_is_back() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let _agents = agents(&space, &server, 2);
    let relay = Relay::to(([127, 0, 0, 1], server.port).into());
    let _third = agent(&space, &format!("nats://{}", relay.address), 3);
    let mut running = Running::start(&mut by_fleet(&space, &server, FANS, &[]));
    running.second();
    relay.cut();
    pass(Duration::from_secs(4));
    relay.restore();
    let ended = running.end().with(0);
    ended.stderr_contains("agent a3 has been silent for");
    ended.stderr_contains("agent a3 reports again");
    is_whole(&space);
}

/// Insists that the fans' run lost nothing and counted nothing twice.
#[track_caller]
fn is_whole(space: &Space) {
    let run = space.only();
    let summary = space.summary();
    let workers = &run.info().workers;
    assert!(workers.iter().all(|worker| worker.lost_at_ns.is_none()));
    assert_eq!((summary.users.started, summary.users.lost), (60, 0));
    // Second follows second, each with all loops.
    let mut until_ns = 0;
    for row in &run.series().unwrap() {
        assert_eq!((row.start_ns, row.loops_lost), (until_ns, 0));
        until_ns = row.end_ns;
    }
    // Operations that began are those that ended, and so are users: the judge adds them up.
    let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(!codes.contains(&"sums-broken"), "{codes:?}");
    // Rows come by another way than seconds: both have the same number of each measure.
    let mut rows: BTreeMap<u16, u64> = BTreeMap::new();
    run.requests(|batch| {
        for row in batch {
            *rows.entry(row.measure).or_default() += u64::from(row.weight);
        }
    })
    .unwrap();
    for (number, measure) in run.info().measures.iter().enumerate() {
        let counted = summary.measures.iter().find(|m| m.name == measure.name);
        let counted = counted.map_or(0, |m| m.count + m.errors);
        let in_rows = rows.get(&(number as u16)).copied().unwrap_or_default();
        assert_eq!(in_rows, counted, "{}", measure.name);
    }
}

#[test]
fn a_restart_of_nats_loses_no_second_and_counts_none_twice() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let _agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut by_fleet(&space, &server, FANS, &[]));
    running.second();
    let port = server.port;
    server.stop();
    // Long enough that each agent has seconds to report.
    pass(Duration::from_secs(3));
    let _server = Server::start(&space, Some(port));
    let ended = running.end().with(0);
    ended.stderr_contains("NATS is out of reach");
    ended.stderr_contains("NATS is back");
    is_whole(&space);
    let run = space.only();
    let notes = run.events().unwrap();
    let noted = notes.iter().any(
        |event| matches!(&event.what, EventKind::Note { text } if text.contains("NATS is back")),
    );
    assert!(noted, "the record says it");
}

#[test]
fn what_a_fleet_cannot_do_is_an_error_that_says_why() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let bad = |args: &[&str], code, text: &str| {
        let ended = Ended::of(&mut space.run_text(FANS, args)).with(code);
        ended.stderr_contains(text);
    };
    bad(&["--fleet", "http://127.0.0.1:1"], 64, "is not the URL of a NATS server");
    bad(&["--fleet", "nats://127.0.0.1:1"], 69, "cannot connect to NATS at 127.0.0.1:1");
    let server = Server::start(&space, None);
    let url = server.url();
    let fleet = ["--fleet", url.as_str()];
    bad(&fleet, 69, "no agent waits at");
    let _agents = agents(&space, &server, 2);
    let with = |args: &[&'static str]| [&fleet[..], args].concat();
    bad(&with(&["--select", "place=p9"]), 69, "no agent has the labels place=p9");
    bad(&with(&["--agents", "3"]), 69, "requires 3 agents, and 2");
    bad(&with(&["--clock-bound", "1ns"]), 71, "the clock of agent a");
    // Two agents cannot hold as many.
    let huge = with(&["--set", "arrivals=[{ users: 40000000, for: 1s }]"]);
    bad(&huge, 71, "is the limit, which can hold");
    let other = r#"{"name":"old","throng":"0.0.1","protocol":1}"#;
    server.publish("$KV.throng_agents.old", other);
    // It prevents no run of the others.
    bad(&with(&["--agents", "3"]), 69, "old (Throng 0.0.1, protocol 1)");
    bad(&with(&["--clock-bound", "1ns"]), 71, "the clock of agent a");
    // What is no card at all is left out.
    server.publish("$KV.throng_agents.odd", "\u{1}{");
    bad(&with(&["--select", "place=p9"]), 69, "no agent has the labels");
    let taken = Ended::of(&mut throng(["agent", "--nats", &url, "--name", "a1"])).with(64);
    taken.stderr_contains("an agent called a1 is there already");
    let bad_name = Ended::of(&mut throng(["agent", "--nats", &url, "--name", "a.1"])).with(64);
    bad_name.stderr_contains("is not a name");
    Ended::of(&mut throng(["fleet", "stop", "none", "--nats", &url]))
        .with(69)
        .stderr_contains("no run none");
}

#[test]
fn an_agent_refuses_a_controller_of_another_version() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let _agents = agents(&space, &server, 1);
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let offer = r#"{"run":{"run":"r1","throng":"0.0.1","protocol":1,"token":"t","plan":"p"}}"#;
    let text = format!(
        "CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB throng.agent.a1 answer 4\r\n\u{1}{{[x\r\n\
         PUB throng.agent.a1 answer {}\r\n{offer}\r\n",
        offer.len()
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut said = String::new();
    let mut bytes = [0; 4096];
    while !said.contains("the controller is Throng 0.0.1 with protocol 1") {
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "{said}");
        said += &String::from_utf8_lossy(&bytes[..count]);
    }
    assert!(said.contains("the request cannot be read"), "{said}");
}

#[test]
fn a_fleet_comes_up_on_this_machine_and_is_stopped_and_drained() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let mut up = Running::start(&mut throng(["fleet", "up", "--local", "2"]));
    let line = up.line();
    let url = line.split_whitespace().find(|word| word.starts_with("nats://")).unwrap();
    let url = url.trim_end_matches(';').to_owned();
    let args = ["--fleet", &url, "--clock-bound", "2s", "--set", "arrivals.1.hold=60s"];
    let mut running = Running::start(&mut space.run_text(FANS, &args));
    let first = running.stderr_line();
    let run = first.split_whitespace().nth(1).unwrap().to_owned();
    running.second();
    let status = Ended::of(&mut throng(["fleet", "status", "--nats", &url])).with(0);
    status.stdout_contains("2 agents, 0 free");
    status.stdout_contains(&run);
    Ended::of(&mut throng(["fleet", "stop", &run, "--nats", &url])).with(0);
    running.end().with(2).stdout_contains("the run was interrupted after");
    assert_eq!(space.only().info().status, RunStatus::Interrupted);
    let drained = Ended::of(&mut throng(["fleet", "drain", "--nats", &url])).with(0);
    drained.stdout_contains("local-1 ends");
    // A fleet without its agents is none.
    up.end().with(0).stdout_contains("agent local-2 ended");
}

#[test]
fn agents_of_a_fleet_whose_server_ends_end_with_it() {
    if !has_nats() {
        return;
    }
    let mut up = Running::start(&mut throng(["fleet", "up", "--local", "2"]));
    up.line();
    let children = up.children();
    assert_eq!(children.len(), 3);
    let name = |pid: &Pid| {
        let comm = format!("/proc/{}/comm", pid.as_raw_nonzero());
        std::fs::read_to_string(comm).unwrap_or_default()
    };
    let server = children.iter().find(|pid| name(pid).trim() == "nats-server");
    kill_process(*server.unwrap(), Signal::KILL).unwrap();
    let ended = up.end().with(71);
    ended.stdout_contains("nats-server ended");
    ended.stderr_contains("the fleet has ended");
    for child in &children {
        assert_eq!(name(child), "", "{child:?} is still there");
    }
}

/// What the Jobs of Kubernetes do: they wait for each other, and end with the run.
#[test]
fn agents_of_one_run_are_waited_for_and_end_with_it() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let wait =
        |url: &str, args: &[&str]| throng([&["fleet", "wait", "--nats", url], args].concat());
    // Nobody listens there.
    let absent = ["--agents", "0", "--within", "1s"];
    let ended = Ended::of(&mut wait("nats://127.0.0.1:1", &absent)).with(69);
    ended.stderr_contains("not after 1 s");
    let server = Server::start(&space, None);
    let url = server.url();
    let none = Ended::of(&mut wait(&url, &["--agents", "0"])).with(0);
    assert_eq!(none.out, "0 agents free\n");
    let ended = Ended::of(&mut wait(&url, &["--agents", "2", "--within", "1s"])).with(69);
    ended.stderr_contains("0 of 2 agents free");
    let mut waiting = Running::start(&mut wait(&url, &["--agents", "2", "--select", "in=pod"]));
    let begins = waiting.stderr_line();
    assert!(begins.contains("waiting: 0 of 2 agents free"), "{begins}");
    let once = |name: &str| {
        let mut command =
            throng(["agent", "--nats", &url, "--name", name, "--label", "in=pod", "--once"]);
        // As in a container, whose seccomp filter refuses it.
        command = without_unshare(command);
        Running::start(&mut command)
    };
    let agents = [once("a1"), once("a2")];
    assert_eq!(waiting.end().with(0).out, "2 agents free\n");
    Ended::of(&mut by_fleet(&space, &server, VISITORS, &["--agents", "2"])).with(0);
    for agent in agents {
        let ended = agent.end().with(0);
        ended.stdout_contains("ended");
    }
    // What they sent is what a machine sends on which each loop has a table of its own.
    let alone = Space::new();
    alone.file("thinks.txt", "10ms\n20ms\n30ms\n");
    Ended::of(alone.run_text(VISITORS, &[]).env("PAGE", "games")).with(0);
    assert_eq!(planned(&space.only()), planned(&alone.only()));
    let mut doctor = without_unshare(throng(["doctor"]));
    Ended::of(&mut doctor).stdout_contains("all loops share one file table");
}
