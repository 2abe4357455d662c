//! JSON that is nested deeper than a parser that recurses can follow: its text is broken, and the generator
//! lives.

use super::case::{Act, Case, send};
use super::frames::{TEXT, frame};
use super::websocket::accept;

/// Opens a channel protocol and joins something.
fn join(
    name: &'static str,
    protocol: &str,
    topic: &str,
    texts: [&str; 2],
    right: &'static str,
) -> Case {
    let steps = format!("[ {{ ws: {{ path: AT, protocol: {protocol} }} }}, {{ join: {topic} }} ]");
    let [first, second] = texts.map(|text| send(frame(TEXT, text)));
    let acts = match protocol {
        // The client speaks first.
        "phoenix" => vec![accept(), Act::Frame, first],
        _ => vec![accept(), first, Act::Frame, second],
    };
    Case::new(name, &steps, acts, right)
}

pub(super) fn channels() -> Vec<Case> {
    const BROKEN: &str = "ok 101, protocol";
    let nested = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let reply = format!(r#"["1","1","t","phx_reply",{{"status":"ok","response":{nested}}}]"#);
    let objects = "{\"a\":".repeat(10_000);
    let event = format!("42[\"e\",{}", "[".repeat(60_000));
    let open = r#"0{"sid":"s"}"#;
    vec![
        join("phoenix-nested-deep", "phoenix", "t", [&reply, ""], "ok 101, protocol | ok 101, ok"),
        join("phoenix-nested-open", "phoenix", "t", [&"[".repeat(60_000), ""], BROKEN),
        join("cable-nested-deep", "actioncable", "C", [&objects, ""], "protocol"),
        join("socketio-nested-deep", "socket.io", "/", [open, &event], BROKEN),
    ]
}

pub(super) fn polls() -> Vec<Case> {
    let poll = |name, body: &str, right| {
        let answer = |body: &str| {
            let length = body.len();
            send(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"))
        };
        let steps = "[ { poll: AT, pause: 50ms, each: /list }, { expect: }, { close: } ]";
        let good = answer(r#"{"list":[1]}"#);
        Case::new(name, steps, [answer(body), Act::Request, good], right)
    };
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(6_000), close.repeat(6_000));
    let arrays = format!("{{\"list\":{}}}", deep("[", "]"));
    vec![
        poll("list-of-deep-arrays", &arrays, "ok 200, ok | save 200, ok 200, ok"),
        poll("list-below-deep-objects", &deep("{\"a\":", "}"), "save 200, ok 200, ok"),
    ]
}
