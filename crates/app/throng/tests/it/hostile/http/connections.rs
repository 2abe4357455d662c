//! How long a connection lasts (RFC 9112 §9), and how it ends in the midst of an answer.

use std::time::Duration;

use super::super::case::{Act, Case, pause, send};
use super::{GET_IN_TIME, get};

/// Two requests, one after the other.
const TWICE: &str = "[ { loop: 2, steps: [ { get: AT, save: { seen: body }, \
                     check: \"seen == 'ok'\" } ] } ]";
/// Two requests. Between them one that the server answers once it has done what follows its answer, over
/// a connection of its own.
const TWICE_LATER: &str = "[ { get: AT }, { get: BARRIER }, { get: AT, save: { seen: body }, \
                           check: \"seen == 'ok'\" } ]";
/// A request that answers the challenges of the server.
const DIGEST: &str = "[ { get: AT, auth: { digest: { user: u, password: p } } } ]";

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

pub(super) fn cases() -> Vec<Case> {
    [kept(), later(), cuts(), silences(), at_once(), challenges()].concat()
}

/// An answer with these fields, on as many connections as requests come.
fn twice(name: &'static str, start: &str, right: &'static str) -> Case {
    let answer = send(format!("{start}\r\n\r\nok"));
    Case::new(name, TWICE, [answer.clone(), Act::Request, answer], right)
}

/// §9.3: which connections persist. One that is to be closed is not used again.
fn kept() -> Vec<Case> {
    const ONE: &str = "ok 200, ok 200; 1 connections";
    const TWO: &str = "ok 200, ok 200; 2 connections";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let more = |name, text: &str| {
        let acts = [send(format!("{OK}{text}"))];
        Case::new(name, TWICE, acts, TWO)
    };
    vec![
        twice("kept", "HTTP/1.1 200 OK\r\ncontent-length: 2", ONE),
        twice(
            "kept-by-http-1-0",
            "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2",
            ONE,
        ),
        twice(
            "kept-in-upper-case",
            "HTTP/1.0 200 OK\r\nCONNECTION: KEEP-ALIVE\r\ncontent-length: 2",
            ONE,
        ),
        Case::new("kept-when-chunked", TWICE, [send(chunked), Act::Request, send(chunked)], ONE),
        twice("not-kept-by-http-1-0", "HTTP/1.0 200 OK\r\ncontent-length: 2", TWO),
        twice("not-kept", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2", TWO),
        twice(
            "not-kept-in-list",
            "HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 2",
            TWO,
        ),
        twice(
            "not-kept-by-second-field",
            "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nconnection: close\r\ncontent-length: 2",
            TWO,
        ),
        // §6.1: after both framings a connection is closed.
        Case::new(
            "not-kept-after-both-framings",
            TWICE,
            [send(chunked.replace("chunked\r\n", "chunked\r\ncontent-length: 2\r\n"))],
            "ok 200, ok 200; 2 connections | http-protocol, http-protocol; 2 connections",
        ),
        // §9.2: what follows the last answer belongs to no request.
        more("more-after-answer", " and more"),
        more("answer-after-answer", OK),
        more("empty-line-after-answer", "\r\n"),
        more("100-after-answer", "HTTP/1.1 100 Continue\r\n\r\n"),
        more("408-after-answer", "HTTP/1.1 408 Late\r\nconnection: close\r\n\r\n"),
    ]
}

/// What comes, or ends, while nothing is due: the next request has a connection of its own. The barrier
/// counts as a connection, too. It opens late enough for the client to have looked at the first
/// connection: one that is busy takes what it has not seen for the answer to the next request.
fn later() -> Vec<Case> {
    const THREE: &str = "ok 200, ok 200, ok 200; 3 connections";
    let late = "HTTP/1.1 408 Late\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let later = |name, acts: &[Act]| {
        let seen = Act::Pause(Duration::from_millis(500));
        let script = [&[send(OK)], acts, &[seen, Act::OpenBarrier]].concat();
        Case::new(name, TWICE_LATER, script, THREE)
    };
    // A reset leaves nothing behind it to open the barrier, so that it is opened first.
    let reset = [send(OK), pause(), Act::OpenBarrier, Act::Reset];
    vec![
        later("more-later", &[pause(), send("and more")]),
        later("answer-later", &[pause(), send(OK)]),
        later("408-later", &[pause(), send(late), Act::Fin]),
        later("close-later", &[pause(), Act::Fin]),
        Case::new(
            "reset-later",
            TWICE_LATER,
            reset,
            "ok 200, ok 200, ok 200 | ok 200, ok 200, reset",
        ),
    ]
}

/// Closed or reset at each of many points.
fn cuts() -> Vec<Case> {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nserver: s\r\ncontent-length: 9\r\n\r\nok";
    /// Bytes of the answer that come, and the names of the two cases.
    const POINTS: &[(usize, &str, &str)] = &[
        (0, "close-before-answer", "reset-before-answer"),
        (1, "close-after-a-byte", "reset-after-a-byte"),
        (8, "close-after-version", "reset-after-version"),
        (12, "close-after-code", "reset-after-code"),
        (16, "close-in-line-end", "reset-in-line-end"),
        (17, "close-after-status-line", "reset-after-status-line"),
        (22, "close-in-name", "reset-in-name"),
        (26, "close-in-value", "reset-in-value"),
        (44, "close-in-length", "reset-in-length"),
        (47, "close-before-empty-line", "reset-before-empty-line"),
        (48, "close-in-empty-line", "reset-in-empty-line"),
        (49, "close-after-head", "reset-after-head"),
        (50, "close-in-body", "reset-in-body"),
    ];
    let both = POINTS.iter().flat_map(|&(len, closed, reset)| {
        let part = send(&ANSWER[..len]);
        [get(closed, [part.clone(), Act::Fin], "closed"), get(reset, [part, Act::Reset], "reset")]
    });
    both.collect()
}

/// A server that stops, at each of many points, until the client has no more time.
fn silences() -> Vec<Case> {
    let stops = |name, part: &str| Case::new(name, GET_IN_TIME, [send(part)], "timeout");
    vec![
        Case::new("silence", GET_IN_TIME, [], "timeout"),
        stops("silence-after-version", "HTTP/1.1"),
        stops("silence-after-status-line", "HTTP/1.1 200 OK\r\n"),
        stops("silence-in-field", "HTTP/1.1 200 OK\r\na: b"),
        stops("silence-in-empty-line", "HTTP/1.1 200 OK\r\na: b\r\n\r"),
        stops("silence-after-head", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"),
    ]
}

/// A server that does not wait for the request.
fn at_once() -> Vec<Case> {
    let bad = "HTTP/1.1 400 Bad\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    vec![
        get("close-at-once", [Act::Fin], "closed").at_once(),
        get("reset-at-once", [Act::Reset], "reset").at_once(),
        get("answer-at-once", [send(OK)], "ok 200").at_once(),
        get("answer-and-close-at-once", [send(OK), Act::Fin], "ok 200").at_once(),
        get("400-at-once", [send(bad), Act::Fin], "status 400").at_once(),
        get("nonsense-at-once", [send("nonsense")], "http-protocol").at_once(),
        get("byte-at-once", [send("H"), pause(), send(&OK[1..])], "ok 200").at_once(),
    ]
}

/// Challenges of digest authentication (RFC 7616 §3.3). A request is repeated once for each new nonce.
fn challenges() -> Vec<Case> {
    let challenge = |challenge: &str| {
        send(format!(
            "HTTP/1.1 401 No\r\nwww-authenticate: {challenge}\r\ncontent-length: 0\r\n\r\n"
        ))
    };
    let always = |name, text: &str, right| {
        let answers = vec![[challenge(text), Act::Request]; 8].concat();
        Case::new(name, DIGEST, answers, right)
    };
    let long = format!("Digest realm=\"r\", nonce=\"{}\"", "n".repeat(50_000));
    vec![
        always("challenge-again", "Digest realm=\"r\", nonce=\"n\"", "status 401; 2 requests"),
        always(
            "challenge-always-stale",
            "Digest realm=\"r\", nonce=\"n\", stale=true",
            "status 401; 2 requests | status 401; 3 requests",
        ),
        always("challenge-empty", "", "status 401; 1 requests"),
        always("challenge-without-nonce", "Digest realm=\"r\"", "status 401; 1 requests"),
        always("challenge-unclosed", "Digest realm=\"r, nonce=", "status 401; 1 requests"),
        always("challenge-of-commas", "Digest ,,,,=,=\",", "status 401; 1 requests"),
        always("challenge-of-50-kb", &long, "status 401; 2 requests"),
        always(
            "challenge-unknown-algorithm",
            "Digest realm=\"r\", nonce=\"n\", algorithm=MD4",
            "status 401; 1 requests",
        ),
    ]
}
