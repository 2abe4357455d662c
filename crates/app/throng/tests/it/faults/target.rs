//! Built-in targets that are gone before their run.

use record::schema::{EventKind, RunStatus, Verdict};

use crate::support::{Running, Space};

/// A user who would wait for long.
const WAITING: &str = r"
target: market
sessions:
  waiting: [ { ws: /v1/stream }, { expect: { when: { /type: never }, within: 90s } } ]
arrivals: [ { constant: 10/s, for: 1s }, { hold: 100s } ]
";

#[test]
fn a_killed_target_ends_the_run_untrusted() {
    let space = Space::new();
    let mut running = Running::start(&mut space.run_text(WAITING, &[]));
    // The first second has been printed, and the run continues.
    running.second();
    running.kill_child();
    let ended = running.end().with(2);
    ended.stdout_contains("the target market exited during the run");
    let run = space.only();
    let summary = space.summary();
    assert_eq!(run.info().status, RunStatus::Failed);
    assert!(run.is_complete(), "{:?}", run.missing());
    assert_eq!(summary.verdict, Verdict::Untrusted);
    let first = &summary.findings[0];
    assert_eq!(first.code, "target-ended");
    assert!(first.text.contains("(signal: 9 (SIGKILL))"), "{}", first.text);
    let events = run.events().unwrap();
    let ended = events.iter().filter_map(|event| match &event.what {
        EventKind::TargetEnded { target, why, .. } => Some((target.as_str(), why.as_str())),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [("market", "signal: 9 (SIGKILL)")]);
}
