//! WebSockets of channels that are lost and reconnect.

use engine::sim::{Link, Packet, PeerAction, Verdict};
use record::Outcome;

use crate::peers::{WsPeer, text};
use crate::support::{MS, Ran, run, run_over};

fn scenario(protocol: &str, steps: &str) -> String {
    format!(
        "
name: reconnects
target: http://target.test/
options: {{ timeout: 2s }}
messages:
  said: {{ when: {{ event: said }} }}
sessions:
  main:
    - ws: {{ path: /socket, protocol: {protocol}, reconnect: true }}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 99s }}
"
    )
}

/// When the operations of one measure were due and done, and how they ended.
fn rows(ran: &Ran, measure: &str) -> Vec<(u64, u64, Outcome)> {
    let rows = ran.rows(measure).into_iter();
    rows.map(|row| (row.due_ns / MS, row.done_ns / MS, row.outcome)).collect()
}

fn reply(message: &str) -> PeerAction {
    let read: serde_json::Value = serde_json::from_str(message).expect("JSON");
    let [join, number, topic] = [0, 1, 2].map(|place| &read[place]);
    let payload = "{\"status\":\"ok\",\"response\":{\"n\":1}}";
    text(&format!("[{join},{number},{topic},\"phx_reply\",{payload}]"))
}

/// A close frame with this code.
fn close(code: u16) -> PeerAction {
    let mut bytes = vec![0x88, 2];
    bytes.extend(code.to_be_bytes());
    PeerAction::Send(bytes)
}

const OPEN: &str = r#"0{"sid":"a","upgrades":[],"pingInterval":300000,"pingTimeout":2000}"#;

/// 10 ms after the loss, 50 ms after the attempt that failed; then the channel, then what waited.
#[test]
fn a_lost_connection_of_phoenix_reconnects_and_joins() {
    for broken in [PeerAction::Close, PeerAction::Reset, close(1011)] {
        let mut connects = 0;
        let link = Link {
            rule: Box::new(|_, packet| {
                connects += u32::from(packet == Packet::Connect);
                match packet {
                    Packet::Connect if connects == 2 => Verdict::Refuse,
                    _ => Verdict::Pass,
                }
            }),
            ..Link::new(0)
        };
        let mut peer = WsPeer::new(|_, message| match message.contains("bye") {
            true => vec![broken.clone()],
            false => vec![reply(message)],
        });
        let steps = "
    - join: room
      payload: { a: 1 }
    - push: { event: bye }
    - think: 1ms
    - push: { event: late }
      reply: { save: { n: /n } }
    - join: other
      as: other
    - check: n == 1
    - think: 40s
";
        let ran = run_over(&scenario("phoenix", steps), &mut peer, link);
        let expected = [(10, 10, Outcome::Refused), (60, 60, Outcome::Ok)];
        assert_eq!(rows(&ran, "reconnect"), expected, "{broken:?}");
        assert_eq!(rows(&ran, "rejoin"), [(60, 60, Outcome::Ok)]);
        assert_eq!(rows(&ran, "late"), [(1, 60, Outcome::Ok)]);
        assert_eq!(rows(&ran, "other"), [(60, 60, Outcome::Ok)]);
        assert_eq!(ran.rows("reconnect")[1].status, 101);
        assert_eq!(ran.rows("connect").len(), 3);
        // The attempt that was refused, and its connection.
        assert_eq!(ran.total(|counts| counts.errors), 2, "{:?}", ran.details());
        assert_eq!(ran.total(|counts| counts.users_finished), 1);
        let texts = peer.frames.iter().filter(|(opcode, _)| *opcode == 1);
        let texts: Vec<_> =
            texts.map(|(_, payload)| String::from_utf8_lossy(payload).into_owned()).collect();
        assert_eq!(texts[2], r#"["3","3","room","phx_join",{"a":1}]"#);
        assert_eq!(texts[3], r#"["3","4","room","late",{}]"#);
        // Heartbeats continue on the new connection.
        assert!(texts.last().is_some_and(|text| text.contains("heartbeat")));
    }
}

/// An operation in flight fails with its connection, and the session continues; so it does after a
/// close in good order, which ends it.
#[test]
fn operations_in_flight_fail() {
    for (code, other) in [(1001, true), (1000, false)] {
        let mut peer = WsPeer::new(|_, message| match message.contains("bye") {
            true => vec![close(code)],
            false => vec![reply(message)],
        });
        let steps = "
    - join: room
    - push: { event: bye }
      reply: {}
    - push: { event: next }
      reply: {}
";
        let ran = run(&scenario("phoenix", steps), &mut peer);
        assert_eq!(rows(&ran, "bye"), [(0, 0, Outcome::Closed)], "{code}");
        let next = if other { vec![(0, 10, Outcome::Ok)] } else { vec![] };
        assert_eq!(rows(&ran, "next"), next, "{code}");
        assert_eq!(ran.total(|counts| counts.users_failed), u64::from(!other));
    }
}

#[test]
fn socketio_reconnects_and_waits_on() {
    let mut joins = 0;
    let mut peer = WsPeer::new(|_, message| {
        if message != "40/a,{\"t\":1}" {
            return vec![];
        }
        joins += 1;
        let joined = text("40/a,{\"sid\":\"b\"}");
        match joins {
            1 => vec![joined, text("1"), PeerAction::Close],
            _ => vec![joined, text("42/a,[\"news\",1]")],
        }
    });
    peer.greeting = vec![text(OPEN)];
    let steps = "
    - join: /a
      payload: { t: 1 }
    - expect: { when: { event: news }, within: 5s, as: news }
";
    let ran = run(&scenario("socket.io", steps), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Ok, Outcome::ChannelClosed]);
    let reconnects = rows(&ran, "reconnect");
    let (due_ms, done_ms, outcome) = reconnects[0];
    assert!((500..=1500).contains(&due_ms), "{due_ms}");
    assert_eq!((done_ms, outcome, reconnects.len()), (due_ms, Outcome::Ok, 1));
    assert_eq!(rows(&ran, "rejoin"), [(due_ms, due_ms, Outcome::Ok)]);
    assert_eq!(rows(&ran, "news"), [(0, due_ms, Outcome::Ok)]);
    assert_eq!(ran.total(|counts| counts.users_failed), 0);
}

/// A server that keeps sessions is given its own name for this one and the offset of its last event; what was missed comes
/// after that. The offset is none of an event's arguments.
#[test]
fn socketio_continues_its_session() {
    let joined = text(r#"40/a,{"sid":"b","pid":"p"}"#);
    let mut peer = WsPeer::new(|_, message| match message {
        r#"40/a,{"t":1}"# => vec![
            joined.clone(),
            text(r#"42/a,["news",{"n":1},"o-1"]"#),
            text(r#"42/a,["news",{"n":2},"o-2"]"#),
            PeerAction::Close,
        ],
        r#"40/a,{"pid":"p","offset":"o-2","t":1}"# => {
            vec![joined.clone(), text(r#"42/a,["news",{"n":3},"o-3"]"#)]
        }
        _ => vec![],
    });
    peer.greeting = vec![text(OPEN)];
    let steps = "
    - join: /a
      payload: { t: 1 }
    - expect: { when: { event: news, /n: 1 }, as: first }
    - expect: { when: { event: news, /n: 3 }, within: 5s, as: missed }
";
    let ran = run(&scenario("socket.io", steps), &mut peer);
    for measure in ["join", "first", "reconnect", "rejoin", "missed"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{measure}: {:?}", ran.details());
    }
    assert_eq!(ran.total(|counts| counts.users_failed), 0);
}

/// After the server ended the only namespace, its own client leaves the connection closed.
#[test]
fn what_the_server_ends_for_good_does_not_reconnect() {
    let mut peer = WsPeer::new(|_, _| vec![text("40{\"sid\":\"b\"}"), text("41"), text("1")]);
    peer.greeting = vec![text(OPEN)];
    let steps = "    - join: /\n    - think: 9s\n";
    let ran = run(&scenario("socket.io", steps), &mut peer);
    assert_eq!(ran.outcomes("join"), [Outcome::Ok, Outcome::ChannelClosed]);
    assert_eq!(ran.outcomes("reconnect"), []);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
    for (again, attempts) in [(true, 1), (false, 0)] {
        let bye = format!(r#"{{"type":"disconnect","reason":"restart","reconnect":{again}}}"#);
        let mut peer = WsPeer::new(|_, message| {
            let channel = r#"{\"channel\":\"Chat\"}"#;
            let confirm = format!(r#"{{"identifier":"{channel}","type":"confirm_subscription"}}"#);
            match message.contains("subscribe") {
                true => vec![text(&confirm)],
                false => vec![text(&bye)],
            }
        });
        peer.greeting = vec![text(r#"{"type":"welcome"}"#)];
        let steps = "    - join: Chat\n    - perform: { action: x }\n    - think: 13s\n";
        let ran = run(&scenario("actioncable", steps), &mut peer);
        assert_eq!(ran.outcomes("join"), [Outcome::Ok, Outcome::ChannelClosed]);
        let reconnects = rows(&ran, "reconnect");
        assert_eq!(reconnects.len(), attempts, "{again}");
        assert!(reconnects.iter().all(|(due_ms, ..)| (6000..=12_000).contains(due_ms)));
        assert_eq!(ran.total(|counts| counts.users_failed), 1 - attempts as u64);
    }
}

/// Attempts have the time of the step that opened the connection; they end with the session, and an
/// answer that no other attempt can overcome ends the session.
#[test]
fn attempts_end_with_their_reason() {
    let silent = |packet_end_ns: u64| {
        Link {
            rule: Box::new(move |now_ns, packet| match packet {
                // Nothing comes back any more.
                Packet::ToUser if now_ns > packet_end_ns => Verdict::Drop,
                _ => Verdict::Pass,
            }),
            ..Link::new(0)
        }
    };
    let mut peer = WsPeer::new(|_, message| match message.contains("bye") {
        true => vec![PeerAction::Close],
        false => vec![reply(message)],
    });
    let steps = |last: &str| {
        format!("    - join: room\n    - push: {{ event: bye }}\n    - think: 1s\n{last}")
    };
    let ran =
        run_over(&scenario("phoenix", &steps("    - think: 3s\n")), &mut peer, silent(5 * MS));
    let found = rows(&ran, "reconnect");
    assert_eq!(found[..1], [(10, 2010, Outcome::Timeout)]);
    assert_eq!(found[1].2, Outcome::Unfinished);
    assert_eq!((found[1].0, found.len()), (2060, 2));
    for last in [
        "    - close:\n",
        "    - leave:\n",
        "    - send: x\n",
        "    - expect: { within: 500ms, as: e }\n",
    ] {
        let mut peer = WsPeer::new(|_, message| match message.contains("bye") {
            true => vec![PeerAction::Close],
            false => vec![reply(message)],
        });
        let ran = run_over(&scenario("phoenix", &steps(last)), &mut peer, silent(5 * MS));
        assert_eq!(ran.outcomes("reconnect"), [Outcome::Unfinished], "{last}");
        match last {
            _ if last.contains("leave") => assert_eq!(ran.outcomes("leave"), [Outcome::Ok]),
            _ if last.contains("send") => assert_eq!(ran.outcomes("send"), [Outcome::Step]),
            _ if last.contains("expect") => assert_eq!(ran.outcomes("e"), [Outcome::Timeout]),
            _ => assert_eq!(ran.total(|counts| counts.users_finished), 1),
        }
    }
}
