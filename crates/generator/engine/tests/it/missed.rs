//! Steps that were due and never began.

use record::Outcome;
use record::schema::WhyNot;

use engine::sim::Link;

use crate::peers::{HttpPeer, ok};
use crate::support::{Ran, S, run, run_over};

/// A server that answers nothing from the third second on.
fn stalls(text: &str) -> Ran {
    let delay = |now_ns| if now_ns < 3 * S { 0 } else { 1_000 * S };
    run(text, &mut HttpPeer::new(delay, |_: &str| ok("ok")))
}

fn scenario(steps: &str, arrivals: &str) -> String {
    format!(
        "name: missed\ntarget: http://target.test/\noptions: {{ timeout: 60s, drain: 1s }}\n\
         sessions:\n  s:\n{steps}arrivals: [ {arrivals} ]\n"
    )
}

const FOREVER: &str = "    - forever:\n        - pace: 100ms\n        - get: /\n";

/// Each of ten users sends 30 requests in 3 s and one that is never answered; 69 more are due within the 10 s.
#[test]
fn paced_steps_due_in_a_stall_at_the_end_are_counted() {
    for arrivals in ["{ users: 10, for: 10s }", "{ constant: 10/s, for: 1s }, { hold: 9s }"] {
        let ran = stalls(&scenario(FOREVER, arrivals));
        let begun = ran.rows("GET /").len() as u64;
        let missed = ran.never_begun("GET /", WhyNot::Busy);
        let unanswered =
            ran.outcomes("GET /").iter().filter(|&&o| o == Outcome::Unfinished).count();
        assert_eq!(unanswered, 10);
        // Users that start one after the other have 0, 1, … 9 requests less.
        let due = if arrivals.contains("users") { 1_000 } else { 1_000 - 45 };
        assert_eq!((begun + missed, missed), (due, 690), "{arrivals}");
    }
}

/// A session that restarts whenever it ends keeps to its pace as a loop does.
#[test]
fn a_pace_from_session_to_session_is_counted_too() {
    let steps = "    - pace: 1s\n    - get: /\n";
    let ran = stalls(&scenario(steps, "{ users: 2, for: 10s }, { hold: 5s }"));
    assert_eq!(ran.rows("GET /").len(), 2 * 4);
    assert_eq!(ran.never_begun("GET /", WhyNot::Busy), 2 * 6);
}

#[test]
fn a_loop_has_no_more_steps_due_than_rounds() {
    let steps = "    - loop: 33\n      steps:\n        - pace: 100ms\n        - get: /\n";
    let ran = stalls(&scenario(steps, "{ constant: 1/s, for: 1s }, { hold: 9s }"));
    assert_eq!(ran.rows("GET /").len(), 31);
    assert_eq!(ran.never_begun("GET /", WhyNot::Busy), 2);
}

/// The answer lacks what the next steps need: 2.5 s after the first step was due the session has failed.
#[test]
fn steps_due_before_a_session_failed_are_counted() {
    let steps =
        "    - forever:\n        - pace: 1s\n        - get: /\n          save: { token: /token }\n";
    let mut peer = HttpPeer::new(|_| 2 * S + S / 2, |_: &str| ok("{}"));
    let ran = run(&scenario(steps, "{ constant: 1/s, for: 1s }, { hold: 9s }"), &mut peer);
    assert_eq!(ran.outcomes("GET /"), [Outcome::Save]);
    assert_eq!(ran.never_begun("GET /", WhyNot::Failed), 2);

    // A user that restarts catches up with its pace, 1 request in every 2.6 s, until its session fails after the end.
    let mut peer = HttpPeer::new(|_| 2 * S + S / 2, |_: &str| ok("{}"));
    let ran = run(&scenario(steps, "{ users: 1, for: 10s }"), &mut peer);
    assert_eq!(ran.rows("GET /").len(), 4);
    assert_eq!(ran.never_begun("GET /", WhyNot::Failed), 6);
}

#[test]
fn steps_that_a_stopped_generator_leaves_out_are_late() {
    let mut link = Link::new(0);
    link.frozen = vec![(7 * S + S / 2, 12 * S)];
    let steps = "    - forever:\n        - pace: 1s\n        - get: /\n";
    let text = scenario(steps, "{ constant: 1/s, for: 1s }, { hold: 9s }");
    let ran = run_over(&text, &mut HttpPeer::new(|_| 0, |_: &str| ok("ok")), link);
    assert_eq!(ran.rows("GET /").len(), 8);
    assert_eq!(ran.never_begun("GET /", WhyNot::Late), 2);
}
