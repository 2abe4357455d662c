//! Calls of gRPC from the command line: against the built-in server, and against grpcio, the Python server of the
//! gRPC project.

mod peer;
mod reflection;

use record::Outcome;

use crate::http2::{certificate, ok, outcomes};
use crate::support::{Ended, Served, Space, plain, root, throng};
use peer::Grpcio;

const STEPS: &str = "    - grpc: throng.echo.Echo/Say
      as: call
      message: { text: \"hi ${user}\", numbers: [1, \"${user}\"] }
      expect: { /numbers/0: 1 }
      save: { text: /text }
      check: text == 'hi ' + user
    - grpc: throng.echo.Echo/Say
      as: same
      message: { text: hello, mood: LOUD }
    - grpc: throng.echo.Echo/Say
      as: packed
      message: { text: \"hello hello hello\" }
      gzip: true
      expect: { /text: \"hello hello hello\" }
    - grpc: throng.echo.Echo/Say
      as: missing
      message: { status: 5 }
      status: NOT_FOUND
      save: { code: status }
      check: code == 5
";

/// A folder with a scenario of these steps and the file of the service.
fn space_with(url: &str, options: &str, steps: &str) -> (Space, String) {
    let space = Space::new();
    let proto = root().join("examples/grpc/echo.proto");
    space.file("echo.proto", &std::fs::read_to_string(proto).unwrap());
    let text = format!(
        "target: {url}\n\
         grpc: {{ protos: [echo.proto] }}\n\
         options: {{ timeout: 10s, tls: {{ verify: false }}{options} }}\n\
         sessions:\n  user:\n{steps}\
         arrivals: [ {{ constant: 40/s, for: 1s }}, {{ hold: 500ms }} ]\n\
         thresholds: [ errors == 0 ]\n"
    );
    (space, text)
}

#[test]
fn the_built_in_server_answers_calls() {
    let space = Space::new();
    let (cert, key) = certificate(&space);
    for args in [&["grpc"][..], &["grpc", "--tls-cert", &cert, "--tls-key", &key]] {
        let server = Served::start(args);
        for options in ["", ", http_connections: shared"] {
            let (space, text) = space_with(&server.url, options, STEPS);
            Ended::of(&mut space.run_text(&text, &[])).with(0);
            for measure in ["call", "same", "packed", "missing"] {
                assert_eq!(outcomes(&space.only(), measure), ok(40), "{measure}");
            }
        }
        server.stop();
    }
}

/// Calls of all kinds of streams.
const STREAMS: &str = "    - grpc: throng.echo.Echo/Talk
      as: talk
    - loop: 3
      steps:
        - send: { text: \"word ${user}\" }
          as: word
          reply: { when: { /text: \"word ${user}\" } }
    - close:
      as: end of talk
    - grpc: throng.echo.Echo/Repeat
      message: { text: tick, count: 3, delay_ms: 20 }
    - loop: 3
      steps:
        - expect: { when: { /text: tick }, as: tick }
    - close:
      as: end of ticks
    - grpc: throng.echo.Echo/Collect
    - send: { text: one }
    - send: { text: two }
      as: count
      last: true
      reply: { when: { /numbers/0: 2 } }
    - close:
      as: end of count
";

#[test]
fn the_built_in_server_answers_streams() {
    let server = Served::start(&["grpc"]);
    for options in ["", ", http_connections: shared"] {
        let (space, text) = space_with(&server.url, options, STREAMS);
        Ended::of(&mut space.run_text(&text, &[])).with(0);
        for (measure, count) in [
            ("word", 120),
            ("end of talk", 40),
            ("tick", 120),
            ("end of ticks", 40),
            ("count", 40),
            ("end of count", 40),
        ] {
            assert_eq!(outcomes(&space.only(), measure), ok(count), "{measure}");
        }
    }
    server.stop();
}

#[test]
fn worker_processes_need_no_file() {
    let server = Served::start(&["grpc"]);
    let (space, text) = space_with(&server.url, "", STEPS);
    Ended::of(&mut space.run_text(&text, &["--workers", "2"])).with(0);
    assert_eq!(outcomes(&space.only(), "call"), ok(40));
    server.stop();
}

#[test]
fn one_user_is_shown_with_messages_as_json() {
    let server = Served::start(&["grpc"]);
    let (space, text) = space_with(&server.url, "", STEPS);
    let file = space.file("scenario.yaml", &text);
    let mut command = plain(throng(["try"]));
    let ended = Ended::of(command.arg(&file)).with(0);
    for line in [
        "> POST /throng.echo.Echo/Say HTTP/2",
        "\"text\": \"hi 0\"",
        "< gRPC 0 OK",
        "< gRPC 5 NOT_FOUND",
        "< grpc-message: as%20requested",
    ] {
        assert!(ended.out.contains(line), "{line:?} is not in:\n{}", ended.out);
    }
    server.stop();
}

#[test]
fn scenarios_of_the_interop_cases_are_valid() {
    let mut scenarios_count = 0;
    for entry in std::fs::read_dir(root().join("checks/interop/grpc")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|found| found == "yaml") {
            Ended::of(plain(throng(["check"])).arg(&path)).with(0);
            scenarios_count += 1;
        }
    }
    assert_eq!(scenarios_count, 18);
}

#[test]
fn statuses_are_counted_by_kind() {
    let server = Served::start(&["grpc"]);
    let steps = "    - grpc: throng.echo.Echo/Say
      as: full
      message: { status: 8 }
    - grpc: throng.echo.Echo/Say
      as: slow
      message: { delay_ms: 5000 }
      deadline: 50ms
";
    let (space, text) = space_with(&server.url, "", steps);
    let ended = Ended::of(&mut space.run_text(&text, &[])).with(1);
    ended.stdout_contains("grpc-resource-exhausted");
    ended.stdout_contains("RESOURCE_EXHAUSTED: as requested");
    let run = space.only();
    assert_eq!(outcomes(&run, "full"), [(Outcome::GrpcResourceExhausted, 40)].into());
    assert_eq!(outcomes(&run, "slow"), [(Outcome::GrpcDeadlineExceeded, 40)].into());
    server.stop();
}

/// A stall of a second is seen in the response times of all calls that were due in it.
#[test]
fn stalls_come_out_right() {
    let server = Served::start(&["stall", "--every", "4s"]);
    let steps = "    - grpc: throng.echo.Echo/Say\n      as: call\n";
    let (space, text) = space_with(&server.url, "", steps);
    let text = text
        .replace("40/s, for: 1s", "50/s, for: 8s")
        .replace("hold: 500ms", "hold: 2s")
        .replace(
            "[ errors == 0 ]",
            "[ errors == 0, p70(call) < 300ms, p95(call) > 600ms, max(call) > 850ms, max(call) < 1600ms ]",
        );
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    assert_eq!(outcomes(&space.only(), "call"), ok(400));
    server.stop();
}

/// The gRPC project's own server counts what the record counts.
#[test]
fn grpcio_counts_what_the_record_counts() {
    let space = Space::new();
    let Some(peer) = Grpcio::start(&space) else {
        return;
    };
    let steps = "    - grpc: throng.echo.Echo/Say
      as: call
      message: { text: \"hi ${user}\", labels: { a: b } }
      metadata: { x-own: \"user-${user}\", x-own-bin: AAEC }
      deadline: 5s
      gzip: true
      expect: { /text: \"hi ${user}\", /labels/a: b }
      save: { own: { header: x-own }, left: { header: x-left-ms } }
      check: [ \"own == 'user-' + user\", left > 0 ]
    - grpc: throng.echo.Echo/Say
      as: missing
      message: { text: \"status 5\" }
      status: NOT_FOUND
      save: { message: { header: grpc-message } }
      check: message == 'no such thing'
    - grpc: throng.echo.Echo/Say
      as: large
      message: { text: \"large\" }
      save: { end: { regex: 'x(y)' } }
    - grpc: throng.echo.Echo/Say
      as: late
      message: { text: \"late\" }
      deadline: 200ms
      status: [ OK, DEADLINE_EXCEEDED ]
";
    for options in ["", ", http_connections: shared"] {
        let (space, text) = space_with(&peer.url, options, steps);
        let text = text.replace("errors == 0", "p99(call) < 10s");
        Ended::of(&mut space.run_text(&text, &[])).with(0);
        let run = space.only();
        for measure in ["call", "missing", "large"] {
            assert_eq!(outcomes(&run, measure), ok(40), "{measure}");
        }
        // Server and client notice at the same time that the deadline has passed.
        let late = outcomes(&run, "late");
        let is_late = |outcome: &Outcome| matches!(outcome, Outcome::Ok | Outcome::Timeout);
        assert!(late.keys().all(is_late), "{late:?}");
    }
    let (space, text) = space_with(&peer.url, "", STREAMS);
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    for (measure, count) in [("word", 120), ("tick", 120), ("count", 40), ("end of count", 40)] {
        assert_eq!(outcomes(&space.only(), measure), ok(count), "{measure}");
    }
    let counted = peer.stop();
    assert_eq!(counted["calls"], 2 * 40 * 4, "{counted}");
    assert_eq!(counted["compressed"], 2 * 40, "{counted}");
}
