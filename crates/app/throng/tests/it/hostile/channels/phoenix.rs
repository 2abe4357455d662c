//! Phoenix channels (serializers 1.0.0 and 2.0.0, `phoenix.js` 1.7).

use super::super::case::{Act, Case, flood, send};
use super::super::frames::{BINARY, TEXT, close, frame};
use super::{after_accept, text};

/// Joins a channel.
const JOIN: &str = "[ { ws: { path: AT, protocol: phoenix } }, { join: t } ]";
/// As above, in the older form.
const JOIN_1: &str = "[ { ws: { path: AT, protocol: phoenix, vsn: 1.0.0 } }, { join: t } ]";
/// A join that is not answered.
const IN_TIME: &str = "[ { ws: { path: AT, protocol: phoenix } }, { join: t, timeout: 3s } ]";
/// Joins, and sends the channel a message that it answers.
const PUSH: &str = "[ { ws: { path: AT, protocol: phoenix } }, { join: t }, \
                    { push: { event: e }, reply: { within: 20s } } ]";

const RIGHT: &str = "ok 101, ok";
const BROKEN: &str = "ok 101, protocol";
const JOINED: &str = r#"["1","1","t","phx_reply",{"status":"ok","response":{}}]"#;
const ANSWERED: &str = r#"["1","2","t","phx_reply",{"status":"ok","response":{}}]"#;

pub(super) fn cases() -> Vec<Case> {
    [forms(), parts(), replies(), older(), pushes()].concat()
}

/// This answers the join.
fn answers(name: &'static str, answer: &str, right: &'static str) -> Case {
    Case::new(name, JOIN, after_accept(&[Act::Frame, text(answer)]), right)
}

/// This comes before the join is answered in order.
fn before(name: &'static str, first: &str, right: &'static str) -> Case {
    let acts = [Act::Frame, text(first), text(JOINED)];
    Case::new(name, JOIN, after_accept(&acts), right)
}

/// A message is an array of five.
fn forms() -> Vec<Case> {
    let nested = JOINED.replace("{}", &format!("{}{}", "[".repeat(20), "]".repeat(20)));
    vec![
        answers("phoenix-join", JOINED, RIGHT),
        answers("phoenix-text-empty", "", BROKEN),
        answers("phoenix-text-of-blanks", "  ", BROKEN),
        answers("phoenix-nonsense", "nonsense", BROKEN),
        answers("phoenix-half", &JOINED[..30], BROKEN),
        answers("phoenix-array-of-four", r#"["1","1","t","phx_reply"]"#, BROKEN),
        answers("phoenix-array-of-six", &JOINED.replace("}]", "},1]"), BROKEN),
        answers("phoenix-array-empty", "[]", BROKEN),
        answers(
            "phoenix-object",
            r#"{"topic":"t","event":"phx_reply","ref":"1","payload":{}}"#,
            BROKEN,
        ),
        answers("phoenix-number", "1", BROKEN),
        answers("phoenix-null", "null", BROKEN),
        answers("phoenix-with-tail", &format!("{JOINED} x"), "ok 101, protocol | ok 101, ok"),
        answers("phoenix-between-blanks", &format!(" \n{JOINED}\t"), RIGHT),
        answers("phoenix-nested", &nested, RIGHT),
    ]
}

/// Each part of a message, of a wrong type.
fn parts() -> Vec<Case> {
    let of = |parts: &str| format!("[{parts}]");
    let good = r#"{"status":"ok","response":{}}"#;
    vec![
        answers("phoenix-topic-number", &of(&format!(r#""1","1",7,"phx_reply",{good}"#)), BROKEN),
        answers("phoenix-topic-null", &of(&format!(r#""1","1",null,"phx_reply",{good}"#)), BROKEN),
        answers(
            "phoenix-topic-surrogate",
            &of(&format!(r#""1","1","\ud800","phx_reply",{good}"#)),
            "ok 101, protocol | ok 101, ok",
        ),
        answers("phoenix-event-number", &of(&format!(r#""1","1","t",7,{good}"#)), BROKEN),
        answers("phoenix-event-list", &of(&format!(r#""1","1","t",["phx_reply"],{good}"#)), BROKEN),
        answers("phoenix-payload-list", &of(r#""1","1","t","phx_reply",[]"#), BROKEN),
        answers("phoenix-payload-number", &of(r#""1","1","t","phx_reply",1e999"#), BROKEN),
        answers("phoenix-payload-null", &of(r#""1","1","t","phx_reply",null"#), BROKEN),
        answers("phoenix-payload-text", &of(r#""1","1","t","phx_reply","ok""#), BROKEN),
        // What is no reply to the join is not taken for one; then the reply comes.
        before(
            "phoenix-ref-number",
            &JOINED.replacen(r#""1","1""#, r#""1",1"#, 1).replace("ok", "error"),
            RIGHT,
        ),
        before(
            "phoenix-ref-null",
            &JOINED.replacen(r#""1","1""#, r#""1",null"#, 1).replace("ok", "error"),
            RIGHT,
        ),
        before(
            "phoenix-ref-unknown",
            &JOINED.replacen(r#""1","1""#, r#""1","7""#, 1).replace("ok", "error"),
            RIGHT,
        ),
        before(
            "phoenix-ref-0",
            &JOINED.replacen(r#""1","1""#, r#""1","0""#, 1).replace("ok", "error"),
            RIGHT,
        ),
        before(
            "phoenix-ref-negative",
            &JOINED.replacen(r#""1","1""#, r#""1","-1""#, 1).replace("ok", "error"),
            RIGHT,
        ),
        before(
            "phoenix-ref-that-overflows",
            &JOINED.replacen(r#""1","1""#, r#""1","4294967297""#, 1).replace("ok", "error"),
            RIGHT,
        ),
        before(
            "phoenix-ref-of-letters",
            &JOINED.replacen(r#""1","1""#, r#""1","x""#, 1).replace("ok", "error"),
            RIGHT,
        ),
        before("phoenix-message-first", r#"[null,null,"t","news",{"n":1e999}]"#, RIGHT),
        before("phoenix-presence-first", r#"[null,null,"t","presence_state",{}]"#, RIGHT),
        before("phoenix-close-of-another", r#"[null,null,"u","phx_close",{}]"#, RIGHT),
    ]
}

/// What a reply says.
fn replies() -> Vec<Case> {
    let reply = |name, payload: &str, right| {
        answers(name, &format!(r#"["1","1","t","phx_reply",{payload}]"#), right)
    };
    let closes = [Act::Frame, send(close(1000, ""))];
    let binary = [Act::Frame, send(frame(BINARY, [0; 40])), text(JOINED)];
    let floods = [Act::Frame, flood(frame(TEXT, r#"[null,null,"t","news",{}]"#))];
    // The client does not know such a status, so that whatever it makes of it but success is right.
    const NO_SUCCESS: &str = "ok 101, rejected | ok 101, protocol | ok 101, timeout";
    vec![
        reply(
            "phoenix-reply-error",
            r#"{"status":"error","response":{"reason":"no"}}"#,
            "ok 101, rejected",
        ),
        reply("phoenix-reply-without-status", r#"{"response":{}}"#, NO_SUCCESS),
        reply("phoenix-reply-of-unknown-status", r#"{"status":"fine","response":{}}"#, NO_SUCCESS),
        reply("phoenix-reply-of-status-number", r#"{"status":1,"response":{}}"#, NO_SUCCESS),
        reply("phoenix-reply-of-status-list", r#"{"status":["ok"],"response":{}}"#, NO_SUCCESS),
        reply("phoenix-reply-without-response", r#"{"status":"ok"}"#, RIGHT),
        reply("phoenix-reply-in-other-order", r#"{"x":[{}],"response":null,"status":"ok"}"#, RIGHT),
        Case::new("phoenix-closed", JOIN, after_accept(&closes), "ok 101, closed"),
        Case::new("phoenix-binary", JOIN, after_accept(&binary), RIGHT),
        Case::new("phoenix-silence", IN_TIME, after_accept(&[]), "ok 101, timeout"),
        Case::new("phoenix-flood", IN_TIME, after_accept(&floods), "ok 101, timeout"),
    ]
}

/// The older form is an object.
fn older() -> Vec<Case> {
    let answers = |name, answer: &str, right| {
        Case::new(name, JOIN_1, after_accept(&[Act::Frame, text(answer)]), right)
    };
    let good =
        r#"{"topic":"t","event":"phx_reply","ref":"1","payload":{"status":"ok","response":{}}}"#;
    vec![
        answers("phoenix-1-join", good, RIGHT),
        answers("phoenix-1-array", JOINED, BROKEN),
        answers("phoenix-1-empty", "{}", BROKEN),
        answers("phoenix-1-half", &good[..40], BROKEN),
        answers("phoenix-1-without-topic", &good.replace(r#""topic":"t","#, ""), BROKEN),
        answers("phoenix-1-without-event", &good.replace(r#""event":"phx_reply","#, ""), BROKEN),
        answers("phoenix-1-with-more", &good.replace(r#""topic""#, r#""x":[1,{}],"topic""#), RIGHT),
        answers("phoenix-1-escaped", &good.replace("phx_reply", "phx\\u005freply"), RIGHT),
    ]
}

/// A message after the join, and its answer.
fn pushes() -> Vec<Case> {
    let push = |name, acts: &[Act], right| {
        let acts = [&[Act::Frame], acts].concat();
        Case::new(name, PUSH, after_accept(&acts), right)
    };
    const RIGHT: &str = "ok 101, ok, ok";
    let error = ANSWERED.replace("ok", "error");
    vec![
        push("phoenix-push", &[text(JOINED), Act::Frame, text(ANSWERED)], RIGHT),
        push(
            "phoenix-join-answered-twice",
            &[text(JOINED), text(JOINED), Act::Frame, text(ANSWERED)],
            RIGHT,
        ),
        push(
            "phoenix-join-refused-late",
            &[text(JOINED), text(JOINED.replace("ok", "error")), Act::Frame, text(ANSWERED)],
            RIGHT,
        ),
        push(
            "phoenix-push-answered-twice",
            &[text(JOINED), Act::Frame, text(ANSWERED), text(&error)],
            RIGHT,
        ),
        push(
            "phoenix-push-refused",
            &[text(JOINED), Act::Frame, text(&error)],
            "ok 101, ok, rejected",
        ),
        push("phoenix-push-broken", &[text(JOINED), Act::Frame, text("[")], "ok 101, ok, protocol"),
        push("phoenix-push-closed", &[text(JOINED), Act::Frame, Act::Fin], "ok 101, ok, closed"),
        push("phoenix-push-reset", &[text(JOINED), Act::Frame, Act::Reset], "ok 101, ok, reset"),
    ]
}
