//! Compressed messages. The server's are the examples of RFC 7692 §7.2.3.

use engine::sim::PeerAction;
use record::Outcome;

use crate::peers::{WsPeer, frame};
use crate::support::{Ran, run};

/// "Hello", and the same as a reference to the message before.
const HELLO: &[u8] = &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
const AGAIN: &[u8] = &[0xf2, 0x00, 0x11, 0x00, 0x00];

fn scenario(open: &str) -> String {
    format!(
        "
name: deflate
target: http://target.test/
options: {{ timeout: 2s, message_max: 1KiB }}
sessions:
  main:
    - ws: {{ path: /stream, {open} }}
    - send: {{ op: ask, text: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa }}
      reply: {{ when: {{ body: Hello }}, as: ask }}
    - expect: {{ when: {{ body: Hello }}, as: again }}
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 9s }} ]
"
    )
}

/// A server that compresses if its answer agrees to it; and the opcodes and lengths that it got.
fn answered(open: &str, headers: &'static str, second: &[u8]) -> (Ran, Vec<(u8, usize)>) {
    let second = second.to_vec();
    let mut peer = WsPeer::new(move |_, _| {
        let first = PeerAction::Send(frame(0xc1, HELLO));
        vec![first, PeerAction::Send(frame(0xc1, &second))]
    });
    peer.headers = headers;
    let ran = run(&scenario(open), &mut peer);
    let got = peer.frames.iter().map(|(opcode, payload)| (*opcode, payload.len()));
    (ran, got.collect())
}

const AGREED: &str = "sec-websocket-extensions: permessage-deflate\r\n";
const SEPARATE: &str = "sec-websocket-extensions: permessage-deflate; \
                        server_no_context_takeover; client_no_context_takeover\r\n";

/// Of a server that keeps 256 bytes of our messages.
const SMALL: &str = "sec-websocket-extensions: permessage-deflate; client_max_window_bits=8\r\n";

#[test]
fn messages_are_compressed_both_ways() {
    for (open, headers, second) in [
        ("compress: shared", SMALL, AGAIN),
        ("compress: shared", AGREED, AGAIN),
        ("compress: shared", SEPARATE, HELLO),
        ("compress: separate", SEPARATE, HELLO),
    ] {
        let (ran, got) = answered(open, headers, second);
        assert_eq!(ran.outcomes("ask"), [Outcome::Ok], "{:?}", ran.details());
        assert_eq!(ran.outcomes("again"), [Outcome::Ok], "{:?}", ran.details());
        // 81 bytes as they are.
        assert!(got[0].0 == 1 && got[0].1 < 40, "{got:?}");
        assert_eq!(ran.rows("ask")[0].bytes_in as usize, 2 + HELLO.len());
    }
}

#[test]
fn a_message_in_fragments_counts_all_of_them() {
    for (headers, first, message) in
        [(AGREED, 0x41, HELLO), (AGREED, 0x01, &b"Hello"[..]), ("", 0x01, b"Hello")]
    {
        let (begin, end) = message.split_at(3);
        let mut peer = WsPeer::new(move |_, _| {
            vec![
                PeerAction::Send(frame(first, begin)),
                PeerAction::Send(frame(0x89, b"there?")),
                PeerAction::Send(frame(0x00, b"")),
                PeerAction::Send(frame(0x80, end)),
            ]
        });
        peer.headers = headers;
        let ran = run(&scenario("compress: shared"), &mut peer);
        assert_eq!(ran.outcomes("ask"), [Outcome::Ok], "{:?}", ran.details());
        assert_eq!(ran.rows("ask")[0].bytes_in as usize, 3 * 2 + message.len());
    }
}

#[test]
fn unagreed_extensions_are_reported() {
    // It refers to a message that it promised not to refer to.
    let (ran, _) = answered("compress: separate", SEPARATE, AGAIN);
    assert_ne!(ran.outcomes("again"), [Outcome::Ok]);
    // It compresses without having agreed; or agrees to what was not offered.
    let (ran, got) = answered("compress: shared", "", HELLO);
    assert_eq!(ran.outcomes("ask"), [Outcome::WsProtocol]);
    assert_eq!(got[0], (1, 81));
    let (ran, _) = answered("compress: none", AGREED, HELLO);
    assert_eq!(ran.outcomes("handshake"), [Outcome::WsProtocol]);
}

/// A protocol of channels over it; what is inflated is limited.
#[test]
fn channels_and_limits() {
    let (ran, got) = answered("compress: shared, protocol: phoenix, heartbeat: 1s", AGREED, HELLO);
    // "Hello" is no message of Phoenix.
    assert_eq!(ran.outcomes("ask"), [Outcome::Protocol]);
    assert!(got[0].1 < 40, "{got:?}");
    // 2,000 times the same byte.
    let bomb = [
        0x4a, 0x4c, 0x1c, 0x05, 0xa3, 0x60, 0x14, 0x8c, 0x82, 0x51, 0x30, 0x0a, 0x46, 0xc1, 0x50,
        0x07, 0x00, 0x00,
    ];
    let (ran, _) = answered("compress: shared", AGREED, &bomb);
    assert_eq!(ran.outcomes("again"), [Outcome::TooLarge]);
}
