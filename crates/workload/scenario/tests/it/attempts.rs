//! Steps that run once, and steps that are tried again.

use plan::expr::{Escape, Expr, TemplatePart};
use plan::{MeasureKind, Op, Slot};

use crate::{plan, with_steps};

/// A failed step ends `setup`; its variables are those of all users, who do not keep them.
#[test]
fn setup_and_teardown_are_sessions_of_their_own() {
    let plan = plan(
        "
target: http://127.0.0.1/
setup:
  - { get: /login, as: login, save: { token: /token } }
sessions:
  s: [ { get: \"/${token}\", as: page } ]
arrivals: [ { constant: 1/s, for: 1s } ]
teardown: { time_limit: 5s, steps: [ { get: \"/${token}\", as: logout } ] }
",
    );
    let names = |measures: &[plan::Measure]| -> Vec<String> {
        measures.iter().map(|measure| measure.name.clone()).collect()
    };
    assert_eq!(names(&plan.measures), ["connect", "page", "redirects"]);
    let setup = plan.setup.as_ref().expect("a setup");
    assert_eq!(names(&setup.measures), ["connect", "setup", "login", "redirects"]);
    assert_eq!(setup.time_limit_ns, 60_000_000_000);
    assert_eq!(setup.session.slot_names, ["token"]);
    assert_eq!(setup.session.retries[0].attempts_max, 1);
    assert_eq!(setup.session.retries[0].instructions, 2..4);
    let session = &plan.sessions[0];
    assert_eq!(session.slots_count, 0);
    let Op::Http(page) = &session.ops[0] else { panic!("no request") };
    assert_eq!(page.path.parts[1], TemplatePart::Expr(Expr::Shared(Slot(0)), Escape::Url));
    let teardown = plan.teardown.as_ref().expect("a teardown");
    assert_eq!(teardown.time_limit_ns, 5_000_000_000);
    assert_eq!(names(&teardown.measures), ["connect", "logout", "redirects"]);
    assert!(teardown.session.retries.is_empty());
    // What it draws differs from what users draw.
    let alone = plan.once(teardown);
    assert_eq!((alone.sessions.len(), alone.users_planned()), (1, 0.0));
    assert_ne!(alone.seed, plan.once(setup).seed);
    assert_ne!(alone.seed, plan.seed);
}

#[test]
fn retries_are_attempts_with_pauses() {
    let plan = plan(&with_steps(
        "
- retry: 4
  failures: [503, 5xx, timeout]
  pause: 200ms
  factor: 1.5
  pause_max: 2s
  jitter: equal
  as: pay
  until: done
  steps: [ { ws: / }, { set: { done: true } } ]
  else: [ { stop: } ]
- think: 1s
",
    ));
    let session = &plan.sessions[0];
    let retry = &session.retries[0];
    let measure = &plan.measures[retry.measure.index()];
    assert_eq!((measure.name.as_str(), measure.kind), ("pay", MeasureKind::Transaction));
    let failures = retry.failures.as_ref().expect("failures");
    assert_eq!(failures.kinds, ["timeout"]);
    assert_eq!(failures.statuses, [(503, 503), (500, 599)]);
    assert_eq!((retry.attempts_max, retry.opens_stream), (4, true));
    assert_eq!((retry.pause_ns, retry.pause_max_ns), (200_000_000, 2_000_000_000));
    assert_eq!((retry.factor, retry.jitter), (1.5, plan::Jitter::Equal));
    // Begin, start, the two steps, their end, end of all, jump, stop, think.
    assert_eq!(retry.instructions, 2..5);
    assert_eq!(session.transactions[0].instructions, 1..6);
    assert_eq!(session.ops[6], Op::Jump(8));
    assert_eq!(retry.otherwise, Some(7));
}
