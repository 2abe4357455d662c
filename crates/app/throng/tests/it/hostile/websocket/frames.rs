//! Single frames (RFC 6455 §5.2 and §5.5). What breaks the protocol is answered by 1002 (§7.4.1), text that
//! is not UTF-8 by 1007, what is too large by 1009.

use super::super::case::{Act, Case, drip, flood, send};
use super::super::frames::{BINARY, PING, PONG, TEXT, close, frame};
use super::{OPEN, OPEN_IN_TIME, accept, sends, sends_any};

const BROKEN: &str = "ok 101, ws-protocol; close 1002";
const NOT_UTF8: &str = "ok 101, invalid-utf8; close 1007";
const TOO_LARGE: &str = "ok 101, too-large; close 1009";
const RIGHT: &str = "ok 101, ok";

pub(super) fn cases() -> Vec<Case> {
    [headers(), lengths(), texts(), controls(), floods(), ends()].concat()
}

fn headers() -> Vec<Case> {
    let ok = |first: u8| frame(first, "ok");
    let masked = [0x81, 0x82, 1, 2, 3, 4, b'o' ^ 1, b'k' ^ 2];
    vec![
        sends("frame-of-text", ok(TEXT), RIGHT),
        sends("frame-binary", ok(BINARY), RIGHT),
        Case::new("frame-byte-by-byte", OPEN, [accept(), drip(ok(TEXT))], RIGHT),
        // §5.1.
        sends("frame-masked", masked, BROKEN),
        sends("frame-masked-ping", [0x89, 0x80, 0, 0, 0, 0], BROKEN),
        sends("frame-with-rsv1", ok(0xc1), BROKEN),
        sends("frame-with-rsv2", ok(0xa1), BROKEN),
        sends("frame-with-rsv3", ok(0x91), BROKEN),
        sends("frame-with-rsv1-binary", ok(0xc2), BROKEN),
        sends("frame-with-rsv1-ping", ok(0xc9), BROKEN),
        sends("frame-with-rsv1-close", [0xc8, 0], BROKEN),
        sends("frame-of-opcode-3", ok(0x83), BROKEN),
        sends("frame-of-opcode-7", ok(0x87), BROKEN),
        sends("frame-of-opcode-11", ok(0x8b), BROKEN),
        sends("frame-of-opcode-15", ok(0x8f), BROKEN),
        sends("frame-of-http", "HTTP/1.1 200 OK\r\n\r\n", BROKEN),
    ]
}

/// §5.2: as few bytes as the length needs, and the first bit of eight is 0.
fn lengths() -> Vec<Case> {
    let eight = |length: u64| [&[TEXT, 127][..], &length.to_be_bytes()].concat();
    let payload = |bytes: usize| frame(BINARY, vec![b'a'; bytes]);
    vec![
        sends("length-of-16-bits-for-2", [TEXT, 126, 0, 2, b'o', b'k'], BROKEN),
        sends("length-of-64-bits-for-2", [eight(2), b"ok".to_vec()].concat(), BROKEN),
        sends("length-of-64-bits-for-65535", eight(65_535), BROKEN),
        sends("frame-of-2-to-63", eight(1 << 63), "ok 101, ws-protocol | ok 101, too-large"),
        sends(
            "frame-of-2-to-64-less-1",
            eight(u64::MAX),
            "ok 101, ws-protocol | ok 101, too-large",
        ),
        sends("frame-of-2-to-63-less-1", eight(u64::MAX >> 1), TOO_LARGE),
        sends("frame-of-2-to-32", eight(1 << 32), TOO_LARGE),
        sends_any("frame-at-limit", payload(64 << 10), RIGHT),
        sends("frame-over-limit", payload((64 << 10) + 1), TOO_LARGE),
        sends_any("frame-of-125", payload(125), RIGHT),
        sends_any("frame-of-126", payload(126), RIGHT),
        sends_any("frame-of-65535", payload(65_535), RIGHT),
        sends_any("frame-of-0", payload(0), RIGHT),
    ]
}

/// §8.1: text is UTF-8 (RFC 3629), and no more is required of it.
fn texts() -> Vec<Case> {
    let text = |name, bytes: &[u8], right| sends_any(name, frame(TEXT, bytes), right);
    vec![
        text("text-of-high-planes", "\u{10ffff}\u{1f600}".as_bytes(), RIGHT),
        text("text-of-no-characters", "\u{ffff}\u{fdd0}\0".as_bytes(), RIGHT),
        text("text-with-mark", "\u{feff}ok".as_bytes(), RIGHT),
        text("text-of-lone-byte", b"\xc3\x28", NOT_UTF8),
        text("text-of-continuation", b"\x80", NOT_UTF8),
        text("text-of-surrogate", b"\xed\xa0\x80", NOT_UTF8),
        text("text-overlong", b"\xc0\xaf", NOT_UTF8),
        text("text-overlong-of-three", b"\xe0\x80\xaf", NOT_UTF8),
        text("text-beyond-unicode", b"\xf4\x90\x80\x80", NOT_UTF8),
        text("text-of-five-bytes", b"\xf8\x88\x80\x80\x80", NOT_UTF8),
        text("text-cut-short", b"ok\xe2\x82", NOT_UTF8),
        text("text-in-latin-1", b"gr\xfcn", NOT_UTF8),
        sends_any("binary-not-utf8", frame(BINARY, b"\xff\xfe"), RIGHT),
    ]
}

/// §5.5: at most 125 bytes, in one frame. A ping is answered by a pong.
fn controls() -> Vec<Case> {
    let text = send(frame(TEXT, "ok"));
    let ping = |name, payload: Vec<u8>| {
        let ping = send(frame(PING, payload));
        // The text comes after the pong, so that without one this takes too long.
        Case::new(name, OPEN, [accept(), ping, Act::Frame, text.clone()], RIGHT)
    };
    vec![
        ping("ping", b"p".to_vec()),
        ping("ping-empty", Vec::new()),
        ping("ping-of-125", vec![b'p'; 125]),
        ping("ping-not-utf8", vec![0xff]),
        sends("ping-of-126", frame(PING, [b'p'; 126]), BROKEN),
        sends("ping-not-final", [0x09, 1, b'p'], BROKEN),
        sends("pong-not-final", [0x0a, 1, b'p'], BROKEN),
        sends("pong-of-126", frame(PONG, [b'p'; 126]), BROKEN),
        sends("pong-not-wanted", [frame(PONG, "p"), frame(TEXT, "ok")].concat(), RIGHT),
        sends(
            "pings-before-text",
            [frame(PING, "p").repeat(500), frame(TEXT, "ok")].concat(),
            RIGHT,
        ),
    ]
}

/// What never ends, and is no message that is waited for.
fn floods() -> Vec<Case> {
    let floods =
        |name, bytes: &[u8], right| Case::new(name, OPEN_IN_TIME, [accept(), flood(bytes)], right);
    let deaf = Act::DeafFlood(frame(PING, [b'p'; 125]).repeat(100));
    vec![
        floods("flood-of-pings", &frame(PING, "p"), "ok 101, timeout"),
        floods("flood-of-pongs", &frame(PONG, "p"), "ok 101, timeout"),
        floods("flood-of-texts", &frame(TEXT, "{}"), "ok 101, timeout"),
        floods("flood-of-empty-texts", &frame(TEXT, ""), "ok 101, timeout"),
        floods("flood-of-large-texts", &frame(TEXT, vec![b'a'; 60_000]), "ok 101, timeout"),
        floods("flood-of-closes", &close(1000, ""), "ok 101, closed"),
        // Pongs that it does not read are kept, up to a limit (`other`).
        Case::new(
            "flood-of-pings-and-deaf",
            OPEN_IN_TIME,
            [accept(), deaf],
            "ok 101, other | ok 101, timeout",
        ),
    ]
}

/// §7.1.5: a connection that ends without a close frame was not closed cleanly.
fn ends() -> Vec<Case> {
    let whole = frame(TEXT, "ok");
    let ends = |name, bytes: &[u8], act: Act, right| {
        Case::new(name, OPEN, [accept(), send(bytes), act], right)
    };
    vec![
        ends("ws-close-between-frames", &[], Act::Fin, "ok 101, closed"),
        ends("ws-close-in-header", &whole[..1], Act::Fin, "ok 101, closed"),
        ends("ws-close-in-payload", &whole[..3], Act::Fin, "ok 101, closed"),
        ends("ws-close-after-message", &whole, Act::Fin, RIGHT),
        ends("ws-reset-between-frames", &[], Act::Reset, "ok 101, reset"),
        ends("ws-reset-in-payload", &whole[..3], Act::Reset, "ok 101, reset"),
        Case::new("ws-silence-between-frames", OPEN_IN_TIME, [accept()], "ok 101, timeout"),
        Case::new(
            "ws-silence-in-payload",
            OPEN_IN_TIME,
            [accept(), send(&whole[..3])],
            "ok 101, timeout",
        ),
    ]
}
