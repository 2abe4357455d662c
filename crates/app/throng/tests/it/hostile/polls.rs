//! Requests in the background whose answers hold messages. One that fails is counted, and the next
//! follows.

use super::case::{Act, Case, flood, send};

/// Polls until the message `ok` has come.
const POLL: &str = "[ { poll: AT, pause: 50ms }, { expect: { save: { seen: body }, \
                    check: \"seen == 'ok'\" } }, { close: } ]";
/// The messages are in a list.
const LIST: &str = "[ { poll: AT, pause: 50ms, each: /list }, { expect: { save: { seen: body }, \
                    check: \"seen == '1'\" } }, { close: } ]";
/// A request that is not answered.
const IN_TIME: &str = "[ { poll: AT, pause: 50ms, timeout: 3s }, { expect: } , { close: } ]";
/// What saves a part of each answer.
const SAVES: &str = "[ { poll: AT, pause: 50ms, save: { next: /next } }, { expect: }, { close: } ]";

/// A switch to what no poll requests.
const SWITCH: &str = "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n";

pub(super) fn cases() -> Vec<Case> {
    [answers(), lists()].concat()
}

fn answer(status: &str, body: &str) -> Act {
    let length = body.len();
    send(format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}"))
}

/// The first answer is bad, and the second in order.
fn answers() -> Vec<Case> {
    let ok = answer("200 OK", "ok");
    let broken =
        |name, acts: Vec<Act>, right| Case::new(name, POLL, acts, right).then([ok.clone()]);
    let kept =
        |name, first: Act, right| Case::new(name, POLL, [first, Act::Request, ok.clone()], right);
    vec![
        kept("poll-of-nothing", answer("200 OK", ""), "ok 200, ok 200, ok; 1 connections"),
        kept("poll-of-blanks", answer("200 OK", " \r\n"), "ok 200, ok 200, ok; 1 connections"),
        kept("poll-204", send("HTTP/1.1 204 No\r\n\r\n"), "ok 204, ok 200, ok; 1 connections"),
        kept("poll-500", answer("500 No", "ok"), "status 500, ok 200, ok; 1 connections"),
        kept("poll-404", answer("404 No", "ok"), "status 404, ok 200, ok; 1 connections"),
        broken("poll-101", vec![send(SWITCH)], "http-protocol 101, ok 200, ok; 2 connections"),
        broken("poll-closed", vec![Act::Fin], "closed, ok 200, ok; 2 connections"),
        broken("poll-reset", vec![Act::Reset], "reset, ok 200, ok; 2 connections"),
        broken(
            "poll-of-nonsense",
            vec![send("nonsense\r\n")],
            "http-protocol, ok 200, ok; 2 connections",
        ),
        broken(
            "poll-head-without-end",
            vec![send("HTTP/1.1 200 OK\r\n"), flood("a: b\r\n")],
            "too-large, ok 200, ok; 2 connections",
        ),
        broken(
            "poll-body-without-end",
            vec![send("HTTP/1.1 200 OK\r\n\r\n"), flood("a")],
            "too-large, ok 200, ok; 2 connections",
        ),
        broken(
            "poll-cut-short",
            vec![send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"), Act::Fin],
            "closed, ok 200, ok; 2 connections",
        ),
        broken(
            "poll-and-more",
            vec![send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nmore")],
            "ok 200, ok 200, ok; 2 connections",
        ),
        broken(
            "poll-and-close",
            vec![send("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n")],
            "ok 200, ok 200, ok; 2 connections",
        ),
        Case::new(
            "poll-silence",
            IN_TIME,
            [],
            "timeout, ok 200, ok; 2 connections | timeout, timeout, ok 200, ok; 3 connections",
        )
        .then([ok]),
    ]
}

/// A body that does not hold what is looked for.
fn lists() -> Vec<Case> {
    let list = |name, body: &str, right| {
        let good = answer("200 OK", r#"{"list":[1]}"#);
        Case::new(name, LIST, [answer("200 OK", body), Act::Request, good], right)
    };
    let saves = |name, body: &str, right| {
        let good = answer("200 OK", r#"{"next":1}"#);
        Case::new(name, SAVES, [answer("200 OK", body), Act::Request, good], right)
    };
    const MISSING: &str = "save 200, ok 200, ok";
    vec![
        list("list-missing", r#"{"other":[]}"#, MISSING),
        list("list-of-wrong-type", r#"{"list":{"0":1}}"#, MISSING),
        list("list-that-is-null", r#"{"list":null}"#, MISSING),
        list("list-that-is-text", r#"{"list":"[1]"}"#, MISSING),
        list("list-cut-short", r#"{"list":[1,"#, MISSING),
        list("list-of-bad-items", r#"{"list":[1,nonsense]}"#, MISSING),
        list("list-of-plain-text", "nonsense", MISSING),
        list("list-empty", r#"{"list":[]}"#, "ok 200, ok 200, ok"),
        saves("poll-saves-nothing", r#"{"other":1}"#, MISSING),
        saves("poll-saves-from-text", "nonsense", MISSING),
    ]
}
