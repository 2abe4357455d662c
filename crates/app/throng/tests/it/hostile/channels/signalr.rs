//! SignalR as JSON (github.com/dotnet/aspnetcore, `HubProtocol.md`; `@microsoft/signalr` 8).

use super::super::case::{Act, Case, flood, send};
use super::super::frames::{BINARY, TEXT, frame};
use super::{after_accept, text};

/// Calls a method and waits for its completion.
const CALL: &str = "[ { ws: { path: AT, protocol: signalr } }, \
                    { invoke: { method: m }, reply: { within: 20s } } ]";
/// As above, in little time.
const IN_TIME: &str = "[ { ws: { path: AT, protocol: signalr, timeout: 3s } }, \
                       { invoke: { method: m }, reply: { within: 3s } } ]";

const GREETED: &str = "{}\x1e";
const COMPLETED: &str = "{\"type\":3,\"invocationId\":\"1\",\"result\":1}\x1e";
const RIGHT: &str = "ok 101, ok";
const BROKEN: &str = "ok 101, protocol";

pub(super) fn cases() -> Vec<Case> {
    [greetings(), answers()].concat()
}

/// This comes in place of the answer to the handshake.
fn greets(name: &'static str, first: &str, right: &'static str) -> Case {
    let acts = [Act::Frame, text(first), Act::Frame, text(COMPLETED)];
    Case::new(name, IN_TIME, after_accept(&acts), right)
}

/// The client speaks first; what answers is an object without a type.
fn greetings() -> Vec<Case> {
    vec![
        greets("signalr-greeted", GREETED, RIGHT),
        greets("signalr-greeted-without-end", "{}", "ok 101, ok | timeout"),
        greets("signalr-greeted-with-more", "{\"minorVersion\":1}\x1e", RIGHT),
        greets("signalr-refused", "{\"error\":\"no\"}\x1e", "closed"),
        greets("signalr-greeted-by-array", "[]\x1e", "protocol"),
        greets("signalr-greeted-by-half", "{\x1e", "protocol"),
        greets("signalr-greeted-by-nonsense", "nonsense\x1e", "protocol"),
        // The client refuses a message with a type in its place.
        greets("signalr-ping-first", "{\"type\":6}\x1e", "timeout | protocol"),
        greets("signalr-greeted-by-nothing", "", "timeout | protocol"),
        greets("signalr-greeted-by-ends", "\x1e\x1e", "timeout | protocol"),
        Case::new("signalr-silence", IN_TIME, after_accept(&[]), "timeout"),
        Case::new("signalr-closed", IN_TIME, after_accept(&[Act::Frame, Act::Fin]), "closed"),
    ]
}

/// This comes when the call is to be completed.
fn answer(name: &'static str, acts: &[Act], right: &'static str) -> Case {
    let acts = [&[Act::Frame, text(GREETED), Act::Frame], acts].concat();
    Case::new(name, CALL, after_accept(&acts), right)
}

fn answers() -> Vec<Case> {
    let then = |name, first: &str, right| answer(name, &[text(first), text(COMPLETED)], right);
    vec![
        answer("signalr-completed", &[text(COMPLETED)], RIGHT),
        answer(
            "signalr-failed",
            &[text("{\"type\":3,\"invocationId\":\"1\",\"error\":\"no\"}\x1e")],
            "ok 101, rejected",
        ),
        then("signalr-several", "{\"type\":6}\x1e{\"type\":6}\x1e", RIGHT),
        then("signalr-another-completed", "{\"type\":3,\"invocationId\":\"2\"}\x1e", RIGHT),
        then("signalr-number-of-letters", "{\"type\":3,\"invocationId\":\"x\"}\x1e", RIGHT),
        then("signalr-completed-without-number", "{\"type\":3}\x1e", RIGHT),
        then("signalr-called", "{\"type\":1,\"target\":\"a\",\"arguments\":[1]}\x1e", RIGHT),
        then("signalr-called-without-arguments", "{\"type\":1,\"target\":\"a\"}\x1e", BROKEN),
        then("signalr-called-without-target", "{\"type\":1,\"arguments\":[]}\x1e", BROKEN),
        // Clients leave out the types that they do not know.
        then("signalr-type-unknown", "{\"type\":77}\x1e", RIGHT),
        then("signalr-type-of-text", "{\"type\":\"3\"}\x1e", "ok 101, protocol | ok 101, ok"),
        then("signalr-nonsense", "nonsense\x1e", BROKEN),
        answer("signalr-close", &[text("{\"type\":7}\x1e")], "ok 101, closed"),
        answer("signalr-binary", &[send(frame(BINARY, [1, 2, 3]))], BROKEN),
        Case::new(
            "signalr-flood-of-pings",
            IN_TIME,
            after_accept(&[
                Act::Frame,
                text(GREETED),
                Act::Frame,
                flood(frame(TEXT, "{\"type\":6}\x1e")),
            ]),
            "ok 101, timeout",
        ),
        Case::new(
            "signalr-flood-of-ends",
            IN_TIME,
            after_accept(&[Act::Frame, text(GREETED), Act::Frame, flood(frame(TEXT, "\x1e"))]),
            "ok 101, timeout",
        ),
    ]
}
