//! Messages that come before, with and after the answer to what caused them, and the steps that take them.

use std::collections::HashSet;

use engine::sim::{Link, Peer, PeerAction, PeerConn, PeerEvent};
use record::{Measurement, Outcome};

use crate::grpc::{Answers, answer_head, data, framed, trailers};
use crate::http2_peer::{Got, Http2Peer, sent};
use crate::mqtt::{Broker, answers, send};
use crate::peers::{WsPeer, frame, text};
use crate::support::{MS, Ran, run, run_over};

/// How long a request takes.
const ANSWER_NS: u64 = 5 * MS;
const STREAM: &str = "sse: /stream";
const SOCKET: &str = "ws: /socket";

/// A server that pushes by the clock over each event stream and WebSocket, and answers all other requests.
struct Pusher {
    /// A message, and how long after the opening it is pushed.
    pushes: Vec<(u64, String)>,
    streams: HashSet<PeerConn>,
    sockets: HashSet<PeerConn>,
}

impl Pusher {
    fn new(pushes: &[(u64, &str)]) -> Pusher {
        let pushes = pushes.iter().map(|&(after_ns, text)| (after_ns, text.to_owned()));
        Pusher { pushes: pushes.collect(), streams: HashSet::new(), sockets: HashSet::new() }
    }

    fn begin(&self, now_ns: u64, head: &str) -> Vec<PeerAction> {
        let timers = self
            .pushes
            .iter()
            .zip(0..)
            .map(|((after_ns, _), number)| PeerAction::Timer { at_ns: now_ns + after_ns, number });
        let head = PeerAction::Send(head.as_bytes().to_vec());
        std::iter::once(head).chain(timers).collect()
    }
}

impl Peer for Pusher {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Received(bytes) => {
                if self.sockets.contains(&conn) {
                    return Vec::new();
                }
                let request = String::from_utf8_lossy(&bytes).into_owned();
                let key = request.lines().find_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    name.eq_ignore_ascii_case("sec-websocket-key").then_some(value)
                });
                if let Some(key) = key {
                    self.sockets.insert(conn);
                    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
                    return self.begin(
                        now_ns,
                        &format!(
                            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\
                             connection: Upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
                        ),
                    );
                }
                if request.contains("text/event-stream") {
                    self.streams.insert(conn);
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                    return self.begin(now_ns, head);
                }
                vec![PeerAction::Timer { at_ns: now_ns + ANSWER_NS, number: 0 }]
            }
            PeerEvent::Timer(number) => {
                let push = self.pushes.get(number as usize).map(|(_, push)| push);
                let bytes = match push {
                    Some(push) if self.streams.contains(&conn) => {
                        format!("data: {push}\n\n").into_bytes()
                    }
                    Some(push) if self.sockets.contains(&conn) => frame(0x81, push.as_bytes()),
                    _ => b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_vec(),
                };
                vec![PeerAction::Send(bytes)]
            }
            PeerEvent::Connected | PeerEvent::Closed => Vec::new(),
        }
    }
}

fn scenario(open: &str, steps: &str) -> String {
    format!(
        "
name: early
target: http://target.test/
options: {{ timeout: 2s }}
messages:
  numbered: {{ when: {{ /seq: {{ exists: true }} }}, sent_at: /at, unit: ms, seq: /seq }}
sessions:
  main:
    - {open}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 9s }}
"
    )
}

fn pushed(open: &str, steps: &str, pushes: &[(u64, &str)]) -> Ran {
    run(&scenario(open, steps), &mut Pusher::new(pushes))
}

fn times(ran: &Ran, measure: &str) -> Vec<(Outcome, u64)> {
    let rows = ran.rows(measure).into_iter();
    rows.map(|row| (row.outcome, row.response_ns())).collect()
}

/// The session came to its end, and nothing was left over.
fn is_clean(ran: &Ran, what: &str) {
    let details = ran.details();
    assert_eq!(ran.total(|counts| counts.errors), 0, "{what}: {details:?}");
    assert_eq!(ran.total(|counts| counts.users_finished), 1, "{what}: {details:?}");
    assert_eq!(ran.total(|counts| counts.unmatched), 0, "{what}");
    assert_eq!(ran.total(|counts| counts.early_dropped), 0, "{what}");
}

/// The request is answered at 5 ms. A message that comes before that is there when its step is due.
#[test]
fn a_push_is_taken_before_with_and_after_the_response() {
    let steps = "
    - post: /speak
      as: speak
    - expect: { when: { /text: hello }, as: said, save: { n: /n } }
    - check: n == 7
    - get: /next
      as: next
";
    for open in [STREAM, SOCKET] {
        for (after_ns, took_ns) in [(3 * MS, 0), (5 * MS, 0), (9 * MS, 4 * MS)] {
            let push = r#"{"text":"hello","n":7}"#;
            let ran = pushed(open, steps, &[(after_ns, push)]);
            is_clean(&ran, open);
            assert_eq!(times(&ran, "said"), [(Outcome::Ok, took_ns)], "{open}, {after_ns}");
            let said = ran.rows("said")[0];
            let next = ran.rows("next")[0];
            assert_eq!((said.due_ns, said.sent_ns), (5 * MS, 5 * MS), "{open}, {after_ns}");
            assert_eq!(said.done_ns, (5 * MS).max(after_ns), "{open}, {after_ns}");
            assert_eq!(next.due_ns, said.done_ns, "{open}, {after_ns}");
            assert!(said.bytes_in as usize >= push.len());
        }
    }
}

/// No step waits for a message that another one has missed, and none takes that of another.
#[test]
fn each_of_many_equal_messages_is_taken_by_its_own_step() {
    let steps = "
    - loop: 20
      steps:
        - post: /speak
        - expect: { when: { /text: hello }, as: said, within: 1s }
        - think: 5ms
";
    let pushes: Vec<_> = (0..20).map(|n| (10 * n * MS + 3 * MS, r#"{"text":"hello"}"#)).collect();
    for open in [STREAM, SOCKET] {
        let ran = pushed(open, steps, &pushes);
        is_clean(&ran, open);
        assert_eq!(times(&ran, "said"), [(Outcome::Ok, 0); 20], "{open}");
    }
}

/// Steps that follow each other may take messages in any order.
#[test]
fn steps_that_follow_each_other_count_as_one() {
    let pushes =
        [(MS, r#"{"text":"b"}"#), (2 * MS, r#"{"text":"a"}"#), (3 * MS, r#"{"text":"b"}"#)];
    let steps = "
    - post: /speak
    - expect: { when: { /text: a }, as: a }
    - set: { n: 1 }
    - loop: 2
      steps:
        - expect: { when: { /text: b }, as: b }
";
    let ran = pushed(STREAM, steps, &pushes);
    is_clean(&ran, "after a request");
    assert_eq!(times(&ran, "a"), [(Outcome::Ok, 0)]);
    assert_eq!(times(&ran, "b"), [(Outcome::Ok, 0); 2]);
    // Without the request the first one waits, and the others come before and after its message.
    let ran = pushed(STREAM, &steps.replace("    - post: /speak\n", ""), &pushes);
    is_clean(&ran, "from the opening on");
    assert_eq!(times(&ran, "a"), [(Outcome::Ok, 2 * MS)]);
    assert_eq!(times(&ran, "b"), [(Outcome::Ok, 0), (Outcome::Ok, MS)]);
}

/// What came before the step before it on the connection began is none of a step's messages.
#[test]
fn a_message_is_over_once_a_step_on_its_connection_has_passed() {
    let pushes = [(MS, r#"{"text":"b"}"#), (2 * MS, r#"{"text":"a"}"#)];
    let steps = "
    - post: /speak
    - expect: { when: { /text: a }, as: a }
    - post: /speak
    - expect: { when: { /text: b }, as: b, within: 20ms }
";
    let ran = pushed(STREAM, steps, &pushes);
    assert_eq!(ran.outcomes("a"), [Outcome::Ok]);
    assert_eq!(times(&ran, "b"), [(Outcome::Timeout, 20 * MS)]);
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
    // What is sent cannot be answered before.
    let steps = "
    - think: 10ms
    - send: { text: x }
    - expect: { when: { /text: b }, as: b, within: 20ms }
";
    let ran = pushed(SOCKET, steps, &pushes);
    assert_eq!(times(&ran, "b"), [(Outcome::Timeout, 20 * MS)]);
    assert_eq!(ran.total(|counts| counts.unmatched), 2);
}

#[test]
fn a_step_without_conditions_takes_what_came_early() {
    let steps = "
    - think: 10ms
    - expect: { as: any, save: { text: /text } }
    - check: text == 'a'
";
    for open in [STREAM, SOCKET] {
        let ran = pushed(open, steps, &[(MS, r#"{"text":"a"}"#)]);
        is_clean(&ran, open);
        assert_eq!(times(&ran, "any"), [(Outcome::Ok, 0)], "{open}");
        assert_eq!(ran.counted("check", Outcome::Check), 0, "{open}");
    }
}

/// A failure is that of the step, as if its message had come while it waited.
#[test]
fn what_an_early_message_lacks_fails_its_step() {
    let push = [(MS, r#"{"text":"a"}"#)];
    let steps = |what: &str| {
        format!(
            "
    - post: /speak
    - expect: {{ when: {{ /text: a }}, as: a, {what} }}
    - get: /next
      as: next
"
        )
    };
    let ran = pushed(STREAM, &steps("save: { t: /text }, check: t == 9"), &push);
    assert_eq!(ran.outcomes("a"), [Outcome::Check], "{:?}", ran.details());
    assert_eq!(ran.outcomes("next"), [Outcome::Ok]);
    let ran = pushed(STREAM, &steps("save: { n: /n }"), &push);
    assert_eq!(ran.outcomes("a"), [Outcome::Save], "{:?}", ran.details());
    assert_eq!(ran.outcomes("next"), []);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
    // It ends an attempt: the second one has no message any more.
    let retry = "
    - retry: 2
      pause: 1ms
      steps:
        - post: /speak
        - expect: { when: { /text: a }, as: a, save: { t: /text }, check: t == 9, within: 50ms }
";
    let ran = pushed(STREAM, retry, &push);
    assert_eq!(ran.outcomes("a"), [Outcome::Check, Outcome::Timeout], "{:?}", ran.details());
}

/// What no step takes is recorded as if it had been at once: with the time at which it came, and with its number.
#[test]
fn a_message_that_no_step_takes_keeps_its_time_and_number() {
    let pushes = [
        (MS, r#"{"seq":1,"at":0}"#),
        (2 * MS, r#"{"seq":2,"at":0}"#),
        (30 * MS, r#"{"seq":3,"at":0}"#),
    ];
    let steps = "
    - set: { wanted: 2 }
    - post: /speak
    - expect: { when: { /seq: \"${wanted}\" }, as: second }
    - think: 50ms
";
    for open in [STREAM, SOCKET] {
        let ran = pushed(open, steps, &pushes);
        is_clean(&ran, open);
        assert_eq!(times(&ran, "second"), [(Outcome::Ok, 0)], "{open}");
        let numbered: Vec<_> = ran.rows("numbered").iter().map(|row| row.done_ns).collect();
        assert_eq!(numbered, [MS, 30 * MS], "{open}");
        let response: Vec<_> = ran.rows("numbered").iter().map(Measurement::response_ns).collect();
        assert_eq!(response, [MS, 30 * MS], "{open}");
        for part in ["lost", "duplicated", "out_of_order"] {
            assert_eq!(ran.counted(&format!("numbered.{part}"), Outcome::Ok), 0, "{open}: {part}");
        }
    }
}

/// The oldest give way, which is counted; bytes and messages are, too.
#[test]
fn what_is_too_much_is_counted() {
    let texts: Vec<String> = (0..150).map(|n| format!(r#"{{"text":"a","n":{n}}}"#)).collect();
    let pushes: Vec<_> = texts.iter().map(|text| (MS, &**text)).collect();
    let steps = "
    - post: /speak
    - expect: { when: { /text: a }, as: a, save: { n: /n } }
    - check: n == 50
";
    for open in [STREAM, SOCKET] {
        let ran = pushed(open, steps, &pushes);
        assert_eq!(times(&ran, "a"), [(Outcome::Ok, 0)], "{open}");
        assert_eq!(ran.counted("check", Outcome::Check), 0, "{open}: {:?}", ran.details());
        assert_eq!(ran.total(|counts| counts.early_dropped), 50, "{open}");
        assert_eq!(ran.total(|counts| counts.unmatched), 149, "{open}");
        let bytes: usize = texts.iter().map(String::len).sum();
        assert!(ran.total(|counts| counts.bytes_in) as usize > bytes, "{open}");
    }
}

/// A WebSocket of a protocol of channels, whose server answers with these actions.
fn channels(protocol: &str, greeting: &str, steps: &str, answer: &[PeerAction]) -> Ran {
    let open = format!("ws: {{ path: /socket, protocol: {protocol} }}");
    let mut peer = WsPeer::new(|_, message: &str| match message {
        _ if message.contains("cause") => answer.to_vec(),
        "40" => vec![text(r#"40{"sid":"b"}"#)],
        _ if message.contains("phx_join") => {
            vec![text(r#"["1","1","room","phx_reply",{"status":"ok","response":{}}]"#)]
        }
        _ => vec![],
    });
    if !greeting.is_empty() {
        peer.greeting = vec![text(greeting)];
    }
    run_over(&scenario(&open, steps), &mut peer, Link::new(MS))
}

/// Two messages in both orders, one by one and together.
fn orders(push: &str, answer: &str) -> Vec<Vec<PeerAction>> {
    let [one, other] = [push, answer].map(|text| frame(0x81, text.as_bytes()));
    vec![
        vec![text(push), text(answer)],
        vec![text(answer), text(push)],
        vec![PeerAction::Send([&one[..], &other].concat())],
        vec![PeerAction::Send([&other[..], &one].concat())],
    ]
}

#[test]
fn an_event_of_socket_io_may_come_before_the_acknowledgement() {
    let open =
        r#"0{"sid":"a","upgrades":[],"pingInterval":3000,"pingTimeout":2000,"maxPayload":1000000}"#;
    let steps = "
    - join: /
    - emit: { event: cause }
      reply: {}
    - expect: { when: { event: said, /text: hello }, as: said }
";
    // The emit has the second number.
    for answer in orders(r#"42["said",{"text":"hello"}]"#, "432[]") {
        let ran = channels("socket.io", open, steps, &answer);
        is_clean(&ran, &format!("{answer:?}"));
        assert_eq!(times(&ran, "said"), [(Outcome::Ok, 0)]);
        assert_eq!(ran.rows("cause")[0].done_ns, ran.rows("said")[0].done_ns);
    }
}

#[test]
fn a_subscription_of_actioncable_may_transmit_before_it_is_confirmed() {
    let identifier = r#"{\"channel\":\"cause\"}"#;
    let said = format!(r#"{{"identifier":"{identifier}","message":{{"text":"hello"}}}}"#);
    let confirm = format!(r#"{{"identifier":"{identifier}","type":"confirm_subscription"}}"#);
    let steps = "
    - join: cause
    - expect: { when: { /text: hello }, as: said }
";
    for answer in orders(&said, &confirm) {
        let ran = channels("actioncable", r#"{"type":"welcome"}"#, steps, &answer);
        is_clean(&ran, &format!("{answer:?}"));
        assert_eq!(times(&ran, "said"), [(Outcome::Ok, 0)]);
    }
}

#[test]
fn a_broadcast_of_phoenix_may_come_before_the_reply() {
    let said = r#"[null,null,"room","said",{"text":"hello"}]"#;
    let reply = r#"["1","2","room","phx_reply",{"status":"ok","response":{}}]"#;
    let steps = "
    - join: room
    - push: { event: cause }
      reply: {}
    - expect: { when: { event: said, /text: hello }, as: said }
";
    for answer in orders(said, reply) {
        let ran = channels("phoenix", "", steps, &answer);
        is_clean(&ran, &format!("{answer:?}"));
        assert_eq!(times(&ran, "said"), [(Outcome::Ok, 0)]);
    }
}

/// A server of MQTT that delivers a message of its own: before PUBREC, before PUBCOMP, and behind it; a retained one
/// before SUBACK.
#[test]
fn a_message_of_mqtt_may_come_before_the_acknowledgement() {
    let said = |first: u8| [&[first, 6, 0, 1, b'a'][..], b"abc"].concat();
    let steps = "
    - subscribe: a
    - expect: { when: { topic: a, event: retained, body: abc }, as: retained }
    - publish: { topic: a, payload: abc, qos: 2 }
    - expect: { when: { topic: a, event: message, body: abc }, as: said }
";
    for before in [3u8, 6, 0] {
        let mut broker = Broker::new(|_, got| {
            let kind = got.0 >> 4;
            let own = match kind {
                3 => vec![0x50, 2, got.1[3], got.1[4]],
                _ => answers(got),
            };
            let parts = match kind {
                8 => vec![said(0x31), own],
                _ if kind == before => vec![said(0x30), own],
                6 if before == 0 => vec![own, said(0x30)],
                _ => vec![own],
            };
            let parts = parts.iter().filter(|part| !part.is_empty());
            parts.map(|part| send(part)).collect()
        });
        let text = scenario("mqtt:\n      client_id: me", steps);
        let text = text.replace("http://target.test/", "mqtt://target.test");
        let ran = run_over(&text, &mut broker, Link::new(MS));
        is_clean(&ran, &format!("before {before}"));
        assert_eq!(times(&ran, "retained"), [(Outcome::Ok, 0)], "before {before}");
        assert_eq!(times(&ran, "said"), [(Outcome::Ok, 0)], "before {before}");
    }
}

/// A message of a call comes before, with and after the answer to another call, over the same connection.
#[test]
fn a_message_of_a_call_may_come_before_the_answer_to_another() {
    const HI: &[u8] = &[0x0a, 2, b'h', b'i'];
    let steps = [
        "grpc: throng.echo.Echo/Talk\n      as: talk",
        "grpc: throng.echo.Echo/Say\n      as: say",
        "expect: { when: { /text: hi }, as: said, save: { text: /text, ticket: { header: grpc-encoding } } }",
        "check: \"text == 'hi' && ticket == 'gzip'\"",
        "close: cancel\n      as: end",
    ];
    for order in 0..4 {
        let respond = move |got: &Got| {
            if got.line.ends_with("/Talk") {
                return match got.ended || !got.body.is_empty() {
                    true => vec![],
                    false => sent(&[answer_head(got.stream)]),
                };
            }
            if !got.ended {
                return vec![];
            }
            let push = data(got.stream - 2, &framed(0, HI));
            let answer = [
                answer_head(got.stream),
                data(got.stream, &framed(0, HI)),
                trailers(got.stream, "0"),
            ]
            .concat();
            match order {
                0 => [sent(&[push]), sent(&[answer])].concat(),
                1 => [sent(&[answer]), sent(&[push])].concat(),
                2 => sent(&[push, answer]),
                _ => sent(&[answer, push]),
            }
        };
        let mut peer = Http2Peer::new(MS, Box::new(respond) as Answers);
        peer.talks = true;
        let ran = run(&crate::grpc::scenario(&steps), &mut peer);
        is_clean(&ran, &format!("order {order}"));
        assert_eq!(times(&ran, "said"), [(Outcome::Ok, 0)], "order {order}");
        assert_eq!(ran.counted("check", Outcome::Check), 0, "order {order}: {:?}", ran.details());
    }
}

/// Messages of a poll come with a response; the step that takes one may begin later.
#[test]
fn items_of_a_poll_are_kept_for_a_later_step() {
    let steps = "
    - think: 20ms
    - expect: { when: { /text: b }, as: b }
    - expect: { when: { /text: a }, as: a }
";
    let mut peer = crate::peers::HttpPeer::new(
        |_| MS,
        |_| crate::peers::ok(r#"{"messages":[{"text":"a"},{"text":"b"}]}"#),
    );
    let text = scenario("{ poll: /poll, each: /messages, every: 60s }", steps);
    let ran = run(&text, &mut peer);
    is_clean(&ran, "poll");
    assert_eq!(times(&ran, "a"), [(Outcome::Ok, 0)]);
    assert_eq!(times(&ran, "b"), [(Outcome::Ok, 0)]);
}
