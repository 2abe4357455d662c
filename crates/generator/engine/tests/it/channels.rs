//! Protocols of channels over a WebSocket.

use engine::sim::{Link, PeerAction};
use record::{Measurement, Outcome};

use crate::peers::{WsPeer, frame, text};
use crate::support::{MS, Ran, S, run, run_over};

fn scenario(protocol: &str, steps: &str) -> String {
    format!(
        "
name: channels
target: http://target.test/
options: {{ timeout: 2s, message_max: 1KiB }}
messages:
  said: {{ when: {{ event: message }}, sent_at: /at, unit: s }}
sessions:
  main:
    - ws: {{ path: /socket, {protocol} }}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 99s }}
"
    )
}

/// All texts that the server got.
fn texts<F>(peer: &WsPeer<F>) -> Vec<String> {
    let frames = peer.frames.iter().filter(|(opcode, _)| *opcode == 1);
    frames.map(|(_, payload)| String::from_utf8_lossy(payload).into_owned()).collect()
}

fn rejoined(ran: &Ran, measure: &str) -> Vec<(Outcome, u64)> {
    let rows = ran.rows(measure).into_iter();
    rows.map(|row| (row.outcome, row.response_ns())).collect()
}

const PHOENIX: &str = "
    - join: \"room:${user}\"
      payload: { after: 3 }
    - push: { event: speak, payload: { text: hi } }
      reply: { when: { /id: { exists: true } }, save: { id: /id } }
    - check: id == 7
    - push: { event: whisper, topic: \"room:0\" }
    - think: 1s
    - leave:
";

/// A message of a Phoenix server: an array, or an object as version 1 sends it.
fn phoenix_message(arrays: bool, (number, event, payload): (&str, &str, &str)) -> PeerAction {
    if arrays {
        return text(&format!("[\"1\",{number},\"room:0\",\"{event}\",{payload}]"));
    }
    text(&format!(
        "{{\"topic\":\"room:0\",\"event\":\"{event}\",\"payload\":{payload},\"ref\":{number}}}"
    ))
}

/// What the user of [`PHOENIX`] sends.
fn phoenix_sent(arrays: bool) -> [&'static str; 4] {
    if arrays {
        [
            r#"["1","1","room:0","phx_join",{"after":3}]"#,
            r#"["1","2","room:0","speak",{"text":"hi"}]"#,
            r#"["1","3","room:0","whisper",{}]"#,
            r#"["1","4","room:0","phx_leave",{}]"#,
        ]
    } else {
        [
            r#"{"topic":"room:0","event":"phx_join","payload":{"after":3},"ref":"1","join_ref":"1"}"#,
            r#"{"topic":"room:0","event":"speak","payload":{"text":"hi"},"ref":"2","join_ref":"1"}"#,
            r#"{"topic":"room:0","event":"whisper","payload":{},"ref":"3","join_ref":"1"}"#,
            r#"{"topic":"room:0","event":"phx_leave","payload":{},"ref":"4","join_ref":"1"}"#,
        ]
    }
}

/// Both forms of messages: what was sent, how it ended.
#[test]
fn phoenix_joins_pushes_and_leaves() {
    let ok = |response: &str| format!("{{\"status\":\"ok\",\"response\":{response}}}");
    for arrays in [true, false] {
        let say = |number: &str, event: &str, payload: &str| {
            phoenix_message(arrays, (number, event, payload))
        };
        let mut peer = WsPeer::new(|_, message| match message {
            _ if message.contains("phx_join") => vec![
                say("null", "message", "{\"at\":0}"),
                say("\"99\"", "phx_reply", &ok("{}")),
                say("\"1\"", "phx_reply", &ok("{}")),
            ],
            _ if message.contains("speak") => vec![
                say("null", "message", "{\"at\":0.001}"),
                say("null", "news", "{\"id\":1}"),
                say("\"2\"", "phx_reply", &ok("{\"id\":7}")),
            ],
            _ if message.contains("phx_leave") => {
                vec![say("\"4\"", "phx_reply", &ok("{}")), say("\"1\"", "phx_close", "{}")]
            }
            _ => vec![],
        });
        peer.delay_ns = 5 * MS;
        let vsn = if arrays { "2.0.0" } else { "1.0.0" };
        let protocol = format!("protocol: phoenix, vsn: {vsn}");
        let ran = run_over(&scenario(&protocol, PHOENIX), &mut peer, Link::new(MS));
        assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
        for (measure, ns) in [("join", 7 * MS), ("speak", 7 * MS), ("leave", 7 * MS)] {
            assert_eq!(rejoined(&ran, measure), [(Outcome::Ok, ns)], "{measure}, {vsn}");
        }
        assert_eq!(rejoined(&ran, "whisper"), [(Outcome::Ok, 0)]);
        assert_eq!(ran.counted("check", Outcome::Check), 0);
        // 4 ms for the handshake, 7 for each answer; the stamps are 0 and 1 ms.
        let said: Vec<_> = ran.rows("said").iter().map(Measurement::response_ns).collect();
        assert_eq!(said, [11 * MS, 17 * MS]);
        assert_eq!(ran.total(|counts| counts.unmatched), 1);
        assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
        assert_eq!(texts(&peer), phoenix_sent(arrays));
    }
}

#[test]
fn a_refusal_ends_the_session_and_an_error_does_not() {
    let refuse = r#"["1","1","x","phx_reply",{"status":"error","response":{"reason":"full"}}]"#;
    let mut peer = WsPeer::new(|_, _| vec![text(refuse)]);
    let steps = "
    - join: x
    - think: 1s
      as: never
";
    let steps = steps.replace("      as: never\n", "");
    let ran = run(&scenario("protocol: phoenix", &steps), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Rejected]);
    assert!(ran.details()[0].contains("full"), "{:?}", ran.details());
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
    let join = r#"["1","1","x","phx_reply",{"status":"ok","response":{}}]"#;
    let error = r#"["1","2","x","phx_reply",{"status":"error","response":{}}]"#;
    let answer = r#"["1","3","x","phx_reply",{"status":"ok","response":{"n":1}}]"#;
    let mut peer = WsPeer::new(|_, message| {
        let number = message.split('"').nth(3).map(str::to_owned);
        vec![text(match number.as_deref() {
            Some("1") => join,
            Some("2") => error,
            _ => answer,
        })]
    });
    let steps = "
    - join: x
    - push: { event: first }
      reply: {}
    - push: { event: second }
      reply: { when: { /n: 2 } }
    - push: { event: third }
      as: continues
";
    let ran = run(&scenario("protocol: phoenix", steps), &mut peer);
    assert_eq!(ran.outcomes("first"), [Outcome::Rejected]);
    assert_eq!(ran.outcomes("second"), [Outcome::Check]);
    assert_eq!(ran.outcomes("continues"), [Outcome::Ok]);
}

#[test]
fn a_join_without_an_answer_ends_the_session_and_a_push_does_not() {
    let mut peer = WsPeer::new(|_, _| vec![]);
    let steps = "
    - join: x
    - push: { event: never }
";
    let ran = run(&scenario("protocol: phoenix", steps), &mut peer);
    assert_eq!(rejoined(&ran, "join"), [(Outcome::Timeout, 2 * S)]);
    assert_eq!(ran.outcomes("never"), []);
    let mut peer = WsPeer::new(|_, message| match message.contains("phx_join") {
        true => vec![text(r#"["1","1","x","phx_reply",{"status":"ok","response":{}}]"#)],
        false => vec![],
    });
    let steps = "
    - join: x
    - push: { event: lost }
      reply: { within: 300ms }
    - push: { event: next }
    - push: { event: nowhere, topic: y }
";
    let ran = run(&scenario("protocol: phoenix", steps), &mut peer);
    assert_eq!(rejoined(&ran, "lost"), [(Outcome::Timeout, 300 * MS)]);
    assert_eq!(ran.outcomes("next"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("nowhere"), [Outcome::Step]);
}

/// Heartbeats go out on time whatever the steps do; without an answer by the next one the
/// connection is lost.
#[test]
fn phoenix_beats() {
    let mut beats = Vec::new();
    let mut peer = WsPeer::new(|now_ns, message| {
        let number = message.split('"').nth(1).unwrap_or_default();
        assert_eq!(message, format!("[null,\"{number}\",\"phoenix\",\"heartbeat\",{{}}]"));
        beats.push(now_ns);
        if beats.len() == 4 {
            return vec![];
        }
        let reply = "{\"status\":\"ok\",\"response\":{}}";
        vec![text(&format!("[null,\"{number}\",\"phoenix\",\"phx_reply\",{reply}]"))]
    });
    let steps = "
    - loop: 30
      steps:
        - pace: 700ms
        - transaction: tick
          steps: [ { think: 100ms } ]
";
    let protocol = "protocol: phoenix, heartbeat: 3s";
    let ran = run(&scenario(protocol, steps), &mut peer);
    assert_eq!(beats, [3 * S, 6 * S, 9 * S, 12 * S]);
    assert_eq!(ran.counted("steps", Outcome::Timeout), 1);
    let ticks = ran.rows("tick");
    // The session ends with the connection at 15 s.
    assert_eq!(ticks.len(), 22);
    assert!(ticks.iter().all(|tick| tick.response_ns() == 100 * MS));
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}

const WELCOME: &str = r#"{"type":"welcome"}"#;
const PING: &str = r#"{"type":"ping","message":1700000000}"#;

#[test]
fn actioncable_subscribes_performs_and_unsubscribes() {
    let identifier = r#"{\"channel\":\"ChatChannel\",\"room\":1}"#;
    let confirm = format!(r#"{{"identifier":"{identifier}","type":"confirm_subscription"}}"#);
    let said = format!(r#"{{"identifier":"{identifier}","message":{{"at":0,"text":"hi"}}}}"#);
    let other = format!(r#"{{"identifier":"{identifier}","message":{{"answer":true}}}}"#);
    let mut peer = WsPeer::new(|_, message| match message {
        _ if message.contains("\"subscribe\"") => vec![text(PING), text(&confirm)],
        _ if message.contains("perform me") => vec![text(&said), text(&other)],
        _ => vec![],
    });
    peer.greeting = vec![text(WELCOME)];
    let steps = "
    - join: ChatChannel
      params: { room: 1 }
    - perform: { action: speak, data: { text: perform me } }
      reply: { when: { /answer: true } }
    - perform: { action: rest, channel: ChatChannel, params: { room: 1 } }
    - leave:
    - perform: { action: again }
";
    let ran = run_over(&scenario("protocol: actioncable", steps), &mut peer, Link::new(MS));
    assert_eq!(rejoined(&ran, "handshake"), [(Outcome::Ok, 4 * MS)]);
    assert_eq!(rejoined(&ran, "join"), [(Outcome::Ok, 2 * MS)]);
    assert_eq!(rejoined(&ran, "speak"), [(Outcome::Ok, 2 * MS)]);
    assert_eq!(ran.outcomes("rest"), [Outcome::Ok]);
    assert_eq!(rejoined(&ran, "leave"), [(Outcome::Ok, 0)]);
    assert_eq!(ran.outcomes("again"), [Outcome::Step]);
    // Its event is `message` as that of all messages of ActionCable.
    assert_eq!(ran.rows("said").len(), 1);
    let commands = [
        format!(r#"{{"command":"subscribe","identifier":"{identifier}"}}"#),
        format!(
            r#"{{"command":"message","identifier":"{identifier}","data":"{{\"text\":\"perform me\",\"action\":\"speak\"}}"}}"#
        ),
        format!(
            r#"{{"command":"message","identifier":"{identifier}","data":"{{\"action\":\"rest\"}}"}}"#
        ),
        format!(r#"{{"command":"unsubscribe","identifier":"{identifier}"}}"#),
    ];
    assert_eq!(texts(&peer), commands);
}

#[test]
fn actioncable_rejections_and_silence_end_sessions() {
    let steps = "
    - join: Secret
    - think: 20s
";
    let reject = r#"{"identifier":"{\"channel\":\"Secret\"}","type":"reject_subscription"}"#;
    let mut peer = WsPeer::new(|_, _| vec![text(reject)]);
    peer.greeting = vec![text(WELCOME)];
    let ran = run(&scenario("protocol: actioncable", steps), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Rejected]);
    // Never welcome.
    let mut peer = WsPeer::new(|_, _| vec![]);
    let ran = run(&scenario("protocol: actioncable", steps), &mut peer);
    assert_eq!(rejoined(&ran, "handshake"), [(Outcome::Timeout, 2 * S)]);
    // Turned away instead of welcomed.
    let mut peer = WsPeer::new(|_, _| vec![]);
    peer.greeting =
        vec![text(r#"{"type":"disconnect","reason":"unauthorized","reconnect":false}"#)];
    let ran = run(&scenario("protocol: actioncable", steps), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Closed]);
    assert!(ran.details()[0].contains("unauthorized"));
    // Welcome, and no ping ever after: gone after 6 s.
    let mut peer = WsPeer::new(|_, _| vec![]);
    peer.greeting = vec![text(WELCOME)];
    let ran = run(&scenario("protocol: actioncable", "    - think: 20s"), &mut peer);
    assert_eq!(ran.counted("steps", Outcome::Timeout), 1);
    assert_eq!(ran.run.ended_ns / S, 100);
}

const OPEN: &str =
    r#"0{"sid":"a","upgrades":[],"pingInterval":3000,"pingTimeout":2000,"maxPayload":1000000}"#;

#[test]
fn socketio_connects_emits_and_leaves() {
    let mut peer = WsPeer::new(|_, message| match message {
        "40" => vec![text(r#"40{"sid":"b"}"#)],
        r#"40/admin,{"token":1}"# => vec![text(r#"40/admin,{"sid":"c"}"#)],
        _ if message.starts_with("42/admin,3") => vec![
            text(r#"42/admin,["message",{"at":0}]"#),
            text(r#"451-/admin,["file",{"_placeholder":true,"num":0}]"#),
            PeerAction::Send(frame(0x82, b"\x01\x02")),
            text(r#"43/admin,3[{"id":7}]"#),
        ],
        r#"42["two",1,"b"]"# => vec![text("2"), text(r#"42["pair",1,{"x":[2]}]"#)],
        _ => vec![],
    });
    peer.greeting = vec![text(OPEN)];
    let steps = "
    - join: /
    - join: /admin
      payload: { token: 1 }
    - emit: { event: ask, args: { q: 1 } }
      reply: { save: { id: /id } }
    - check: id == 7
    - emit: { event: two, args: [1, b], namespace: / }
    - expect: { when: { event: pair, topic: /, /0: 1, /1/x/0: 2 }, as: pair }
    - emit: { event: none }
    - leave: /admin
";
    let ran = run_over(&scenario("protocol: socket.io", steps), &mut peer, Link::new(MS));
    for measure in ["handshake", "ask", "two", "pair", "none", "leave"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{measure}: {:?}", ran.details());
    }
    assert_eq!(ran.outcomes("join"), [Outcome::Ok, Outcome::Ok]);
    assert_eq!(ran.counted("check", Outcome::Check), 0);
    assert_eq!(ran.rows("said").len(), 1);
    // The event with an attachment; the attachment itself belongs to it.
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
    let sent = [
        "40",
        r#"40/admin,{"token":1}"#,
        r#"42/admin,3["ask",{"q":1}]"#,
        r#"42["two",1,"b"]"#,
        "3",
        r#"42/admin,["none"]"#,
        "41/admin,",
    ];
    assert_eq!(texts(&peer), sent);
}

#[test]
fn socketio_rejections_silence_and_disconnects_end_sessions() {
    let mut peer = WsPeer::new(|_, _| vec![text(r#"44/x,{"message":"Invalid namespace"}"#)]);
    peer.greeting = vec![text(OPEN)];
    let ran = run(&scenario("protocol: socket.io", "    - join: /x"), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Rejected]);
    assert!(ran.details()[0].contains("Invalid namespace"));
    let mut peer = WsPeer::new(|_, _| vec![]);
    peer.greeting = vec![text(OPEN)];
    let waits = "    - expect: { within: 60s, as: waits }";
    let ran = run(&scenario("protocol: socket.io", waits), &mut peer);
    assert_eq!(rejoined(&ran, "waits"), [(Outcome::Timeout, 5 * S)]);
    for (said, outcome) in [("1", Outcome::Closed), ("nonsense", Outcome::Protocol)] {
        let mut peer = WsPeer::new(|_, _| vec![]);
        peer.greeting = vec![text(OPEN), text(said)];
        let ran = run(&scenario("protocol: socket.io", waits), &mut peer);
        assert_eq!(ran.outcomes("waits"), [outcome], "{said}");
    }
}

/// A server of Socket.IO 2 joins the main namespace by itself, and names no session.
#[test]
fn socketio_2_is_named() {
    let mut peer = WsPeer::new(|_, _| vec![]);
    peer.greeting = vec![text(OPEN), text("40")];
    let ran = run(&scenario("protocol: socket.io", "    - join: /"), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("join"), [Outcome::Protocol]);
    assert!(ran.details()[0].contains("speaks Socket.IO 2"), "{:?}", ran.details());
}

/// A join is answered by the news of its namespace, and by nothing that has a number.
#[test]
fn an_acknowledgement_does_not_confirm_a_namespace() {
    for ack in ["430[]", "431[]"] {
        let mut peer = WsPeer::new(|_, _| vec![text(ack), text(r#"44{"message":"no"}"#)]);
        peer.greeting = vec![text(OPEN)];
        let ran = run(&scenario("protocol: socket.io", "    - join: /"), &mut peer);
        assert_eq!(ran.outcomes("join"), [Outcome::Rejected], "{ack}");
    }
}

/// The same run however the server's bytes are cut.
#[test]
fn any_split_reads_the_same() {
    let wire = [
        frame(0x81, OPEN.as_bytes()),
        frame(0x81, b"40{\"sid\":\"b\"}"),
        frame(0x81, b"42[\"message\",{\"at\":0}]"),
        frame(0x81, b"42[\"last\",\"\xc3\xa4\"]"),
    ]
    .concat();
    let steps = "    - expect: { when: { event: last, body: '\"ä\"' }, as: last }";
    for cut in 0..wire.len() {
        let (front, back) = wire.split_at(cut);
        let mut peer = WsPeer::new(|_, _| vec![]);
        peer.greeting = [front, back].map(|part| PeerAction::Send(part.to_vec())).into();
        let ran = run(&scenario("protocol: socket.io", steps), &mut peer);
        assert_eq!(ran.outcomes("handshake"), [Outcome::Ok], "{cut}");
        assert_eq!(ran.outcomes("last"), [Outcome::Ok], "{cut}");
        assert_eq!(ran.rows("said").len(), 1, "{cut}");
        assert_eq!(ran.total(|counts| counts.unmatched), 0, "{cut}");
    }
}

#[test]
fn a_message_in_fragments_counts_all_of_them() {
    let steps = "
    - join: room
    - think: 1s
";
    let said = r#"[null,null,"room","message",{"at":0}]"#;
    let (begin, end) = said.split_at(20);
    let mut peer = WsPeer::new(move |_, message| {
        if !message.contains("phx_join") {
            return vec![];
        }
        let reply = r#"["1","1","room","phx_reply",{"status":"ok","response":{}}]"#;
        vec![
            PeerAction::Send(frame(0x01, begin.as_bytes())),
            PeerAction::Send(frame(0x80, end.as_bytes())),
            text(reply),
        ]
    });
    let ran = run(&scenario("protocol: phoenix", steps), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.rows("said")[0].bytes_in as usize, 2 * 2 + said.len());
}
