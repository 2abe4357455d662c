//! permessage-deflate (RFC 7692).

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::super::case::{Act, Case, flood, send};
use super::super::frames::{BINARY, COMPRESSED, CONTINUES, ENDS, PING, TEXT, TEXT_BEGINS, frame};
use super::SWITCH;

/// Offers compression, and waits for the message `ok`.
const OFFER: &str = "[ { ws: { path: AT, compress: shared } }, \
                     { expect: { save: { seen: body }, check: \"seen == 'ok'\" } } ]";
/// As above, with any message.
const OFFER_ANY: &str = "[ { ws: { path: AT, compress: shared } }, { expect: } ]";
/// Waits for a message that never comes.
const OFFER_IN_TIME: &str = "[ { ws: { path: AT, compress: shared } }, \
                             { expect: { when: { body: never }, within: 1s } } ]";
const RIGHT: &str = "ok 101, ok";
const BROKEN: &str = "ok 101, ws-protocol";
const TOO_LARGE: &str = "ok 101, too-large; close 1009";

pub(super) fn cases() -> Vec<Case> {
    [answers(), messages(), bombs()].concat()
}

/// What is left of deflated data when the empty block at its end is taken off (§7.2.1).
fn deflated(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.flush().unwrap();
    let mut bytes = encoder.get_ref().clone();
    assert!(bytes.ends_with(&[0, 0, 0xff, 0xff]));
    bytes.truncate(bytes.len() - 4);
    bytes
}

/// The handshake, with this answer to the offer.
fn agree(answer: &str) -> Act {
    send(format!("{SWITCH}sec-websocket-extensions: {answer}\r\n\r\n"))
}

/// §7.1: what may follow the offer.
fn answers() -> Vec<Case> {
    let answer = |name, answer: &str, right| {
        let text = send(frame(TEXT, "ok"));
        Case::new(name, OFFER, [agree(answer), text], right)
    };
    const WRONG: &str = "ws-protocol 101";
    let whole = "permessage-deflate; server_max_window_bits=10; server_no_context_takeover";
    vec![
        answer("deflate-agreed", "permessage-deflate", RIGHT),
        answer("deflate-with-parameters", whole, RIGHT),
        answer("deflate-unknown-parameter", "permessage-deflate; x=1", WRONG),
        answer("deflate-window-of-7", "permessage-deflate; server_max_window_bits=7", WRONG),
        answer("deflate-window-of-16", "permessage-deflate; server_max_window_bits=16", WRONG),
        answer("deflate-window-missing", "permessage-deflate; server_max_window_bits", WRONG),
        // §7.1.2.2: the client offers to keep a smaller window.
        answer("deflate-client-window", "permessage-deflate; client_max_window_bits=8", RIGHT),
        answer(
            "deflate-client-window-missing",
            "permessage-deflate; client_max_window_bits",
            WRONG,
        ),
        answer("deflate-client-window-of-7", "permessage-deflate; client_max_window_bits=7", WRONG),
        answer(
            "deflate-parameter-twice",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            WRONG,
        ),
        answer(
            "deflate-parameter-with-value",
            "permessage-deflate; server_no_context_takeover=1",
            WRONG,
        ),
        answer("deflate-twice", "permessage-deflate, permessage-deflate", WRONG),
        answer("deflate-frame-of-webkit", "x-webkit-deflate-frame", WRONG),
        answer("deflate-and-another", "permessage-deflate, x", WRONG),
    ]
}

fn agreed(name: &'static str, steps: &str, bytes: Vec<u8>, right: &'static str) -> Case {
    Case::new(name, steps, [agree("permessage-deflate"), send(bytes)], right)
}

/// §6 and §7.2.
fn messages() -> Vec<Case> {
    let ok = deflated(b"ok");
    let part = |first: u8, bytes: &[u8]| frame(first, bytes);
    let begins = TEXT_BEGINS | COMPRESSED;
    let text = TEXT | COMPRESSED;
    // A block of stored bytes (RFC 1951 §3.2.4) that says 9 and has fewer.
    let stored = [0, 9, 0, 0xf6, 0xff, b'o', b'k'];
    // A block of a kind that is reserved (§3.2.3), and a distance beyond all that came before.
    let reserved = [0x07];
    let distant = [0x4b, 0x04, 0x82, 0xff];
    vec![
        agreed("deflated", OFFER, part(text, &ok), RIGHT),
        agreed("deflated-and-plain", OFFER, part(TEXT, b"ok"), RIGHT),
        agreed(
            "deflated-in-fragments",
            OFFER,
            [part(begins, &ok[..2]), part(PING, b""), part(ENDS, &ok[2..])].concat(),
            RIGHT,
        ),
        agreed("deflated-of-nothing", OFFER_ANY, part(text, &[0]), RIGHT),
        agreed(
            "deflated-without-bytes",
            OFFER_ANY,
            part(text, &[]),
            "ok 101, ok | ok 101, ws-protocol",
        ),
        agreed(
            "deflated-not-utf8",
            OFFER,
            part(text, &deflated(b"\xff")),
            "ok 101, invalid-utf8; close 1007",
        ),
        // §6.1: only the first frame of a message has the bit, and no control frame.
        agreed(
            "deflated-ping",
            OFFER,
            part(PING | COMPRESSED, &ok),
            "ok 101, ws-protocol; close 1002",
        ),
        agreed(
            "deflated-continuation",
            OFFER,
            [part(begins, &ok[..2]), part(ENDS | COMPRESSED, &ok[2..])].concat(),
            "ok 101, ws-protocol; close 1002",
        ),
        agreed(
            "deflated-with-rsv2",
            OFFER,
            part(text | 0x20, &ok),
            "ok 101, ws-protocol; close 1002",
        ),
        agreed("deflated-last-alone", OFFER, part(ENDS, &ok), "ok 101, ws-protocol; close 1002"),
        agreed(
            "deflated-begins-twice",
            OFFER,
            [part(begins, &ok), part(text, &ok)].concat(),
            "ok 101, ws-protocol; close 1002",
        ),
        // §7.2.2: what cannot be inflated fails the connection.
        agreed("deflated-plain-text", OFFER, part(text, b"ok, not deflated"), BROKEN),
        agreed("deflated-of-ff", OFFER, part(text, &[0xff; 20]), BROKEN),
        agreed("deflated-reserved-block", OFFER, part(text, &reserved), BROKEN),
        agreed("deflated-cut-short", OFFER_ANY, part(BINARY | COMPRESSED, &stored), BROKEN),
        agreed(
            "deflated-distant",
            OFFER_ANY,
            part(BINARY | COMPRESSED, &distant),
            "ok 101, ws-protocol | ok 101, ok",
        ),
    ]
}

/// The limit is on what a message is inflated to.
fn bombs() -> Vec<Case> {
    let zeros = deflated(&vec![0; 8 << 20]);
    let half = zeros.len() / 2;
    let binary = BINARY | COMPRESSED;
    let fragments =
        [frame(binary & !ENDS, &zeros[..half]), frame(CONTINUES, ""), frame(ENDS, &zeros[half..])];
    let below = frame(binary, deflated(&vec![0; 60_000]));
    let within = agree("permessage-deflate; server_no_context_takeover");
    vec![
        agreed("bomb", OFFER, frame(binary, &zeros), TOO_LARGE),
        agreed("bomb-of-text", OFFER, frame(TEXT | COMPRESSED, &zeros), TOO_LARGE),
        agreed("bomb-in-fragments", OFFER, fragments.concat(), TOO_LARGE),
        agreed("bomb-below-limit", OFFER_ANY, below.clone(), RIGHT),
        Case::new("bombs-without-end", OFFER_IN_TIME, [within, flood(below)], "ok 101, timeout"),
    ]
}
