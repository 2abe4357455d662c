//! The answer to the handshake (RFC 6455 §4.1, the list at its end).

use super::super::case::{Act, Case, flood, send};
use super::super::frames::{TEXT, frame};
use super::{OPEN, OPEN_UNANSWERED, SWITCH};

/// Offers subprotocols.
const OFFERS: &str = "[ { ws: { path: AT, subprotocols: [a, b] } }, { expect: } ]";

pub(super) fn cases() -> Vec<Case> {
    [answers(), fields(), agreed(), others()].concat()
}

/// A handshake with one part of it replaced, then the message `ok`.
fn with(name: &'static str, part: &str, by: &str, right: &'static str) -> Case {
    assert!(SWITCH.contains(part), "{part}");
    let answer = format!("{}\r\n", SWITCH.replace(part, by));
    Case::new(name, OPEN, [send(answer), send(frame(TEXT, "ok"))], right)
}

/// As above, with further fields.
fn added(name: &'static str, lines: &str, right: &'static str) -> Case {
    let answer = format!("{SWITCH}{lines}\r\n\r\n");
    Case::new(name, OPEN, [send(answer), send(frame(TEXT, "ok"))], right)
}

/// Anything but a 101 is an answer of HTTP.
fn answers() -> Vec<Case> {
    let status = |name, line: &str, right| {
        let answer = format!("HTTP/1.1 {line}\r\ncontent-length: 2\r\n\r\nok");
        Case::new(name, OPEN, [send(answer)], right)
    };
    vec![
        status("ws-200", "200 OK", "status 200"),
        status("ws-204", "204 No", "status 204"),
        status("ws-301", "301 Moved\r\nlocation: /", "status 301"),
        status("ws-401", "401 No\r\nwww-authenticate: Basic realm=r", "status 401"),
        status("ws-404", "404 No", "status 404"),
        status("ws-426", "426 Upgrade\r\nupgrade: websocket\r\nconnection: Upgrade", "status 426"),
        status("ws-503", "503 No", "status 503"),
    ]
}

fn fields() -> Vec<Case> {
    const WRONG: &str = "ws-protocol 101";
    const RIGHT: &str = "ok 101, ok";
    let other = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
    vec![
        with("ws-in-order", "101 ", "101 ", RIGHT),
        with("ws-upgrade-in-upper-case", "upgrade: websocket", "UPGRADE: WebSocket", RIGHT),
        with("ws-upgrade-missing", "upgrade: websocket\r\n", "", WRONG),
        with("ws-upgrade-to-h2c", "upgrade: websocket", "upgrade: h2c", WRONG),
        with("ws-upgrade-empty", "upgrade: websocket", "upgrade:", WRONG),
        with("ws-connection-in-list", ": Upgrade", ": keep-alive, UPGRADE", RIGHT),
        with("ws-connection-missing", "connection: Upgrade\r\n", "", WRONG),
        with("ws-connection-close", ": Upgrade", ": close", WRONG),
        with("ws-connection-of-like-name", ": Upgrade", ": xupgrade", WRONG),
        with("ws-accept-missing", "sec-websocket-accept: {accept}\r\n", "", WRONG),
        with("ws-accept-empty", "{accept}", "", WRONG),
        with("ws-accept-of-another-key", "{accept}", other, WRONG),
        with("ws-accept-with-more", "{accept}", "{accept}=", WRONG),
        // Blanks around a value are no part of it (RFC 9110 §5.5).
        with("ws-accept-between-blanks", "{accept}", " {accept} \t", RIGHT),
        // The version of HTTP is that of the handshake: 1.1 or higher.
        with("ws-of-http-1-0", "HTTP/1.1", "HTTP/1.0", "ok 101, ok | ws-protocol 101"),
        with("ws-with-bad-field", "101 Switching Protocols", "101 x\r\nbad", "http-protocol"),
        with("ws-with-blank-in-name", "upgrade:", "upgrade :", "http-protocol | ok 101, ok"),
        with("ws-100-first", "HTTP/1.1 101", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 101", RIGHT),
    ]
}

/// Extensions and subprotocols are those that were offered, or none.
fn agreed() -> Vec<Case> {
    let choice = |name, lines: &str, right| {
        let answer = format!("{SWITCH}{lines}\r\n\r\n");
        Case::new(name, OFFERS, [send(answer), send(frame(TEXT, "ok"))], right)
    };
    let protocol = "sec-websocket-protocol";
    vec![
        added(
            "ws-extension-not-offered",
            "sec-websocket-extensions: permessage-deflate",
            "ws-protocol 101",
        ),
        added("ws-extension-unknown", "sec-websocket-extensions: x", "ws-protocol 101"),
        added(
            "ws-extension-of-nothing",
            "sec-websocket-extensions: ,",
            "ok 101, ok | ws-protocol 101",
        ),
        added("ws-protocol-not-offered", "sec-websocket-protocol: a", "ws-protocol 101"),
        added("ws-length-ignored", "content-length: 5", "ok 101, ok"),
        added("ws-coding-ignored", "transfer-encoding: chunked", "ok 101, ok"),
        choice("ws-choice-of-first", &format!("{protocol}: a"), "ok 101, ok"),
        choice("ws-choice-of-none", "x: y", "ok 101, ok"),
        choice("ws-choice-of-another", &format!("{protocol}: c"), "ws-protocol 101"),
        choice("ws-choice-of-both", &format!("{protocol}: a, b"), "ws-protocol 101"),
        choice("ws-choice-twice", &format!("{protocol}: a\r\n{protocol}: b"), "ws-protocol 101"),
        choice("ws-choice-in-other-case", &format!("{protocol}: A"), "ws-protocol 101"),
    ]
}

fn others() -> Vec<Case> {
    let cut = &SWITCH[..40];
    let opens = |name, acts: &[Act], right| Case::new(name, OPEN, acts, right);
    vec![
        opens("ws-closed", &[Act::Fin], "closed"),
        opens("ws-reset", &[Act::Reset], "reset"),
        opens("ws-closed-in-head", &[send(cut), Act::Fin], "closed"),
        opens("ws-reset-in-head", &[send(cut), Act::Reset], "reset"),
        opens("ws-frames-for-an-answer", &[send(frame(TEXT, "ok"))], "http-protocol"),
        opens("ws-head-without-end", &[send(SWITCH), flood("a: b\r\n")], "too-large"),
        Case::new("ws-silence", OPEN_UNANSWERED, [], "timeout"),
        Case::new("ws-silence-in-head", OPEN_UNANSWERED, [send(cut)], "timeout"),
        opens(
            "ws-message-in-one-piece",
            &[send([format!("{SWITCH}\r\n").as_bytes(), &frame(TEXT, "ok")].concat())],
            "ok 101, ok",
        ),
    ]
}
