//! Judging through the files of a run directory.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod analyze;
mod intervals;

use std::collections::BTreeMap;
use std::path::Path;

use plan::{Basis, Comparison, Figure, MeasureId, Stat, Threshold};
use record::schema::{MeasureTally, PhaseTally, RunStatus, SeriesRow, Severity, Tally, Verdict};
use record::{Measurement, Outcome, Run, RunDir};
use stats::hist::LogHistogram;
use testkit::runs::made::info;
use testkit::runs::{MS, SECOND};

/// Requests in each second: nine that end well, one that does not.
const OK_PER_S: u64 = 9;

/// A request of the warm-up takes 40 ms, a later one 10 ms.
fn response_ns(second: u64) -> u64 {
    if second < 2 { 40 * MS } else { 10 * MS }
}

fn measurement(second: u64, number: u64) -> Measurement {
    let due_ns = second * SECOND + number * 50 * MS;
    Measurement {
        due_ns,
        sent_ns: due_ns + 10_000,
        done_ns: due_ns + response_ns(second),
        user: second * 10 + number,
        measure: 0,
        session: 0,
        loop_id: 0,
        outcome: if number < OK_PER_S { Outcome::Ok } else { Outcome::Timeout },
        status: 200,
        weight: 1,
        bytes_out: 100,
        bytes_in: 400,
    }
}

/// Six seconds, with the outcomes counted by the run or left to be counted from its rows.
fn write(root: &Path, tally: bool) -> Run {
    let mut info = info();
    let dir = RunDir::create(root, &info, "name: judged\n").unwrap();
    let mut requests = dir.requests(&info).unwrap();
    let mut series = dir.series(&info);
    let mut latency = dir.latency(&info).unwrap();
    for second in 0..6 {
        let rows: Vec<Measurement> = (0..10).map(|n| measurement(second, n)).collect();
        requests.write(&rows).unwrap();
        let hist = |of: fn(&Measurement) -> u64| {
            let mut hist = LogHistogram::new();
            rows.iter().filter(|m| m.outcome == Outcome::Ok).for_each(|m| hist.record(of(m)));
            hist
        };
        for (tag, hist) in [
            ("request", hist(Measurement::response_ns)),
            ("request.service", hist(Measurement::service_ns)),
            ("request.lag", hist(Measurement::lag_ns)),
        ] {
            latency.interval(second * SECOND, SECOND, tag, &hist).unwrap();
        }
        series.push(&SeriesRow {
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            phase: u32::from(second >= 2),
            users_due: 10,
            users_started: 10,
            users_finished: 10,
            users_connected: 10,
            sends: 10,
            done: 10,
            operations_begun: 10,
            operations_ended: 10,
            operations_completed: 9,
            errors: 1,
            ..SeriesRow::default()
        });
    }
    requests.finish().unwrap();
    series.finish().unwrap();
    latency.finish().unwrap();
    if tally {
        let phase = |phase, seconds: u64| {
            let outcomes = [("ok", OK_PER_S * seconds), ("timeout", seconds)];
            let outcomes = outcomes.map(|(name, n)| (name.to_owned(), n)).into();
            PhaseTally {
                phase,
                measures: vec![MeasureTally { measure: 0, outcomes, ..MeasureTally::default() }],
            }
        };
        dir.write_tally(&Tally {
            until_ns: None,
            phases: vec![phase(0, 2), phase(1, 4)],
            ..Tally::default()
        })
        .unwrap();
        info.status = RunStatus::Complete;
        info.ended_ns = 6 * SECOND;
        dir.update_info(&info).unwrap();
    }
    Run::open(dir.path()).unwrap()
}

fn slowest(phase: Option<usize>) -> Threshold {
    Threshold {
        text: "max(request) < 20ms".to_owned(),
        figure: Figure::Measure {
            stat: Stat::Max,
            measure: Some(MeasureId(0)),
            basis: Basis::Response,
            phase,
        },
        comparison: Comparison::Less,
        limit: 20e6,
    }
}

#[test]
fn a_whole_run_is_judged_by_phase() {
    let root = tempfile::tempdir().unwrap();
    let summary = judge::judge(&write(root.path(), true), &[slowest(Some(1))], false).unwrap();
    assert_eq!(summary.verdict, Verdict::Passed);
    assert_eq!(summary.findings[0].code, "generator-healthy");
    assert_eq!(summary.thresholds[0].shown, "10.0 ms");

    let request = &summary.measures[0];
    assert_eq!((request.count, request.errors), (60, 6));
    assert_eq!(request.rate_per_s, 9.0, "timeouts are no completions");
    assert_eq!(request.errors_by_kind, BTreeMap::from([("timeout".to_owned(), 6)]));
    assert_eq!(request.lag.as_ref().unwrap().count, 54);
    let medians = summary.phases.iter().map(|p| p.measures[0].response.as_ref().unwrap().p50_ns);
    for (median_ns, truth_ns) in medians.zip([40 * MS, 10 * MS]) {
        assert!(median_ns.abs_diff(truth_ns) <= truth_ns / 1000, "{median_ns}");
    }

    let summary =
        judge::judge(&write(&root.path().join("2"), true), &[slowest(None)], false).unwrap();
    assert_eq!(summary.verdict, Verdict::Failed);
}

#[test]
fn a_killed_run_is_counted_from_its_rows_and_not_trusted() {
    let root = tempfile::tempdir().unwrap();
    let summary = judge::judge(&write(root.path(), false), &[], false).unwrap();
    assert_eq!(summary.verdict, Verdict::Untrusted);
    let first = &summary.findings[0];
    assert_eq!((first.severity, first.code.as_str()), (Severity::Fatal, "run-incomplete"));
    assert_eq!((summary.measures[0].count, summary.measures[0].errors), (60, 6));
    assert_eq!(summary.phases[0].measures[0].errors, 2);
}
