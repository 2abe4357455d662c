//! Channels that the server ends, and joining them again.

use engine::sim::{Link, Peer, PeerAction, PeerConn, PeerEvent};
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, frame, ok, text};
use crate::support::{MS, Ran, S, run, run_over};

fn scenario(protocol: &str, steps: &str, users: u32) -> String {
    format!(
        "
name: ends
target: http://target.test/
options: {{ timeout: 2s }}
messages:
  said: {{ when: {{ event: said }} }}
sessions:
  main:
    - ws: {{ path: /socket, {protocol} }}
{steps}
arrivals:
  - {{ constant: {users}/s, for: 1s }}
  - {{ hold: 99s }}
"
    )
}

/// How the operations of one measure ended, and after which time.
fn ends(ran: &Ran, measure: &str) -> Vec<(Outcome, u64)> {
    let rows = ran.rows(measure).into_iter();
    rows.map(|row| (row.outcome, row.response_ns())).collect()
}

const CLOSED: Outcome = Outcome::ChannelClosed;

/// The parts of a message of a Phoenix client: the numbers of the join and its own, topic, event.
fn parts(message: &str) -> [String; 4] {
    let read: serde_json::Value = serde_json::from_str(message).expect("JSON");
    [0, 1, 2, 3].map(|place| read[place].as_str().unwrap_or_default().to_owned())
}

fn reply(message: &str, status: &str) -> PeerAction {
    let [join, number, topic, _] = parts(message);
    let payload = format!("{{\"status\":\"{status}\",\"response\":{{\"n\":1}}}}");
    text(&format!("[\"{join}\",\"{number}\",\"{topic}\",\"phx_reply\",{payload}]"))
}

/// The end of the channel that the message joined or is for.
fn end(message: &str, event: &str) -> PeerAction {
    let [join, _, topic, _] = parts(message);
    text(&format!("[\"{join}\",\"{join}\",\"{topic}\",\"{event}\",{{}}]"))
}

const OPEN: &str = r#"0{"sid":"a","upgrades":[],"pingInterval":300000,"pingTimeout":2000}"#;
const WELCOME: &str = r#"{"type":"welcome"}"#;

#[test]
fn a_namespace_that_the_server_disconnects_is_an_error_of_each_user() {
    let mut peer = WsPeer::new(|_, message| match message {
        "40/news," => vec![text("40/news,{\"sid\":\"b\"}"), text("41/news,")],
        _ => vec![],
    });
    peer.greeting = vec![text(OPEN)];
    let steps = "    - join: /news\n    - think: 5s\n";
    let ran = run(&scenario("protocol: socket.io", steps, 100), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Ok, CLOSED].repeat(100));
    assert_eq!(ran.total(|counts| counts.errors), 100);
    assert_eq!(ran.total(|counts| counts.users_finished), 100);
    let detail = "the channel \"/news\" was closed by the server";
    assert_eq!(ran.details()[0], detail);
}

#[test]
fn a_push_that_crashes_its_channel_fails_at_once() {
    let mut peer = WsPeer::new(|_, message| match &parts(message)[3] {
        event if event == "phx_join" => vec![reply(message, "ok")],
        _ => vec![end(message, "phx_error")],
    });
    let steps = "
    - join: room
    - push: { event: unknown }
      reply: { within: 2s }
    - push: { event: next }
";
    let text = scenario("protocol: phoenix", steps, 100);
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ends(&ran, "unknown"), [(CLOSED, 2 * MS); 100]);
    assert_eq!(ran.outcomes("join"), [Outcome::Ok; 100]);
    // What needs it afterwards cannot be done.
    assert_eq!(ran.outcomes("next"), [Outcome::Step; 100]);
    assert_eq!(ran.total(|counts| counts.users_failed), 100);
    let details = ran.details();
    assert!(details[0].contains("\"room\" failed at the server"), "{details:?}");
    assert!(details.iter().any(|detail| detail.contains("has ended \"room\"")), "{details:?}");
}

/// What waits for any message fails once no channel is left; what names its topic fails with that.
#[test]
fn waiting_ends_with_the_channel() {
    let kicked = |topic: &str, join: u32| {
        text(&format!("[\"{join}\",null,\"{topic}\",\"phx_close\",{{\"reason\":\"kicked\"}}]"))
    };
    let mut respond = |_: u64, message: &str| match &*parts(message)[3] {
        "phx_join" => vec![reply(message, "ok")],
        "one" => vec![kicked("a", 1)],
        "two" => vec![kicked("b", 2)],
        _ => vec![],
    };
    let mut peer = WsPeer::new(&mut respond);
    let steps = "
    - join: a
    - join: b
    - push: { event: one }
    - expect: { when: { topic: a }, as: of a }
    - push: { event: two }
    - expect: { as: any }
    - expect: { as: again }
";
    let text = scenario("protocol: phoenix", steps, 1);
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ends(&ran, "of a"), [(CLOSED, 2 * MS)]);
    assert_eq!(ends(&ran, "any"), [(CLOSED, 2 * MS)]);
    assert_eq!(ran.outcomes("again"), [Outcome::Step]);
    assert!(ran.details()[0].contains("kicked"), "{:?}", ran.details());
    let mut peer = WsPeer::new(&mut respond);
    // Another topic's end does not disturb what waits for a message of the rest.
    let steps = "
    - join: a
    - join: b
    - push: { event: one }
    - expect: { when: { topic: b }, as: of b, within: 1s }
    - leave: a
    - leave: b
      as: left
";
    let text = scenario("protocol: phoenix", steps, 1);
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ends(&ran, "of b"), [(Outcome::Timeout, S)]);
    assert_eq!(ran.outcomes("join"), [Outcome::Ok, Outcome::Ok, CLOSED]);
    assert_eq!(ends(&ran, "leave"), [(Outcome::Ok, 0)]);
    assert_eq!(ran.outcomes("left"), [Outcome::Timeout]);
}

#[test]
fn what_the_session_ends_is_no_error() {
    // The first join's end comes after the second one, as a server sends it that replaces a channel.
    let mut peer = WsPeer::new(|_, message| match &*parts(message)[3] {
        "phx_join" if parts(message)[1] == "2" => {
            vec![end(&message.replace('2', "1"), "phx_close"), reply(message, "ok")]
        }
        "phx_join" => vec![reply(message, "ok")],
        "phx_leave" => vec![reply(message, "ok"), end(message, "phx_close")],
        _ => vec![],
    });
    let steps = "
    - join: room
    - join: room
    - leave:
    - think: 1s
    - join: other
    - close:
";
    let ran = run(&scenario("protocol: phoenix", steps, 1), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Ok; 3]);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    let mut peer = WsPeer::new(|_, message| match message {
        "40" => vec![text("40{\"sid\":\"b\"}")],
        "41" => vec![text("41")],
        _ => vec![],
    });
    peer.greeting = vec![text(OPEN)];
    let steps = "    - join: /\n    - leave:\n    - think: 1s\n";
    let ran = run(&scenario("protocol: socket.io", steps, 1), &mut peer);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
}

#[test]
fn a_subscription_that_is_rejected_later_is_an_error() {
    let identifier = r#"{\"channel\":\"Chat\"}"#;
    let says = |kind: &str| text(&format!(r#"{{"identifier":"{identifier}","type":"{kind}"}}"#));
    let mut peer = WsPeer::new(|_, message| match message.contains("\"subscribe\"") {
        true => vec![says("confirm_subscription"), says("reject_subscription")],
        false => vec![],
    });
    peer.greeting = vec![text(WELCOME)];
    let steps = "    - join: Chat\n    - think: 1s\n    - perform: { action: speak }\n";
    let ran = run(&scenario("protocol: actioncable", steps, 1), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Ok, CLOSED]);
    assert_eq!(ran.outcomes("speak"), [Outcome::Step]);
}

/// The server ends the connection: each channel, and the connection itself.
#[test]
fn a_disconnect_ends_all_channels() {
    for waits in [false, true] {
        let mut peer = WsPeer::new(|_, message| match message {
            "40/a," => vec![text("40/a,{\"sid\":\"b\"}")],
            "40/b," => vec![text("40/b,{\"sid\":\"c\"}")],
            _ => vec![text("1")],
        });
        peer.greeting = vec![text(OPEN)];
        let last = if waits { "expect: { as: last }" } else { "think: 9s" };
        let steps =
            format!("    - join: /a\n    - join: /b\n    - emit: {{ event: x }}\n    - {last}\n");
        let ran = run(&scenario("protocol: socket.io", &steps, 1), &mut peer);
        let ended = ran.counted("join", CLOSED);
        if waits {
            assert_eq!((ended, ran.outcomes("last")), (1, vec![CLOSED]));
            assert_eq!(ran.counted("steps", Outcome::Closed), 0);
        } else {
            assert_eq!((ended, ran.counted("steps", Outcome::Closed)), (2, 1));
        }
        assert_eq!(ran.total(|counts| counts.users_failed), 1);
    }
}

/// After a failure: 1 s, 2 s, 5 s, and from the start again once it is joined. What is pushed
/// meanwhile waits.
#[test]
fn a_failed_channel_is_joined_again() {
    let mut joins = 0;
    let mut peer = WsPeer::new(|_, message| match &*parts(message)[3] {
        "phx_join" => {
            joins += 1;
            match joins {
                1 => vec![reply(message, "ok"), end(message, "phx_error")],
                2 => vec![reply(message, "error")],
                3 => vec![],
                _ => vec![reply(message, "ok")],
            }
        }
        "crash" => vec![end(message, "phx_error")],
        _ => vec![reply(message, "ok")],
    });
    let steps = "
    - join: room
      rejoin: true
      payload: { a: 1 }
    - think: 500ms
    - push: { event: late }
      reply: { save: { n: /n }, within: 20s }
    - push: { event: crash }
      reply: {}
    - push: { event: silent }
    - check: n == 1
    - leave:
";
    let ran = run(&scenario("protocol: phoenix", steps, 1), &mut peer);
    let rows = ran.rows("rejoin").into_iter();
    let rejoins: Vec<_> = rows.map(|row| (row.due_ns, row.done_ns, row.outcome)).collect();
    assert_eq!(
        rejoins,
        [
            (S, S, Outcome::Rejected),
            (3 * S, 5 * S, Outcome::Timeout),
            (10 * S, 10 * S, Outcome::Ok),
            (11 * S, 11 * S, Outcome::Ok),
        ]
    );
    assert_eq!(ran.outcomes("join"), [Outcome::Ok, CLOSED]);
    assert_eq!(ends(&ran, "late"), [(Outcome::Ok, 9_500 * MS)]);
    assert_eq!(ends(&ran, "crash"), [(CLOSED, 0)]);
    assert_eq!(ends(&ran, "silent"), [(Outcome::Ok, S)]);
    assert_eq!(ran.counted("check", Outcome::Check), 0);
    assert_eq!(ran.outcomes("leave"), [Outcome::Ok]);
    let sent: Vec<_> = peer
        .frames
        .iter()
        .filter(|(opcode, _)| *opcode == 1)
        .map(|(_, payload)| String::from_utf8_lossy(payload).into_owned())
        .collect();
    let expected = [
        r#"["1","1","room","phx_join",{"a":1}]"#,
        r#"["2","2","room","phx_join",{"a":1}]"#,
        r#"["3","3","room","phx_join",{"a":1}]"#,
        r#"["4","4","room","phx_join",{"a":1}]"#,
        r#"["4","5","room","late",{}]"#,
        r#"["4","6","room","crash",{}]"#,
        r#"["7","7","room","phx_join",{"a":1}]"#,
        r#"["7","8","room","silent",{}]"#,
        r#"["7","9","room","phx_leave",{}]"#,
    ];
    assert_eq!(sent, expected);
}

/// Attempts and pushes that wait for them end with what makes them needless.
#[test]
fn attempts_end_with_their_reason() {
    // The channel fails after the join; no attempt to join it again is answered.
    let silent = |joins: &mut u32, message: &str| match &*parts(message)[3] {
        "phx_join" => {
            *joins += 1;
            match *joins {
                1 => vec![reply(message, "ok"), end(message, "phx_error")],
                _ => vec![],
            }
        }
        "phx_leave" => vec![reply(message, "ok")],
        _ => vec![],
    };
    let joined = "    - join: room\n      rejoin: true\n    - think: 1ms\n";
    let cases = [
        // Between two attempts nothing is in flight, and nothing has to be sent.
        ("    - leave:\n    - think: 3s\n", vec![], "leave", vec![(Outcome::Ok, 0)]),
        (
            "    - think: 1500ms\n    - leave:\n    - think: 3s\n",
            vec![Outcome::Unfinished],
            "leave",
            vec![(Outcome::Ok, 0)],
        ),
        // A session that ends takes its attempt along.
        (
            "    - think: 1500ms\n",
            vec![Outcome::Unfinished],
            "join",
            vec![(Outcome::Ok, 0), (CLOSED, 0)],
        ),
        (
            "    - think: 1500ms\n    - close:\n",
            vec![Outcome::Unfinished],
            "join",
            vec![(Outcome::Ok, 0), (CLOSED, 0)],
        ),
        // A push waits as long as it may.
        (
            "    - push: { event: late }\n      reply: { within: 700ms }\n",
            vec![],
            "late",
            vec![(Outcome::Timeout, 700 * MS)],
        ),
        (
            "    - push: { event: late }\n    - think: 100ms\n",
            vec![Outcome::Unfinished],
            "late",
            vec![(Outcome::Timeout, 2 * S)],
        ),
        // A new join replaces it.
        (
            "    - think: 1500ms\n    - join: room\n      as: second\n      timeout: 300ms\n",
            vec![Outcome::Unfinished],
            "second",
            vec![(Outcome::Timeout, 300 * MS)],
        ),
    ];
    for (steps, rejoins, measure, expected) in cases {
        let mut joins = 0;
        let mut peer = WsPeer::new(|_, message| silent(&mut joins, message));
        let text = scenario("protocol: phoenix", &format!("{joined}{steps}"), 1);
        let ran = run(&text, &mut peer);
        assert_eq!(ran.outcomes("rejoin"), rejoins, "{steps}");
        assert_eq!(ends(&ran, measure), expected, "{steps}");
    }
    // The connection is lost with an attempt in flight.
    let mut joins = 0;
    let mut peer = WsPeer::new(|now_ns, message| {
        if now_ns >= S {
            return vec![PeerAction::Close];
        }
        silent(&mut joins, message)
    });
    let text = scenario("protocol: phoenix", &format!("{joined}    - think: 9s\n"), 1);
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("rejoin"), [Outcome::Closed]);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}

/// A channel that is closed in good order stays closed, and one without `rejoin` does, too.
#[test]
fn a_closed_channel_is_not_joined_again() {
    for (rejoin, event) in [(true, "phx_close"), (false, "phx_error")] {
        let mut peer = WsPeer::new(|_, message| vec![reply(message, "ok"), end(message, event)]);
        let steps = format!("    - join: room\n      rejoin: {rejoin}\n    - think: 30s\n");
        let protocol = "protocol: phoenix, heartbeat: 90s";
        let ran = run(&scenario(protocol, &steps, 1), &mut peer);
        assert_eq!(ran.outcomes("join"), [Outcome::Ok, CLOSED], "{event}");
        let joins = peer.frames.iter().filter(|(opcode, _)| *opcode == 1);
        assert_eq!(joins.count(), 1, "{event}");
    }
}

/// A WebSocket on the first connection, HTTP on the others.
struct Both<W, H>(WsPeer<W>, HttpPeer<H>);

impl<W, H> Peer for Both<W, H>
where
    W: FnMut(u64, &str) -> Vec<PeerAction>,
    H: FnMut(&str) -> Vec<PeerAction>,
{
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match conn {
            0 => self.0.handle(now_ns, conn, event),
            _ => self.1.handle(now_ns, conn, event),
        }
    }
}

#[test]
fn a_loss_during_a_request_is_counted() {
    let mut socket = WsPeer::new(|_, _| vec![]);
    socket.greeting = vec![PeerAction::Close];
    let mut peer = Both(socket, HttpPeer::new(|_| 10 * MS, |_| ok("")));
    let steps = "    - get: /slow\n";
    let ran = run(&scenario("compress: none", steps, 1), &mut peer);
    assert_eq!(ran.outcomes("GET /slow"), [Outcome::Ok]);
    assert_eq!(ran.counted("steps", Outcome::Closed), 1);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

#[test]
fn acknowledgements_are_sent_if_the_server_wants_them() {
    let mut peer = WsPeer::new(|_, message| match message {
        "40/a," => vec![
            text("40/a,{\"sid\":\"b\"}"),
            text("42/a,12[\"plain\",1]"),
            text("42/a,13[\"order\",{\"n\":1}]"),
            text("42/a,14[\"offer\"]"),
            text("42/a,15[\"single\"]"),
            text("451-/a,16[\"file\",{\"_placeholder\":true,\"num\":0}]"),
            PeerAction::Send(frame(0x82, b"\x01")),
            text("42/a,[\"order\"]"),
            text("42/a,17[\"last\"]"),
        ],
        _ => vec![],
    });
    peer.greeting = vec![text(OPEN)];
    let steps = "    - join: /a\n    - expect: { when: { event: last }, as: last }\n";
    let messages = "messages:
  order: { when: { event: order }, ack: [ \"user ${user}\", { ok: true } ] }
  offer: { when: { event: offer }, ack: false }
  single: { when: { event: single }, ack: done }
";
    let scenario = scenario("protocol: socket.io", steps, 1).replace("messages:\n", messages);
    let ran = run(&scenario, &mut peer);
    assert_eq!(ran.outcomes("last"), [Outcome::Ok]);
    assert_eq!(ran.counted("order", Outcome::Ok), 2);
    let sent: Vec<_> = peer
        .frames
        .iter()
        .filter(|(opcode, _)| *opcode == 1)
        .map(|(_, payload)| String::from_utf8_lossy(payload).into_owned())
        .collect();
    let expected = [
        "40/a,",
        "43/a,12[]",
        r#"43/a,13["user 0",{"ok":true}]"#,
        r#"43/a,15["done"]"#,
        "43/a,16[]",
        "43/a,17[]",
    ];
    assert_eq!(sent, expected);
}
