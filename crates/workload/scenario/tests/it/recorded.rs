//! Phases that follow the clock or a recording, or come from on/off sources.

use plan::Plan;
use plan::{Phase, PhaseKind, Spacing};

use crate::{plan, rendered, with_arrivals};

fn phases(text: &str) -> Vec<Phase> {
    let plan: Plan = plan(&with_arrivals(text));
    plan.phases
}

/// Name, beginning and end in seconds, rates at both.
fn rates(phases: &[Phase]) -> Vec<(&str, f64, f64, f64, f64)> {
    let rate = |phase: &Phase| match phase.kind {
        PhaseKind::Rate { from_per_s, to_per_s, .. } => (from_per_s, to_per_s),
        _ => (0.0, 0.0),
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let row = |phase| {
        let phase: &Phase = phase;
        let (from, to) = rate(phase);
        let start = seconds(phase.start_ns);
        let end = seconds(phase.end_ns());
        (phase.name.as_str(), start, end, from, to)
    };
    phases.iter().map(row).collect()
}

#[test]
fn rates_by_the_clock_become_ramps() {
    let found = phases(
        "- { rates: { \"09:30\": 40/s, \"08:00\": 4/s, \"20:00\": 0/s }, from: \"08:45\", for: 1h }\n\
         - { hold: 1s }",
    );
    // Half way from 4 to 40 at 08:45; a quarter of an hour of ten and a half down from 40.
    let down = 40.0 - 40.0 * 15.0 / 630.0;
    assert_eq!(
        rates(&found),
        [
            ("rates-08:45", 0.0, 2700.0, 22.0, 40.0),
            ("rates-09:30", 2700.0, 3600.0, 40.0, down),
            ("hold", 3600.0, 3601.0, 0.0, 0.0),
        ]
    );
}

#[test]
fn rates_may_stay_go_faster_and_wrap_around_midnight() {
    let found = phases(
        "- { rates: { \"08:00\": 4/s, \"20:00\": 1/s }, from: \"19:00\", for: 15m, speed: 60, \
         between: step, name: day }",
    );
    // 15 minutes are 15 hours: 19 to 20, the night, and 8 to 10 on the next day.
    assert_eq!(
        rates(&found),
        [
            ("day-19:00", 0.0, 60.0, 4.0, 4.0),
            ("day-20:00", 60.0, 780.0, 1.0, 1.0),
            ("day-08:00", 780.0, 900.0, 4.0, 4.0),
        ]
    );
    assert_eq!(found[1].users_planned(), 720.0);
}

/// In Berlin 2026-03-29 has no hour from 2 to 3, and 2026-10-25 has two.
#[test]
fn a_day_in_which_clocks_change_is_shorter_or_longer() {
    let day = |date: &str| {
        let text = format!(
            "- {{ rates: {{ \"00:00\": 1/s, \"06:00\": 2/s }}, from: {date}, zone: Europe/Berlin, \
             for: 12h, between: step }}"
        );
        phases(&text)[0].duration_ns / 3_600_000_000_000
    };
    assert_eq!(day("2026-03-29"), 5);
    assert_eq!(day("2026-03-30"), 6);
    assert_eq!(day("2026-10-25 00:00"), 7);
}

#[test]
fn a_trace_counts_its_users() {
    let found = phases(
        "- { trace: counts.txt }\n- { trace: counts.txt, bin: 10s, speed: 5, scale: 2, for: 5s }",
    );
    assert_eq!(found[0].users_planned(), 12.0);
    assert_eq!(found[0].duration_ns, 5_000_000_000);
    assert_eq!(phases("- { trace: counts.txt, from: 0s }")[0].kind, found[0].kind);
    // Bins of 2 s: 6 and 0 and half of 10.
    assert_eq!(found[1].users_planned(), 11.0);
    assert_eq!(found[1].rate_max_per_s(), 5.0);
    let PhaseKind::Trace(trace) = &found[1].kind else {
        panic!("{:?}", found[1].kind);
    };
    assert_eq!((trace.bin_s, trace.spacing), (2.0, Spacing::Even));
    let found = phases("- { trace: hits.csv, column: hits, bin: 1m, from: 90s }");
    assert_eq!(found[0].users_planned(), 30.0);
    assert_eq!(found[0].duration_ns, 120_000_000_000);
}

fn starts(text: &str) -> Vec<f64> {
    let found = phases(text);
    match &found[0].kind {
        PhaseKind::Starts(starts) => starts.values().to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_replay_keeps_its_times() {
    assert_eq!(starts("- { replay: starts.txt }"), [0.25, 0.5, 12.0]);
    assert_eq!(starts("- { replay: starts.txt, begin: first, speed: 0.5 }"), [0.0, 0.5, 23.5]);
    assert_eq!(starts("- { replay: starts.txt, from: 300ms, for: 1s }"), [0.2]);
    assert_eq!(starts("- { replay: dates.txt }"), [0.0, 0.5]);
    assert_eq!(starts("- { replay: epoch.txt, begin: first }"), [0.0, 1.5]);
    let found = phases("- { replay: starts.txt }");
    assert_eq!(found[0].users_planned(), 3.0);
    assert!(found[0].duration_ns > 12_000_000_000);
    assert_eq!(found[0].rate_max_per_s(), 2.0);
}

#[test]
fn on_off_sources_are_drawn_by_the_seed() {
    let text = "- on_off: { sources: 50, rate: 2/s, on: { scale: 1s, shape: 1.5 }, off: { scale: 2s, \
                shape: 1.5 } }\n  for: 60s";
    let one = starts(text);
    assert_eq!(one, starts(text));
    // 50 sources at 2/s for a third of the minute.
    assert!((1200..2800).contains(&one.len()), "{}", one.len());
    assert!(one.is_sorted() && one.iter().all(|start| *start < 60.0));
    let seeded = plan(&format!("seed: 2\n{}", with_arrivals(text)));
    assert_ne!(seeded.phases[0].kind, phases(text)[0].kind);
}

#[test]
fn a_recording_that_is_too_long_says_what_to_do() {
    let text = rendered(&with_arrivals("- { replay: epoch.txt }"), &[]);
    assert!(text.contains("begin: first"), "{text}");
}
