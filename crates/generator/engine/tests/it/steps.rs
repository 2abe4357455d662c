//! Control: loops, branches, choices, transactions, values.

use engine::measure::SessionTimes;
use record::Outcome;
use record::schema::{SessionEnd, UnfinishedSessions, UserState};
use stats::hist::LogHistogram;

use crate::peers::{HttpPeer, ok, response};
use crate::support::{MS, Ran, S, run};

fn paths(steps: &str, arrivals: &str) -> Vec<String> {
    let text = format!(
        "
name: steps
target: http://target.test/
sessions:
  main:
{steps}
arrivals:
  - {arrivals}
  - {{ hold: 20s }}
"
    );
    let mut peer = HttpPeer::new(|_| MS, |_| ok(r#"{"n":3}"#));
    run(&text, &mut peer);
    let path = |request: &String| request.split(' ').nth(1).expect("a path").to_owned();
    peer.requests.iter().map(path).collect()
}

const ONE: &str = "{ constant: 1/s, for: 1s }";

#[test]
fn loops_count_and_nest() {
    let steps = "
    - set: { i: 0 }
    - loop: 2
      steps:
        - loop: 3
          steps:
            - set: { i: \"${i + 1}\" }
            - get: /${i}
";
    assert_eq!(paths(steps, ONE), ["/1", "/2", "/3", "/4", "/5", "/6"]);
}

#[test]
fn while_and_if_evaluate_values() {
    let steps = "
    - get: /start
      save: { n: /n }
    - while: n > 0
      steps:
        - if: n == 2
          then: [ { get: /two } ]
          else: [ { get: \"/n${n}\" } ]
        - set: { n: \"${n - 1}\" }
    - stop:
    - get: /never
";
    assert_eq!(paths(steps, ONE), ["/start", "/n3", "/two", "/n1"]);
}

#[test]
fn choices_keep_to_their_weights() {
    let steps = "
    - choose:
        - weight: 3
          steps: [ { get: /often } ]
        - weight: 1
          steps: [ { get: /seldom } ]
    - get: /after
";
    let paths = paths(steps, "{ constant: 1000/s, for: 4s }");
    let count = |path: &str| paths.iter().filter(|p| *p == path).count();
    assert_eq!(count("/after"), 4000);
    // Binomial(4000, ¾): five standard deviations are 137.
    assert!((2863..=3137).contains(&count("/often")), "{} of 4000", count("/often"));
    assert_eq!(count("/often") + count("/seldom"), 4000);
}

#[test]
fn a_transaction_spans_its_steps_and_thinks() {
    let text = "
name: transaction
target: http://target.test/
sessions:
  main:
    - transaction: checkout
      steps:
        - get: /a
        - think: 100ms
        - get: /b
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 1s }
";
    let ran = run(text, &mut HttpPeer::new(|_| 5 * MS, |_| ok("ok")));
    let rows = ran.rows("checkout");
    assert_eq!((rows.len(), rows[0].outcome), (1, Outcome::Ok));
    assert_eq!(rows[0].response_ns(), 110 * MS);
}

/// The user of `/status` continues; that of `/gone` has no value to save, and its session ends.
#[test]
fn a_transaction_fails_as_the_first_of_its_failed_steps() {
    let text = "
name: groups
target: http://target.test/
sessions:
  main:
    - group: outer
      steps:
        - group: before
          steps: [ { get: /a } ]
        - get: /status
        - group: inner
          steps: [ { check: user < 0 } ]
        - group: after
          steps: [ { get: /a } ]
    - loop: 2
      steps:
        - group: checks
          steps: [ { get: /a, check: user < 0 }, { get: /status } ]
    - group: ended
      steps:
        - group: last
          steps: [ { get: /status }, { get: /gone, save: { x: /x } } ]
        - get: /never
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 1s }
";
    let respond = |request: &str| match request.contains("/status") {
        true => response("503 Service Unavailable", "", ""),
        false => ok("ok"),
    };
    let ran = run(text, &mut HttpPeer::new(|_| 5 * MS, respond));
    for (group, outcomes) in [
        ("outer", vec![Outcome::Status]),
        ("outer/before", vec![Outcome::Ok]),
        ("outer/inner", vec![Outcome::Check]),
        ("outer/after", vec![Outcome::Ok]),
        ("checks", vec![Outcome::Check, Outcome::Check]),
        ("ended/last", vec![Outcome::Status]),
        ("ended", vec![Outcome::Status]),
    ] {
        assert_eq!(ran.outcomes(group), outcomes, "{group}");
    }
    let times = ran.rows("outer").iter().map(record::Measurement::response_ns).collect::<Vec<_>>();
    assert_eq!(times, [15 * MS]);
    ran.check_sums();
}

#[test]
fn what_is_interrupted_has_not_failed() {
    let text = "
name: groups
target: http://target.test/
options: { drain: 0s }
sessions:
  main:
    - group: long
      steps: [ { get: /status }, { think: 1h } ]
arrivals:
  - { constant: 1/s, for: 1s }
";
    let respond = |_: &str| response("503 Service Unavailable", "", "");
    let ran = run(text, &mut HttpPeer::new(|_| 5 * MS, respond));
    assert_eq!(ran.outcomes("long"), [Outcome::Unfinished]);
}

/// Wherever the pause stands: it is the same for users whose session goes on behind an `else` and behind a `then`.
#[test]
fn a_pause_before_an_endless_loop_is_not_in_it() {
    let ran = |condition: &str, drain: &str| {
        let text = format!(
            "
name: endless
target: http://target.test/
options: {{ drain: {drain} }}
sessions:
  main:
    - if: {condition}
      then: [ {{ think: 5s }} ]
      else: [ {{ think: 5s }} ]
    - forever: [ {{ get: / }}, {{ think: 1s }} ]
arrivals:
  - {{ constant: 1/s, for: 1s }}
"
        );
        run(&text, &mut HttpPeer::new(|_| MS, |_| ok("ok")))
    };
    for condition in ["true", "false"] {
        let cut = ran(condition, "3s");
        assert_eq!(cut.total(|counts| counts.users_cut), 1, "{condition}");
        let finished = ran(condition, "10s");
        assert_eq!(finished.total(|counts| counts.users_finished), 1, "{condition}");
        assert_eq!(finished.run.ended_ns, 5 * S, "{condition}");
    }
}

#[test]
fn checks_are_counted_both_ways() {
    let text = "
name: checks
target: http://target.test/
sessions:
  main:
    - check: user < 3
      as: small
arrivals:
  - { constant: 10/s, for: 1s }
";
    let ran = run(text, &mut HttpPeer::new(|_| 5 * MS, |_| ok("ok")));
    assert_eq!(ran.counted("small", Outcome::Ok), 3);
    assert_eq!(ran.counted("small", Outcome::Check), 7);
}

#[test]
fn times_of_responses_can_be_measured() {
    let text = "
name: values
target: http://target.test/
sessions:
  main:
    - get: /
      save: { worked: /work_ms, took: time }
    - measure: worked
      as: work
    - measure: (took - worked) / 1000
      unit: s
      as: remainder
    - measure: worked - took
arrivals:
  - { constant: 10/s, for: 1s }
";
    let ran = run(text, &mut HttpPeer::new(|_| 5 * MS, |_| ok(r#"{"work_ms": 2.5}"#)));
    let request = ran.rows("GET /")[0].response_ns();
    for (measure, expected_ns) in [("work", 5 * MS / 2), ("remainder", request - 5 * MS / 2)] {
        let times = ran.times(measure);
        assert_eq!(times.count(), 10, "{measure}");
        let error = times.quantile(0.5).abs_diff(expected_ns) as f64 / expected_ns as f64;
        assert!(error < 0.01, "{measure}: {times:?}");
        assert_eq!(ran.counted(measure, Outcome::Ok), 10);
    }
    assert_eq!(ran.times("worked - took").count(), 0);
    assert_eq!(ran.counted("worked - took", Outcome::Step), 10);
    assert!(ran.details()[0].contains("is below 0"), "{:?}", ran.details());
    assert_eq!(ran.total(|counts| counts.users_finished), 10);
}

#[test]
fn a_measured_text_ends_the_session() {
    let text = "
name: text
target: http://target.test/
sessions:
  main:
    - get: /
      save: { worked: /work_ms }
    - measure: worked
    - get: /never
      as: never
arrivals:
  - { constant: 1/s, for: 1s }
";
    let ran = run(text, &mut HttpPeer::new(|_| 5 * MS, |_| ok(r#"{"work_ms": "soon"}"#)));
    assert_eq!(ran.outcomes("never"), []);
    assert_eq!(ran.counted("worked", Outcome::Step), 1);
}

/// Ids of 64 bits without a sign and beyond, and prices: saved by pointer, JSONPath and `foreach`, and sent back.
#[test]
fn numbers_are_sent_as_they_were_received() {
    let text = "
name: numbers
target: http://target.test/
sessions:
  main:
    - get: /
      save: { u: /u, p: /p, all: \"$.ids[*]\", first: \"$.ids[0]\" }
      check: u == 12345678901234567890
    - check: u == 12345678901234567891
      as: other
    - check: u + 1 == 12345678901234567891 and first == 123456789012345678901
      as: same
    - get: /${u}/${p}
    - foreach: all
      as: id
      steps:
        - get: /${id}
    - post: /
      json: { u: \"${u}\", first: \"${first}\", next: \"${u + 1}\" }
arrivals:
  - { constant: 1/s, for: 1s }
";
    let body = r#"{"u": 12345678901234567890, "p": 1.50, "ids": [123456789012345678901, 1e2]}"#;
    let mut peer = HttpPeer::new(|_| MS, move |_| ok(body));
    let ran = run(text, &mut peer);
    assert_eq!(ran.counted("other", Outcome::Check), 1);
    assert_eq!(ran.counted("same", Outcome::Check), 0);
    let path = |request: &String| request.split(' ').nth(1).expect("a path").to_owned();
    let paths: Vec<String> = peer.requests.iter().map(path).collect();
    let expected = ["/", "/12345678901234567890/1.50", "/123456789012345678901", "/100.0", "/"];
    assert_eq!(paths, expected);
    let sent = peer.requests.last().expect("a request");
    let expected =
        r#"{"u":12345678901234567890,"first":123456789012345678901,"next":12345678901234567891}"#;
    assert!(sent.ends_with(expected), "{sent}");
}

#[test]
fn an_evaluation_error_ends_the_session_with_its_reason() {
    let text = "
name: fault
target: http://target.test/
sessions:
  main:
    - get: /
      save: { n: /n }
    - set: { m: \"${1 / n}\" }
    - get: /never
      as: never
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 1s }
";
    let ran = run(text, &mut HttpPeer::new(|_| MS, |_| ok(r#"{"n":0}"#)));
    assert_eq!(ran.outcomes("never"), []);
    assert_eq!(ran.counted("steps", Outcome::Step), 1);
    assert_eq!(ran.counted("connect", Outcome::Step), 0);
    let expected = "session \"main\", line 8: division by zero";
    assert!(ran.details()[0].contains(expected), "{:?}", ran.details());
}

/// It would find the same again at once, and stop every other user of its loop.
#[test]
fn a_closed_user_pauses_after_an_impossible_step() {
    for (steps, measure) in [
        ("- { set: { m: \"${1 / (user - user)}\" } }", "steps"),
        ("- { check: 1 / (user - user) > 0, as: sound }", "sound"),
        (
            "- { if: user > 9, then: [ { ws: /stream } ] }
    - expect: { when: { body: x }, as: heard }",
            "heard",
        ),
    ] {
        let text = format!(
            "
name: spin
target: http://target.test/
sessions:
  main:
    - get: /
    {steps}
    - think: 1s
arrivals: [ {{ users: 1, for: 950ms }} ]
"
        );
        let ran = run(&text, &mut HttpPeer::new(|_| 0, |_| ok("ok")));
        // Due at 0, 100, … 900 ms.
        assert_eq!(ran.counted(measure, Outcome::Step), 10, "{steps}");
        // The last one would restart after the end.
        assert_eq!(ran.total(|counts| counts.users_repeated), 9, "{steps}");
        assert_eq!(ran.rows("GET /").len(), 10, "{steps}");
    }
}

#[test]
fn a_restart_ends_the_transactions_that_it_leaves() {
    let text = "
name: transaction
target: http://target.test/
sessions:
  main:
    - transaction: checkout
      steps: [ { get: /a }, { restart: 2 }, { get: /b } ]
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 1s }
";
    let ran = run(text, &mut HttpPeer::new(|_| 5 * MS, |_| ok("ok")));
    assert_eq!(ran.outcomes("checkout"), [Outcome::Unfinished; 3]);
}

/// Two users: the first one's session fails after a second, the other's ends after two.
fn failing(thresholds: &str) -> Ran {
    let text = format!(
        "
name: own
target: http://target.test/
sessions:
  main:
    - get: /
    - think: 1s
    - if: user == 0
      then: [ {{ set: {{ x: \"${{1 / (user - user)}}\" }} }} ]
    - think: 1s
    - get: /pay
      as: pay
arrivals:
  - {{ constant: 1/s, for: 2s }}
  - {{ hold: 20s }}
thresholds: [ {thresholds} ]
"
    );
    run(&text, &mut HttpPeer::new(|_| MS, |_| ok("ok")))
}

#[test]
fn a_session_that_fails_of_itself_says_at_which_step_and_why() {
    let ran = failing("");
    let endings: Vec<_> = ran.run.deltas.iter().flat_map(|delta| &delta.endings).collect();
    let pay = ran.plan.measures.iter().position(|measure| measure.name == "pay");
    let expected = UnfinishedSessions {
        session: 0,
        step: pay.map(|pay| pay as u16),
        state: UserState::Working,
        end: SessionEnd::Failed,
        outcome: Some("step".to_owned()),
        own_step: Some("`set` of `x`".to_owned()),
        users: 1,
    };
    assert_eq!(endings, [&expected]);
}

#[test]
fn sessions_are_timed_for_those_that_need_it() {
    let times = |thresholds: &str| {
        let ran = failing(thresholds);
        let mut times = SessionTimes::default();
        ran.run.deltas.iter().for_each(|delta| times.merge(&delta.sessions));
        times
    };
    assert_eq!(times("failed(sessions) < 9"), SessionTimes::default());
    let times = times("p95(sessions) < 9s");
    let one = |times: &LogHistogram| (times.count(), times.max() / S, times.max() % S / (10 * MS));
    assert_eq!(one(&times.finished), (1, 2, 0));
    assert_eq!(one(&times.unfinished), (1, 1, 0));
}

/// What ends a session and is a failure of no request is a failure all the same.
#[test]
fn an_attempt_that_does_not_reach_what_it_was_to_is_counted() {
    let session = |steps: &str| {
        let text = format!(
            "
name: own
target: http://target.test/
sessions:
  main:
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 20s }}
"
        );
        run(&text, &mut HttpPeer::new(|_| MS, |_| ok("ok")))
    };
    let ran = session(
        "    - retry: 2
      pause: 10ms
      until: user == 7
      steps: [ { get: / } ]",
    );
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
    assert_eq!(ran.counted("steps", Outcome::Check), 1);
    let ran = session(
        "    - retry: 2
      pause: 10ms
      steps: [ { get: / }, { check: user == 7, as: seventh } ]",
    );
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
    assert_eq!(ran.counted("seventh", Outcome::Check), 2);
    assert_eq!(ran.counted("steps", Outcome::Check), 1);
}
