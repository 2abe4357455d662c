//! Socket.IO 5 over Engine.IO 4 (github.com/socketio/socket.io-protocol and …/engine.io-protocol;
//! `socket.io-client` 4).

use super::super::case::{Act, Case, flood, send};
use super::super::frames::{BINARY, TEXT, frame};
use super::{after_accept, text};

/// Joins the main namespace.
const JOIN: &str = "[ { ws: { path: AT, protocol: socket.io } }, { join: / } ]";
/// A join that is not answered.
const IN_TIME: &str = "[ { ws: { path: AT, protocol: socket.io } }, { join: /, timeout: 3s } ]";
/// A greeting that does not come.
const UNANSWERED: &str = "[ { ws: { path: AT, protocol: socket.io, timeout: 3s } } ]";
/// Joins and waits for an acknowledgement.
const EMIT: &str = "[ { ws: { path: AT, protocol: socket.io } }, { join: / }, \
                    { emit: { event: e }, reply: { within: 20s } } ]";

const OPEN: &str = r#"0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#;
const JOINED: &str = r#"40{"sid":"t"}"#;
const RIGHT: &str = "ok 101, ok";
const BROKEN: &str = "ok 101, protocol";

pub(super) fn cases() -> Vec<Case> {
    [opens(), packets(), joins(), events(), acks()].concat()
}

/// This comes in place of the packet that opens.
fn first(name: &'static str, first: &str, right: &'static str) -> Case {
    let acts = [text(first), Act::Frame, text(JOINED)];
    let steps = if right.ends_with("timeout") { UNANSWERED } else { JOIN };
    Case::new(name, steps, after_accept(&acts), right)
}

/// The server speaks first, with a packet of type 0 and an object.
fn opens() -> Vec<Case> {
    let interval = |value: &str| OPEN.replace("25000", value).replace("20000", value);
    vec![
        first("socketio-open", OPEN, RIGHT),
        first("socketio-open-of-nothing", "0", "protocol"),
        first("socketio-open-of-array", "0[]", "protocol"),
        first("socketio-open-half", &OPEN[..20], "protocol"),
        first("socketio-open-nonsense", "0nonsense", "protocol"),
        first("socketio-open-empty", "0{}", "ok 101, ok | protocol"),
        first("socketio-interval-text", &interval("\"soon\""), "ok 101, ok | protocol"),
        first("socketio-interval-negative", &interval("-1"), "ok 101, ok | protocol"),
        first("socketio-interval-null", &interval("null"), "ok 101, ok | protocol"),
        first("socketio-interval-that-overflows", &interval("1e300"), "ok 101, ok | protocol"),
        first("socketio-interval-infinite", &interval("1e999"), "ok 101, ok | protocol"),
        // The first packet has to be that which opens.
        first("socketio-message-first", JOINED, "protocol | timeout"),
        first("socketio-noop-first", "6", "protocol | timeout"),
        Case::new("socketio-silence", UNANSWERED, after_accept(&[]), "timeout"),
        Case::new(
            "socketio-silence-after-open",
            IN_TIME,
            after_accept(&[text(OPEN)]),
            "ok 101, timeout",
        ),
        first("socketio-closed-first", "1", "closed"),
    ]
}

/// This comes when the join is to be answered.
fn answer(name: &'static str, acts: &[Act], right: &'static str) -> Case {
    let acts = [&[text(OPEN), Act::Frame], acts].concat();
    Case::new(name, JOIN, after_accept(&acts), right)
}

/// Packets of Engine.IO.
fn packets() -> Vec<Case> {
    vec![
        answer("engineio-text-empty", &[text("")], BROKEN),
        answer("engineio-type-unknown", &[text("7")], BROKEN),
        answer("engineio-type-letter", &[text("x")], BROKEN),
        answer("engineio-base64", &[text("bAAAA")], BROKEN),
        answer("engineio-json", &[text("{}")], BROKEN),
        answer("engineio-message-empty", &[text("4")], BROKEN),
        answer("engineio-noop", &[text("6"), text(JOINED)], RIGHT),
        answer("engineio-close", &[text("1")], "ok 101, closed"),
        // The client answers, and only then the server continues.
        answer("engineio-ping", &[text("2"), Act::Frame, text(JOINED)], RIGHT),
        answer("engineio-ping-with-data", &[text("2probe"), Act::Frame, text(JOINED)], RIGHT),
        answer("engineio-pong", &[text("3"), text(JOINED)], "ok 101, ok | ok 101, protocol"),
        answer("engineio-upgrade", &[text("5"), text(JOINED)], "ok 101, ok | ok 101, protocol"),
        answer("engineio-open-again", &[text(OPEN), text(JOINED)], "ok 101, ok | ok 101, protocol"),
        Case::new(
            "engineio-flood-of-pings",
            IN_TIME,
            after_accept(&[text(OPEN), flood(frame(TEXT, "2"))]),
            "ok 101, timeout",
        ),
        Case::new(
            "engineio-flood-of-noops",
            IN_TIME,
            after_accept(&[text(OPEN), flood(frame(TEXT, "6"))]),
            "ok 101, timeout",
        ),
    ]
}

/// Packets of Socket.IO about namespaces.
fn joins() -> Vec<Case> {
    vec![
        answer("socketio-refused", &[text(r#"44{"message":"no"}"#)], "ok 101, rejected"),
        answer(
            "socketio-refused-by-text",
            &[text(r#"44"no""#)],
            "ok 101, rejected | ok 101, protocol",
        ),
        answer(
            "socketio-refused-without-reason",
            &[text("44")],
            "ok 101, rejected | ok 101, protocol",
        ),
        answer(
            "socketio-another-joined",
            &[text("40/u,{}"), text(r#"44{"message":"no"}"#)],
            "ok 101, rejected",
        ),
        // Only Socket.IO 2 names no session.
        answer("socketio-joined-without-session", &[text("40")], BROKEN),
        answer("socketio-joined-as-array", &[text("40[]")], BROKEN),
        answer("socketio-another-refused", &[text("44/u,{}"), text(JOINED)], RIGHT),
        answer("socketio-joined-twice", &[text(JOINED), text(JOINED)], RIGHT),
        answer("socketio-another-ended", &[text("41/u,"), text(JOINED)], RIGHT),
        answer("socketio-type-unknown", &[text("47")], BROKEN),
        answer("socketio-type-letter", &[text("4x")], BROKEN),
        // An acknowledgement is no answer to a join, whatever its number.
        answer(
            "socketio-ack-0-for-a-join",
            &[text("430[]"), text(r#"44{"message":"no"}"#)],
            "ok 101, rejected",
        ),
        answer(
            "socketio-ack-1-for-a-join",
            &[text("431[]"), text(r#"44{"message":"no"}"#)],
            "ok 101, rejected",
        ),
    ]
}

/// Events: an array that begins with a name.
fn events() -> Vec<Case> {
    let event = |name, packet: &str, right| answer(name, &[text(packet), text(JOINED)], right);
    let binary = send(frame(BINARY, [1, 2, 3]));
    let announced = text(r#"451-["e",{"_placeholder":true,"num":0}]"#);
    vec![
        event("socketio-event", r#"42["e",1]"#, RIGHT),
        event("socketio-event-without-arguments", r#"42["e"]"#, RIGHT),
        event("socketio-event-of-1000", &format!("42[\"e\"{}]", ",1".repeat(1000)), RIGHT),
        event("socketio-event-of-nothing", "42", BROKEN),
        event("socketio-event-of-object", "42{}", BROKEN),
        event("socketio-event-of-empty-array", "42[]", BROKEN),
        // The parser of the library takes numbers for names as well.
        event("socketio-event-of-number", "42[7]", "ok 101, protocol | ok 101, ok"),
        event("socketio-event-of-null", "42[null]", BROKEN),
        event("socketio-event-half", r#"42["e","#, BROKEN),
        event("socketio-event-in-bad-namespace", r#"42/u"#, BROKEN),
        answer("socketio-binary", &[announced.clone(), binary.clone(), text(JOINED)], RIGHT),
        event("socketio-binary-without-count", r#"45["e"]"#, BROKEN),
        event("socketio-binary-without-dash", r#"451["e"]"#, BROKEN),
        event("socketio-binary-of-letters", r#"45x-["e"]"#, BROKEN),
        event("socketio-binary-of-too-many", r#"45999999-["e"]"#, BROKEN),
        event("socketio-binary-that-overflows", r#"4599999999999999999999-["e"]"#, BROKEN),
        // The parser of the library throws at text where bytes were announced, and at bytes where none were.
        answer(
            "socketio-text-for-binary",
            &[announced, text(JOINED)],
            "ok 101, protocol | ok 101, ok",
        ),
        answer(
            "socketio-binary-not-announced",
            &[binary, text(JOINED)],
            "ok 101, protocol | ok 101, ok",
        ),
    ]
}

/// Acknowledgements. The join has the client's number 1, the event 2.
fn acks() -> Vec<Case> {
    let ack = |name, acts: &[Act], right| {
        let acts = [&[text(OPEN), Act::Frame, text(JOINED), Act::Frame], acts].concat();
        Case::new(name, EMIT, after_accept(&acts), right)
    };
    const RIGHT: &str = "ok 101, ok, ok";
    const BROKEN: &str = "ok 101, ok, protocol";
    vec![
        ack("socketio-ack", &[text("432[]")], RIGHT),
        ack("socketio-ack-with-more", &[text(r#"432[1,{},"x"]"#)], RIGHT),
        ack("socketio-ack-twice", &[text("432[]"), text("432[]")], RIGHT),
        ack("socketio-ack-unknown-first", &[text("437[]"), text("430[]"), text("432[]")], RIGHT),
        ack("socketio-ack-without-number", &[text("43[]")], BROKEN),
        ack(
            "socketio-ack-that-overflows",
            &[text("4399999999999999999999[]"), text("432[]")],
            "ok 101, ok, protocol | ok 101, ok, ok",
        ),
        ack("socketio-ack-of-object", &[text("432{}")], BROKEN),
        ack("socketio-ack-of-nothing", &[text("432")], BROKEN),
        ack("socketio-ack-half", &[text("432[1")], BROKEN),
        ack("socketio-ack-closed", &[Act::Fin], "ok 101, ok, closed"),
    ]
}
