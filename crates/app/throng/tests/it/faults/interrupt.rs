//! Ctrl-C, once and twice.

use std::time::Duration;

use record::schema::{EventKind, RunStatus, Verdict};

use crate::support::{Ended, Running, Space, throng};

/// A user of a market who waits for what never comes.
const WAITING: &str = r"
target: market
options: { drain: 100s }
sessions:
  waiting: [ { ws: /v1/stream }, { expect: { when: { /type: never }, within: 90s } } ]
arrivals: [ { constant: 10/s, for: 1s }, { hold: 100s } ]
";

#[test]
fn ctrl_c_once_ends_the_run_early() {
    let space = Space::new();
    let mut run = space.run_text(WAITING, &["--set", "options.drain=300ms"]);
    let mut running = Running::start(&mut run);
    // The first second has been printed, and the run continues.
    running.second();
    running.interrupt();
    let ended = running.end().with(2);
    ended.stderr_contains("ending early");
    ended.stdout_contains("UNTRUSTED");
    ended.stdout_contains("the run was interrupted after");
    let run = space.only();
    let summary = space.summary();
    assert_eq!(run.info().status, RunStatus::Interrupted);
    assert!(run.is_complete(), "{:?}", run.missing());
    assert_eq!(summary.findings[0].code, "run-incomplete");
    assert_eq!(summary.verdict, Verdict::Untrusted);
    let events = run.events().unwrap();
    assert!(events.iter().any(|event| event.what == EventKind::Interrupted));
    space.market_is_gone();
}

#[test]
fn ctrl_c_twice_ends_it_at_once() {
    let space = Space::new();
    let mut running = Running::start(&mut space.run_text(WAITING, &[]));
    running.second();
    // Two that come in the same instant are one to a process, so the signal is repeated until the run stops.
    let interrupted = (0..100).any(|_| {
        running.interrupt();
        running.ends_within(Duration::from_millis(50))
    });
    assert!(interrupted, "it went on after 100 times Ctrl-C");
    let ended = running.end().with(130);
    assert!(!ended.out.contains("PASSED"), "{}", ended.out);
    let run = space.only();
    assert_eq!(run.info().status, RunStatus::Running);
    assert!(!run.is_complete());
    space.market_is_gone();
    let shown = Ended::of(throng(["show"]).arg(run.path())).with(0);
    shown.stdout_contains("UNTRUSTED");
}
