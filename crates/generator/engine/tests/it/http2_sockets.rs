//! WebSockets over HTTP/2: they do what those over HTTP/1.1 do, on connections that carry other streams as well.

use engine::sim::{Link, PeerAction};
use record::Outcome;

use crate::peers::{WsPeer, frame, text};
use crate::support::{MS, Ran, S, run, run_over};
use crate::tunnels::Tunnels;

type Answers = Box<dyn FnMut(u64, &str) -> Vec<PeerAction>>;
type Sockets = WsPeer<Answers>;

fn sockets(respond: impl FnMut(u64, &str) -> Vec<PeerAction> + 'static) -> Sockets {
    WsPeer::new(Box::new(respond) as Answers)
}

/// Users that take these steps; where WebSockets go is left open.
fn scenario(steps: &str) -> String {
    format!(
        "
name: sockets
target: {{ url: 'http://target.test/', http: HTTP }}
options: {{ timeout: 2s, drain: 1s, websockets: WEBSOCKETS }}
messages:
  said: {{ when: {{ /said: {{ exists: true }} }}, seq: /said }}
sessions:
  main:
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 30s }}
"
    )
}

fn streams(text: &str) -> String {
    text.replace("HTTP", "2").replace("WEBSOCKETS", "streams")
}

fn upgrades(text: &str) -> String {
    text.replace("HTTP", "1.1").replace("WEBSOCKETS", "upgrade")
}

/// What came of a step, and bytes that it received.
type Row = (String, u64, u64, u64, Outcome, u32);

/// Of all steps: connections aside, of which there are fewer, and bytes of handshakes, which are written otherwise.
fn rows(ran: &Ran) -> Vec<Row> {
    let rows = ran.run.rows.iter().map(|row| {
        let name = ran.plan.measures[row.measure as usize].name.clone();
        let bytes_in = match &*name {
            "handshake" | "reconnect" => 0,
            _ => row.bytes_in,
        };
        let times = (row.due_ns, row.done_ns);
        (name, row.user, times.0, times.1, row.outcome, bytes_in)
    });
    rows.filter(|row| row.0 != "connect").collect()
}

/// Runs the steps over both, which must not differ; returns that over HTTP/2.
#[track_caller]
fn both(steps: &str, latency_ns: u64, peer: impl Fn() -> Sockets) -> (Ran, Tunnels<Sockets>) {
    let text = scenario(steps);
    let mut old = peer();
    let upgraded = run_over(&upgrades(&text), &mut old, Link::new(latency_ns));
    let mut new = Tunnels::new(peer());
    let ran = run_over(&streams(&text), &mut new, Link::new(latency_ns));
    assert_eq!(rows(&ran), rows(&upgraded), "{:?}", ran.details());
    // An answer to a close frame finds a TCP connection closed.
    let messages = |peer: &Sockets| -> Vec<_> {
        let frames = peer.frames.iter().filter(|own| own.0 != 8);
        frames.cloned().collect()
    };
    assert_eq!(messages(&new.inner), messages(&old));
    for counter in [
        |counts: &engine::measure::Counts| counts.users_finished,
        |counts: &engine::measure::Counts| counts.users_failed,
        |counts: &engine::measure::Counts| counts.unmatched,
    ] {
        assert_eq!(ran.total(counter), upgraded.total(counter));
    }
    (ran, new)
}

const GAMES: &str = "
    - ws: /stream
    - send: { op: games, n: \"${user}\" }
      reply: { when: { /re: games }, save: { game: /games/0/id }, as: games }
    - send: { op: join, game: \"${game}\" }
      reply: { when: { /re: join, /game: \"${game}\" }, as: join }
    - think: 1s
    - send: bye
";

#[test]
fn messages_and_their_times_are_the_same() {
    for latency_ns in [0, MS] {
        let (ran, peer) = both(GAMES, latency_ns, || {
            let mut peer = sockets(|_, message| match message.contains("games") {
                true => vec![
                    PeerAction::Send(frame(0x89, b"still there?")),
                    PeerAction::Send(frame(0x01, br#"{"re":"#)),
                    PeerAction::Send(frame(0x80, br#""games","games":[{"id":"g1"}]}"#)),
                ],
                false => vec![text(r#"{"other":1}"#), text(r#"{"re":"join","game":"g1"}"#)],
            });
            peer.delay_ns = 7 * MS;
            peer
        });
        assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
        let handshake = ran.rows("handshake")[0];
        assert_eq!((handshake.status, handshake.response_ns()), (200, 4 * latency_ns));
        assert_eq!(ran.outcomes("join"), [Outcome::Ok]);
        // Masked as ever, in a frame of HTTP/2.
        let len = r#"{"op":"join","game":"g1"}"#.len() as u32;
        assert_eq!(ran.rows("join")[0].bytes_out, 9 + 6 + len);
        // It was ended in good order.
        assert_eq!((&*peer.ends, &*peer.resets), (&[1][..], &[][..]));
    }
}

#[test]
fn losses_and_errors_are_the_same() {
    let steps = "
    - ws: /stream
    - send: { op: first }
      reply: { when: { /re: first }, as: first, within: 1s }
    - send: { op: again }
      as: again
";
    let close = PeerAction::Send(frame(0x88, b"\x03\xf3oops"));
    let no_text = PeerAction::Send(frame(0x81, b"\xff\xfe"));
    let reserved = PeerAction::Send(frame(0xf1, b"{}"));
    let cases: [(Vec<PeerAction>, Outcome); 6] = [
        (vec![], Outcome::Timeout),
        (vec![PeerAction::Send(vec![0x81, 20, b'{']), PeerAction::Close], Outcome::Closed),
        (vec![close.clone()], Outcome::Closed),
        (vec![close, PeerAction::Close], Outcome::Closed),
        (vec![no_text], Outcome::InvalidUtf8),
        (vec![reserved], Outcome::WsProtocol),
    ];
    for (answer, outcome) in cases {
        let (ran, _) = both(steps, MS, || {
            let answer = answer.clone();
            sockets(move |_, _| answer.clone())
        });
        assert_eq!(ran.outcomes("first"), [outcome], "{answer:?}");
    }
}

/// A stream that ends is followed by another one, over the same connection.
#[test]
fn a_lost_stream_reconnects() {
    let steps = "
    - ws: { path: /socket, reconnect: { pause: 100ms, jitter: none, send: [ again ] } }
    - send: bye
    - think: 1ms
    - send: hello
      reply: { save: { n: /n } }
    - check: n == 1
    - think: 1s
    - close:
";
    for broken in [PeerAction::Close, PeerAction::Send(frame(0x88, b"\x03\xe8"))] {
        let (ran, peer) = both(steps, 0, || {
            let broken = broken.clone();
            sockets(move |_, message| match message {
                "bye" => vec![broken.clone()],
                "hello" => vec![text("{\"n\":1}")],
                _ => Vec::new(),
            })
        });
        assert_eq!(ran.outcomes("reconnect"), [Outcome::Ok], "{broken:?}");
        assert_eq!(ran.rows("reconnect")[0].status, 200);
        assert_eq!(peer.connections_count, 1);
        assert_eq!(ran.total(|counts| counts.users_finished), 1);
    }
}

#[test]
fn channels_are_joined_over_it_and_again_after_a_loss() {
    let steps = "
    - ws: { path: /socket, protocol: phoenix, reconnect: true }
    - join: room
    - push: { event: bye, payload: {} }
    - think: 1s
    - push: { event: speak, payload: {} }
      reply: { save: { id: /id } }
    - check: id == 7
    - leave:
";
    let (ran, peer) = both(steps, 0, || {
        sockets(|_, message| {
            let parts: Vec<&str> = message.split('"').collect();
            let number = parts[3];
            let event = parts[7];
            let reply = |response: &str| {
                text(&format!(
                    "[\"1\",\"{number}\",\"room\",\"phx_reply\",{{\"status\":\"ok\",\"response\":{response}}}]"
                ))
            };
            match event {
                "bye" => vec![PeerAction::Close],
                "speak" => vec![reply("{\"id\":7}")],
                _ => vec![reply("{}")],
            }
        })
    });
    assert_eq!(ran.outcomes("rejoin"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(peer.heads.len(), 2);
}

/// "Hello" by RFC 7692 §7.2.3.
const HELLO: &[u8] = &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];

#[test]
fn messages_are_compressed_if_that_is_agreed_on() {
    let steps = "
    - ws: { path: /stream, compress: separate }
    - send: { op: first, text: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa }
      reply: { when: { body: Hello }, as: first }
";
    let (ran, peer) = both(steps, 0, || {
        let mut peer = sockets(|_, _| vec![PeerAction::Send(frame(0xc1, HELLO))]);
        peer.headers = "sec-websocket-extensions: permessage-deflate; server_no_context_takeover; \
                        client_no_context_takeover\r\n";
        peer
    });
    assert_eq!(ran.outcomes("first"), [Outcome::Ok], "{:?}", ran.details());
    // 83 bytes as they are.
    assert!(peer.inner.frames[0].1.len() < 50);
}

#[test]
fn the_handshake_is_a_connect() {
    let steps = "
    - get: /login
    - ws:
        path: /stream?user=${user}
        headers: { sec-websocket-protocol: chat, Origin: 'http://here.test' }
        compress: shared
";
    let mut peer = Tunnels::new(sockets(|_, _| vec![]));
    let ran = run(&streams(&scenario(steps)), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok], "{:?}", ran.details());
    let expected = [
        ":method: CONNECT",
        ":protocol: websocket",
        ":scheme: http",
        ":authority: target.test",
        ":path: /stream?user=0",
        "sec-websocket-version: 13",
        "sec-websocket-protocol: chat",
        "origin: http://here.test",
        "sec-websocket-extensions: permessage-deflate; client_max_window_bits",
    ];
    assert_eq!(peer.heads[1].fields, expected);
    assert_eq!(peer.connections_count, 1);
}

/// A server takes it until it has said otherwise: nothing is sent before its settings (RFC 8441 §3).
#[test]
fn the_handshake_waits_for_the_settings() {
    let mut peer = Tunnels::new(sockets(|_, _| vec![]));
    peer.settings_after_ns = 50 * MS;
    let ran = run_over(&streams(&scenario("    - ws: /stream\n")), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
    // To connect, to greet, to answer: the handshake is sent when the settings have come.
    assert_eq!(ran.rows("handshake")[0].response_ns(), (2 + 50 + 2) * MS);
    assert_eq!(ran.rows("connect")[0].response_ns(), 2 * MS);

    let mut peer = Tunnels::new(sockets(|_, _| vec![]));
    peer.settings_after_ns = 100 * S;
    let ran = run_over(&streams(&scenario("    - ws: /stream\n")), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("handshake"), [Outcome::Timeout]);
    assert_eq!(ran.rows("handshake")[0].response_ns(), 2 * S);
    assert_eq!((peer.heads.len(), peer.connections_count), (0, 1));
}

#[test]
fn a_server_that_does_not_announce_it_is_named() {
    let steps = "
    - get: /
      as: page
    - ws: { path: /stream, reconnect: true }
    - send: late
      as: late
";
    for settings in [vec![], vec![(8, 0)]] {
        let mut peer = Tunnels::new(sockets(|_, _| vec![]));
        peer.settings = settings;
        let ran = run(&streams(&scenario(steps)), &mut peer);
        assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
        assert_eq!(ran.outcomes("handshake"), [Outcome::WsProtocol]);
        assert!(ran.details()[0].contains("RFC 8441"), "{:?}", ran.details());
        assert_eq!(ran.outcomes("late"), []);
        // It got no CONNECT.
        assert_eq!(peer.heads.len(), 1);
    }
}

#[test]
fn a_declined_handshake_has_its_status() {
    let answer = || crate::peers::response("403 Forbidden", "", "no");
    let mut peer = Tunnels::new(crate::peers::HttpPeer::new(|_| MS, move |_| answer()));
    let ran = run(&streams(&scenario("    - ws: /stream\n")), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Status]);
    assert_eq!(ran.rows("handshake")[0].status, 403);
    assert_eq!(ran.rows("handshake")[0].response_ns(), MS);
}

/// Users that begin at the same time wait for one connection, and share it with their requests and event streams.
#[test]
fn users_share_a_connection() {
    let steps = "
    - ws: /stream
    - get: /
      as: page
    - send: hello
      reply: { when: { body: hello }, as: hello }
";
    let text = streams(&scenario(steps))
        .replace("timeout: 2s", "timeout: 2s, http_connections: shared")
        .replace("constant: 1/s, for: 1s", "constant: 20000/s, for: 1ms");
    let mut peer = Tunnels::new(sockets(|_, _| vec![text_of_hello()]));
    let ran = run_over(&text, &mut peer, Link::new(MS));
    for measure in ["handshake", "page", "hello"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok; 20], "{measure}");
    }
    assert_eq!(peer.connections_count, 1);
    assert_eq!((peer.ends.len(), peer.resets.len()), (20, 0));
    // Places are limited: there are as many connections as it takes.
    let mut peer = Tunnels::new(sockets(|_, _| vec![text_of_hello()]));
    peer.settings.push((3, 5));
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("hello"), [Outcome::Ok; 20], "{:?}", ran.details());
    assert!((4..=9).contains(&peer.connections_count), "{}", peer.connections_count);
}

fn text_of_hello() -> PeerAction {
    text("hello")
}

/// More than windows take at once goes both ways.
#[test]
fn windows_are_opened_again() {
    let long = "x".repeat(60_000);
    let steps = format!(
        "
    - ws: /stream
    - loop: 40
      steps:
        - send: '{long}'
          as: long
          reply: {{ when: {{ regex: '^x+$' }} }}
"
    );
    let mut peer = Tunnels::new(sockets(|_, message| vec![text(message)]));
    let ran = run_over(&streams(&scenario(&steps)), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("long"), [Outcome::Ok; 40], "{:?}", ran.details());
    assert_eq!(peer.inner.frames.iter().filter(|own| own.1.len() == 60_000).count(), 40);
}

/// What a window does not take waits; a message of which a part waits has no reply.
#[test]
fn a_window_that_is_never_opened_is_a_timeout() {
    let long = "x".repeat(60_000);
    let steps = format!(
        "
    - ws: /stream
    - send: '{long}'
    - send: '{long}'
      as: second
      reply: {{ when: {{ body: second }}, within: 1s }}
    - close:
"
    );
    let mut peer = Tunnels::new(sockets(|_, _| vec![]));
    peer.widens = false;
    let ran = run_over(&streams(&scenario(&steps)), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("second"), [Outcome::Timeout]);
    // What waits will never be sent: it is reset, as a socket is that is closed with bytes unsent.
    assert_eq!((&*peer.ends, &*peer.resets), (&[][..], &[(1, 8)][..]));
}
