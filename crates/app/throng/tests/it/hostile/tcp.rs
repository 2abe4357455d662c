//! Messages in frames on plain TCP: a length before each, a delimiter after it, or a fixed size.

use super::case::{Act, Case, drip, flood, pause, send};

/// The message `ok`, in this framing.
const STEPS: &str = "[ { tcp: AT, framing: FRAMING }, { expect: { save: { seen: body }, \
                     check: \"seen == 'ok'\" } } ]";
/// Any message.
const ANY: &str = "[ { tcp: AT, framing: FRAMING }, { expect: } ]";
/// A message that never comes.
const IN_TIME: &str =
    "[ { tcp: AT, framing: FRAMING }, { expect: { when: { body: never }, within: 1s } } ]";

const LENGTH: &str = "{ length: 4 }";
const FRAME: &str = "{ length: 4, counts: frame }";
const LONG: &str = "{ length: 8 }";
const LITTLE: &str = "{ length: 2, endian: little, at: 1, header: 1 }";
const LINE: &str = "{ delimiter: \"\\r\\n\" }";
const FIXED: &str = "{ fixed: 2 }";

const RIGHT: &str = "ok, ok";

pub(super) fn cases() -> Vec<Case> {
    let cases = [lengths(), delimiters(), others(), ends(), floods()].concat();
    // Nothing is sent first that could name the case.
    cases.into_iter().map(Case::at_once).collect()
}

fn plays(
    name: &'static str,
    steps: &str,
    framing: &str,
    acts: &[Act],
    right: &'static str,
) -> Case {
    Case::new(name, &steps.replace("FRAMING", framing), acts, right)
}

fn sends(name: &'static str, framing: &str, bytes: impl AsRef<[u8]>, right: &'static str) -> Case {
    plays(name, STEPS, framing, &[send(bytes)], right)
}

fn any(name: &'static str, framing: &str, bytes: impl AsRef<[u8]>, right: &'static str) -> Case {
    plays(name, ANY, framing, &[send(bytes)], right)
}

fn lengths() -> Vec<Case> {
    let long = |length: u32, bytes: usize| [&length.to_be_bytes()[..], &vec![b'a'; bytes]].concat();
    vec![
        sends("tcp-length", LENGTH, b"\0\0\0\x02ok", RIGHT),
        plays("tcp-length-byte-by-byte", STEPS, LENGTH, &[drip(b"\0\0\0\x02ok")], RIGHT),
        any("tcp-length-0", LENGTH, [0; 4], RIGHT),
        any("tcp-length-at-limit", LENGTH, long(64 << 10, 64 << 10), RIGHT),
        sends("tcp-length-over-limit", LENGTH, long((64 << 10) + 1, 0), "ok, too-large"),
        sends("tcp-length-2-to-31", LENGTH, b"\x80\0\0\0ok", "ok, too-large"),
        sends("tcp-length-2-to-32-less-1", LENGTH, [0xff; 8], "ok, too-large"),
        sends("tcp-length-2-to-63", LONG, b"\x80\0\0\0\0\0\0\0ok", "ok, too-large"),
        sends("tcp-length-2-to-64-less-1", LONG, [0xff; 8], "ok, too-large"),
        sends("tcp-length-of-text", LENGTH, "HTTP/1.1 200 OK\r\n\r\n", "ok, too-large"),
        // The length counts itself, so that less than its own bytes is impossible.
        sends("tcp-frame", FRAME, b"\0\0\0\x06ok", RIGHT),
        any("tcp-frame-of-4", FRAME, b"\0\0\0\x04", RIGHT),
        sends("tcp-frame-of-3", FRAME, b"\0\0\0\x03ok", "ok, protocol"),
        sends("tcp-frame-of-0", FRAME, b"\0\0\0\0ok", "ok, protocol"),
        sends("tcp-frame-at-limit-and-more", FRAME, long((64 << 10) + 5, 0), "ok, too-large"),
        sends("tcp-length-behind-a-type", LITTLE, b"\x07\x02\0ok", RIGHT),
        plays(
            "tcp-length-in-other-order",
            IN_TIME,
            LITTLE,
            &[send(b"\x07\0\x02ok")],
            "ok, timeout",
        ),
    ]
}

fn delimiters() -> Vec<Case> {
    vec![
        sends("tcp-line", LINE, "ok\r\n", RIGHT),
        plays("tcp-line-split", STEPS, LINE, &[send("ok\r"), pause(), send("\n")], RIGHT),
        any("tcp-line-empty", LINE, "\r\n", RIGHT),
        sends("tcp-line-with-parts-of-its-end", LINE, "ok\r\r\n", "ok, check"),
        any("tcp-line-at-limit", LINE, "a".repeat(64 << 10) + "\r\n", RIGHT),
        any("tcp-line-over-limit", LINE, "a".repeat((64 << 10) + 1) + "\r\n", "ok, too-large"),
        plays("tcp-line-without-end", STEPS, LINE, &[flood("a")], "ok, too-large"),
        plays("tcp-line-of-halves", STEPS, LINE, &[flood("\r")], "ok, too-large"),
    ]
}

fn others() -> Vec<Case> {
    vec![
        sends("tcp-fixed", FIXED, "ok", RIGHT),
        sends("tcp-fixed-and-more", FIXED, "okay", RIGHT),
        plays("tcp-fixed-byte-by-byte", STEPS, FIXED, &[drip("ok")], RIGHT),
        sends("tcp-bytes", "none", "ok", RIGHT),
        any("tcp-bytes-of-nul", "none", [0; 100], RIGHT),
    ]
}

fn ends() -> Vec<Case> {
    let cut = |name, framing, bytes: &[u8]| {
        plays(name, STEPS, framing, &[send(bytes), Act::Fin], "ok, closed")
    };
    let reset = |name, framing, bytes: &[u8]| {
        plays(name, STEPS, framing, &[send(bytes), Act::Reset], "ok, reset | reset")
    };
    let stops =
        |name, framing, bytes: &[u8]| plays(name, IN_TIME, framing, &[send(bytes)], "ok, timeout");
    vec![
        cut("tcp-closed", LENGTH, b""),
        cut("tcp-closed-in-length", LENGTH, b"\0\0"),
        cut("tcp-closed-after-length", LENGTH, b"\0\0\0\x02"),
        cut("tcp-closed-in-message", LENGTH, b"\0\0\0\x02o"),
        cut("tcp-closed-in-line", LINE, b"ok\r"),
        cut("tcp-closed-in-fixed", FIXED, b"o"),
        cut("tcp-closed-without-framing", "none", b""),
        plays("tcp-closed-after-message", STEPS, LENGTH, &[send(b"\0\0\0\x02ok"), Act::Fin], RIGHT),
        reset("tcp-reset", LENGTH, b""),
        reset("tcp-reset-in-length", LENGTH, b"\0\0"),
        reset("tcp-reset-in-message", LENGTH, b"\0\0\0\x02o"),
        stops("tcp-silence", LENGTH, b""),
        stops("tcp-silence-in-length", LENGTH, b"\0\0"),
        stops("tcp-silence-in-message", LENGTH, b"\0\0\0\x02o"),
        stops("tcp-silence-in-line", LINE, b"ok\r"),
    ]
}

/// Messages that nobody waits for, without an end.
fn floods() -> Vec<Case> {
    let floods =
        |name, framing, bytes: &[u8]| plays(name, IN_TIME, framing, &[flood(bytes)], "ok, timeout");
    vec![
        floods("tcp-flood-of-nothing", LENGTH, &[0; 4]),
        floods("tcp-flood-of-messages", LENGTH, b"\0\0\0\x02no"),
        floods("tcp-flood-of-lines", LINE, b"no\r\n"),
        floods("tcp-flood-of-empty-lines", LINE, b"\r\n"),
        floods("tcp-flood-of-bytes", "none", b"no"),
    ]
}
