//! One word, one figure: what is offered, begun and completed, and what failed, is the same number in everything that
//! shows a run.

use std::collections::BTreeMap;
use std::path::Path;

use judge::RunNames;
use judge::course::{LiveRun, SecondOf};
use live::export;
use record::operations::OperationCounts;
use record::schema::{
    MeasureInfo, MeasureTally, NeverBegun, PhaseTally, RunInfo, SeriesRow, Tally, WhyNot,
};
use record::{Outcome, Run, RunDir};
use report::{LiveReport, LiveState, Page, RunReport, Stage, Style, VerdictText};
use serde_json::Value;
use stats::hist::LogHistogram;

use crate::compare::recorded::Recorded;
use crate::support::Space;

const SECOND: u64 = 1_000_000_000;
/// Seconds in which load was planned.
const LOAD: u64 = 10;
/// Seconds of the run, with its drain.
const RUN: u64 = 12;
/// The measures and their kinds: connections, requests, blocks of attempts, steps that fail of themselves.
const MEASURES: [(&str, &str); 4] =
    [("connect", "connect"), ("page", "request"), ("retry", "transaction"), ("steps", "step")];
const PAGE: usize = 1;

/// The operations of a measure in a second.
struct Part {
    measure: usize,
    begun: u64,
    ends: Vec<(Outcome, u64)>,
}

/// Of 99 pages a second, 3 are answered in the drain, in which 5 more begin.
fn parts(second: u64) -> Vec<Part> {
    let part =
        |measure, begun, ends: &[(Outcome, u64)]| Part { measure, begun, ends: ends.to_vec() };
    match second {
        0..LOAD => vec![
            part(0, 40, &[(Outcome::Ok, 38), (Outcome::Refused, 2)]),
            part(PAGE, 99, &[(Outcome::Ok, 90), (Outcome::Status, 4), (Outcome::Timeout, 2)]),
            part(2, 50, &[(Outcome::Ok, 49), (Outcome::Timeout, 1)]),
            part(3, 1, &[(Outcome::Step, 1)]),
        ],
        LOAD => vec![part(PAGE, 5, &[(Outcome::Ok, 30)])],
        _ => vec![part(PAGE, 0, &[(Outcome::Ok, 5)])],
    }
}

fn row(second: u64) -> SeriesRow {
    let mut operations = OperationCounts::default();
    let mut row = SeriesRow {
        start_ns: second * SECOND,
        end_ns: (second + 1) * SECOND,
        ..SeriesRow::default()
    };
    for Part { measure, begun, ends } in parts(second) {
        row.sends += begun;
        row.done += ends.iter().map(|(_, n)| n).sum::<u64>();
        operations.add(MEASURES[measure].1, begun, ends.into_iter());
    }
    if second < LOAD {
        (row.users_due, row.users_started, row.users_finished) = (10, 10, 10);
    }
    SeriesRow {
        operations_begun: operations.begun,
        operations_ended: operations.ended,
        operations_completed: operations.completed,
        own_failures: operations.own_failures,
        errors: operations.failed + operations.own_failures,
        ..row
    }
}

/// The counts of a part of the run, by measure.
fn phase(number: u32, seconds: std::ops::Range<u64>) -> PhaseTally {
    let mut measures: BTreeMap<usize, MeasureTally> = BTreeMap::new();
    for part in seconds.flat_map(parts) {
        let measure = measures.entry(part.measure).or_default();
        measure.measure = part.measure as u16;
        measure.begun += part.begun;
        for (outcome, n) in part.ends {
            *measure.outcomes.entry(outcome.name().to_owned()).or_default() += n;
        }
    }
    PhaseTally { phase: number, measures: measures.into_values().collect() }
}

/// The run as a directory. 20 pages were due and never began.
fn recorded(root: &Path) -> Run {
    let other = Run::open(&Recorded::new(1).write(&root.join("other"))).unwrap();
    let mut info = other.info().clone();
    info.ended_ns = RUN * SECOND;
    info.phases[0].end_ns = LOAD * SECOND;
    info.phases[0].users_planned = 100.0;
    info.measures = MEASURES.map(|(name, kind)| MeasureInfo::new(name, kind)).to_vec();
    let dir = RunDir::create(root, &info, "name: recorded\n").unwrap();
    dir.requests(&info).unwrap().finish().unwrap();
    dir.latency(&info).unwrap().finish().unwrap();
    drop(dir.events().unwrap());
    let mut series = dir.series(&info);
    (0..RUN).for_each(|second| series.push(&row(second)));
    series.finish().unwrap();
    let begun = |measure| {
        let all = (0..RUN).flat_map(parts).filter(|part| part.measure == measure);
        all.map(|part| part.begun).sum::<u64>()
    };
    let never_begun = NeverBegun { measure: PAGE as u16, why: WhyNot::Busy, operations: 20 };
    dir.write_tally(&Tally {
        phases: vec![phase(0, 0..LOAD), phase(1, LOAD..RUN)],
        begun: (0..MEASURES.len()).map(begun).collect(),
        never_begun: vec![never_begun],
        ..Tally::default()
    })
    .unwrap();
    dir.update_info(&info).unwrap();
    Run::open(dir.path()).unwrap()
}

/// The same run in progress, at its end.
fn live_run(info: &RunInfo) -> LiveRun {
    let mut live_run = LiveRun::new(info);
    let none = LogHistogram::new();
    for second in 0..RUN {
        let parts = parts(second);
        let outcomes: Vec<Vec<u64>> = parts
            .iter()
            .map(|part| {
                let of = |outcome: Outcome| part.ends.iter().find(|(end, _)| *end == outcome);
                Outcome::ALL.iter().map(|&outcome| of(outcome).map_or(0, |end| end.1)).collect()
            })
            .collect();
        let measures = parts.iter().zip(&outcomes).map(|(part, outcomes)| SecondOf {
            measure: part.measure,
            begun: part.begun,
            outcomes: outcomes.as_slice(),
            response: &none,
            failed: &none,
            unanswered: &none,
            service: &none,
            lag: &none,
        });
        live_run.add(&row(second), measures);
    }
    live_run
}

/// The document of a page.
fn document(page: &Page) -> Value {
    serde_json::from_str(page.json()).unwrap()
}

#[test]
fn a_word_has_one_figure_wherever_a_run_is_shown() {
    let space = Space::new();
    let run = recorded(&space.path("runs"));
    let info = run.info();
    let names = RunNames::of(info);
    // None of them holds, so that JUnit shows the figures.
    let thresholds = [
        "offered > 1000/s",
        "begun > 1000/s",
        "rate > 1000/s",
        "count > 10000",
        "errors < 1",
        "error_rate < 1%",
    ];
    let thresholds = thresholds.map(|text| names.names().threshold(text).unwrap());
    let summary = judge::judge(&run, &thresholds, false).unwrap();

    // In the load 990 pages began, of 1,010 that were due, and 940 of them were answered. 20 timed out.
    let operations = summary.operations;
    assert_eq!((operations.begun, operations.count, operations.unfinished), (995, 995, 0));
    assert_eq!((operations.completed, operations.drained), (940, 35));
    // 60 pages failed, and 10 steps that are none.
    assert_eq!((operations.errors, operations.own_failures), (70, 10));
    let values: Vec<f64> = summary.thresholds.iter().filter_map(|found| found.value).collect();
    assert_eq!(values, [101.0, 99.0, 94.0, 995.0, 70.0, 70.0 / 1005.0]);

    let json: Value = serde_json::from_str(&report::run_json(&summary, "runs/x")).unwrap();
    let json = &json["operations"];
    assert_eq!((&json["completed"], &json["count"]), (&940.into(), &995.into()));
    let course = judge::course::read(&run, &summary).unwrap();
    let page = Page::run(
        &RunReport {
            info,
            summary: &summary,
            course: &course,
            events: &[],
            missing: &[],
            import: None,
        },
        "0.0.0",
    );
    let page = document(&page);
    let totals = &page["totals"];
    for (figures, error_share) in [(json, "error_rate"), (totals, "error_share")] {
        assert_eq!(figures["offered_per_s"].as_f64(), Some(101.0));
        assert_eq!(figures["begun_per_s"].as_f64(), Some(99.0));
        assert_eq!(figures["completed_per_s"].as_f64(), Some(94.0));
        assert_eq!((&figures["drained"], &figures["errors"]), (&35.into(), &70.into()));
        let share = figures[error_share].as_f64().unwrap();
        assert!((share - 70.0 / 1005.0).abs() < 1e-4, "{share}");
    }
    assert_eq!(totals["operations"], 995);
    // The charts have the same figures, second by second.
    let tracks = page["course"]["seconds"].as_array().unwrap();
    for (name, expected) in
        [("operations_begun", 99.0), ("operations_completed", 94.0), ("errors", 7.0)]
    {
        let track = tracks.iter().find(|track| track["name"] == name).unwrap();
        assert_eq!(track["mean"][0].as_f64(), Some(expected), "{name}");
    }

    let rates = "offered 101/s, begun 99.0/s, completed 94.0/s; failed 70 (6.97 %)";
    let style = Style { colour: false, unicode: true };
    let text = VerdictText {
        summary: &summary,
        info,
        directory: "runs/x",
        course: Some(&course),
        full: true,
        columns: 120,
    };
    let terminal = report::verdict(&text, style);
    for text in [rates, "940 operations completed in 10 s: 94.0/s, and 35 in the drain; "] {
        assert!(terminal.contains(text), "{terminal}");
    }
    let markdown = report::run_markdown(&summary, info);
    assert!(markdown.contains(&format!("\nOperations: {rates}.\n")), "{markdown}");
    let junit = report::run_junit(&summary, info);
    assert!(junit.contains("measured 94.0/s") && junit.contains("measured 995"), "{junit}");
    let csv = report::measures_csv(&summary, info);
    assert!(csv.contains("\n,page,request,995,995,940,35,101,99,94,60,"), "{csv}");
}

#[test]
fn a_word_has_the_same_figure_while_the_run_goes_on() {
    let space = Space::new();
    let run = recorded(&space.path("runs"));
    let info = run.info();
    let live_run = live_run(info);
    let report =
        LiveReport { live_run: &live_run, thresholds: &[], interrupted: false, paused: false };
    let page = document(&Page::live(&report, "0.0.0"));
    let totals = &page["totals"];
    assert_eq!(totals["begun_per_s"].as_f64(), Some(99.0));
    assert_eq!(totals["completed_per_s"].as_f64(), Some(94.0));
    assert_eq!((&totals["operations"], &totals["drained"]), (&995.into(), &35.into()));
    assert_eq!((&totals["errors"], &totals["own_failures"]), (&70.into(), &10.into()));

    let rows: Vec<SeriesRow> = (0..RUN).map(row).collect();
    let state = LiveState {
        now_ns: LOAD * SECOND,
        rows: &rows[..LOAD as usize],
        measures: &[],
        heat: &[],
        stage: Stage::Running,
    };
    let line = report::plain_line(info, &state);
    assert!(line.contains("  begun 99.0/s  completed 94.0/s  failed 70  "), "{line}");

    let mut totals = export::Totals::default();
    let mut snapshot = export::Snapshot::default();
    for row in &rows {
        snapshot = totals.add(
            export::Second { info, row, measures: &[], errors: &[], metrics: &[], probes: &[] },
            &[],
        );
    }
    let value = |name: &str| {
        let mut samples = snapshot.samples.iter();
        samples.find(|sample| sample.metric.name == name).unwrap().value
    };
    assert_eq!(value("throng_operations_started_total"), 995.0);
    assert_eq!(value("throng_operations_done_total"), 995.0);
    assert_eq!(value("throng_operations_completed_total"), 975.0, "with those of the drain");
    assert_eq!(value("throng_errors_total"), 70.0);
}
