//! MQTT over TCP and over WebSockets. The server is written by hand from the standards: packets as bytes.

use std::collections::HashMap;

use engine::sim::{Link, Packet, Peer, PeerAction, PeerConn, PeerEvent, Verdict};
use record::{Measurement, Outcome};

use crate::peers::{WsPeer, frame};
use crate::support::{MS, Ran, S, run, run_over};

/// A packet of a client: its first byte, and what follows its length.
pub(crate) type Sent = (u8, Vec<u8>);

/// A server that calls `respond` with the number of the connection and each packet.
pub(crate) struct Broker<F> {
    respond: F,
    inbox: HashMap<PeerConn, Vec<u8>>,
    /// Each packet, in the order in which they came.
    pub(crate) packets: Vec<Sent>,
    closed: usize,
}

impl<F: FnMut(PeerConn, &Sent) -> Vec<PeerAction>> Broker<F> {
    pub(crate) fn new(respond: F) -> Broker<F> {
        Broker { respond, inbox: HashMap::new(), packets: Vec::new(), closed: 0 }
    }

    pub(crate) fn kinds(&self) -> Vec<u8> {
        self.packets.iter().map(|(first, _)| first >> 4).collect()
    }
}

impl<F: FnMut(PeerConn, &Sent) -> Vec<PeerAction>> Peer for Broker<F> {
    fn handle(&mut self, _: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        let bytes = match event {
            PeerEvent::Received(bytes) => bytes,
            PeerEvent::Closed => {
                self.closed += 1;
                return Vec::new();
            }
            PeerEvent::Connected | PeerEvent::Timer(_) => return Vec::new(),
        };
        let inbox = self.inbox.entry(conn).or_default();
        inbox.extend(bytes);
        let mut actions = Vec::new();
        while let Some(sent) = take_packet(inbox) {
            actions.extend((self.respond)(conn, &sent));
            self.packets.push(sent);
        }
        actions
    }
}

/// Takes one packet of at most 127 bytes off the front.
fn take_packet(inbox: &mut Vec<u8>) -> Option<Sent> {
    let length = usize::from(*inbox.get(1)?);
    assert!(length < 128, "tests send short packets");
    if inbox.len() < 2 + length {
        return None;
    }
    let packet: Vec<u8> = inbox.drain(..2 + length).collect();
    Some((packet[0], packet[2..].to_vec()))
}

pub(crate) fn send(bytes: &[u8]) -> PeerAction {
    PeerAction::Send(bytes.to_vec())
}

/// What a sound server of 3.1.1 answers. It delivers what is published with the QoS of the message.
pub(crate) fn answers(sent: &Sent) -> Vec<u8> {
    let (first, body) = sent;
    match first >> 4 {
        1 => vec![0x20, 2, 0, 0],
        3 => {
            let length = 2 + usize::from(body[1]);
            let id = body.get(length..length + 2).unwrap_or(&[0, 0]).to_vec();
            let own = [&[*first, body.len() as u8], &body[..]].concat();
            let ack = match first >> 1 & 3 {
                0 => vec![],
                1 => vec![0x40, 2, id[0], id[1]],
                _ => vec![0x50, 2, id[0], id[1]],
            };
            [ack, own].concat()
        }
        6 => vec![0x70, 2, body[0], body[1]],
        8 => {
            let filters = filters_of(sent);
            let start = [0x90, 2 + filters.len() as u8, body[0], body[1]];
            start.into_iter().chain(filters.into_iter().map(|own| own.1)).collect()
        }
        10 => vec![0xb0, 2, body[0], body[1]],
        12 => vec![0xd0, 0],
        _ => vec![],
    }
}

/// The filters of a SUBSCRIBE of 3.1.1, and their QoS.
pub(crate) fn filters_of((_, body): &Sent) -> Vec<(String, u8)> {
    let mut rest = &body[2..];
    let mut filters = Vec::new();
    while let [high, low, behind @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let filter = String::from_utf8(behind[..length].to_vec()).expect("it is text");
        filters.push((filter, behind[length]));
        rest = &behind[length + 1..];
    }
    filters
}

pub(crate) fn sound(sent: &Sent) -> Vec<PeerAction> {
    match answers(sent) {
        bytes if bytes.is_empty() => vec![],
        bytes => vec![PeerAction::Send(bytes)],
    }
}

pub(crate) fn scenario(opening: &str, steps: &str) -> String {
    format!(
        "
name: mqtt
target: mqtt://target.test
options: {{ timeout: 2s, message_max: 1KiB }}
messages:
  said: {{ when: {{ topic: rooms/+/said, event: message }}, sent_at: /at, unit: s, seq: /n }}
sessions:
  main:
    - mqtt:
      {opening}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 99s }}
"
    )
}

pub(crate) fn times(ran: &Ran, measure: &str) -> Vec<(Outcome, u64)> {
    let rows = ran.rows(measure).into_iter();
    rows.map(|row| (row.outcome, row.response_ns())).collect()
}

#[test]
fn messages_of_each_qos_are_published_acknowledged_and_received() {
    let steps = r#"
    - subscribe: rooms/+/said
      qos: 2
    - publish: { topic: rooms/1/said, payload: { at: 0.001, n: 1 } }
      as: qos 0
    - publish: { topic: rooms/1/said, payload: { at: 0.001, n: 2 }, qos: 1 }
      as: qos 1
    - publish: { topic: rooms/1/said, payload: { at: 0.001, n: 3 }, qos: 2 }
      as: qos 2
    - think: 1s
    - unsubscribe:
    - close:
"#;
    let mut broker = Broker::new(|_, sent| sound(sent));
    let ran = run_over(&scenario("client_id: me", steps), &mut broker, Link::new(MS));
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    // TCP takes a round trip, and so does each answer; a message of QoS 2 takes two.
    for (measure, ns) in [
        ("mqtt", 4 * MS),
        ("subscribe", 2 * MS),
        ("qos 0", 0),
        ("qos 1", 2 * MS),
        ("qos 2", 4 * MS),
        ("unsubscribe", 2 * MS),
    ] {
        assert_eq!(times(&ran, measure), [(Outcome::Ok, ns)], "{measure}");
    }
    // Stamped at 1 ms; they come back at 8, 8, and 10 ms.
    let said: Vec<_> = ran.rows("said").iter().map(Measurement::response_ns).collect();
    assert_eq!(said, [7 * MS, 7 * MS, 9 * MS]);
    for part in ["said.lost", "said.duplicated", "said.out_of_order", "said.unaccounted"] {
        assert_eq!(ran.counted(part, Outcome::Ok), 0, "{part}");
    }
    // CONNECT, SUBSCRIBE, three PUBLISH; what came back is acknowledged by PUBACK, PUBREC; the own message of QoS 2 is
    // released before it comes back.
    let kinds = broker.kinds();
    let count = |kind: u8| kinds.iter().filter(|own| **own == kind).count();
    for (kind, expected) in [(1, 1), (3, 3), (4, 1), (5, 1), (6, 1), (8, 1), (10, 1), (14, 1)] {
        assert_eq!(count(kind), expected, "packets of type {kind} in {kinds:?}");
    }
    assert_eq!(kinds.last(), Some(&14));
    assert_eq!(broker.closed, 1);
}

/// Packets are divided and joined in any way by the messages of a WebSocket.
#[test]
fn packets_come_in_messages_of_a_websocket() {
    let steps = r#"
    - subscribe: rooms/1/said
      qos: 1
    - publish: { topic: rooms/1/said, payload: { at: 0, n: 1 }, qos: 1 }
    - think: 1s
    - close:
"#;
    let mut inbox = Vec::new();
    let mut packets: Vec<Sent> = Vec::new();
    let mut peer = WsPeer::new(|_, _: &str| vec![]);
    peer.headers = "sec-websocket-protocol: mqtt\r\n";
    let mut server = Over { ws: peer, seen: 0, inbox: &mut inbox, packets: &mut packets };
    let text = scenario("client_id: me", steps).replace("- mqtt:\n", "- mqtt: /mqtt\n");
    let ran = run(&text, &mut server);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    assert_eq!(ran.outcomes("mqtt"), [Outcome::Ok]);
    assert_eq!(ran.rows("mqtt")[0].status, 101);
    assert_eq!(ran.outcomes("publish"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("said"), [Outcome::Ok]);
    let kinds: Vec<u8> = packets.iter().map(|(first, _)| first >> 4).collect();
    assert_eq!(kinds, [1, 8, 3, 4, 14]);
}

/// A WebSocket that carries MQTT: answers come byte by byte.
struct Over<'a, F> {
    ws: WsPeer<F>,
    seen: usize,
    inbox: &'a mut Vec<u8>,
    packets: &'a mut Vec<Sent>,
}

impl<F: FnMut(u64, &str) -> Vec<PeerAction>> Peer for Over<'_, F> {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        let mut actions = self.ws.handle(now_ns, conn, event);
        for (opcode, payload) in &self.ws.frames[self.seen..] {
            if *opcode == 2 {
                self.inbox.extend(payload);
            }
        }
        self.seen = self.ws.frames.len();
        while let Some(sent) = take_packet(self.inbox) {
            let bytes = answers(&sent);
            actions.extend(bytes.iter().map(|byte| PeerAction::Send(frame(0x82, &[*byte]))));
            self.packets.push(sent);
        }
        actions
    }
}

#[test]
fn a_refused_client_fails_with_the_reason() {
    for (opening, answer, reason) in [
        ("user: u", &[0x20, 2, 0, 5][..], "not authorized (0x05)"),
        ("version: 5", &[0x20, 3, 0, 0x86, 0], "bad user name or password (0x86)"),
        ("reconnect: true", &[0x20, 2, 0, 3], "server unavailable (0x03)"),
    ] {
        let mut broker = Broker::new(|_, _| vec![send(answer)]);
        let ran = run(&scenario(opening, "    - think: 1s"), &mut broker);
        assert_eq!(ran.outcomes("mqtt"), [Outcome::Rejected], "{opening}");
        let details = ran.details();
        assert!(details[0].ends_with(reason), "{details:?}");
        assert_eq!(ran.total(|counts| counts.users_failed), 1);
    }
}

#[test]
fn a_refused_subscription_ends_the_session_and_a_refused_message_does_not() {
    let steps = "
    - publish: { topic: a, qos: 1 }
    - subscribe: a
    - think: 1s
";
    let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        1 => vec![send(&[0x20, 3, 0, 0, 0])],
        3 => vec![send(&[0x40, 3, 0, 1, 0x97])],
        _ => vec![send(&[0x90, 4, 0, 2, 0, 0x87])],
    });
    let ran = run(&scenario("version: 5", steps), &mut broker);
    assert_eq!(ran.outcomes("publish"), [Outcome::Rejected]);
    assert_eq!(ran.outcomes("subscribe"), [Outcome::Rejected]);
    let details = ran.details().join("\n");
    assert!(details.contains("quota exceeded (0x97)"), "{details}");
    assert!(details.contains("not authorized (0x87)"), "{details}");
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}

/// A server that accepts, and never acknowledges: each message has its time, and the user continues.
#[test]
fn a_message_without_an_acknowledgement_times_out() {
    let steps = "
    - publish: { topic: a, qos: 1 }
    - publish: { topic: a, qos: 2 }
      timeout: 500ms
    - publish: { topic: a }
    - close:
";
    let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        1 => sound(sent),
        _ => vec![],
    });
    let ran = run(&scenario("client_id: me", steps), &mut broker);
    let expected = [(Outcome::Timeout, 2 * S), (Outcome::Timeout, 500 * MS), (Outcome::Ok, 0)];
    assert_eq!(times(&ran, "publish"), expected);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
    // Identifiers that are in flight are not used again.
    let is_message = |packet: &&Sent| packet.0 >> 4 == 3;
    let ids: Vec<_> = broker.packets.iter().filter(is_message).collect();
    assert_eq!(ids[0].1[3..5], [0, 1]);
    assert_eq!(ids[1].1[3..5], [0, 2]);
}

#[test]
fn pings_keep_an_idle_connection_and_a_silent_server_loses_it() {
    let steps = "
    - think: 25s
    - publish: { topic: a }
    - think: 15s
";
    let opening = "keep_alive: 10s";
    let mut broker = Broker::new(|_, sent| sound(sent));
    let ran = run(&scenario(opening, steps), &mut broker);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    // At 10 s and 20 s, then 10 s after the message of 25 s.
    assert_eq!(broker.kinds(), [1, 12, 12, 3, 12, 14]);
    let mut silent = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        12 => vec![],
        _ => sound(sent),
    });
    let ran = run(&scenario(opening, steps), &mut silent);
    assert_eq!(silent.kinds(), [1, 12]);
    assert_eq!(ran.details(), ["no answer to a ping in time"]);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}

/// The server's own keep alive takes the place of the client's (MQTT 5 §3.2.2.3.14).
#[test]
fn the_servers_keep_alive_counts() {
    let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        1 => vec![send(&[0x20, 6, 0, 0, 3, 0x13, 0, 2])],
        _ => sound(sent),
    });
    let ran = run(&scenario("version: 5", "    - think: 7s"), &mut broker);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    assert_eq!(broker.kinds(), [1, 12, 12, 12, 14]);
}

/// What the server sends against the rules ends the connection, and a client of version 5 says why.
#[test]
fn servers_that_break_the_rules_lose_the_connection() {
    for (opening, bytes, outcome, goodbye) in [
        ("version: 5", &[0x36, 5, 0, 1, b'a', 0, 1][..], Outcome::Protocol, Some(0x81)),
        ("version: 5", &[0x20, 3, 0, 0, 0], Outcome::Protocol, Some(0x82)),
        ("version: 5", &[0x30, 7, 0, 1, b'a', 3, 0x23, 0, 1], Outcome::Protocol, Some(0x94)),
        ("version: 5", &[0x30, 0xff, 0x7f], Outcome::TooLarge, Some(0x95)),
        ("client_id: me", &[0x30, 0xff, 0x7f], Outcome::TooLarge, None),
        ("client_id: me", &[0x40, 2, 0, 9], Outcome::Protocol, None),
        ("client_id: me", &[0x90, 4, 0, 1, 0, 0], Outcome::Protocol, None),
    ] {
        let accept: &[u8] = match goodbye {
            Some(_) => &[0x20, 3, 0, 0, 0],
            None => &[0x20, 2, 0, 0],
        };
        let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
            1 => vec![send(accept)],
            8 => vec![send(bytes)],
            _ => vec![],
        });
        let ran = run(&scenario(opening, "    - subscribe: a"), &mut broker);
        assert_eq!(ran.outcomes("subscribe"), [outcome], "{bytes:x?}");
        let last = broker.packets.last().filter(|(first, _)| first >> 4 == 14);
        assert_eq!(last.map(|(_, body)| body[0]), goodbye, "{bytes:x?}");
        assert_eq!(ran.total(|counts| counts.users_failed), 1);
    }
}

#[test]
fn a_server_that_ends_the_connection_gives_a_reason() {
    let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        1 => vec![send(&[0x20, 3, 0, 0, 0])],
        _ => vec![send(&[0xe0, 1, 0x8b]), PeerAction::Close],
    });
    let steps = "    - publish: { topic: a, qos: 1 }";
    let ran = run(&scenario("version: 5", steps), &mut broker);
    assert_eq!(ran.outcomes("publish"), [Outcome::Closed]);
    let expected = "the server ended the connection: server shutting down (0x8b)";
    assert_eq!(ran.details(), [expected]);
}

/// A lost connection comes back after a second, and subscribes again; a message in flight is lost with it.
#[test]
fn a_lost_connection_reconnects_and_subscribes_again() {
    let steps = "
    - subscribe: a/#
      qos: 1
    - publish: { topic: b, qos: 1 }
      as: lost
    - publish: { topic: b, qos: 1 }
      as: late
      timeout: 5s
    - think: 1s
    - close:
";
    let mut broker = Broker::new(|conn, sent: &Sent| match (conn, sent.0 >> 4) {
        (0, 3) => vec![PeerAction::Reset],
        _ => sound(sent),
    });
    let ran = run(&scenario("reconnect: true", steps), &mut broker);
    assert_eq!(ran.outcomes("lost"), [Outcome::Reset]);
    assert_eq!(times(&ran, "reconnect"), [(Outcome::Ok, 0)]);
    assert_eq!(times(&ran, "rejoin"), [(Outcome::Ok, 0)]);
    assert_eq!(times(&ran, "late"), [(Outcome::Ok, S)]);
    assert_eq!(broker.kinds(), [1, 8, 3, 1, 8, 3, 4, 14]);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

/// An attempt to reconnect that is not answered ends after its time, and another one follows.
#[test]
fn attempts_to_reconnect_continue() {
    let steps = "
    - think: 20s
    - close:
";
    let mut broker = Broker::new(|conn, sent: &Sent| match (conn, sent.0 >> 4) {
        (0, 1) => vec![send(&[0x20, 2, 0, 0]), PeerAction::Close],
        (1, 1) => vec![],
        (2, 1) => vec![send(&[0x20, 2, 0, 3])],
        _ => sound(sent),
    });
    let ran = run(&scenario("reconnect: true", steps), &mut broker);
    // Pauses of 1, 2 and 4 s; the first attempt has 2 s.
    assert_eq!(
        times(&ran, "reconnect"),
        [(Outcome::Timeout, 2 * S), (Outcome::Rejected, 0), (Outcome::Ok, 0)]
    );
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

#[test]
fn a_server_that_nobody_answers_at_fails_the_step() {
    let mut broker = Broker::new(|_, sent| sound(sent));
    let mut link = Link::new(MS);
    link.rule = Box::new(|_, packet| match packet {
        Packet::Connect => Verdict::Refuse,
        _ => Verdict::Pass,
    });
    let ran = run_over(&scenario("client_id: me", "    - think: 1s"), &mut broker, link);
    assert_eq!(ran.outcomes("mqtt"), [Outcome::Refused]);
    let mut silent = Broker::new(|_, _: &Sent| vec![]);
    let ran = run(&scenario("client_id: me", "    - think: 1s"), &mut silent);
    assert_eq!(times(&ran, "mqtt"), [(Outcome::Timeout, 2 * S)]);
}

#[test]
fn retained_messages_and_user_properties_are_distinguished() {
    let steps = "
    - subscribe: rooms/1/said
    - expect: { when: { event: retained, topic: rooms/# }, save: { trace: { property: trace } } }
    - check: trace == 'x1'
      as: saved
    - publish: { topic: q, qos: 0, payload: hi, properties: { trace: \"u${user}\" } }
      reply: { when: { topic: r, body: there } }
      as: query
";
    let retained = [0x31, 35, 0, 12];
    let retained =
        [&retained[..], b"rooms/1/said", &[12, 0x26, 0, 5], b"trace", &[0, 2], b"x1", b"old payl"]
            .concat();
    let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        1 => vec![send(&[0x20, 3, 0, 0, 0])],
        8 => vec![send(&[0x90, 4, 0, 1, 0, 0]), send(&retained)],
        3 => vec![send(b"\x30\x09\0\x01r\0there")],
        _ => vec![],
    });
    let ran = run(&scenario("version: 5", steps), &mut broker);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    assert_eq!(ran.outcomes("query"), [Outcome::Ok]);
    assert_eq!(ran.counted("saved", Outcome::Check), 0);
    assert_eq!(ran.counted("said", Outcome::Ok), 0, "a retained message is no new one");
    let published = broker.packets.iter().find(|(first, _)| first >> 4 == 3);
    let expected = b"\0\x01q\x0c\x26\0\x05trace\0\x02u0hi";
    assert_eq!(published.map(|(_, body)| &body[..]), Some(&expected[..]));
}

/// A message comes with the identifier of each subscription that it matches, and an `id` is any of them.
#[test]
fn messages_come_with_the_identifiers_of_subscriptions() {
    let steps = "
    - subscribe: rooms/+/said
      id: 7
    - expect: { when: { id: 9 }, save: { first: id }, as: other }
    - check: first == 7
      as: saved
";
    let both = [&[0x30, 19, 0, 12][..], b"rooms/1/said", &[4, 0x0b, 7, 0x0b, 9]].concat();
    let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        1 => vec![send(&[0x20, 3, 0, 0, 0])],
        8 => vec![send(&[0x90, 4, 0, 1, 0, 0]), send(&both)],
        _ => vec![],
    });
    let ran = run(&scenario("version: 5", steps), &mut broker);
    assert_eq!(ran.outcomes("other"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.counted("saved", Outcome::Check), 0);
    let subscribed = broker.packets.iter().find(|(first, _)| first >> 4 == 8);
    let expected = b"\0\x01\x02\x0b\x07\0\x0crooms/+/said\0";
    assert_eq!(subscribed.map(|(_, body)| &body[..]), Some(&expected[..]));
}

/// Each side names a topic once, and says its number then.
#[test]
fn topics_are_named_by_numbers_both_ways() {
    let steps = "
    - subscribe: rooms/1/seen
    - expect: { when: { topic: rooms/1/seen, body: a }, as: first }
    - expect: { when: { topic: rooms/1/seen, body: b }, as: second }
    - publish: { topic: q, payload: hi }
    - publish: { topic: q, payload: ho }
";
    let named = [&[0x30, 19, 0, 12][..], b"rooms/1/seen", &[3, 0x23, 0, 1], b"a"].concat();
    let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        1 => vec![send(&[0x20, 6, 0, 0, 3, 0x22, 0, 1])],
        8 => vec![
            send(&[0x90, 4, 0, 1, 0, 0]),
            send(&named),
            send(&[0x30, 7, 0, 0, 3, 0x23, 0, 1, b'b']),
        ],
        _ => vec![],
    });
    let opening = "version: 5\n      topic_aliases: 1";
    let ran = run(&scenario(opening, steps), &mut broker);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    assert_eq!(
        (ran.outcomes("first"), ran.outcomes("second")),
        (vec![Outcome::Ok], vec![Outcome::Ok])
    );
    let published = broker.packets.iter().filter(|(first, _)| first >> 4 == 3);
    let published: Vec<&[u8]> = published.map(|(_, body)| &body[..]).collect();
    assert_eq!(published, [&b"\0\x01q\x03\x23\0\x01hi"[..], b"\0\0\x03\x23\0\x01ho"]);
}

/// A request and its answer, which know each other by what the request says.
#[test]
fn properties_of_messages_are_sent_and_saved() {
    let steps = "
    - subscribe: a
    - publish: { topic: q, payload: hi, content_type: t, response_topic: a, correlation: \"c${user}\", expires: 5s, utf8: true }
    - expect: { when: { topic: a }, save: { to: { header: correlation }, left: { header: expires } }, check: to == 'c0' and left == 4, as: answer }
";
    let answer = b"\x30\x0f\0\x01a\x0a\x02\0\0\0\x04\x09\0\x02c0x";
    let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
        1 => vec![send(&[0x20, 3, 0, 0, 0])],
        8 => vec![send(&[0x90, 4, 0, 1, 0, 0])],
        3 => vec![send(answer)],
        _ => vec![],
    });
    let ran = run(&scenario("version: 5", steps), &mut broker);
    assert_eq!(ran.outcomes("answer"), [Outcome::Ok], "{:?}", ran.details());
    let published = broker.packets.iter().find(|(first, _)| first >> 4 == 3);
    let expected = b"\0\x01q\x14\x01\x01\x02\0\0\0\x05\x03\0\x01t\x08\0\x01a\x09\0\x02c0hi";
    assert_eq!(published.map(|(_, body)| &body[..]), Some(&expected[..]));
}

/// The second part of `data` answers the server; there is no third.
#[test]
fn a_method_of_authentication_may_have_several_parts() {
    for (rounds, outcome) in [(0, Outcome::Ok), (1, Outcome::Ok), (2, Outcome::Rejected)] {
        let mut challenges = 0;
        let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
            1 | 15 if challenges < rounds => {
                challenges += 1;
                vec![send(b"\xf0\x06\x18\x04\x15\0\x01M")]
            }
            1 | 15 => vec![send(&[0x20, 3, 0, 0, 0])],
            _ => vec![],
        });
        let opening =
            "version: 5\n      authentication: { method: M, data: [ \"a${user}\", \"b${user}\" ] }";
        let ran = run(&scenario(opening, "    - think: 1s"), &mut broker);
        assert_eq!(ran.outcomes("mqtt"), [outcome], "{:?}", ran.details());
        let first = b"\x15\0\x01M\x16\0\x02a0";
        assert!(broker.packets[0].1.windows(first.len()).any(|found| found == first));
        if rounds > 0 {
            assert_eq!(broker.packets[1], (0xf0, b"\x18\x09\x15\0\x01M\x16\0\x02b0".to_vec()));
        }
    }
}

/// What a session cannot send is an error of the scenario, not of the server.
#[test]
fn what_cannot_be_published_is_an_error_of_the_step() {
    for (steps, problem) in [
        ("publish: { topic: \"${wild}\" }", "neither `+` nor `#`"),
        ("publish: { topic: a, qos: 2 }", "the server allows QoS 1 at most"),
    ] {
        let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
            1 => vec![send(&[0x20, 5, 0, 0, 2, 0x24, 1])],
            _ => vec![],
        });
        let ran = run(
            &scenario("version: 5", &format!("    - set: {{ wild: \"#\" }}\n    - {steps}")),
            &mut broker,
        );
        assert_eq!(ran.outcomes("publish"), [Outcome::Step], "{steps}");
        let details = ran.details();
        assert!(details[0].contains(problem), "{details:?}");
    }
}
