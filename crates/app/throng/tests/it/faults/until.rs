//! A run that ends when enough is known, or the time for that is over.

use record::schema::{EventKind, RunStatus, Summary, Verdict};

use crate::support::{Ended, Space};

const S: u64 = 1_000_000_000;

/// Half an hour, of which the least precision is asked for.
fn text(at_most: &str) -> String {
    format!(
        "
name: enough
target: market
sessions: {{ visitor: [ {{ get: /healthz, as: visit }} ] }}
arrivals: [ {{ constant: 50/s, for: 30m }} ]
until: p50(visit) ± 50%, at most {at_most}
thresholds: [ errors == 0, 'rate(visit) > 30/s' ]
"
    )
}

/// The event of the last look, and what is said of the run. It is as sound as any other.
fn ended(at_most: &str, args: &[&str]) -> (EventKind, u64, Summary) {
    let space = Space::new();
    let ended = Ended::of(&mut space.run_text(&text(at_most), args)).with(0);
    ended.stdout_contains("PASSED");
    let run = space.only();
    assert_eq!(run.info().status, RunStatus::Until);
    assert!(run.is_complete(), "{:?}", run.missing());
    let events = run.events().unwrap();
    let looked = events.into_iter().find(|event| matches!(event.what, EventKind::Until { .. }));
    let looked = looked.unwrap();
    // The load ended soon after the look, and the run with it.
    let load_ended_ns = run.info().phases[0].end_ns;
    assert!((looked.at_ns..looked.at_ns + 10 * S).contains(&load_ended_ns), "{load_ended_ns}");
    assert!(run.info().ended_ns <= load_ended_ns + 10 * S, "{}", run.info().ended_ns);
    let summary = space.summary();
    assert_eq!(summary.verdict, Verdict::Passed);
    let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(!codes.contains(&"run-incomplete"), "{codes:?}");
    (looked.what, looked.at_ns, summary)
}

fn finding(summary: &Summary, code: &str) -> String {
    let found = summary.findings.iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("no {code}: {:?}", summary.findings)).text.clone()
}

/// Two seconds show no dependence, so that there is no interval.
fn ends_when_the_time_is_over(args: &[&str]) {
    let (what, at_ns, summary) = ended("2s", args);
    let EventKind::Until { is_known: false, looks: 1, ref figures, .. } = what else {
        panic!("{what:?}");
    };
    assert!(figures[0].value_ns.is_some() && figures[0].low_ns.is_none(), "{figures:?}");
    assert_eq!(at_ns, 2 * S);
    let text = finding(&summary, "precision-missed");
    let begins = "not enough was known after 2 s of at most 2 s: p50(visit) ± 50%: ";
    assert!(text.starts_with(begins) && text.contains("without an interval"), "{text}");
}

#[test]
fn a_run_ends_when_the_time_to_know_enough_is_over() {
    ends_when_the_time_is_over(&[]);
}

#[test]
fn the_workers_of_a_run_end_with_it() {
    ends_when_the_time_is_over(&["--workers", "2"]);
}
