//! Server-sent events (HTML standard §9.2).

use super::case::{Act, Case, drip, flood, send};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
/// Waits for an event that never comes.
const IN_TIME: &str =
    "[ { sse: AT, reconnect: false }, { expect: { when: { body: never }, within: 1s } } ]";
/// A stream that does not begin.
const UNANSWERED: &str = "[ { sse: AT, reconnect: false, timeout: 3s } ]";
/// A stream that comes back.
const AGAIN: &str = "[ { sse: AT, reconnect: 50ms }, \
                     { expect: { save: { seen: body }, check: \"seen == 'ok'\" } } ]";
const RIGHT: &str = "ok 200, ok";

pub(super) fn cases() -> Vec<Case> {
    [lines(), fields(), heads(), delimited(), ends(), again()].concat()
}

/// A stream that the client does not open again, and on it an event with these data.
fn sees(name: &'static str, data: &str, stream: impl AsRef<[u8]>) -> Case {
    let steps = format!(
        "[ {{ sse: AT, reconnect: false }}, {{ expect: {{ save: {{ seen: body }}, \
         check: \"seen == '{data}'\" }} }} ]"
    );
    let bytes = [HEAD.as_bytes(), stream.as_ref()].concat();
    Case::new(name, &steps, [send(bytes)], RIGHT)
}

/// A stream that the client does not open again, and on it the event `ok`.
fn opens(name: &'static str, acts: impl Into<Vec<Act>>, right: &'static str) -> Case {
    let steps = sees(name, "ok", "").steps;
    Case::new(name, &steps, acts, right)
}

/// §9.2.5: lines end with LF, CR or CRLF; one byte order mark may come first.
fn lines() -> Vec<Case> {
    vec![
        sees("event", "ok", "data: ok\n\n"),
        sees("event-ended-by-cr", "ok", "data: ok\r\r"),
        sees("event-ended-by-crlf", "ok", "data: ok\r\n\r\n"),
        sees("event-ended-by-each", "a\\\\nb\\\\nc", "data: a\rdata: b\ndata: c\r\n\r\n"),
        sees("event-after-mark", "ok", "\u{feff}data: ok\n\n"),
        sees("event-after-two-marks", "ok", "\u{feff}\u{feff}data: no\n\ndata: ok\n\n"),
        sees("event-after-empty-lines", "ok", "\n\r\n\r\n\ndata: ok\n\n"),
        sees("event-after-comments", "ok", ":\n: no\n:data: no\n\ndata: ok\n\n"),
        // §9.2.5: what is not UTF-8 is decoded all the same.
        sees("event-not-utf8", "a\u{fffd}b", b"data: a\xffb\n\n"),
        opens("event-byte-by-byte", [send(HEAD), drip("\u{feff}data: ok\r\n\r\n")], RIGHT),
    ]
}

/// §9.2.6: what a line means.
fn fields() -> Vec<Case> {
    vec![
        sees("data-without-blank", "ok", "data:ok\n\n"),
        sees("data-after-two-blanks", " ok", "data:  ok\n\n"),
        sees("data-with-colons", "a:b", "data: a:b\n\n"),
        sees("data-without-colon", "", "data\n\n"),
        sees("data-empty", "", "data:\n\n"),
        sees("data-of-three-lines", "a\\\\n\\\\nb", "data: a\ndata:\ndata: b\n\n"),
        sees("data-in-upper-case", "ok", "DATA: no\n\ndata: ok\n\n"),
        sees("data-after-blank", "ok", " data: no\n\ndata: ok\n\n"),
        sees("unknown-fields", "ok", "dat: no\ndatas: no\n\ndata: ok\n\n"),
        // Without data nothing is dispatched.
        sees("event-without-data", "ok", "event: x\nid: 1\n\ndata: ok\n\n"),
        sees("id-with-nul", "ok", "id: a\0b\ndata: ok\n\n"),
        sees("retry-of-letters", "ok", "retry: soon\ndata: ok\n\n"),
        sees("retry-negative", "ok", "retry: -1\ndata: ok\n\n"),
        sees("retry-that-overflows", "ok", "retry: 99999999999999999999999\ndata: ok\n\n"),
    ]
}

/// §9.2.3: status 200 and the content type, or the stream fails.
fn heads() -> Vec<Case> {
    let answer = |name, status: &str, fields: &str, right| {
        let text = format!("HTTP/1.1 {status}\r\n{fields}\r\n\r\ndata: ok\n\n");
        opens(name, [send(text)], right)
    };
    let of_events = "content-type: text/event-stream";
    vec![
        answer(
            "stream-with-charset",
            "200 OK",
            "Content-Type: Text/Event-Stream; charset=utf-8",
            RIGHT,
        ),
        answer("stream-of-html", "200 OK", "content-type: text/html", "http-protocol 200"),
        answer("stream-without-type", "200 OK", "x: y", "http-protocol 200"),
        answer(
            "stream-of-like-type",
            "200 OK",
            "content-type: text/event-streams",
            "http-protocol 200",
        ),
        answer("stream-204", "204 No", of_events, "status 204"),
        answer("stream-206", "206 Part", of_events, "status 206"),
        answer("stream-301", "301 Moved", "location: /", "status 301"),
        answer("stream-500", "500 No", of_events, "status 500"),
        answer("stream-100-first", "100 C\r\n\r\nHTTP/1.1 200 OK", of_events, RIGHT),
        opens("stream-of-nonsense", [send("nonsense\r\n\r\n")], "http-protocol"),
        opens(
            "stream-head-without-end",
            [send(&HEAD[..HEAD.len() - 2]), flood("a: b\r\n")],
            "too-large",
        ),
    ]
}

/// The stream is the body of a response, however that is delimited.
fn delimited() -> Vec<Case> {
    let chunked = HEAD.replace("OK\r\n", "OK\r\ntransfer-encoding: chunked\r\n");
    let chunks = |name, chunks: &str, right| opens(name, [send(&chunked), send(chunks)], right);
    let length = |name, bytes: usize, right| {
        let head = HEAD.replace("OK\r\n", &format!("OK\r\ncontent-length: {bytes}\r\n"));
        opens(name, [send(head), send("data: ok\n\n")], right)
    };
    vec![
        chunks("stream-in-chunks", "5\r\ndata:\r\n4\r\n ok\n\r\n1\r\n\n\r\n", RIGHT),
        chunks("stream-of-bad-chunks", "x\r\n", "ok 200, http-protocol"),
        chunks("stream-ended-by-chunk", "4\r\ndata\r\n0\r\n\r\n", "ok 200, closed"),
        length("stream-with-length", 10, RIGHT),
        length("stream-cut-by-length", 9, "ok 200, closed"),
        length("stream-of-length-0", 0, "ok 200, closed"),
    ]
}

/// An event that has not ended is discarded (§9.2.6). What never ends is limited.
fn ends() -> Vec<Case> {
    let after =
        |name, text: &str, act: Act, right| opens(name, [send(HEAD), send(text), act], right);
    let floods =
        |name, text: &str, right| Case::new(name, IN_TIME, [send(HEAD), flood(text)], right);
    vec![
        after("stream-closed", "", Act::Fin, "ok 200, closed"),
        after("stream-closed-in-event", "data: ok\n", Act::Fin, "ok 200, closed"),
        after("stream-closed-after-event", "data: ok\n\n", Act::Fin, RIGHT),
        after("stream-reset-in-event", "data: ok", Act::Reset, "ok 200, reset"),
        Case::new("stream-silence", UNANSWERED, [], "timeout"),
        Case::new("stream-silence-after-head", IN_TIME, [send(HEAD)], "ok 200, timeout"),
        floods("line-without-end", "data: a", "ok 200, too-large"),
        floods("event-without-end", "data: a\n", "ok 200, too-large"),
        floods("ids-without-end", "id: a\n", "ok 200, too-large"),
        floods("comment-line-without-end", ": a", "ok 200, too-large | ok 200, timeout"),
        floods("comments-without-end", ": a\n", "ok 200, timeout"),
        floods("empty-lines-without-end", "\n", "ok 200, timeout"),
        floods("events-without-end", "data: a\n\n", "ok 200, timeout"),
        floods("ids-of-events-without-end", "id: a\n\n", "ok 200, timeout"),
    ]
}

/// §9.2.3: a stream that is lost is opened again, unless the server says no.
fn again() -> Vec<Case> {
    let event = format!("{HEAD}data: ok\n\n");
    let again = |name, acts: Vec<Act>, right| Case::new(name, AGAIN, acts, right);
    let good = [send(&event)];
    const BACK: &str = "ok 200, ok 200, ok; 2 connections";
    let id = |id: &str| vec![send(format!("{HEAD}id: {id}\n\n")), Act::Fin];
    vec![
        again("stream-opened-again", vec![send(HEAD), Act::Fin], BACK).then(good.clone()),
        again("stream-opened-after-reset", vec![send(HEAD), Act::Reset], BACK).then(good.clone()),
        again("stream-opened-at-once", vec![send(format!("{HEAD}retry: 0\n\n")), Act::Fin], BACK)
            .then(good.clone()),
        again("stream-opened-with-id", id("\u{e4} 1"), BACK).then(good.clone()),
        again("stream-opened-with-long-id", id(&"i".repeat(60_000)), BACK).then(good.clone()),
        // A header line cannot hold such an id.
        again(
            "stream-opened-with-control",
            [vec![Act::Request], id("a\u{1}b")].concat(),
            "ok 200, step, step | ok 200, ok 200, ok",
        )
        .then([&[Act::Request][..], &good].concat())
        .at_once(),
        again(
            "stream-opened-third-time",
            vec![send(HEAD), Act::Fin],
            "ok 200, closed, ok 200, ok; 3 connections",
        )
        .then([Act::Fin])
        .then(good.clone()),
        again(
            "stream-told-to-stop",
            vec![send(HEAD), Act::Fin],
            "ok 200, ok 204, closed; 2 connections",
        )
        .then([send("HTTP/1.1 204 No\r\n\r\n")]),
        again(
            "stream-broken-again",
            vec![send(HEAD), Act::Fin],
            "ok 200, http-protocol, http-protocol; 2 connections",
        )
        .then([send("nonsense\r\n\r\n")]),
        Case::new(
            "stream-opened-never",
            "[ { sse: AT }, { expect: { within: 1s } } ]",
            [send(format!("{HEAD}retry: 99999999999999\n\n")), Act::Fin],
            "ok 200, timeout; 1 connections",
        ),
    ]
}
