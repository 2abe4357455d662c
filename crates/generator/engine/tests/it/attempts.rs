//! Steps that are tried again (`retry`).

use engine::measure::MeasureDelta;
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, ok, response, text};
use crate::support::{MS, Ran, plan, run};

/// One user, over 20 s.
fn scenario(steps: &str) -> String {
    format!(
        "
name: attempts
target: http://target.test/
options: {{ timeout: 1s }}
sessions:
  main:
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 19s }}
"
    )
}

/// Runs the steps against a server whose first answers have these statuses; all others have 200.
fn after(statuses: &[u16], steps: &str) -> Ran {
    let mut statuses = statuses.iter();
    let respond = |_: &str| match statuses.next() {
        None | Some(200) => ok("{\"n\":3}"),
        Some(status) => response(&format!("{status} No"), "", ""),
    };
    run(&scenario(steps), &mut HttpPeer::new(|_| MS, respond))
}

fn retried(ran: &Ran, measure: &str) -> u64 {
    ran.deltas(measure).map(|delta: &MeasureDelta| delta.retried).sum()
}

const GET: &str = "
    - retry: 4
      pause: 100ms
      jitter: none
      steps:
        - get: /
          as: page
        - get: /after
";

#[test]
fn every_attempt_is_recorded_and_pauses_grow() {
    let ran = after(&[503, 500], GET);
    let outcomes = [Outcome::Status, Outcome::Status, Outcome::Ok];
    assert_eq!(ran.outcomes("page"), outcomes);
    let due: Vec<u64> = ran.rows("page").iter().map(|row| row.due_ns).collect();
    assert_eq!(due, [0, 101 * MS, 302 * MS]);
    assert_eq!(ran.outcomes("GET /after"), [Outcome::Ok]);
    // All attempts as one, with their pauses.
    let rows = ran.rows("retry");
    assert_eq!((rows.len(), rows[0].outcome), (1, Outcome::Ok));
    assert_eq!(rows[0].response_ns(), 304 * MS);
    assert_eq!((retried(&ran, "page"), retried(&ran, "retry")), (2, 2));
    assert_eq!(retried(&ran, "GET /after"), 0);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

#[test]
fn the_session_fails_with_the_last_attempt() {
    let ran = after(&[503, 503, 503, 500], GET);
    assert_eq!(ran.outcomes("page"), [Outcome::Status; 4]);
    assert_eq!(ran.outcomes("retry"), [Outcome::Status]);
    assert_eq!(ran.outcomes("GET /after"), []);
    assert_eq!(retried(&ran, "retry"), 3);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}

#[test]
fn after_the_last_attempt_else_continues() {
    let steps = format!("{GET}      else: [ {{ get: /otherwise }} ]\n    - get: /end\n");
    let ran = after(&[503; 4], &steps);
    assert_eq!(ran.outcomes("retry"), [Outcome::Status]);
    assert_eq!(ran.outcomes("GET /otherwise"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("GET /end"), [Outcome::Ok]);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
    let ran = after(&[], &steps);
    assert_eq!(ran.outcomes("GET /otherwise"), []);
    assert_eq!(ran.outcomes("GET /end"), [Outcome::Ok]);
}

/// A value that is missing would end the session, and a check would not.
#[test]
fn any_failed_step_ends_its_attempt() {
    for (step, kind) in [
        ("{ get: /x, save: { x: /gone } }", Outcome::Save),
        ("{ get: /x, check: user < 0 }", Outcome::Check),
    ] {
        let steps = format!(
            "
    - retry: 2
      pause: 1s
      jitter: none
      steps: [ {step}, {{ get: /never }} ]
"
        );
        let ran = after(&[], &steps);
        assert_eq!(ran.outcomes("GET /x"), [kind; 2]);
        assert_eq!(ran.outcomes("GET /never"), []);
        assert_eq!(ran.outcomes("retry"), [kind]);
        assert_eq!(ran.total(|counts| counts.users_failed), 1);
    }
    let steps = "
    - set: { n: 0 }
    - retry: 3
      pause: 0s
      steps: [ { set: { n: \"${n + 1}\" } }, { check: n > 2, as: enough } ]
";
    let ran = after(&[], steps);
    assert_eq!(ran.counted("enough", Outcome::Check), 2);
    assert_eq!(ran.counted("enough", Outcome::Ok), 1);
    assert_eq!(retried(&ran, "enough"), 2);
    assert_eq!(ran.outcomes("retry"), [Outcome::Ok]);
}

#[test]
fn until_is_evaluated_after_the_last_step() {
    let steps = |attempts: u32| {
        format!(
            "
    - set: {{ n: 0 }}
    - retry: {attempts}
      pause: 10ms
      factor: 1
      jitter: none
      until: n == 3
      as: ready
      steps: [ {{ get: / }}, {{ set: {{ n: \"${{n + 1}}\" }} }} ]
    - get: /end
"
        )
    };
    let ran = after(&[], &steps(5));
    assert_eq!(ran.outcomes("GET /"), [Outcome::Ok; 3]);
    assert_eq!(ran.outcomes("ready"), [Outcome::Ok]);
    assert_eq!((retried(&ran, "ready"), retried(&ran, "GET /")), (2, 0));
    assert_eq!(ran.outcomes("GET /end"), [Outcome::Ok]);
    assert!(ran.details().is_empty());
    let ran = after(&[], &steps(2));
    assert_eq!(ran.outcomes("ready"), [Outcome::Check]);
    assert_eq!(ran.outcomes("GET /end"), []);
    assert_eq!(ran.details(), ["`n == 3` is false: n = 2"]);
}

#[test]
fn failures_and_when_say_what_is_tried_again() {
    let steps = |keys: &str| {
        format!(
            "
    - retry: 3
      pause: 0s
      {keys}
      steps: [ {{ get: /, as: page, save: {{ n: status }} }} ]
"
        )
    };
    let tried = |keys: &str, statuses: &[u16]| after(statuses, &steps(keys)).outcomes("page").len();
    assert_eq!(tried("failures: [502..503, timeout]", &[503, 404]), 2);
    assert_eq!(tried("failures: 5xx", &[404]), 1);
    assert_eq!(tried("failures: status", &[404, 503, 404]), 3);
    assert_eq!(tried("when: n == 503", &[503, 404]), 2);
    assert_eq!(tried("when: n == 503", &[404]), 1);
}

/// The group around succeeds if an attempt does; groups within end with their attempt.
#[test]
fn transactions_around_fail_with_the_last_attempt_only() {
    let steps = "
    - group: outer
      steps:
        - retry: 2
          pause: 0s
          steps: [ { group: inner, steps: [ { get: / } ] } ]
";
    let ran = after(&[503], steps);
    assert_eq!(ran.outcomes("outer"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("outer/inner"), [Outcome::Status, Outcome::Ok]);
    let ran = after(&[503, 503], steps);
    assert_eq!(ran.outcomes("outer"), [Outcome::Status]);
    assert_eq!(ran.outcomes("outer/inner"), [Outcome::Status; 2]);
}

#[test]
fn blocks_nest() {
    let steps = "
    - retry: 2
      pause: 0s
      as: outer
      steps:
        - retry: 2
          pause: 0s
          as: inner
          steps: [ { get: /, as: page } ]
";
    let ran = after(&[503, 503, 503], steps);
    assert_eq!(ran.outcomes("page").len(), 4);
    assert_eq!(ran.outcomes("inner"), [Outcome::Status, Outcome::Ok]);
    assert_eq!(ran.outcomes("outer"), [Outcome::Ok]);
    assert_eq!((retried(&ran, "inner"), retried(&ran, "outer")), (2, 1));
    let ran = after(&[503; 4], steps);
    assert_eq!(ran.outcomes("outer"), [Outcome::Status]);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}

/// A stream that an attempt opened is closed before the next one, which opens its own.
#[test]
fn each_attempt_opens_its_own_stream() {
    let mut answers = 0;
    let mut peer = WsPeer::new(|_, _| {
        answers += 1;
        match answers {
            1 => Vec::new(),
            _ => vec![text("{\"ok\":true}")],
        }
    });
    let steps = "
    - retry: 3
      pause: 10ms
      steps:
        - ws: /
        - send: hello
          reply: { save: { done: /ok }, within: 500ms }
    - close:
";
    let ran = run(&scenario(steps), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok; 2]);
    assert_eq!(ran.outcomes("retry"), [Outcome::Ok]);
}

/// A pause is drawn from the seed and the user's number, and changes no other draw.
#[test]
fn pauses_follow_from_the_seed() {
    let steps = "
    - retry: 5
      pause: 100ms
      steps: [ { get: /, as: page } ]
    - think: 1s..9s
    - get: /end
";
    let due = |statuses: &[u16], measure: &str| -> Vec<u64> {
        let rows = after(statuses, steps).rows(measure);
        rows.iter().map(|row| row.due_ns).collect()
    };
    let first = due(&[503; 4], "page");
    let second = due(&[503; 4], "page");
    assert_eq!(first, second);
    let pauses: Vec<u64> = first.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(pauses.iter().zip([101, 201, 401, 801]).all(|(&p, most)| p < most * MS));
    let think = |statuses: &[u16]| {
        let ran = after(statuses, steps);
        ran.rows("GET /end")[0].due_ns - ran.rows("retry")[0].done_ns
    };
    assert_eq!(think(&[]), think(&[503, 503]));
}

/// Every way to fail has a word, the generator's own limits aside.
#[test]
fn every_failure_can_be_named() {
    for outcome in Outcome::ALL {
        if !outcome.is_error() || outcome.is_generator_limit() {
            continue;
        }
        let steps =
            format!("    - {{ retry: 2, failures: {}, steps: [ {{ get: / }} ] }}", outcome.name());
        plan(&scenario(&steps));
    }
}

#[test]
fn a_user_whose_pause_reaches_beyond_the_end_is_cut_off() {
    let steps = "
    - retry: 3
      pause: 10m
      pause_max: 10m
      jitter: none
      steps: [ { get: /, as: page } ]
";
    let ran = after(&[503; 9], steps);
    assert_eq!(ran.outcomes("page"), [Outcome::Status]);
    assert_eq!(ran.outcomes("retry"), [Outcome::Unfinished]);
    assert_eq!(ran.total(|counts| counts.users_cut), 1);
}
