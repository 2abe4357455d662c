//! ActionCable (`actioncable-v1-json`, `@rails/actioncable` 7).

use super::super::case::{Act, Case, flood, send};
use super::super::frames::{BINARY, TEXT, frame};
use super::{after_accept, text};

/// Subscribes to a channel.
const JOIN: &str = "[ { ws: { path: AT, protocol: actioncable } }, { join: C } ]";
/// As above, in little time.
const IN_TIME: &str =
    "[ { ws: { path: AT, protocol: actioncable, timeout: 3s } }, { join: C, timeout: 3s } ]";

const WELCOME: &str = r#"{"type":"welcome"}"#;
const CONFIRMED: &str = r#"{"identifier":"{\"channel\":\"C\"}","type":"confirm_subscription"}"#;
const RIGHT: &str = "ok 101, ok";
const BROKEN: &str = "ok 101, protocol";
/// The client ignores what it does not know, and nobody says that it must.
const IGNORED: &str = "ok 101, ok | ok 101, protocol";

pub(super) fn cases() -> Vec<Case> {
    [greetings(), answers(), odd()].concat()
}

/// This greets, and the subscription is confirmed.
fn greets(name: &'static str, first: &[Act], right: &'static str) -> Case {
    let acts = [first, &[Act::Frame, text(CONFIRMED)]].concat();
    Case::new(name, JOIN, after_accept(&acts), right)
}

fn greetings() -> Vec<Case> {
    let refused = r#"{"type":"disconnect","reason":"unauthorized","reconnect":false}"#;
    vec![
        greets("cable-welcome", &[text(WELCOME)], RIGHT),
        greets(
            "cable-welcome-after-ping",
            &[text(r#"{"type":"ping","message":1}"#), text(WELCOME)],
            RIGHT,
        ),
        greets("cable-welcome-twice", &[text(WELCOME), text(WELCOME)], RIGHT),
        greets("cable-welcome-with-more", &[text(r#"{"sid":[1],"type":"welcome"}"#)], RIGHT),
        greets("cable-disconnect", &[text(refused)], "closed"),
        greets("cable-nonsense", &[text("nonsense")], "protocol"),
        greets("cable-text-empty", &[text("")], "protocol"),
        greets("cable-array", &[text("[]")], "protocol"),
        greets("cable-half", &[text(&WELCOME[..10])], "protocol"),
        greets("cable-closed", &[Act::Fin], "closed"),
        Case::new("cable-silence", IN_TIME, after_accept(&[]), "timeout"),
        Case::new(
            "cable-type-in-upper-case",
            IN_TIME,
            after_accept(&[text(r#"{"type":"WELCOME"}"#)]),
            "timeout | protocol",
        ),
        Case::new(
            "cable-confirmed-first",
            IN_TIME,
            after_accept(&[text(CONFIRMED)]),
            "timeout | protocol",
        ),
        Case::new(
            "cable-flood-of-pings",
            IN_TIME,
            after_accept(&[flood(frame(TEXT, r#"{"type":"ping"}"#))]),
            "timeout",
        ),
    ]
}

/// This comes when the subscription is to be answered.
fn answer(name: &'static str, acts: &[Act], right: &'static str) -> Case {
    let acts = [&[text(WELCOME), Act::Frame], acts].concat();
    Case::new(name, JOIN, after_accept(&acts), right)
}

fn answers() -> Vec<Case> {
    let rejected = CONFIRMED.replace("confirm", "reject");
    let other = CONFIRMED.replace(r#"\"C\""#, r#"\"D\""#);
    let other_rejected = rejected.replace(r#"\"C\""#, r#"\"D\""#);
    let message = r#"{"identifier":"{\"channel\":\"C\"}","message":{"n":1e999}}"#;
    vec![
        answer("cable-rejected", &[text(&rejected)], "ok 101, rejected"),
        answer("cable-confirmed-twice", &[text(CONFIRMED), text(CONFIRMED)], RIGHT),
        answer("cable-another-confirmed", &[text(&other), text(&rejected)], "ok 101, rejected"),
        answer("cable-another-rejected", &[text(&other_rejected), text(CONFIRMED)], RIGHT),
        answer("cable-message-first", &[text(message), text(CONFIRMED)], RIGHT),
        answer("cable-binary-first", &[send(frame(BINARY, [0; 9])), text(CONFIRMED)], RIGHT),
        answer(
            "cable-identifier-number",
            &[text(r#"{"identifier":7,"type":"confirm_subscription"}"#)],
            BROKEN,
        ),
        answer(
            "cable-identifier-object",
            &[text(r#"{"identifier":{"channel":"C"},"type":"confirm_subscription"}"#)],
            BROKEN,
        ),
        answer(
            "cable-identifier-missing",
            &[text(r#"{"type":"confirm_subscription"}"#), text(CONFIRMED)],
            IGNORED,
        ),
        answer("cable-identifier-half", &[text(&CONFIRMED[..20])], BROKEN),
        answer("cable-ended", &[text(r#"{"type":"disconnect"}"#)], "ok 101, closed"),
        answer(
            "cable-ended-by-number",
            &[text(r#"{"type":"disconnect","reason":7}"#)],
            "ok 101, closed",
        ),
        answer("cable-reset", &[Act::Reset], "ok 101, reset"),
    ]
}

/// Texts that the client has no use for.
fn odd() -> Vec<Case> {
    let first = |name, first: &str| answer(name, &[text(first), text(CONFIRMED)], IGNORED);
    vec![
        first("cable-empty-object", "{}"),
        first("cable-type-unknown", r#"{"type":"news"}"#),
        first("cable-type-number", r#"{"type":7}"#),
        first("cable-type-null", r#"{"type":null}"#),
        first("cable-type-object", r#"{"type":{"welcome":1}}"#),
        first("cable-identifier-null", r#"{"identifier":null,"message":1}"#),
        first("cable-message-without-identifier", r#"{"message":1}"#),
    ]
}
