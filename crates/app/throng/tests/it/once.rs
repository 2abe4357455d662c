//! `setup` and `teardown`: steps that run once, before and after the users.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use record::schema::{EventKind, OnceEnd, OnceEnded, RunStatus, Verdict};

use crate::support::{Ended, Running, Space, holding, plain, server, throng};

/// Requests as `METHOD /path TOKEN`, in the order in which they came.
type Requests = Arc<Mutex<Vec<String>>>;

/// Gives tokens to whoever posts to /login, and wants one for all else. `/login/refused` refuses.
fn application(seen: &Requests) -> String {
    let seen = Arc::clone(seen);
    let address = server(move |stream| serve(stream, &seen));
    format!("http://{address}/")
}

fn serve(mut stream: TcpStream, seen: &Requests) -> io::Result<()> {
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut words = head.split(' ');
        let request =
            format!("{} {}", words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let token = head.split("Bearer ").nth(1);
        let token = token.and_then(|rest| rest.split("\r\n").next());
        let (status, body) = match (request.as_str(), token) {
            ("GET /login", _) => (200, "{\"token\": \"tok-4711-abc\"}"),
            (_, Some("tok-4711-abc")) => (200, "{\"id\": 7}"),
            _ => (403, "{}"),
        };
        seen.lock().unwrap().push(request);
        let length = body.len();
        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes())?;
    }
}

fn scenario(target: &str, login: &str, hold: &str) -> String {
    format!(
        "
name: once
target: {target}
options: {{ drain: 1s }}
setup:
  - get: {login}
    save: {{ token: /token }}
sessions:
  visitor:
    - get: /page
      auth: {{ bearer: \"${{token}}\" }}
    - forever: [ {{ think: 1s }} ]
arrivals: [ {{ constant: 10/s, for: 1s }}, {{ hold: {hold} }} ]
teardown:
  - get: /end
    auth: {{ bearer: \"${{token}}\" }}
"
    )
}

fn once(space: &Space) -> Vec<OnceEnded> {
    let events = space.only().events().unwrap().into_iter();
    events
        .filter_map(|event| match event.what {
            EventKind::OnceEnded(once) => Some(once),
            _ => None,
        })
        .collect()
}

fn count(seen: &Requests, request: &str) -> usize {
    let seen = seen.lock().unwrap();
    seen.iter().filter(|known| *known == request).count()
}

#[test]
fn users_share_the_values_of_setup_which_counts_in_no_figure() {
    for workers in ["0", "2"] {
        let space = Space::new();
        let seen = Requests::default();
        let text = scenario(&application(&seen), "/login", "1s");
        let args = ["--workers", workers, "--set", "thresholds=[ errors == 0 ]"];
        let ended = Ended::of(&mut space.run_text(&text, &args)).with(0);
        ended.stdout_contains("setup: 3 operations in");
        assert_eq!(count(&seen, "GET /login"), 1);
        assert_eq!(count(&seen, "GET /page"), 10);
        assert_eq!(seen.lock().unwrap().last().unwrap(), "GET /end");
        let measures = space.summary().measures;
        let requests: u64 = measures.iter().filter(|m| m.kind == "request").map(|m| m.count).sum();
        assert_eq!(requests, 10);
        let once = once(&space);
        let ends: Vec<_> = once.iter().map(|once| (once.what.as_str(), once.end)).collect();
        assert_eq!(ends, [("setup", OnceEnd::Finished), ("teardown", OnceEnd::Finished)]);
        let names = once[0].operations.iter().map(|operation| operation.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["connect", "GET /login", "setup"]);
        // The token reaches a header, so it is secret.
        assert_eq!(holding(&space.path("runs"), "tok-4711-abc"), Vec::<String>::new());
    }
}

#[test]
fn a_run_whose_setup_fails_has_no_users_and_fails() {
    let space = Space::new();
    let seen = Requests::default();
    let text = scenario(&application(&seen), "/refused", "1s");
    let ended =
        Ended::of(&mut space.run_text(&text, &["--set", "thresholds=[ errors == 0 ]"])).with(1);
    ended.stdout_contains("FAILED");
    ended.stdout_contains("setup failed at GET /refused: status 403; no user started");
    assert_eq!(*seen.lock().unwrap(), ["GET /refused"]);
    let run = space.only();
    let summary = space.summary();
    assert_eq!(run.info().status, RunStatus::Failed);
    assert_eq!((summary.verdict, summary.users.started), (Verdict::Failed, 0));
}

#[test]
fn teardown_runs_after_an_interruption() {
    let space = Space::new();
    let seen = Requests::default();
    let text = scenario(&application(&seen), "/login", "100s");
    let mut running = Running::start(&mut space.run_text(&text, &[]));
    running.second();
    running.interrupt();
    running.end().with(2).stdout_contains("the run was interrupted after");
    assert_eq!(count(&seen, "GET /end"), 1);
    assert_eq!(once(&space)[1].end, OnceEnd::Finished);
}

#[test]
fn a_teardown_that_fails_or_never_ends_is_a_warning() {
    for (teardown, finding) in [
        (
            "teardown: [ { get: /forbidden }, { get: /second } ]",
            "teardown: 2 steps failed, the last at GET /second",
        ),
        (
            "teardown: { time_limit: 300ms, steps: [ { think: 1h } ] }",
            "teardown reached its limit of time",
        ),
    ] {
        let space = Space::new();
        let seen = Requests::default();
        let text = scenario(&application(&seen), "/login", "1s");
        let (text, _) = text.split_once("teardown:").unwrap();
        let text = format!("{text}{teardown}\n");
        let ended = Ended::of(&mut space.run_text(&text, &["--set", "thresholds=[ errors == 0 ]"]));
        ended.with(0).stdout_contains(finding);
    }
}

#[test]
fn trying_a_user_shows_setup_and_teardown() {
    let space = Space::new();
    let seen = Requests::default();
    let text = scenario(&application(&seen), "/login", "1s");
    let file = space.file("scenario.yaml", &text);
    let mut command = plain(throng(["try"]));
    command.arg(file).args(["--time-limit", "4s"]);
    let ended = Ended::of(&mut command).with(0);
    let at = |wanted: &str| {
        let found = ended.out.find(wanted);
        found.unwrap_or_else(|| panic!("{wanted:?} is not in:\n{}", ended.out))
    };
    let parts = [
        at("user 0 of session \"setup\""),
        at("token = "),
        at("user 0 of session \"visitor\""),
        at("GET /page"),
        at("user 0 of session \"teardown\""),
        at("GET /end"),
    ];
    assert!(parts.is_sorted(), "{parts:?}\n{}", ended.out);
    assert_eq!(*seen.lock().unwrap(), ["GET /login", "GET /page", "GET /end"]);
}
