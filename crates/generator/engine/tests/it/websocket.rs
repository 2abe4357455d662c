//! WebSocket steps.

use engine::sim::{Link, PeerAction};
use record::Outcome;

use crate::peers::{WsPeer, frame, text};
use crate::support::{MS, S, run, run_over};

fn scenario(steps: &str) -> String {
    format!(
        "
name: websocket
target: http://target.test/
options: {{ timeout: 2s, message_max: 1KiB }}
sessions:
  main:
    - ws: /stream
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 9s }}
"
    )
}

const ASK: &str = "
    - send: { op: ask }
      reply: { when: { /re: ask }, as: ask }
    - send: { op: again }
      as: again
";

#[test]
fn a_session_opens_sends_and_leaves_with_a_close_frame() {
    let text_ = scenario(
        "
    - send: { op: games, n: \"${user}\" }
      reply: { when: { /re: games }, save: { game: /games/0/id }, as: games }
    - send: { op: join, game: \"${game}\" }
      reply: { when: { /re: join, /game: \"${game}\" }, as: join }
",
    );
    let mut peer = WsPeer::new(|_, message| {
        if message.contains("games") {
            vec![text(r#"{"re":"games","games":[{"id":"g1"}]}"#)]
        } else {
            // Another one's answer first: it does not match.
            vec![text(r#"{"re":"join","game":"g2"}"#), text(r#"{"re":"join","game":"g1"}"#)]
        }
    });
    peer.delay_ns = 7 * MS;
    let ran = run_over(&text_, &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
    assert_eq!(ran.rows("handshake")[0].response_ns(), 4 * MS);
    assert_eq!(ran.outcomes("games"), [Outcome::Ok]);
    assert_eq!(ran.rows("join")[0].response_ns(), 9 * MS);
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
    let frames: Vec<_> = peer
        .frames
        .iter()
        .map(|(opcode, payload)| (*opcode, String::from_utf8_lossy(payload).into_owned()))
        .collect();
    assert_eq!(frames[0], (1, r#"{"op":"games","n":0}"#.to_owned()));
    assert_eq!(frames[1], (1, r#"{"op":"join","game":"g1"}"#.to_owned()));
    assert_eq!(frames[2].0, 8);
    assert_eq!(frames.len(), 3);
}

/// Each record of a message is one of its own: a reply, what an `expect` waits for, or pushed. Sent messages end one.
#[test]
fn records_of_a_message_are_messages() {
    for open in [
        r#"{ path: /stream, records: "\x1e" }"#,
        "{ path: /stream, records: 0x1e, reconnect: true }",
        "{ path: /stream, records: 0x1e, compress: shared }",
    ] {
        let steps = r#"
    - send: { op: ask }
      reply: { when: { /re: 1 }, as: ask }
    - expect: { when: { body: last }, as: last }
    - send: "done\x1e"
"#;
        let text_ = scenario(steps).replace("ws: /stream", &format!("ws: {open}"));
        let mut peer = WsPeer::new(|_, message| match message {
            "{\"op\":\"ask\"}\x1e" => vec![
                text("{\"re\":0}\x1e{\"re\":1}\x1e\x1elast"),
                // No record at all.
                text("\x1e"),
            ],
            _ => vec![],
        });
        let ran = run_over(&text_, &mut peer, Link::new(MS));
        assert_eq!(ran.outcomes("ask"), [Outcome::Ok], "{open}: {:?}", ran.details());
        assert_eq!(ran.outcomes("last"), [Outcome::Ok], "{open}: {:?}", ran.details());
        assert_eq!(ran.total(|counts| counts.unmatched), 1, "{open}");
        assert_eq!(ran.rows("last")[0].response_ns(), 0, "{open}");
        let sent: Vec<_> = peer.frames.iter().filter(|(opcode, _)| *opcode == 1).collect();
        assert_eq!(sent.len(), 2, "{open}");
        assert_eq!(sent[1].1, b"done\x1e", "{open}");
    }
}

#[test]
fn pings_are_answered_and_messages_may_be_fragmented() {
    let mut peer = WsPeer::new(|_, _| {
        vec![
            PeerAction::Send(frame(0x89, b"still there?")),
            PeerAction::Send(frame(0x01, br#"{"re":"#)),
            PeerAction::Send(frame(0x89, b"now?")),
            PeerAction::Send(frame(0x80, br#""ask"}"#)),
        ]
    });
    let one = ASK.split("    - send: { op: again }").next().expect("the first step");
    let ran = run(&scenario(one), &mut peer);
    assert_eq!(ran.outcomes("ask"), [Outcome::Ok]);
    let pongs: Vec<_> = peer.frames.iter().filter(|(opcode, _)| *opcode == 10).collect();
    assert_eq!(pongs, [&(10, b"still there?".to_vec()), &(10, b"now?".to_vec())]);
    let handshake = ran.rows("handshake")[0];
    let ask = ran.rows("ask")[0];
    // Two frames of 6 bytes each; the request, masked.
    assert_eq!((ask.bytes_in, ask.bytes_out), (16, 12 + 6));
    // Besides, 12 and 4 bytes of pings and their pongs, and a close frame with its code each way.
    assert_eq!(
        ran.total(|counts| counts.bytes_in),
        u64::from(handshake.bytes_in + ask.bytes_in) + 14 + 6 + 4
    );
    assert_eq!(
        ran.total(|counts| counts.bytes_out),
        u64::from(handshake.bytes_out + ask.bytes_out) + 18 + 10 + 8
    );
}

#[test]
fn a_declined_handshake_counts_its_bytes() {
    let answer = || crate::peers::response("403 Forbidden", "", "no");
    let mut peer = crate::peers::HttpPeer::new(|_| MS, |_| answer());
    let ran = run(&scenario(ASK), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Status]);
    // All but the body, which is no part of the handshake.
    let head = "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\n";
    assert_eq!(ran.rows("handshake")[0].bytes_in as usize, head.len());
}

#[test]
fn a_missing_reply_times_out_and_the_user_continues() {
    let mut peer = WsPeer::new(|_, _| Vec::new());
    let ran = run(&scenario(ASK), &mut peer);
    assert_eq!(ran.outcomes("ask"), [Outcome::Timeout]);
    assert_eq!(ran.rows("ask")[0].response_ns(), 2 * S);
    assert_eq!(ran.outcomes("again"), [Outcome::Ok]);
}

#[test]
fn protocol_errors_end_the_session_with_their_kind() {
    let cases: [(&str, Vec<PeerAction>, Outcome); 6] = [
        (
            "half a frame, then closed",
            vec![PeerAction::Send(vec![0x81, 20, b'{']), PeerAction::Close],
            Outcome::Closed,
        ),
        ("reset", vec![PeerAction::Reset], Outcome::Reset),
        ("no UTF-8", vec![PeerAction::Send(frame(0x81, b"\xff\xfe"))], Outcome::InvalidUtf8),
        (
            "larger than the limit",
            vec![PeerAction::Send(frame(0x81, &[b'x'; 2000]))],
            Outcome::TooLarge,
        ),
        ("reserved bits", vec![PeerAction::Send(frame(0xf1, b"{}"))], Outcome::WsProtocol),
        (
            "closed with a code",
            vec![PeerAction::Send(frame(0x88, b"\x03\xf3oops"))],
            Outcome::Closed,
        ),
    ];
    for (what, answer, outcome) in cases {
        let mut peer = WsPeer::new(move |_, _| answer.clone());
        let ran = run(&scenario(ASK), &mut peer);
        assert_eq!(ran.outcomes("ask"), [outcome], "{what}: {:?}", ran.details());
        assert_eq!(ran.outcomes("again"), [], "{what}");
        assert!(!ran.details().is_empty(), "{what}");
    }
}

#[test]
fn a_loss_between_steps_is_reported_at_once() {
    let steps = "
    - send: { op: ask }
      reply: { when: { /re: ask }, as: ask }
    - think: 5s
    - send: { op: again }
      as: again
";
    let mut peer = WsPeer::new(|_, _| {
        vec![text(r#"{"re":"ask"}"#), PeerAction::Send(frame(0x88, b"\x03\xe9"))]
    });
    let ran = run(&scenario(steps), &mut peer);
    assert_eq!(ran.outcomes("ask"), [Outcome::Ok]);
    assert_eq!(ran.counted("steps", Outcome::Closed), 1);
    // The connection had been established.
    assert_eq!(ran.outcomes("connect"), [Outcome::Ok]);
    assert_eq!(ran.counted("connect", Outcome::Closed), 0);
    assert_eq!(ran.outcomes("again"), []);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}

#[test]
fn closing_by_a_step_waits_for_the_peer() {
    let steps = "
    - close: 1000
    - ws: /stream
      as: second
";
    let mut peer = WsPeer::new(|_, _| Vec::new());
    let ran = run_over(&scenario(steps), &mut peer, Link::new(10 * MS));
    assert_eq!(ran.outcomes("second"), [Outcome::Ok]);
    // Two round trips to open, one to close.
    assert_eq!(ran.rows("second")[0].due_ns, 60 * MS);
    assert_eq!(peer.frames[0], (8, vec![0x03, 0xe8]));
    // To close is no operation.
    let sends = ran.total(|c| c.sends);
    let done = ran.total(|c| c.done);
    assert_eq!((sends, done), (2, 2 + ran.rows("connect").len() as u64));
}

#[test]
fn a_declined_upgrade_is_reported_with_its_status() {
    let mut peer =
        crate::peers::HttpPeer::new(|_| MS, |_| crate::peers::response("403 Forbidden", "", "no"));
    let ran = run(&scenario(ASK), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Status]);
    assert_eq!(ran.rows("handshake")[0].status, 403);
    assert_eq!(ran.outcomes("ask"), []);
}

#[test]
fn frames_directly_after_the_handshake_are_read() {
    let steps = "
    - expect: { when: { /hello: world }, as: hello }
";
    let mut peer = WsPeer::new(|_, _| Vec::new());
    peer.greeting = vec![text(r#"{"hello":"world"}"#)];
    let ran = run(&scenario(steps), &mut peer);
    assert_eq!(ran.outcomes("hello"), [Outcome::Ok]);
}
