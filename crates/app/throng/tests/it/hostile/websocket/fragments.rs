//! Messages in fragments (RFC 6455 §5.4).

use super::super::case::{Act, Case, flood, send};
use super::super::frames::{BINARY, CONTINUES, ENDS, PING, TEXT, TEXT_BEGINS, close, frame};
use super::{OPEN, OPEN_IN_TIME, accept, sends, sends_any};

const BROKEN: &str = "ok 101, ws-protocol; close 1002";
const NOT_UTF8: &str = "ok 101, invalid-utf8; close 1007";
const TOO_LARGE: &str = "ok 101, too-large; close 1009";
const RIGHT: &str = "ok 101, ok";

pub(super) fn cases() -> Vec<Case> {
    [orders(), texts(), sizes()].concat()
}

/// A text in these fragments.
fn text(parts: &[&[u8]]) -> Vec<u8> {
    let last = parts.len() - 1;
    let frames = parts.iter().enumerate().map(|(place, part)| {
        let first = if place == 0 { TEXT_BEGINS } else { CONTINUES };
        frame(if place == last { first | ENDS } else { first }, part)
    });
    frames.collect::<Vec<_>>().concat()
}

/// Control frames may stand between fragments, other messages may not.
fn orders() -> Vec<Case> {
    let begin = frame(TEXT_BEGINS, "o");
    let end = frame(ENDS, "k");
    let mut many: Vec<&[u8]> = vec![b"o", b"k"];
    many.resize(1_000, b"");
    let between = |name, between: Vec<u8>, right| {
        sends(name, [begin.clone(), between, end.clone()].concat(), right)
    };
    vec![
        sends("fragments", text(&[b"o", b"k"]), RIGHT),
        sends("fragments-empty-first", text(&[b"", b"o", b"k"]), RIGHT),
        sends("fragments-empty-last", text(&[b"o", b"k", b""]), RIGHT),
        sends("fragments-mostly-empty", text(&many), RIGHT),
        between("fragments-around-ping", frame(PING, "p"), RIGHT),
        between("fragments-around-text", frame(TEXT, "ok"), BROKEN),
        between("fragments-around-binary", frame(BINARY, "ok"), BROKEN),
        between("fragments-around-beginning", frame(TEXT_BEGINS, "o"), BROKEN),
        between("fragments-around-close", close(1000, ""), "ok 101, closed; close 1000"),
        sends("fragment-last-only", end.clone(), BROKEN),
        sends("fragment-middle-only", frame(CONTINUES, "o"), BROKEN),
        sends("fragment-after-message", [frame(PING, ""), end.clone()].concat(), BROKEN),
        Case::new("fragments-cut", OPEN, [accept(), send(&begin), Act::Fin], "ok 101, closed"),
        Case::new("fragments-stop", OPEN_IN_TIME, [accept(), send(&begin)], "ok 101, timeout"),
    ]
}

/// §8.1: the text is checked as one.
fn texts() -> Vec<Case> {
    vec![
        sends_any("character-over-fragments", text(&[b"\xe2", b"\x82", b"\xac"]), RIGHT),
        sends_any("character-cut-by-fragment", text(&[b"\xe2", b"\x28"]), NOT_UTF8),
        sends_any("character-cut-by-end", text(&[b"o", b"k\xe2\x82"]), NOT_UTF8),
        sends_any("character-cut-by-empty-end", text(&[b"\xe2\x82", b""]), NOT_UTF8),
        sends_any("character-bad-in-first", text(&[b"\xff", b"ok"]), NOT_UTF8),
        sends_any("surrogate-over-fragments", text(&[b"\xed", b"\xa0\x80"]), NOT_UTF8),
    ]
}

fn sizes() -> Vec<Case> {
    let half = vec![b'a'; 32 << 10];
    let ones = vec![&b"a"[..]; 5_000];
    let begins = |name, bytes: &[u8], steps, right| {
        let acts = [accept(), send(frame(TEXT_BEGINS, "a")), flood(bytes)];
        Case::new(name, steps, acts, right)
    };
    let big = frame(CONTINUES, vec![b'a'; 1 << 10]);
    let announced = [&[CONTINUES, 127][..], &(1_u64 << 40).to_be_bytes()].concat();
    vec![
        sends_any("fragments-5000", text(&ones), RIGHT),
        sends_any("fragments-at-limit", text(&[&half, &half]), RIGHT),
        sends_any("fragments-over-limit", text(&[&half, &half, b"a"]), TOO_LARGE),
        sends(
            "fragment-announced-over-limit",
            [frame(TEXT_BEGINS, "a"), announced].concat(),
            TOO_LARGE,
        ),
        begins("fragments-of-one-without-end", &frame(CONTINUES, "a"), OPEN, "ok 101, too-large"),
        begins("fragments-of-much-without-end", &big, OPEN, "ok 101, too-large"),
        // Nothing grows: only time ends this.
        begins(
            "fragments-of-nothing-without-end",
            &frame(CONTINUES, ""),
            OPEN_IN_TIME,
            "ok 101, timeout",
        ),
    ]
}
