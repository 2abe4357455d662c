//! A threshold that ends a hopeless run.

use record::schema::{EventKind, RunStatus, Verdict};

use crate::support::{Ended, Space};

const S: u64 = 1_000_000_000;

/// All requests of most users fail; the others wait for what never comes.
const HOPELESS: &str = r"
name: hopeless
target: market
options: { drain: 100s }
sessions:
  lost:
    - get: /v1/nothing
      as: lost
  waiting: [ { ws: /v1/stream }, { expect: { when: { /type: never }, within: 90s } } ]
arrivals: [ { constant: 50/s, for: 10m, sessions: { lost: 49, waiting: 1 } } ]
thresholds:
  - p95 < 1s
  - abort: error_rate(lost) < 50%
    over: 2s
    after: 3s
";

fn ends_within_seconds(args: &[&str]) {
    let space = Space::new();
    let ended = Ended::of(&mut space.run_text(HOPELESS, args)).with(1);
    ended.stdout_contains("FAILED");
    ended.stdout_contains("the run was aborted after 3 s of 10 min");
    ended.stdout_contains("error_rate(lost) < 50% did not hold, it was 100 % over the last 2 s");
    let run = space.only();
    assert_eq!(run.info().status, RunStatus::Aborted);
    assert!(run.is_complete(), "{:?}", run.missing());
    let events = run.events().unwrap();
    let aborted = events.iter().find(|event| matches!(event.what, EventKind::Aborted { .. }));
    // The third second is the first in which it may end. Whoever waits is not waited for.
    assert_eq!(aborted.unwrap().at_ns, 3 * S);
    assert!(run.info().ended_ns <= 3 * S + 2 * S + S, "{}", run.info().ended_ns);
    let summary = space.summary();
    assert_eq!(summary.verdict, Verdict::Failed);
    let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(codes.contains(&"run-aborted"), "{codes:?}");
    assert!(!codes.contains(&"sums-broken") && !codes.contains(&"run-incomplete"), "{codes:?}");
    space.market_is_gone();
}

#[test]
fn a_threshold_ends_a_hopeless_run() {
    ends_within_seconds(&[]);
}

#[test]
fn it_ends_the_workers_of_a_run() {
    ends_within_seconds(&["--workers", "2"]);
}

/// Users come fifty times a second, and are to come less than 120 times.
const COUNTED: &str = r"
name: counted
target: market
metrics: { visits: { kind: counter, unit: users } }
sessions: { visitor: [ { get: /v1/nothing }, { measure: 1, as: visits } ] }
arrivals: [ { constant: 50/s, for: 10m } ]
thresholds: [ { abort: sum(visits) < 120 users } ]
";

#[test]
fn a_metric_ends_a_run_over_all_workers() {
    for args in [&[][..], &["--workers", "2"]] {
        let space = Space::new();
        let ended = Ended::of(&mut space.run_text(COUNTED, args)).with(1);
        ended.stdout_contains("sum(visits) < 120 users did not hold, it was 1");
        let run = space.only();
        assert_eq!(run.info().status, RunStatus::Aborted);
        let events = run.events().unwrap();
        let aborted = events.iter().find(|event| matches!(event.what, EventKind::Aborted { .. }));
        // 100 after two seconds; a busy machine may be late.
        let at_ns = aborted.unwrap().at_ns;
        assert!((3 * S..=5 * S).contains(&at_ns), "{at_ns}");
        let metrics = space.summary().metrics;
        assert!(metrics[0].sum.unwrap() >= 120.0, "{metrics:?}");
        assert_eq!(space.summary().verdict, Verdict::Failed);
    }
}
