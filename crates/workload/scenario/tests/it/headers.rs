//! The headers of a request if several places write one.

use plan::Op;
use plan::expr::Template;

use crate::{plan, with_steps};

/// The headers of the only step's instruction, with these headers of the run.
#[track_caller]
fn headers(of_run: &str, step: &str) -> Vec<(String, String)> {
    let text = format!("options: {{ headers: {{ {of_run} }} }}\n{}", with_steps(step));
    let mut plan = plan(&text);
    let headers = match plan.sessions[0].ops.remove(0) {
        Op::Http(op) => op.headers,
        Op::SseOpen(op) => op.headers,
        Op::WsOpen(op) => op.headers,
        other => panic!("{other:?}"),
    };
    let shown = |value: &Template| value.as_static().unwrap_or("$").to_owned();
    headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), shown(value))).collect()
}

#[track_caller]
fn values(of_run: &str, step: &str, name: &str) -> Vec<String> {
    let mut found = headers(of_run, step);
    found.retain(|(known, _)| known == name);
    found.into_iter().map(|(_, value)| value).collect()
}

/// The run's headers are for what its steps leave open.
#[test]
fn what_a_step_makes_precedes_the_runs_headers() {
    let accept = "Accept: application/json";
    for (of_run, step, name, expected) in [
        (accept, "- sse: /s", "accept", "text/event-stream"),
        ("cache-control: no-cache", "- sse: /s", "cache-control", "no-store"),
        (
            accept,
            "- graphql: { query: \"{ a }\" }",
            "accept",
            "application/graphql-response+json, application/json;q=0.9",
        ),
        (accept, "- get: /", "accept", "application/json"),
        ("content-type: a/b", "- { post: /, json: {} }", "content-type", "application/json"),
        ("content-type: a/b", "- { post: /, body: x }", "content-type", "a/b"),
        (
            "Sec-WebSocket-Protocol: a",
            "- { ws: /, subprotocols: [b, c] }",
            "sec-websocket-protocol",
            "b, c",
        ),
        ("sec-websocket-protocol: a", "- mqtt: /mqtt", "sec-websocket-protocol", "mqtt"),
        ("sec-websocket-protocol: a", "- ws: /", "sec-websocket-protocol", "a"),
    ] {
        assert_eq!(values(of_run, step, name), [expected], "{of_run} {step}");
    }
    let multipart = "- { post: /, multipart: { a: b } }";
    let types = values("content-type: multipart/form-data", multipart, "content-type");
    assert!(matches!(&types[..], [one] if one.contains("; boundary=")), "{types:?}");
}

#[test]
fn a_step_may_name_the_type_of_its_body() {
    let own = "- { post: /, json: {}, headers: { Content-Type: application/vnd.api+json } }";
    assert_eq!(values("", own, "content-type"), ["application/vnd.api+json"]);
    let parts = "- { post: /, body: x, headers: { content-type: multipart/mixed; boundary=x } }";
    assert_eq!(values("", parts, "content-type"), ["multipart/mixed; boundary=x"]);
}

/// A handshake has each of its fields once (RFC 6455 section 4.1), and a body is announced once.
#[test]
fn the_engine_adds_what_no_header_of_the_run_may_double() {
    let of_run = "connection: keep-alive, Upgrade: h2c, sec-websocket-version: 8, x: own";
    assert_eq!(headers(of_run, "- ws: /"), [("x".to_owned(), "own".to_owned())]);
    assert_eq!(values(of_run, "- get: /", "connection"), ["keep-alive"]);
    let waits = "- { put: /, body: x, expect: 100-continue }";
    assert_eq!(values("expect: 100-continue", waits, "expect"), [""; 0]);
    assert_eq!(values("expect: 100-continue", "- get: /", "expect"), ["100-continue"]);
    let digest = "- { get: /, auth: { digest: { user: a, password: \"${env('TOKEN')}\" } } }";
    let credentials = "authorization: \"${env('TOKEN')}\"";
    assert_eq!(values(credentials, digest, "authorization"), [""; 0]);
}

/// Two headers of one name would be two identities.
#[test]
fn a_request_with_its_own_credentials_answers_no_challenge() {
    let text = "target: http://127.0.0.1/\noptions:\n  \
                auth: { digest: { user: ann, password: \"${env('PASSWORD')}\" } }\nsessions:\n  \
                s: [ { get: /, headers: { Authorization: \"${env('TOKEN')}\" } }, { get: / } ]\n\
                arrivals: [ { hold: 1s } ]\n";
    let ops = plan(text).sessions.remove(0).ops;
    let answers = ops.iter().filter_map(|op| match op {
        Op::Http(request) => Some(request.digest.is_some()),
        _ => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), [false, true]);
}
