//! Tsung's files and browsers' recordings on the command line.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use record::schema::Summary;
use testkit::needs::shared_data;

use crate::support::{Ended, Served, Space, root, server, throng};

/// A file that lies beside the project, where it does.
fn shared(name: &str) -> Option<PathBuf> {
    shared_data(&format!("tsung/{name}"))
}

/// Answers every request with what `answer` makes of its first line.
fn http(answer: impl Fn(&str) -> (&'static str, String) + Send + Sync + 'static) -> String {
    let address = server(move |mut stream: TcpStream| {
        loop {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte)?;
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.split('\r').next()?.parse().ok());
            stream.read_exact(&mut vec![0; length.unwrap_or(0)])?;
            let (status, body) = answer(head.lines().next().unwrap_or_default());
            let length = body.len();
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}")?;
        }
    });
    format!("http://{address}")
}

#[track_caller]
fn ran(space: &Space, file: &Path, target: &str, more: &[&str]) -> Ended {
    let mut command = space.run(&[]);
    command.arg(file).args(["--set", &format!("target={target}")]);
    command.args(more);
    Ended::of(&mut command)
}

#[test]
fn the_ad_networks_file_runs_unchanged() {
    let Some(file) = shared("adnet-one-publisher.xml") else {
        return;
    };
    // Every user draws the likely branch of each `if`.
    let target = http(|line| match line {
        line if line.contains("/api/") => {
            ("200 OK", r#"{"pretio_offer_id": "o7", "url": "/redeem?o=o7"}"#.to_owned())
        }
        line if line.contains("/redeem") => ("302 FOUND", String::new()),
        _ => ("200 OK", String::new()),
    });
    let space = Space::new();
    let log = space.path("tsung.dump");
    std::os::unix::fs::symlink("elsewhere.dump", &log).unwrap();
    let shorter =
        ["--set", "arrivals.0.for=1s", "--set", "arrivals.1.for=1s", "--set", "arrivals.2.for=2s"];
    let log_args = ["--tsung-log", log.to_str().unwrap()];
    ran(&space, &file, &target, &[&shorter[..], &log_args].concat()).with(0);
    let summary = space.summary();
    assert!(summary.users.started > 20, "{}", summary.users.started);
    assert!(log.is_symlink(), "it is written through, not replaced");
    let log = std::fs::read_to_string(space.path("elsewhere.dump")).unwrap();
    let mut lines = log.lines();
    assert_eq!(
        lines.next(),
        Some(
            "#date;pid;id;http method;host;URL;HTTP status;size;duration;transaction;match;error;tag"
        )
    );
    let api = lines.clone().filter(|line| line.contains(";get;127.0.0.1;/publishers/"));
    assert_eq!(api.count() as u64, summary.users.started);
    assert!(lines.clone().any(|line| line.contains(";/offers/%%_funnel_id%%/impression.gif;200;")));
    assert!(lines.all(|line| line.split(';').count() == 13), "{log}");
}

#[test]
fn the_phoenix_chats_file_runs_unchanged() {
    let Some(summary) = chats("chat-phoenix.xml") else { return };
    let sent = count(&summary, "send") + count(&summary, "send (no_ack)");
    // Every user has joined, been answered, and sent heartbeats.
    assert!(sent > summary.users.started, "{sent}");
}

#[test]
fn the_actioncable_chats_file_runs_unchanged() {
    let Some(summary) = chats("chat-actioncable.xml") else { return };
    assert_eq!(count(&summary, "send") + count(&summary, "send (no_ack)"), summary.users.started);
}

/// Runs a file against the chat that is built in, which speaks both protocols. A user of these files thinks a hundred
/// times: here for so short a time that it does all of it, and for long enough that the server pings it.
fn chats(name: &str) -> Option<Summary> {
    let file = shared(name)?;
    let chat = Served::start(&["chat"]);
    let space = Space::new();
    let shorter = [
        "--set",
        "arrivals.0.for=1s",
        "--set",
        "arrivals.1.hold=2s",
        "--set",
        "sessions.websocket.steps.3.steps.0.think=50ms",
    ];
    ran(&space, &file, &chat.url, &shorter).with(0);
    let summary = space.summary();
    let users = summary.users.started;
    assert!(users > 0 && summary.users.connected == users, "{users}");
    assert_eq!(count(&summary, "handshake"), users);
    assert!(summary.measures.iter().all(|measure| measure.errors == 0));
    Some(summary)
}

fn count(summary: &Summary, name: &str) -> u64 {
    let found = summary.measures.iter().find(|measure| measure.name == name);
    found.map_or(0, |measure| measure.count)
}

#[test]
fn an_imported_scenario_runs() {
    let space = Space::new();
    let file = root().join("testdata/tsung/everything.xml");
    let made = space.path("made.yaml");
    std::fs::copy(root().join("testdata/tsung/users.csv"), space.path("users.csv")).unwrap();
    let mut command = throng(["import"]);
    command.arg(&file).arg("-o").arg(&made);
    Ended::of(&mut command).with(0).stderr_contains("unset").stderr_contains("undefined");
    Ended::of(throng(["check"]).arg(&made)).with(0).stdout_contains("session reader");
    let direct = Ended::of(throng(["check"]).arg(&file)).with(0);
    direct.stdout_contains("phase phase-1:");
    let shop = root().join("testdata/har/shop.har");
    Ended::of(throng(["import", "--static", "skip"]).arg(&shop))
        .with(0)
        .stdout_contains("csrf_token=${url(csrf_token)}");
}

#[test]
fn errors_point_into_the_xml() {
    let bad = root().join("testdata/tsung/bad");
    let ended = Ended::of(throng(["run"]).arg(bad.join("wrong-number.xml"))).with(65);
    ended.stderr_contains("is not a number of at least 0").stderr_contains("wrong-number.xml:5:");
    // The scenario's own check, reported at the place in the XML.
    Ended::of(throng(["check"]).arg(bad.join("spinning.xml")))
        .with(65)
        .stderr_contains("never waits")
        .stderr_contains("spinning.xml:11:");
    let lost = bad.join("lost.xml");
    Ended::of(throng(["check"]).arg(&lost)).with(65).stderr_contains("--lenient leaves it out");
    Ended::of(throng(["check", "--lenient"]).arg(&lost)).with(0).stderr_contains("it is left out");
    let space = Space::new();
    let latin = space.path("latin.xml");
    std::fs::write(&latin, b"<?xml version='1.0'?><tsung>\xe9</tsung>").unwrap();
    Ended::of(throng(["check"]).arg(&latin)).with(65).stderr_contains("byte 28 is not UTF-8");
    // Options of results, of which a file has none, and the other way about.
    Ended::of(throng(["import", "--start", "2015-07-31T15:36"]).arg(&lost))
        .with(64)
        .stderr_contains("is a file; --start does not apply to it");
    Ended::of(throng(["import", "--lenient"]).arg(&bad))
        .with(64)
        .stderr_contains("is a directory; --lenient does not apply to it");
    let other = space.file("other.txt", "hello");
    Ended::of(throng(["import"]).arg(&other))
        .with(65)
        .stderr_contains("has no format that can be imported");
}

#[test]
fn websockets_that_are_all_refused_fail_the_run() {
    let target = http(|_| ("403 Forbidden", String::new()));
    let space = Space::new();
    let text = r#"<?xml version="1.0"?>
<tsung loglevel="notice">
  <servers><server host="127.0.0.1" port="8081" type="tcp"/></servers>
  <load>
    <arrivalphase phase="1" duration="1" unit="second"><users arrivalrate="5" unit="second"/></arrivalphase>
  </load>
  <sessions>
    <session name="chatter" probability="100" type="ts_websocket">
      <request><websocket type="connect" path="/ws"/></request>
      <request><websocket type="message" ack="no_ack">hello</websocket></request>
    </session>
  </sessions>
</tsung>
"#;
    let file = space.file("refused.xml", text);
    ran(&space, &file, &target, &[]).with(1);
    let summary = space.summary();
    assert_eq!(summary.verdict, record::schema::Verdict::Failed);
    let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(codes.contains(&"steps-never-succeeded"), "{codes:?}");
}
