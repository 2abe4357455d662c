//! Connections that are tried again (`options.connect_retries`).

use engine::sim::{Link, Packet, Verdict};
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, ok};
use crate::support::{MS, Ran, S, run_over};

fn scenario(retries: &str, step: &str) -> String {
    format!(
        "
name: retries
target: http://target.test/
options: {{ connect_timeout: 3s, timeout: 5s, drain: 1s, {retries} }}
sessions:
  main:
    - {step}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 19s }}
"
    )
}

const TWICE: &str = "connect_retries: { times: 2, pause: 400ms }";
const GET: &str = "get: /\n      as: page";

/// A link that meets the first connects with these verdicts.
fn at_first(verdicts: &[Verdict]) -> Link<'_> {
    let mut left = verdicts.iter().copied();
    Link {
        rule: Box::new(move |_, packet| match packet {
            Packet::Connect => left.next().unwrap_or(Verdict::Pass),
            _ => Verdict::Pass,
        }),
        ..Link::new(0)
    }
}

fn get(retries: &str, verdicts: &[Verdict]) -> Ran {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    run_over(&scenario(retries, GET), &mut peer, at_first(verdicts))
}

#[test]
fn a_refused_connection_is_retried_after_the_pause() {
    let ran = get(TWICE, &[Verdict::Refuse; 2]);
    let connects = [Outcome::Refused, Outcome::Refused, Outcome::Ok];
    assert_eq!(ran.outcomes("connect"), connects);
    let begun: Vec<u64> = ran.rows("connect").iter().map(|row| row.sent_ns).collect();
    assert_eq!(begun, [0, 400 * MS, 800 * MS]);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    assert_eq!(
        ran.rows("page")[0].response_ns(),
        801 * MS,
        "from when the request was due, both pauses included"
    );
    assert_eq!(ran.total(|counts| counts.connects_retried), 2);
    assert_eq!(ran.total(|counts| counts.sends), 1);
    assert_eq!(ran.total(|counts| counts.users_connected), 1);
}

#[test]
fn after_the_last_attempt_the_operation_fails() {
    let ran = get(TWICE, &[Verdict::Refuse; 3]);
    assert_eq!(ran.outcomes("connect"), [Outcome::Refused; 3]);
    assert_eq!(ran.outcomes("page"), [Outcome::Refused]);
    assert_eq!(ran.rows("page")[0].response_ns(), 800 * MS);
    assert_eq!(ran.total(|counts| counts.connects_retried), 2);
}

#[test]
fn without_the_option_nothing_is_retried() {
    for retries in ["", "connect_retries: { times: 0 }"] {
        let ran = get(retries, &[Verdict::Refuse]);
        assert_eq!(ran.outcomes("connect"), [Outcome::Refused], "{retries}");
        assert_eq!(ran.total(|counts| counts.connects_retried), 0);
    }
}

#[test]
fn retries_end_at_the_operations_timeout() {
    // 3 s for the first; the second begins at 3.4 s and has what is left of 5 s; then there is no
    // time for a third.
    let ran = get(TWICE, &[Verdict::Drop; 3]);
    assert_eq!(ran.outcomes("connect"), [Outcome::ConnectTimeout; 2]);
    assert_eq!(ran.rows("page")[0].response_ns(), 5 * S);
    assert_eq!(ran.total(|counts| counts.connects_retried), 1);
}

#[test]
fn limits_of_the_generator_are_not_retried() {
    for limit in [Outcome::NoFiles, Outcome::NoPorts, Outcome::NoMemory] {
        let ran = get(TWICE, &[Verdict::Limit(limit)]);
        assert_eq!(ran.outcomes("connect"), [limit]);
        assert_eq!(ran.total(|counts| counts.users_refused), 1);
    }
}

#[test]
fn a_websocket_is_opened_after_a_retry() {
    let mut peer = WsPeer::new(|_, _| Vec::new());
    let text = scenario(TWICE, "ws: /stream");
    let ran = run_over(&text, &mut peer, at_first(&[Verdict::Refuse]));
    assert_eq!(ran.outcomes("connect"), [Outcome::Refused, Outcome::Ok]);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
    assert_eq!(ran.rows("handshake")[0].response_ns(), 400 * MS);
}

#[test]
fn an_operation_between_two_attempts_at_the_end_is_unfinished() {
    let text =
        scenario("connect_retries: { times: 9, pause: 4s }", GET).replace("hold: 19s", "hold: 1s");
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let ran = run_over(&text, &mut peer, at_first(&[Verdict::Refuse]));
    assert_eq!(ran.outcomes("page"), [Outcome::Unfinished]);
    assert_eq!(ran.run.ended_ns, 3 * S);
}
