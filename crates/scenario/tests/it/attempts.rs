//! Steps that are tried again.

use plan::{MeasureKind, Op};

use crate::{plan, with_steps};

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
    assert_eq!(
        (measure.name.as_str(), measure.kind),
        ("pay", MeasureKind::Transaction)
    );
    let failures = retry.failures.as_ref().expect("failures");
    assert_eq!(failures.kinds, ["timeout"]);
    assert_eq!(failures.statuses, [(503, 503), (500, 599)]);
    assert_eq!((retry.attempts_max, retry.opens_stream), (4, true));
    assert_eq!(
        (retry.pause_ns, retry.pause_max_ns),
        (200_000_000, 2_000_000_000)
    );
    assert_eq!((retry.factor, retry.jitter), (1.5, plan::Jitter::Equal));
    // Begin, start, the two steps, their end, end of all, jump, stop, think.
    assert_eq!(retry.instructions, 2..5);
    assert_eq!(session.transactions[0].instructions, 1..6);
    assert_eq!(session.ops[6], Op::Jump(8));
    assert_eq!(retry.otherwise, Some(7));
}
