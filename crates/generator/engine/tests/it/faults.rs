//! What the network and the generator's own limits do to a run.

use engine::sim::{Link, Packet, PeerAction, Verdict};
use record::Outcome;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, S, run, run_over};

const TEXT: &str = "
name: faults
target: http://target.test/
options: { connect_timeout: 3s, timeout: 2s, drain: 1s, response_max: 1KiB }
sessions:
  main:
    - get: /
      as: first
    - get: /
      as: second
arrivals:
  - { constant: 10/s, for: 1s }
  - { hold: 9s }
";

fn link(rule: impl FnMut(u64, Packet) -> Verdict + 'static) -> Link<'static> {
    Link { rule: Box::new(rule), ..Link::new(0) }
}

#[test]
fn refused_connections_end_the_session() {
    let refuse = link(|_, packet| match packet {
        Packet::Connect => Verdict::Refuse,
        _ => Verdict::Pass,
    });
    let ran = run_over(TEXT, &mut HttpPeer::new(|_| MS, |_| ok("ok")), refuse);
    assert_eq!(ran.outcomes("connect"), [Outcome::Refused; 10]);
    assert_eq!(ran.outcomes("first"), [Outcome::Refused; 10]);
    assert_eq!(ran.outcomes("second"), []);
    assert_eq!(ran.total(|counts| counts.users_connected), 0);
    assert_eq!(ran.total(|counts| counts.users_started), 10);
}

#[test]
fn a_lost_connect_times_out_on_the_nanosecond() {
    // The lesser of the connection's time and the operation's.
    for (connect_s, end_s) in [(1, 1), (3, 2)] {
        let text = TEXT.replace("connect_timeout: 3s", &format!("connect_timeout: {connect_s}s"));
        let ran = run_over(&text, &mut HttpPeer::new(|_| MS, |_| ok("ok")), deaf());
        assert_eq!(ran.rows("first").len(), 10);
        for row in ran.rows("first") {
            assert_eq!((row.outcome, row.response_ns()), (Outcome::ConnectTimeout, end_s * S));
        }
    }
}

/// No connection comes about.
fn deaf() -> Link<'static> {
    link(|_, packet| match packet {
        Packet::Connect => Verdict::Drop,
        _ => Verdict::Pass,
    })
}

#[test]
fn connecting_counts_towards_the_timeout_of_its_operation() {
    let steps = [
        "get: /",
        "ws: /",
        "sse: /",
        "tcp: target.test:81\n      framing: none",
        "poll: /\n      every: 1h",
    ];
    for step in steps {
        let text = format!(
            "
name: within
target: http://target.test/
sessions:
  main:
    - {step}
      as: step
      timeout: 700ms
    - think: 5s
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 1s }} ]
"
        );
        let ran = run_over(&text, &mut HttpPeer::new(|_| MS, |_| ok("ok")), deaf());
        let row = ran.rows("step")[0];
        assert_eq!((row.outcome, row.response_ns()), (Outcome::ConnectTimeout, 700 * MS), "{step}");
    }
}

#[test]
fn a_missing_response_closes_the_connection_but_not_the_session() {
    let mut requests = 0;
    let respond = move |_: &str| {
        requests += 1;
        if requests <= 10 { Vec::new() } else { ok("ok") }
    };
    let ran = run(TEXT, &mut HttpPeer::new(|_| MS, respond));
    for row in ran.rows("first") {
        assert_eq!((row.outcome, row.response_ns()), (Outcome::Timeout, 2 * S));
    }
    assert_eq!(ran.outcomes("second"), [Outcome::Ok; 10]);
    assert_eq!(ran.rows("connect").len(), 20);
}

#[test]
fn broken_responses_are_counted_by_kind() {
    let send = |text: &str| PeerAction::Send(text.as_bytes().to_vec());
    let cases = [
        (vec![PeerAction::Reset], Outcome::Reset, "reset by the link"),
        (vec![PeerAction::Close], Outcome::Closed, "instead of answering"),
        (
            vec![send("HTTP/1.1 200 OK\r\ncontent-"), PeerAction::Close],
            Outcome::Closed,
            "within a response head",
        ),
        (
            vec![send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe"), PeerAction::Close],
            Outcome::Closed,
            "within a response body",
        ),
        (vec![send("SSH-2.0-OpenSSH_9.2\r\n\r\n")], Outcome::HttpProtocol, "HTTP/1"),
        (
            vec![send("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n")],
            Outcome::TooLarge,
            "over 1024 bytes",
        ),
    ];
    for (answer, outcome, detail) in cases {
        let ran = run(TEXT, &mut HttpPeer::new(|_| MS, move |_| answer.clone()));
        assert_eq!(ran.outcomes("first"), [outcome; 10], "{:?}", ran.details());
        assert_eq!(ran.outcomes("second"), [outcome; 10]);
        assert!(ran.details()[0].contains(detail), "{:?}", ran.details());
    }
}

#[test]
fn users_beyond_the_generators_limits_count_as_refused() {
    let mut opened = 0;
    let limited = link(move |_, packet| match packet {
        Packet::Connect => {
            opened += 1;
            if opened > 6 { Verdict::Limit(Outcome::NoFiles) } else { Verdict::Pass }
        }
        _ => Verdict::Pass,
    });
    let ran = run_over(TEXT, &mut HttpPeer::new(|_| MS, |_| ok("ok")), limited);
    assert_eq!(ran.total(|counts| counts.users_refused), 4);
    assert_eq!(ran.total(|counts| counts.users_started), 6);
    assert_eq!(ran.total(|counts| counts.users_connected), 6);
    assert_eq!(ran.total(|counts| counts.users_finished), 6);
    let limits = ran.outcomes("first").iter().filter(|o| **o == Outcome::NoFiles).count();
    assert_eq!(limits, 4);
}

#[test]
fn operations_in_flight_at_the_end_have_the_drain_to_finish() {
    let text = TEXT.replace("hold: 9s", "hold: 1s");
    let ran = run(&text, &mut HttpPeer::new(|_| 1_950 * MS, |_| ok("ok")));
    // The first answers come at 1.95 s, the last of them after the end at 2 s, in the drain.
    assert_eq!(ran.outcomes("first"), [Outcome::Ok; 10]);
    // The sessions go on in the drain; what the last of them sent is cut off.
    assert_eq!(ran.outcomes("second"), [Outcome::Unfinished; 10]);
    assert_eq!(ran.total(|counts| counts.users_cut), 10);
    assert_eq!(ran.total(|counts| counts.errors), 0);
    assert_eq!(ran.run.ended_ns, 3 * S);
}

#[test]
fn a_late_packet_only_delays_its_own_connection() {
    let mut sent = 0;
    let late = link(move |_, packet| match packet {
        Packet::ToUser => {
            sent += 1;
            if sent == 1 { Verdict::Delay(500 * MS) } else { Verdict::Pass }
        }
        _ => Verdict::Pass,
    });
    let ran = run_over(TEXT, &mut HttpPeer::new(|_| MS, |_| ok("ok")), late);
    let responses: Vec<u64> =
        ran.rows("first").iter().map(record::Measurement::response_ns).collect();
    assert_eq!(responses[0], 501 * MS);
    assert!(responses[1..].iter().all(|&ns| ns == MS), "{responses:?}");
}

#[test]
fn a_target_that_refuses_is_not_hammered_by_a_closed_population() {
    let text = "
name: hammer
target: http://target.test/
sessions:
  main: [ { get: /, as: request } ]
arrivals:
  - { users: 5, for: 1s }
";
    let refuse = link(|_, _| Verdict::Refuse);
    let ran = run_over(text, &mut HttpPeer::new(|_| MS, |_| ok("ok")), refuse);
    assert_eq!(ran.rows("request").len(), 50, "each of five users tries ten times a second");
}
