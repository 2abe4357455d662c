//! Ends of WebSockets over HTTP/2: what the server resets, closes or gives up, and what it must not do.

use engine::sim::{Link, PeerAction};
use record::Outcome;

use crate::http2_peer::{Got, Http2Peer, frame_of, go_away, head, ok, reset, sent};
use crate::peers::frame;
use crate::support::{MS, Ran, S, run, run_over};

fn scenario(open: &str, steps: &str) -> String {
    format!(
        "
name: sockets
target: {{ url: 'http://target.test/', http: 2 }}
options: {{ timeout: 2s, drain: 1s, websockets: streams }}
sessions:
  main:
    - get: /
      as: page
    - ws: {{ path: '/stream?x=${{random(1, 1000000000)}}'{open} }}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 9s }}
"
    )
}

const HELLO: &str = "
    - send: hello
      reply: { when: { body: answer }, as: hello, within: 1s }
    - get: /
      as: next
";

type Answers = Box<dyn FnMut(&Got) -> Vec<PeerAction>>;

/// A server that answers requests, opens WebSockets, and answers each of their frames by `respond`.
fn peer(respond: impl Fn(&Got) -> Vec<PeerAction> + 'static) -> Http2Peer<Answers> {
    let answer = move |got: &Got| match (got.line.starts_with("CONNECT"), got.body.is_empty()) {
        (false, _) => ok(got, "{}"),
        (true, true) if !got.ended => opened(got),
        (true, _) => respond(got),
    };
    let mut peer = Http2Peer::new(0, Box::new(answer) as Answers);
    peer.settings = vec![(8, 1)];
    peer.talks = true;
    peer
}

fn opened(got: &Got) -> Vec<PeerAction> {
    sent(&[head(got.stream, false, &[(":status", "200")])])
}

/// Bytes of a WebSocket.
fn bytes(got: &Got, bytes: &[u8]) -> Vec<u8> {
    frame_of(0, 0, got.stream, bytes)
}

fn greeted(respond: impl Fn(&Got) -> Vec<PeerAction> + 'static) -> (Ran, Http2Peer<Answers>) {
    let mut peer = peer(respond);
    let ran = run(&scenario("", HELLO), &mut peer);
    (ran, peer)
}

#[test]
fn what_ends_a_stream_ends_its_session_alone() {
    let half = [0x81, 20, b'{'];
    for (code, outcome) in [
        (8, Outcome::Http2Cancel),
        (2, Outcome::Http2InternalError),
        (11, Outcome::Http2EnhanceYourCalm),
    ] {
        let (ran, peer) = greeted(move |got| sent(&[bytes(got, &half), reset(got.stream, code)]));
        assert_eq!(ran.outcomes("hello"), [outcome]);
        assert_eq!(ran.outcomes("next"), []);
        assert_eq!(ran.total(|counts| counts.users_failed), 1);
        assert_eq!((peer.connections_count, &*peer.resets), (1, &[][..]));
    }
}

#[test]
fn a_reset_reconnects_over_the_same_connection() {
    let steps = "
    - send: hello
    - think: 500ms
    - send: hello
      reply: { when: { body: answer }, as: hello, within: 1s }
";
    let mut peer = peer(|got| match got.stream {
        3 => sent(&[reset(got.stream, 8)]),
        _ => sent(&[bytes(got, &frame(0x81, b"answer"))]),
    });
    let text = scenario(", reconnect: { pause: 100ms, jitter: none }", steps);
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("reconnect"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.outcomes("hello"), [Outcome::Ok]);
    assert_eq!(peer.connections_count, 1);
}

#[test]
fn a_stream_that_ends_at_its_head_is_closed() {
    let mut peer = peer(|_| vec![]);
    peer.respond = Box::new(|got| match got.line.starts_with("CONNECT") {
        false => ok(got, "{}"),
        true => sent(&[head(got.stream, true, &[(":status", "200")])]),
    });
    let ran = run(&scenario("", HELLO), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("hello"), [Outcome::Closed]);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}

/// A server announces the end of a connection: the WebSocket stays, requests go elsewhere.
#[test]
fn goaway_leaves_what_is_open() {
    let steps = "
    - send: one
      reply: { when: { body: answer }, as: one }
    - get: /
      as: next
    - send: two
      reply: { when: { body: answer }, as: two }
    - close:
    - think: 1s
";
    // Two messages of 9 bytes, then a close frame.
    let mut peer = peer(|got| match got.body.len() {
        19.. if got.ended => sent(&[frame_of(0, 1, got.stream, b"")]),
        19.. => sent(&[bytes(got, &frame(0x88, b"\x03\xe8"))]),
        _ => sent(&[go_away(got.stream, 0), bytes(got, &frame(0x81, b"answer"))]),
    });
    let ran = run(&scenario("", steps), &mut peer);
    for measure in ["one", "next", "two"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{:?}", ran.details());
    }
    assert_eq!(peer.connections_count, 2);
    // The first one is closed when nothing is left on it, long before the user leaves.
    assert!(peer.closed_ns[0] < ran.rows("two")[0].done_ns + S / 2);
}

/// The same with the same values, whose time is that of both.
#[test]
fn a_handshake_that_was_not_processed_is_sent_again() {
    let mut peer = peer(|got| sent(&[bytes(got, &frame(0x81, b"answer"))]));
    peer.respond = {
        let mut usual = std::mem::replace(&mut peer.respond, Box::new(|_| vec![]));
        Box::new(move |got| match got.stream {
            3 if got.conn == 0 => sent(&[go_away(1, 0)]),
            _ => usual(got),
        })
    };
    let ran = run_over(&scenario("", HELLO), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.outcomes("hello"), [Outcome::Ok]);
    assert_eq!(ran.total(|counts| counts.requests_retried), 1);
    // Refused in a round trip; then another one to connect and one for the answer.
    assert_eq!(ran.rows("handshake")[0].response_ns(), 6 * MS);
    assert_eq!(peer.connections_count, 2);
}

#[test]
fn a_lost_connection_takes_its_websocket_along() {
    for (action, outcome) in
        [(PeerAction::Close, Outcome::Closed), (PeerAction::Reset, Outcome::Reset)]
    {
        let (ran, _) = greeted(move |_| vec![action.clone()]);
        assert_eq!(ran.outcomes("hello"), [outcome]);
    }
    // An end with an error has its kind.
    let (ran, _) =
        greeted(|got| vec![PeerAction::Send(go_away(got.stream, 11)), PeerAction::Close]);
    assert_eq!(ran.outcomes("hello"), [Outcome::Http2EnhanceYourCalm]);
}

/// RFC 9113 §5.1: that is an error of the connection.
#[test]
fn bytes_after_the_end_break_the_connection() {
    let (ran, peer) = greeted(|got| {
        let end = frame_of(0, 1, got.stream, &frame(0x81, b"answer"));
        sent(&[end, bytes(got, &frame(0x81, b"more"))])
    });
    assert_eq!(ran.outcomes("hello"), [Outcome::Ok]);
    // The request that went out meanwhile is lost with it.
    assert_eq!(ran.outcomes("next"), [Outcome::Http2StreamClosed]);
    assert_eq!(peer.connections_count, 1);
}

/// Settings that leave no place: a connection that is new has no other.
#[test]
fn a_server_without_places_is_no_loop() {
    let mut peer = peer(|_| vec![]);
    peer.settings.push((3, 0));
    let text = scenario("", HELLO).replace("    - get: /\n      as: page\n", "");
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Http2RefusedStream]);
    assert_eq!(peer.connections_count, 1);
}

/// A server that floods pings and never reads: what is answered waits, within the memory for buffers.
#[test]
fn pongs_that_wait_take_memory() {
    let mut peer = peer(|got| {
        let pings = frame(0x89, &[b'x'; 100]).repeat(3_000);
        let pieces = pings.chunks(16_000);
        vec![PeerAction::Send(pieces.flat_map(|piece| bytes(got, piece)).collect())]
    });
    peer.settings.push((4, 20));
    let link = Link {
        buffers: std::sync::Arc::new(engine::tables::budget::Budget::new(200 << 10)),
        ..Link::new(0)
    };
    let ran = run_over(&scenario("", HELLO), &mut peer, link);
    assert_eq!(ran.outcomes("hello"), [Outcome::NoMemory], "{:?}", ran.details());
}
