//! Polling: requests beside the steps, whose responses hold messages.

use engine::sim::{Link, Packet, PeerAction, Verdict};
use record::{Measurement, Outcome};

use crate::peers::{HttpPeer, ok, response};
use crate::support::{MS, S, run, run_over};

fn scenario(poll: &str, steps: &str, hold: &str) -> String {
    format!(
        "
name: polls
target: http://target.test/
options: {{ timeout: 2s, drain: 1s }}
messages:
  said: {{ when: {{ /said: {{ exists: true }} }}, sent_at: /said, unit: s }}
sessions:
  main:
    - set: {{ last: 0 }}
    - poll: /poll?after=${{last}}
      as: poll
      {poll}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: {hold} }}
"
    )
}

/// The cursor of a request for a poll.
fn after(request: &str) -> u64 {
    let rest = request.split("after=").nth(1).expect("a cursor");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// One message more with each request, three in all; then nothing new.
fn three_messages(request: &str) -> Vec<PeerAction> {
    match after(request) {
        n @ 0..3 => ok(&format!(
            r#"{{"last":{},"messages":[{{"said":0,"x":"a]"}},{{"n":{}}}]}}"#,
            n + 1,
            n + 1
        )),
        _ => response("204 No Content", "", ""),
    }
}

fn dues(rows: &[Measurement]) -> Vec<u64> {
    rows.iter().map(|row| row.due_ns / MS).collect()
}

const EACH: &str = "each: /messages\n      save: { last: /last }";

#[test]
fn a_long_poll_repeats_at_once_from_its_last_position() {
    let steps = "
    - expect: { when: { /n: 2 }, as: second }
    - think: 350ms
";
    let mut peer = HttpPeer::new(|_| 100 * MS, three_messages);
    let ran = run(&scenario(EACH, steps, "1s"), &mut peer);
    let polls = ran.rows("poll");
    assert_eq!(dues(&polls), [0, 100, 200, 300, 400, 500]);
    let (last, whole) = polls.split_last().expect("polls");
    assert!(whole.iter().all(|row| row.outcome == Outcome::Ok));
    assert!(whole.iter().all(|row| row.response_ns() == 100 * MS));
    // The user left with a request in flight.
    assert_eq!(last.outcome, Outcome::Unfinished);
    let cursors: Vec<_> = peer.requests.iter().map(|request| after(request)).collect();
    assert_eq!(cursors, [0, 1, 2, 3, 3, 3]);
    let second = ran.rows("second");
    assert_eq!((second[0].due_ns, second[0].done_ns), (0, 200 * MS));
    // From the sender's stamp to the response's end.
    let said: Vec<_> = ran.rows("said").iter().map(|row| row.done_ns / MS).collect();
    assert_eq!(said, [100, 200, 300]);
    assert_eq!(ran.total(|counts| counts.unmatched), 2);
    assert_eq!(ran.total(|counts| counts.errors), 0);
    assert_eq!(ran.rows("connect").len(), 1);
}

/// Steps fall due to the nanosecond while polls do, and polls do not wait for steps.
#[test]
fn an_interval_counts_from_due_to_due_beside_the_steps() {
    let steps = "
    - loop: 8
      steps:
        - pace: 170ms
        - post: /speak
          as: speak
    - think: 10s
";
    let mut peer = HttpPeer::new(|_| 100 * MS, |_| ok("{}"));
    let ran = run(&scenario("every: 300ms", steps, "1s"), &mut peer);
    let polls = ran.rows("poll");
    assert_eq!(dues(&polls), [0, 300, 600, 900, 1200, 1500, 1800]);
    assert!(polls.iter().all(|row| row.response_ns() == 100 * MS));
    let speaks = ran.rows("speak");
    assert_eq!(dues(&speaks), [0, 170, 340, 510, 680, 850, 1020, 1190]);
    assert!(speaks.iter().all(|row| row.response_ns() == 100 * MS));
    // One for each: they do not share.
    assert_eq!(ran.rows("connect").len(), 2);
    // A whole body is a message of its own.
    assert_eq!(ran.total(|counts| counts.unmatched), 7);
}

#[test]
fn a_slow_response_delays_only_the_next_request() {
    let mut peer = HttpPeer::new(|now_ns| if now_ns == 0 { 700 * MS } else { 0 }, |_| ok("{}"));
    let ran = run(&scenario("every: 300ms", "    - think: 10s", "1s"), &mut peer);
    assert_eq!(dues(&ran.rows("poll")), [0, 700, 1000, 1300, 1600, 1900]);
}

/// What fails is counted with its kind; the next request comes after the pause, over a new
/// connection after the old one broke.
#[test]
fn failed_polls_are_counted_and_repeated() {
    let mut answers = vec![
        (response("500 Oops", "", "no"), Some(Outcome::Status)),
        (ok(r#"{"last":1}"#), Some(Outcome::Save)),
        (ok(r#"{"messages":{}}"#), Some(Outcome::Save)),
        (ok(r#"{"messages":[]}"#), Some(Outcome::Save)),
        // On a connection that served before: the request is sent again.
        (vec![PeerAction::Close], None),
        (vec![PeerAction::Close], Some(Outcome::Closed)),
        (vec![PeerAction::Reset], Some(Outcome::Reset)),
        (vec![PeerAction::Send(b"SSH-2.0\r\n".to_vec())], Some(Outcome::HttpProtocol)),
        (vec![], Some(Outcome::Timeout)),
        (ok(r#"{"last":1,"messages":[{"n":1}]}"#), Some(Outcome::Ok)),
    ];
    let expected: Vec<_> = answers.iter().filter_map(|(_, outcome)| *outcome).collect();
    answers.reverse();
    let mut peer =
        HttpPeer::new(|_| 0, move |_| answers.pop().map_or(Vec::new(), |(actions, _)| actions));
    let poll = format!("{EACH}\n      pause: 250ms");
    let steps = "    - expect: { when: { /n: 1 }, within: 9s, as: first }\n    - close:";
    let ran = run(&scenario(&poll, steps, "9s"), &mut peer);
    let found = ran.outcomes("poll");
    assert_eq!(found, expected);
    let expected: Vec<_> = (0..8).map(|n| n * 250).chain([4000]).collect();
    assert_eq!(dues(&ran.rows("poll")), expected);
    assert_eq!(ran.outcomes("first"), [Outcome::Ok]);
    assert_eq!(ran.rows("connect").len(), 6);
    assert!(ran.details().len() >= 7, "{:?}", ran.details());
}

#[test]
fn a_closed_population_retries_a_target_that_refuses() {
    let mut refused = 0;
    let link = Link {
        rule: Box::new(|_, packet| {
            if packet == Packet::Connect && refused < 2 {
                refused += 1;
                return Verdict::Refuse;
            }
            Verdict::Pass
        }),
        ..Link::new(0)
    };
    let mut peer = HttpPeer::new(|_| 0, |_| ok("{}"));
    let text = scenario("every: 10s", "    - think: 10s", "4s");
    let ran = run_over(&text, &mut peer, link);
    let refused = Outcome::Refused;
    assert_eq!(ran.outcomes("connect"), [refused, refused, Outcome::Ok]);
    assert_eq!(ran.outcomes("poll"), [refused, refused, Outcome::Ok]);
    assert_eq!(dues(&ran.rows("poll")), [0, 1000, 2000]);
}

/// A server may close after each response, or between two.
#[test]
fn a_connection_that_closed_cleanly_is_no_error() {
    let close = response("200 OK", "connection: close\r\n", "{}");
    let mut later = ok("{}");
    later.push(PeerAction::Close);
    for answer in [close, later] {
        let mut peer = HttpPeer::new(|_| 0, |_| answer.clone());
        let ran = run(&scenario("every: 400ms", "    - think: 1s", "1s"), &mut peer);
        assert_eq!(ran.outcomes("poll"), [Outcome::Ok; 3], "{answer:?}");
        assert_eq!(ran.rows("connect").len(), 3, "{answer:?}");
        assert_eq!(ran.total(|counts| counts.errors), 0, "{answer:?}");
        let last = ran.run.deltas.last().expect("an interval");
        assert_eq!((last.gauges.in_flight, last.gauges.connections), (0, 0));
    }
}

/// Bytes after a response are not taken for the next one.
#[test]
fn bytes_after_a_response_close_the_connection() {
    let both = [ok(r#"{"n":1}"#), ok(r#"{"n":2}"#)];
    let both = both.concat().into_iter().map(|action| match action {
        PeerAction::Send(bytes) => bytes,
        other => panic!("a response is sent, not {other:?}"),
    });
    let both = PeerAction::Send(both.collect::<Vec<_>>().concat());
    let mut peer = HttpPeer::new(|_| 0, |_| vec![both.clone()]);
    let steps = "    - expect: { when: { /n: 2 }, within: 1s, as: second }";
    let ran = run(&scenario("every: 400ms", steps, "1s"), &mut peer);
    assert_eq!(ran.outcomes("poll"), [Outcome::Ok; 3]);
    assert_eq!(ran.outcomes("second"), [Outcome::Timeout]);
    assert_eq!(ran.rows("connect").len(), 3);
    assert_eq!(ran.total(|counts| counts.unsolicited), 3);
    let last = ran.run.deltas.last().expect("an interval");
    assert_eq!((last.gauges.in_flight, last.gauges.connections), (0, 0));
}

/// A response reads the same however it is split, and whatever marks its end.
#[test]
fn any_split_reads_the_same() {
    let body = r#"{"last":7,"messages":[{"n":1},{"said":0}]}"#;
    let length = body.len();
    let chunks = format!("5\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n", &body[..5], length - 5, &body[5..]);
    let heads = [
        (format!("content-length: {length}\r\n\r\n{body}"), None),
        (format!("transfer-encoding: chunked\r\n\r\n{chunks}"), None),
        (format!("\r\n{body}"), Some(PeerAction::Close)),
    ];
    for (rest, end) in heads {
        let wire = format!("HTTP/1.1 200 OK\r\n{rest}").into_bytes();
        for cut in 1..wire.len() {
            let (front, back) = wire.split_at(cut);
            let mut actions =
                vec![PeerAction::Send(front.to_vec()), PeerAction::Send(back.to_vec())];
            actions.extend(end.clone());
            let mut peer = HttpPeer::new(|_| 0, move |_| actions.clone());
            let steps = "    - expect: { when: { /n: 1 }, as: first }\n    - close:";
            let poll = format!("{EACH}\n      every: 5s");
            let ran = run(&scenario(&poll, steps, "1s"), &mut peer);
            assert_eq!(ran.outcomes("first"), [Outcome::Ok], "{cut} of {rest:?}");
            assert_eq!(ran.outcomes("poll"), [Outcome::Ok], "{cut} of {rest:?}");
        }
    }
}

#[test]
fn a_user_has_one_poll_at_a_time() {
    let steps = "
    - sse: /stream
      as: stream
";
    let mut peer = HttpPeer::new(|_| 0, |_| ok("{}"));
    let ran = run(&scenario("every: 5s", steps, "1s"), &mut peer);
    assert_eq!(ran.outcomes("stream"), [Outcome::Step]);
}

/// Users of a closed population restart with a poll of their own.
#[test]
fn sessions_restart() {
    let text = "
name: restarts
target: http://target.test/
sessions:
  main:
    - poll: /poll
      every: 400ms
      as: poll
    - think: 1s
arrivals: [ { users: 1, for: 2500ms } ]
options: { drain: 1s }
";
    let mut peer = HttpPeer::new(|_| 300 * MS, |_| ok("{}"));
    let ran = run(text, &mut peer);
    let rows: Vec<_> = ran.rows("poll").iter().map(|row| (row.due_ns / MS, row.outcome)).collect();
    let good = Outcome::Ok;
    let cut_off = Outcome::Unfinished;
    let expected = [
        (0, good),
        (400, good),
        (800, cut_off),
        (1000, good),
        (1400, good),
        (1800, cut_off),
        (2000, good),
        (2400, good),
        (2800, cut_off),
    ];
    assert_eq!(rows, expected);
    let last = ran.run.deltas.last().expect("an interval");
    assert_eq!((last.gauges.in_flight, last.gauges.connections), (0, 0));
    assert!(ran.run.ended_ns <= 3 * S);
}
