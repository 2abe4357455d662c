//! Arrivals paused and resumed from outside: by the live page, by signals, in threads and in workers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use record::schema::{EventKind, RunStatus, SeriesRow};
use serde_json::Value;

use crate::support::{Running, Space};

/// Nothing here is silent for so long unless it hangs.
const TIMEOUT: Duration = Duration::from_secs(40);

/// Visitors who come evenly, for longer than any test takes.
const VISITORS: &str = "
name: visitors
target: market
options: { loops: 2 }
sessions:
  visitor: [ { get: /v1/games }, { think: 300ms }, { get: /v1/games } ]
arrivals: [ { constant: 40/s, for: 10m } ]
thresholds: [ 'error_rate < 1%' ]
";

/// The live page of a run, as a program sees it.
struct Live {
    address: String,
    events: BufReader<TcpStream>,
}

impl Live {
    /// Of a run that was started with `--ui`.
    fn connect(running: &mut Running) -> Live {
        let line = running.stderr_line();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = format!("GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Live { address: address.to_owned(), events: BufReader::new(stream) }
    }

    /// Posts, and returns the answer's status.
    fn post(&self, path: &str) -> u16 {
        let Live { address, .. } = self;
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The next document.
    fn document(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.events.read_line(&mut line).unwrap() > 0, "it ended");
            if let Some(json) = line.strip_prefix("data: ") {
                return serde_json::from_str(json).unwrap();
            }
        }
    }

    /// The next document of which this holds.
    fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let document = self.document();
            if holds(&document) {
                return document;
            }
        }
    }
}

fn verdict(document: &Value) -> &str {
    document["verdict"].as_str().unwrap()
}

/// Seconds that this document is longer than that one.
fn later(document: &Value, than: &Value) -> f64 {
    let ended = |document: &Value| document["run"]["ended_s"].as_f64().unwrap();
    ended(document) - ended(than)
}

/// Pauses and resumes a run by its page, and looks at what it leaves.
fn paused_by_page(workers: &str) {
    let space = Space::new();
    let args = ["--ui", "--quiet", "--workers", workers];
    let mut running = Running::start(&mut space.run_text(VISITORS, &args));
    let mut live = Live::connect(&mut running);
    let first = live.until(|document| document["users"]["started"].as_u64() > Some(0));
    assert_eq!(verdict(&first), "running");
    assert_eq!(first["thresholds"][0]["text"], "error_rate < 1%");
    assert_eq!(first["highlights"].as_array().unwrap().len(), 0);
    assert_eq!(live.post("/pause"), 202);
    let paused = live.until(|document| verdict(document) == "paused");
    assert_eq!(paused["highlights"][0]["to_s"], Value::Null);
    // Two whole seconds within the pause; who was there has gone meanwhile.
    let still = live.until(|document| later(document, &paused) >= 3.0);
    let findings = still["findings"].as_array().unwrap().iter();
    let codes: Vec<&str> = findings.map(|finding| finding["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"arrivals-paused"), "{codes:?}");
    assert!(!codes.contains(&"run-incomplete"), "{codes:?}");
    assert_eq!(live.post("/resume"), 202);
    let resumed = live.until(|document| verdict(document) == "running");
    assert!(resumed["highlights"][0]["to_s"].as_f64().is_some());
    let started = still["users"]["started"].as_u64();
    live.until(|document| document["users"]["started"].as_u64() > started);
    assert_eq!(live.post("/stop"), 202);
    drop(live);
    running.end().with(2);
    let run = space.only();
    let summary = space.summary();
    assert_eq!(run.info().status, RunStatus::Interrupted);
    let events = run.events().unwrap();
    let at = |what: &EventKind| events.iter().find(|event| event.what == *what).unwrap().at_ns;
    let from_ns = at(&EventKind::ArrivalsPaused);
    let until_ns = at(&EventKind::ArrivalsResumed);
    let rows = run.series().unwrap();
    // A loop may have been late to hear of it by some of a second.
    let within =
        |row: &&SeriesRow| row.start_ns >= from_ns + 1_000_000_000 && row.end_ns <= until_ns;
    let within: Vec<&SeriesRow> = rows.iter().filter(within).collect();
    assert!(!within.is_empty());
    for row in within {
        assert_eq!((row.users_started, row.users_due), (0, 40));
        assert!(row.users_paused > 0);
    }
    let paused = summary.findings.iter().find(|f| f.code == "arrivals-paused");
    assert!(paused.unwrap().evidence["users_paused"] >= 40.0);
    // Each who was due was started or skipped, but for those of the last moments.
    let sum = |count: fn(&SeriesRow) -> u64| rows.iter().map(count).sum::<u64>();
    let due = sum(|row| row.users_due);
    let met = sum(|row| row.users_started + row.users_paused);
    assert!(met <= due + 1 && met + 80 >= due, "{met} of {due}");
}

#[test]
fn the_live_page_pauses_and_resumes_arrivals() {
    paused_by_page("0");
}

#[test]
fn pauses_reach_worker_processes() {
    paused_by_page("2");
}

#[test]
fn signals_pause_and_resume_arrivals() {
    let space = Space::new();
    let mut running = Running::start(&mut space.run_text(VISITORS, &[]));
    running.second();
    running.signal(rustix::process::Signal::USR1);
    while !running.progress().contains("  paused  users ") {}
    running.signal(rustix::process::Signal::USR2);
    while running.progress().contains("  paused  users ") {}
    running.interrupt();
    let ended = running.end().with(2);
    ended.stdout_contains("arrivals were paused for ");
    let events = space.only().events().unwrap();
    let count = |what: &EventKind| events.iter().filter(|event| event.what == *what).count();
    assert_eq!(count(&EventKind::ArrivalsPaused), 1);
    assert_eq!(count(&EventKind::ArrivalsResumed), 1);
}
