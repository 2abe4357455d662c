//! Exports of a run in progress and of a finished one, and `throng probe`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use record::Run;
use record::schema::{EventKind, Verdict};
use serde_json::Value;

use crate::support::{Ended, Running, Served, Space, throng};

/// Longer than anything here takes unless it hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The body of an HTTP reply.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (address, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The bodies that are posted to a server that accepts everything.
fn posts() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, bodies) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || take_posts(stream, |body| sender.send(body).is_ok()));
        }
    });
    (url, bodies)
}

fn take_posts(mut stream: TcpStream, mut each: impl FnMut(String) -> bool) {
    let mut bytes = Vec::new();
    let mut piece = [0; 65_536];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let whole = text.split_once("\r\n\r\n").and_then(|(head, body)| {
            let head = head.to_ascii_lowercase();
            let (_, length) = head.split_once("content-length: ")?;
            let length: usize = length.lines().next()?.trim().parse().ok()?;
            let body = body.get(..length)?.to_owned();
            assert!(head.starts_with("post /v1/metrics http/1.1"), "{head}");
            Some((head.len() + 4 + length, body))
        });
        if let Some((length, body)) = whole {
            bytes.drain(..length);
            let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            if !each(body) || stream.write_all(reply).is_err() {
                return;
            }
            continue;
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
            _ => return,
        }
    }
}

#[test]
fn a_run_is_exported_to_every_receiver() {
    let hello = Served::start(&["hello"]);
    let space = Space::new();
    let (otlp, bodies) = posts();
    let statsd = UdpSocket::bind("127.0.0.1:0").unwrap();
    statsd.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut command = space.load(&hello.url, "50/s", "4s");
    command.args(["--prometheus", "0", "--otlp", &otlp, "--statsd"]);
    command.arg(statsd.local_addr().unwrap().to_string());
    let mut running = Running::start(&mut command);
    let line = running.stderr_line();
    let url = line.trim_end().strip_prefix("metrics at ").unwrap();

    let body: Value = serde_json::from_str(&bodies.recv_timeout(TIMEOUT).unwrap()).unwrap();
    let metrics = &body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let names: Vec<_> = metrics.as_array().unwrap().iter().map(|m| &m["name"]).collect();
    assert!(names.iter().any(|name| *name == "throng_users"), "{names:?}");
    // A second is exported to all at once, so the page has one, too.
    let page = get(url);
    assert!(page.contains("\nthrong_operations_completed_total{run=\""), "{page}");
    let mut datagram = [0; 2048];
    let n = statsd.recv(&mut datagram).unwrap();
    let text = String::from_utf8_lossy(&datagram[..n]);
    assert!(text.contains("throng.users_started:"), "{text}");
    let ended = running.end().with(0);
    assert!(!ended.err.contains("warning"), "{}", ended.err);
}

#[test]
fn a_finished_run_converts_to_other_formats() {
    let hello = Served::start(&["hello"]);
    let space = Space::new();
    let mut command = space.load(&hello.url, "50/s", "2s");
    command.args(["--set", "thresholds=[ 'errors == 0', 'count > 9999999' ]"]);
    command.args(["--set", "probes=[ host ]"]);
    Ended::of(&mut command).with(1);
    let run = space.only().path().display().to_string();
    let folder = space.path("csv");
    let mut command = throng(["export", &run, "--junit", "-", "--csv"]);
    let ended = Ended::of(command.arg(&folder)).with(0);
    ended.stdout_contains("tests=\"3\" failures=\"1\" errors=\"0\"");
    ended.stdout_contains("name=\"count &gt; 9999999\"");
    let lines = |file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(lines("measures.csv").iter().any(|line| line.contains(",request,")));
    assert!(lines("series.csv").len() > 2);
    assert!(lines("probes.csv").iter().any(|line| line.contains(",host,cpu_busy,%,")));
    let json = Ended::of(&mut throng(["export", &run, "--json", "-"])).with(0);
    let summary: record::schema::Summary = serde_json::from_str(&json.out).unwrap();
    assert_eq!(summary.verdict, Verdict::Failed);
    Ended::of(&mut throng(["export", &run])).with(64);
}

#[test]
fn an_unreachable_export_does_not_stop_the_run() {
    let hello = Served::start(&["hello"]);
    let space = Space::new();
    // Port 1 of loopback: nobody listens there.
    let mut command = space.load(&hello.url, "50/s", "2s");
    command.args(["--otlp", "http://127.0.0.1:1"]);
    Ended::of(&mut command)
        .with(0)
        .stderr_contains("warning: otlp: ")
        .stderr_contains("could not be sent");
    for (args, error) in [
        (["--otlp", "127.0.0.1:4318"], "write it like http://127.0.0.1:4318"),
        (["--prometheus", "here"], "expected a numeric address with a port"),
    ] {
        Ended::of(space.load(&hello.url, "1/s", "1s").args(args)).with(64).stderr_contains(error);
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    Ended::of(space.load(&hello.url, "1/s", "1s").args(["--prometheus", &address]))
        .with(71)
        .stderr_contains("cannot serve metrics at");
}

#[test]
fn probes_are_printed_served_and_recorded() {
    let printed = Ended::of(&mut throng(["probe", "host"])).with(0);
    printed.stdout_contains("via=\"host\",metric=\"cpu_busy\",unit=\"%\"}");
    Ended::of(&mut throng(["probe", "process: { name: no such process }"]))
        .with(69)
        .stderr_contains("lost: there is no process called");
    Ended::of(&mut throng(["probe", "hsot: this"]))
        .with(65)
        .stderr_contains("did you mean `host`?");

    let mut command = throng(["probe", "--serve", "0", "host", "process: { pid: 1 }"]);
    let mut server = Running::start(command.stdin(Stdio::null()));
    let line = server.line();
    let url = line.trim_end().strip_prefix("listening on ").unwrap();
    let space = Space::new();
    let runs = space.path("runs");
    let spec = format!("prometheus: {url}");
    let mut command = throng(["probe", "--duration", "3s", &spec, "-o"]);
    Ended::of(command.arg(&runs)).with(0);
    server.interrupt();
    server.end().with(0);
    let run: Run = space.only();
    let probes = run.probes().unwrap();
    let has = |via: &str, metric: &str| {
        let mut list = probes.list.iter();
        list.any(|info| info.via == via && info.metric == metric && info.role == via)
    };
    assert!(has("host", "memory_used") && has("process", "threads"), "{:?}", probes.list);
    let events = run.events().unwrap();
    assert!(matches!(events.last().unwrap().what, EventKind::RunEnded { .. }));
    let directory = run.path().display().to_string();
    Ended::of(&mut throng(["show", &directory])).with(0).stdout_contains("memory_used");
    let shown = Ended::of(&mut throng(["show", &directory, "--json"])).with(0);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let metrics = shown["probes"].as_array().unwrap();
    let memory = metrics.iter().find(|p| p["metric"] == "memory_used");
    assert!(memory.unwrap()["mean"].as_f64().unwrap() > 0.0, "{shown}");
    // There was no load, so there is no verdict.
    for args in [
        ["export", &directory, "--json", "-"],
        ["export", &directory, "--junit", "-"],
        ["show", &directory, "--html", "report.html"],
    ] {
        let ended = Ended::of(throng(args).current_dir(space.path(""))).with(65);
        ended.stderr_contains("holds probes only");
    }
    let csv = space.path("figures");
    let mut command = throng(["export", &directory, "--csv"]);
    Ended::of(command.arg(&csv)).with(0);
    assert!(csv.join("probes.csv").exists() && !csv.join("measures.csv").exists());
}

#[test]
fn a_run_writes_the_results_that_are_requested() {
    let space = Space::new();
    let hello = Served::start(&["hello"]);
    let [junit, markdown, page] = ["junit.xml", "run.md", "run.html"].map(|name| space.path(name));
    let mut command = space.load(&hello.url, "50/s", "1s");
    command.args(["--json", "--set", "thresholds=[ 'errors == 0' ]"]);
    command.arg("--junit").arg(&junit);
    command.arg("--markdown").arg(&markdown);
    command.arg("--html").arg(&page);
    let ended = Ended::of(&mut command).with(0);
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    assert!(read(&junit).contains("name=\"errors == 0\""));
    let text = read(&markdown);
    assert!(text.contains("PASSED") && text.contains("errors == 0"), "{text}");
    let text = read(&page);
    assert!(text.contains("id=\"document\">"), "{} bytes", text.len());
    // `--json` says where the run is.
    let printed: Value = serde_json::from_str(&ended.out).unwrap();
    let run = space.only().path().to_owned();
    assert_eq!(printed["directory"].as_str(), run.to_str());
    // A directory that is not there is reported before the run.
    let mut late = space.load(&hello.url, "50/s", "1s");
    late.arg("--junit").arg(space.path("nowhere/junit.xml"));
    Ended::of(&mut late).with(73).stderr_contains("its directory does not exist");
    assert_eq!(space.directories().len(), 1);
}

#[test]
fn last_is_the_newest_run_for_every_command_that_reads_runs() {
    let space = Space::new();
    let hello = Served::start(&["hello"]);
    for _ in 0..2 {
        Ended::of(&mut space.load(&hello.url, "20/s", "1s")).with(0);
    }
    let newest = space.directories().pop().unwrap();
    let name = newest.file_name().and_then(|name| name.to_str()).unwrap();
    let here = |args: &[&str]| {
        let mut command = throng(args);
        command.current_dir(space.path("."));
        Ended::of(&mut command)
    };
    let shown: Value =
        serde_json::from_str(&here(&["show", "last", "--json"]).with(0).out).unwrap();
    assert_eq!(shown["directory"], format!("runs/{name}"));
    let exported = here(&["export", "last", "--json", "-"]).with(0).out;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(exported["ended_ns"], shown["ended_ns"]);
    // Run and baseline are the same one, which is refused by its name.
    here(&["compare", "last", "--baseline", "last"]).stderr_contains(name);
}
