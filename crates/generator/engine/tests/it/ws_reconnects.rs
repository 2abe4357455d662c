//! Plain WebSockets that are lost and reconnect.

use engine::sim::{self, Link, Packet, PeerAction, Verdict};
use record::Outcome;

use crate::peers::{WsPeer, text};
use crate::support::{MS, Ran, plan, run, run_over};

fn scenario(reconnect: &str, steps: &str) -> String {
    format!(
        "
name: reconnects
target: http://target.test/
options: {{ timeout: 2s }}
messages:
  said: {{ when: {{ /said: {{ exists: true }} }}, seq: /said }}
sessions:
  main:
    - ws: {{ path: /socket, reconnect: {reconnect} }}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 99s }}
"
    )
}

const FIXED: &str = "{ pause: 100ms, pause_max: 400ms, jitter: none }";

/// When the operations of one measure were due and done, and how they ended.
fn rows(ran: &Ran, measure: &str) -> Vec<(u64, u64, Outcome)> {
    let rows = ran.rows(measure).into_iter();
    rows.map(|row| (row.due_ns / MS, row.done_ns / MS, row.outcome)).collect()
}

/// A link on which these connections, counted from 1, are refused.
fn refusing(refused: &'static [u32]) -> Link<'static> {
    let mut connects = 0;
    Link {
        rule: Box::new(move |_, packet| {
            connects += u32::from(packet == Packet::Connect);
            match packet {
                Packet::Connect if refused.contains(&connects) => Verdict::Refuse,
                _ => Verdict::Pass,
            }
        }),
        ..Link::new(0)
    }
}

/// A close frame with this code.
fn close(code: u16) -> PeerAction {
    let mut bytes = vec![0x88, 2];
    bytes.extend(code.to_be_bytes());
    PeerAction::Send(bytes)
}

/// The texts that a peer got, in order.
fn texts<F>(peer: &WsPeer<F>) -> Vec<String> {
    let texts = peer.frames.iter().filter(|(opcode, _)| *opcode == 1);
    texts.map(|(_, payload)| String::from_utf8_lossy(payload).into_owned()).collect()
}

/// Pauses of 100, 200 and twice 400 ms; then what was to be sent again, then the message that waited.
#[test]
fn attempts_follow_after_pauses_that_double_and_steps_continue() {
    for broken in [PeerAction::Close, PeerAction::Reset, close(1000), close(1012)] {
        let mut peer = WsPeer::new(|_, message| match message {
            "bye" => vec![broken.clone()],
            "hello" => vec![text("{\"n\":1}")],
            _ => Vec::new(),
        });
        let reconnect =
            "{ pause: 100ms, pause_max: 400ms, jitter: none, send: [ { sub: 7 }, again ] }";
        let steps = "
    - send: bye
    - think: 1ms
    - send: hello
      reply: { save: { n: /n } }
    - check: n == 1
    - send: after
      as: after
";
        let ran = run_over(&scenario(reconnect, steps), &mut peer, refusing(&[2, 3, 4]));
        let expected = [
            (100, 100, Outcome::Refused),
            (300, 300, Outcome::Refused),
            (700, 700, Outcome::Refused),
            (1100, 1100, Outcome::Ok),
        ];
        assert_eq!(rows(&ran, "reconnect"), expected, "{broken:?}");
        assert_eq!(ran.rows("reconnect")[3].status, 101);
        let sends = rows(&ran, "send");
        assert_eq!(sends[1], (1, 1100, Outcome::Ok), "{broken:?}");
        assert_eq!(rows(&ran, "after"), [(1100, 1100, Outcome::Ok)]);
        let expected = ["bye", "{\"sub\":7}", "again", "hello", "after"];
        assert_eq!(texts(&peer), expected);
        assert_eq!(ran.rows("connect").len(), 5);
        // Three attempts that were refused, and their connections; the loss itself is none.
        assert_eq!(ran.total(|counts| counts.errors), 6, "{:?}", ran.details());
        assert_eq!(ran.total(|counts| counts.users_finished), 1);
    }
}

/// A message in flight is not answered any more; one that is awaited may still come.
#[test]
fn a_reply_in_flight_fails_and_an_expect_waits_on() {
    let mut peer = WsPeer::new(|_, message| match message {
        "bye" => vec![PeerAction::Close],
        "again" => vec![text("{\"type\":\"news\"}")],
        _ => Vec::new(),
    });
    let reconnect = "{ pause: 100ms, jitter: none, send: again }";
    let steps = "
    - send: bye
      reply: { within: 1s }
    - think: 500ms
    - send: bye
    - expect: { when: { /type: news } }
";
    let ran = run(&scenario(reconnect, steps), &mut peer);
    assert_eq!(rows(&ran, "reconnect"), [(100, 100, Outcome::Ok), (600, 600, Outcome::Ok)]);
    let expected = [(0, 0, Outcome::Closed), (500, 500, Outcome::Ok)];
    assert_eq!(rows(&ran, "send"), expected);
    assert_eq!(rows(&ran, "type=news"), [(500, 600, Outcome::Ok)]);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

#[test]
fn a_message_waits_for_its_own_time_only() {
    let mut peer = WsPeer::new(|_, message| match message {
        "bye" => vec![PeerAction::Close],
        _ => Vec::new(),
    });
    let reconnect = "{ pause: 3s, jitter: none }";
    let steps = "
    - send: bye
    - think: 1ms
    - send: one
      reply: { within: 1s }
    - send: two
      as: two
    - send: three
      as: three
";
    let ran = run(&scenario(reconnect, steps), &mut peer);
    let expected = [(0, 0, Outcome::Ok), (1, 1001, Outcome::Timeout)];
    assert_eq!(rows(&ran, "send"), expected);
    // Without a reply it has the time of the handshake, 2 s.
    assert_eq!(rows(&ran, "two"), [(1001, 3000, Outcome::Ok)]);
    assert_eq!(rows(&ran, "three"), [(3000, 3000, Outcome::Ok)]);
    assert_eq!(texts(&peer), ["bye", "two", "three"]);
}

#[test]
fn the_session_ends_with_the_last_attempt() {
    let mut peer = WsPeer::new(|_, message| match message {
        "bye" => vec![PeerAction::Reset],
        _ => Vec::new(),
    });
    let reconnect = "{ pause: 100ms, jitter: none, attempts: 2 }";
    let steps = "
    - send: bye
    - think: 1ms
    - send: late
      as: late
";
    let ran = run_over(&scenario(reconnect, steps), &mut peer, refusing(&[2, 3]));
    let expected = [(100, 100, Outcome::Refused), (300, 300, Outcome::Refused)];
    assert_eq!(rows(&ran, "reconnect"), expected);
    assert_eq!(rows(&ran, "late"), [(1, 300, Outcome::Refused)]);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
    assert!(
        ran.details().iter().any(|detail| detail.ends_with(", the last of 2 attempts")),
        "{:?}",
        ran.details()
    );
    // After each loss they are counted from the first again.
    let mut peer = WsPeer::new(|_, message| match message {
        "bye" => vec![PeerAction::Reset],
        _ => Vec::new(),
    });
    let steps = "
    - loop: 3
      steps: [ { send: bye }, { think: 1s } ]
";
    let ran = run_over(&scenario(reconnect, steps), &mut peer, refusing(&[2, 4, 6]));
    assert_eq!(ran.rows("reconnect").len(), 6);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

/// What nothing waits for goes on: another request, a pause. A user who closes or leaves meanwhile ends the attempts.
#[test]
fn other_steps_do_not_notice_and_closing_ends_the_attempts() {
    for (end, finished) in [("- close:", 1), ("- stop:", 1)] {
        let mut peer = WsPeer::new(|_, message| match message {
            "bye" => vec![PeerAction::Close],
            _ => Vec::new(),
        });
        let steps = format!(
            "
    - send: bye
    - think: 150ms
    {end}
"
        );
        let ran = run_over(&scenario(FIXED, &steps), &mut peer, refusing(&[2, 3, 4, 5]));
        assert_eq!(rows(&ran, "reconnect"), [(100, 100, Outcome::Refused)], "{end}");
        assert_eq!(ran.total(|counts| counts.users_finished), finished, "{end}");
    }
}

/// User 0 is without a connection from 1 s to 4 s, and user 1 gets 3 to 6 at 2.5 s. The subscription ends with the
/// connection, and another one begins when it is open again: these are not lost to user 0.
#[test]
fn messages_of_the_time_without_a_connection_are_not_lost() {
    let mut peer = WsPeer::new(|_, message| {
        let numbers = match message {
            "sub" => 1..3,
            "more" => 3..7,
            "again" | "late" => 7..9,
            _ => return vec![PeerAction::Close],
        };
        let said = |n| text(&format!("{{\"said\":{n}}}"));
        numbers.map(said).collect()
    });
    let reconnect = "{ pause: 3s, jitter: none, send: again }";
    let steps = "
    - send: sub
    - think: 1s
    - if: user == 0
      then: [ { send: bye } ]
      else: [ { think: 1s }, { send: more }, { think: 3s }, { send: late } ]
    - think: 9s
";
    let text = scenario(reconnect, steps).replace("constant: 1/s", "constant: 2/s");
    let ran = run(&text, &mut peer);
    assert_eq!(rows(&ran, "reconnect"), [(4000, 4000, Outcome::Ok)]);
    assert_eq!(ran.counted("said", Outcome::Ok), 4 + 8);
    assert_eq!(ran.counted("said.lost", Outcome::Ok), 0);
    assert_eq!(ran.counted("said.duplicated", Outcome::Ok), 0);
}

#[test]
fn pauses_are_the_same_with_any_number_of_loops() {
    let steps = "
    - loop: 5
      steps: [ { send: bye }, { think: 2s } ]
";
    let text = scenario("{ pause: 400ms, pause_max: 900ms }", steps)
        .replace("constant: 1/s", "constant: 20/s");
    let plan = plan(&text);
    let rows = |loops| {
        let mut peer = WsPeer::new(|_, _: &str| vec![PeerAction::Reset]);
        let run = sim::run(&plan, loops, &mut peer, Link::new(0)).unwrap();
        let rows = run.rows.iter();
        let mut rows: Vec<_> = rows.map(|row| (row.user, row.due_ns, row.measure)).collect();
        rows.sort_unstable();
        rows
    };
    let one = rows(1);
    assert!(one.len() > 300, "{}", one.len());
    assert_eq!(one, rows(3));
}
