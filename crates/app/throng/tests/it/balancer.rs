//! Workers and a balancer from the command line.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::Value;

use crate::stores::until;
use crate::support::{Ended, Running, Served, Space, root, throng};

fn get(url: &str, path: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn worker(name: &str) -> Served {
    Served::start(&["worker", "--name", name, "--service-time", "exponential: 2ms"])
}

#[test]
fn a_crowd_is_balanced_over_workers() {
    let workers = [worker("US-0"), worker("US-1")];
    let space = Space::new();
    let log = space.path("access.log");
    let to = workers.each_ref().map(|worker| worker.url.as_str()).join(",");
    let path = log.clone();
    let log = log.to_str().unwrap();
    let args = ["balancer", "--to", &to, "--access-log", log, "--policy", "two-choices"];
    let balancer = Served::start(&args);
    let scenario = root().join("examples/balancer/work.yaml");
    let target = format!("target={}", balancer.url);
    let mut run = space.run(&[]);
    run.arg(scenario)
        .args(["--set", &target, "--set", "rate=50/s", "--set", "length=2s"])
        .args(["--set", "thresholds.0=p95(work) < 10s"]);
    Ended::of(&mut run).with(0);
    balancer.stop();
    for (worker, name) in workers.into_iter().zip(["US-0", "US-1"]) {
        let metrics = get(&worker.url, "/metrics");
        let done =
            metrics.lines().find_map(|line| line.strip_prefix("worker_requests_done_total "));
        let done: u64 = done.unwrap().parse().unwrap();
        assert!(done > 20, "{name}: {done}");
        worker.stop();
    }
    // The log is one that a model is made of.
    let lines = std::fs::read_to_string(&path).unwrap();
    assert!(lines.lines().count() >= 60);
    let mut model = throng(["model", "--out"]);
    model.arg(space.path("model")).arg(&path);
    Ended::of(&mut model).with(0);
    assert!(space.path("model/scenario.yaml").exists());
}

#[test]
fn hangup_reads_the_backends_again() {
    let workers = [worker("one"), worker("two")];
    let space = Space::new();
    let file = space.file("backends", &format!("{}\n", workers[0].url));
    let mut command =
        throng(["serve", "balancer", "--listen", "0", "--until-stdin-closes", "--to"]);
    let mut balancer = Running::start(command.arg(&file).stdin(Stdio::piped()));
    let line = balancer.line();
    let url = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
    assert!(get(&url, "/work").contains("x-worker: one"));
    std::fs::write(&file, format!("{} weight=2\n", workers[1].url)).unwrap();
    balancer.signal(Signal::HUP);
    assert_eq!(balancer.stderr_line(), "reloaded: 1 backends\n");
    assert!(get(&url, "/work").contains("x-worker: two"));
    std::fs::write(&file, "nonsense\n").unwrap();
    balancer.signal(Signal::HUP);
    let line = balancer.stderr_line();
    assert!(line.starts_with("not reloaded, the old backends stay: "), "{line}");
    assert!(line.contains("backends:1: `nonsense` must be a URL"), "{line}");
    assert!(get(&url, "/work").contains("x-worker: two"));
    balancer.release();
}

/// Requests all the time on kept connections, while the list is read again and again: in another order, and with one worker
/// less or more.
#[test]
fn reloads_lose_no_request_and_keep_the_limits() {
    const RELOADS: usize = 20;
    const CLIENTS: usize = 8;
    // No worker could hold one request more.
    let workers = ["a", "b", "c"].map(|name| {
        Served::start(&[
            "worker",
            "--name",
            name,
            "--service-time",
            "5ms",
            "--concurrency",
            "4",
            "--queue",
            "0",
        ])
    });
    let line = |at: usize| format!("{} limit=4\n", workers[at].url);
    let places: [&[usize]; 4] = [&[0, 1, 2], &[2, 1, 0], &[1, 2], &[0, 2]];
    let lists = places.map(|places| places.iter().map(|at| line(*at)).collect::<String>());
    let space = Space::new();
    let file = space.file("backends", &lists[0]);
    let mut command = throng(["serve", "balancer", "--listen", "0", "--until-stdin-closes"]);
    command.args(["--policy", "least-connections", "--to"]);
    let mut balancer = Running::start(command.arg(&file).stdin(Stdio::piped()));
    let line = balancer.line();
    let url = line.trim_end().strip_prefix("listening on ").unwrap();
    let address = url.strip_prefix("http://").unwrap();
    let stop = AtomicBool::new(false);
    let answered = AtomicUsize::new(0);
    let mut said = Vec::new();
    let statuses = std::thread::scope(|scope| {
        let client = || {
            let mut stream = TcpStream::connect(address).unwrap();
            let mut statuses = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                statuses.push(exchange(&mut stream, "/work"));
                answered.fetch_add(1, Ordering::Relaxed);
            }
            statuses
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        for reload in 1..=RELOADS {
            let list = &lists[reload % lists.len()];
            std::fs::write(&file, list).unwrap();
            balancer.signal(Signal::HUP);
            said.push((balancer.stderr_line(), list.lines().count()));
            // Requests are answered between reloads, however slow the machine is.
            until(&true, || answered.load(Ordering::Relaxed) >= reload * CLIENTS);
        }
        stop.store(true, Ordering::Relaxed);
        let each = clients.into_iter().map(|client| client.join().unwrap());
        each.flatten().collect::<Vec<u16>>()
    });
    for (line, count) in said {
        assert_eq!(line, format!("reloaded: {count} backends\n"));
    }
    // Of 8 requests at once, two workers with a limit of 4 each have room for all; a list that forgot those in flight would
    // give a worker more than it can hold.
    assert!(statuses.len() >= RELOADS * CLIENTS, "{}", statuses.len());
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    balancer.release();
    workers.into_iter().for_each(Served::stop);
}

/// One request on a kept connection; its status.
fn exchange(stream: &mut TcpStream, path: &str) -> u16 {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&answer).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.unwrap().parse().unwrap() {
                return head[9..12].parse().unwrap();
            }
        }
        let mut bytes = [0; 1024];
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "ended after {text:?}");
        answer.extend_from_slice(&bytes[..count]);
    }
}

#[test]
fn workers_of_the_own_region_are_preferred_and_sessions_stay() {
    let space = Space::new();
    let workers = "name=a; region=us; service-time=1ms\nname=b; region=asia; service-time=1ms\n";
    let workers = space.file("workers", workers);
    let args = [
        "balancer",
        "--workers",
        workers.to_str().unwrap(),
        "--region",
        "asia",
        "--sticky",
        "at",
        "--policy",
        "random",
        "--weights",
        "learned",
    ];
    let balancer = Served::start(&args);
    for _ in 0..5 {
        let answer = get(&balancer.url, "/work");
        assert!(answer.contains("x-worker: b"), "{answer}");
        assert!(answer.contains("Set-Cookie: at="), "{answer}");
    }
    balancer.stop();
}

#[test]
fn what_operators_need_has_an_address_of_its_own() {
    let worker = worker("one");
    let (mut balancer, _, operators) = operable(&worker);
    let url = operators.as_str();
    assert!(get(url, "/metrics").contains("\nbalancer_backends_up 1\n"));
    assert!(get(url, "/healthz").ends_with("ready\n"));
    let answer = get(url, "/backends");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&body["policy"], &body["backends"][0]["up"]),
        (&"round-robin".into(), &true.into())
    );
    balancer.release();
}

/// A balancer with operators' address, and both of its URLs.
fn operable(worker: &Served) -> (Running, String, String) {
    let mut command = throng(["serve", "balancer", "--listen", "0", "--until-stdin-closes"]);
    command.args(["--metrics-listen", "0", "--to", &worker.url]);
    let mut balancer = Running::start(command.stdin(Stdio::piped()));
    let line = balancer.line();
    let clients = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
    let line = balancer.stderr_line();
    let url = line.trim_end().strip_prefix("metrics at ").unwrap();
    let operators = url.strip_suffix("/metrics").unwrap().to_owned();
    (balancer, clients, operators)
}

#[test]
fn an_idle_client_costs_less_than_8_kib() {
    const CLIENTS: usize = 10_000;
    // Both processes need as many files, each of its own.
    let limits = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limits.maximum, ..limits };
    setrlimit(Resource::Nofile, wanted).unwrap();
    let worker = worker("one");
    let (mut balancer, clients, operators) = operable(&worker);
    let memory = || {
        let metrics = get(&operators, "/metrics");
        let bytes =
            metrics.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
        bytes.unwrap().parse::<f64>().unwrap()
    };
    let address = clients.strip_prefix("http://").unwrap();
    let open = || {
        let mut stream = TcpStream::connect(address).unwrap();
        let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"ready\n") {
            let mut bytes = [0; 1024];
            let count = stream.read(&mut bytes).unwrap();
            answer.extend_from_slice(&bytes[..count]);
        }
        stream
    };
    // What the first ones need is there for all.
    let _first: Vec<TcpStream> = (0..20).map(|_| open()).collect();
    let before = memory();
    let all: Vec<TcpStream> = (0..CLIENTS).map(|_| open()).collect();
    let each = (memory() - before) / all.len() as f64;
    assert!(each < 8192.0, "{each} bytes");
    balancer.release();
}

#[test]
fn invalid_settings_are_refused() {
    for (args, code, said) in [
        (&["worker", "--service-time", "exponential: -1s"][..], 64, "exponential"),
        (&["worker", "--concurrency", "0"], 64, "concurrency must be 1 to 10,000"),
        (&["worker", "--slow-from", "1s"], 64, "--slow-factor"),
        (&["worker", "--slow-factor", "2"], 64, "slow-factor needs slow-from, or a signal"),
        (&["worker", "--on-usr1", "errors"], 64, "errors by a signal need an error-rate"),
        (&["worker", "--cpu", "burn", "--concurrency", "300"], 64, "at most 256"),
        (&["balancer"], 64, "--to"),
        (&["balancer", "--to", "/nowhere"], 66, "cannot read /nowhere"),
        (&["balancer", "--to", "http://127.0.0.1:1/x"], 65, "a host and a port alone"),
        (&["balancer", "--to", "http://127.0.0.1:1", "--policy", "best"], 64, "best"),
        (&["balancer", "--to", "http://127.0.0.1:1", "--retries", "11"], 64, "at most 10"),
        (
            &["balancer", "--to", "http://127.0.0.1:1", "--region", "us"],
            65,
            "no backend is in the region `us`",
        ),
        (&["balancer", "--to", "http://127.0.0.1:1", "--spill-at", "2"], 64, "--region"),
        (
            &[
                "balancer",
                "--to",
                "http://127.0.0.1:1;region=us",
                "--region",
                "us",
                "--spill-at",
                "0",
            ],
            64,
            "spill-at must be a number above 0",
        ),
        (&["balancer", "--to", "http://127.0.0.1:1", "--sticky", "a b"], 64, "name of a cookie"),
        (
            &[
                "balancer",
                "--to",
                "http://127.0.0.1:1",
                "--policy",
                "maglev",
                "--weights",
                "learned",
            ],
            64,
            "learned weights need a policy",
        ),
        (&["balancer", "--to", "http://127.0.0.1:1", "--hash-by", "a b"], 64, "header field"),
    ] {
        let mut wrong = throng(["serve"].iter().chain(args).chain(&["--listen", "0"]));
        Ended::of(&mut wrong).with(code).stderr_contains(said);
    }
}

#[test]
fn a_worker_can_be_a_target() {
    let space = Space::new();
    let mut run = space.run(&[]);
    run.arg(root().join("examples/balancer/worker.yaml")).args([
        "--set",
        "length=2s",
        "--set",
        "thresholds.0=p95(work) < 10s",
    ]);
    Ended::of(&mut run).with(0);
}
