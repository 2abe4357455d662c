//! Close frames (RFC 6455 §5.5.1 and §7.4).

use super::super::case::Case;
use super::super::frames::{CLOSE, TEXT, close, frame};
use super::sends;

const BROKEN: &str = "ok 101, ws-protocol; close 1002";
/// Codes of which the RFC does not say what a recipient makes of them.
const OPEN: &str = "ok 101, ws-protocol | ok 101, closed";

pub(super) fn cases() -> Vec<Case> {
    [codes(), reasons()].concat()
}

fn codes() -> Vec<Case> {
    let code = |name, code: u16, right| sends(name, close(code, "bye"), right);
    vec![
        // The answer repeats the code (§5.5.1).
        code("close-1000", 1000, "ok 101, closed; close 1000"),
        code("close-1001", 1001, "ok 101, closed; close 1001"),
        code("close-1011", 1011, "ok 101, closed; close 1011"),
        code("close-3000", 3000, "ok 101, closed; close 3000"),
        code("close-4999", 4999, "ok 101, closed; close 4999"),
        // §7.4.1: these must not be set in a frame.
        code("close-1005", 1005, BROKEN),
        code("close-1006", 1006, BROKEN),
        code("close-1015", 1015, BROKEN),
        // §7.4.1 and §7.4.2: reserved, or not used.
        code("close-0", 0, OPEN),
        code("close-999", 999, OPEN),
        code("close-1004", 1004, OPEN),
        code("close-1016", 1016, OPEN),
        code("close-2999", 2999, OPEN),
        code("close-5000", 5000, OPEN),
        code("close-65535", 65_535, OPEN),
    ]
}

fn reasons() -> Vec<Case> {
    const CLOSED: &str = "ok 101, closed; close 1000";
    let after = [close(1000, ""), frame(TEXT, "ok")].concat();
    vec![
        sends("close-without-code", frame(CLOSE, ""), "ok 101, closed"),
        sends("close-of-one-byte", frame(CLOSE, [3]), BROKEN),
        sends("close-reason-empty", close(1000, ""), CLOSED),
        sends("close-reason-of-123", close(1000, [b'a'; 123]), CLOSED),
        sends("close-reason-of-124", close(1000, [b'a'; 124]), BROKEN),
        sends("close-reason-not-utf8", close(1000, b"\xff"), "ok 101, invalid-utf8; close 1007"),
        sends(
            "close-reason-cut-short",
            close(1000, b"\xe2\x82"),
            "ok 101, invalid-utf8; close 1007",
        ),
        sends("close-in-fragments", [0x08, 2, 3, 0xe8], BROKEN),
        // §1.4: what comes after the close frame is dropped.
        sends("text-after-close", after, CLOSED),
        sends("nonsense-after-close", [close(1000, ""), vec![0xff; 100]].concat(), CLOSED),
    ]
}
