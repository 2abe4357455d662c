//! What is written comes back, from whole directories and from those of killed runs.

use proptest::prelude::*;
use record::schema::{ErrorCount, RunInfo, RunStatus, SeriesRow, Tally};
use record::{Interval, Measurement, Outcome, RecordError, RowCounts, Run, RunDir};

use crate::sample;

fn create(root: &tempfile::TempDir) -> RunDir {
    RunDir::create(root.path(), &sample::info(), "name: sample\n").unwrap()
}

fn requests(run: &Run) -> Vec<Measurement> {
    let mut rows = Vec::new();
    run.requests(|batch| rows.extend_from_slice(batch)).unwrap();
    rows
}

fn intervals(run: &Run) -> Vec<Interval> {
    let mut all = Vec::new();
    run.intervals(|interval| all.push(interval)).unwrap();
    all
}

/// Names of all files and directories, sorted.
fn names(dir: &RunDir) -> Vec<String> {
    let entries = std::fs::read_dir(dir.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn whole_run_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(&root);
    let info = sample::info();
    let rows = sample::measurements(0..1000);
    let seconds: Vec<SeriesRow> = (0..3).map(sample::series_row).collect();

    let mut writer = dir.requests(&info).unwrap();
    for part in rows.chunks(300) {
        writer.write(part).unwrap();
        writer.checkpoint().unwrap();
    }
    assert_eq!(writer.counts(), RowCounts { kept: 1000, lost: 0 });
    writer.finish().unwrap();
    let mut writer = dir.series(&info);
    for second in &seconds {
        writer.push(second);
        writer.checkpoint().unwrap();
    }
    writer.finish().unwrap();
    let mut writer = dir.events().unwrap();
    writer.write(&sample::event()).unwrap();
    let mut writer = dir.latency(&info).unwrap();
    writer.interval(1, 2, "page, with comma.service", &sample::histogram()).unwrap();
    writer.finish().unwrap();
    dir.write_summary(&sample::summary()).unwrap();
    dir.write_tally(&sample::tally()).unwrap();
    dir.update_info(&info).unwrap();

    let run = Run::open(dir.path()).unwrap();
    assert_eq!(run.missing(), Vec::<String>::new());
    assert!(run.is_complete());
    assert_eq!(run.info(), &info);
    assert_eq!(run.scenario().unwrap().as_deref(), Some("name: sample\n"));
    assert_eq!(run.summary().unwrap(), Some(sample::summary()));
    assert_eq!(run.tally().unwrap(), Some(sample::tally()));
    assert_eq!(run.series().unwrap(), seconds);
    assert_eq!(run.events().unwrap(), [sample::event()]);
    assert_eq!(requests(&run), rows);
    let [interval] = &intervals(&run)[..] else { panic!("not one interval") };
    assert_eq!((interval.start_ns, interval.len_ns), (1, 2));
    assert_eq!(interval.tag, "page, with comma.service");
    assert_eq!(interval.hist, sample::histogram());
    assert_eq!(
        names(&dir),
        [
            "events.jsonl",
            "latency.hlog",
            "requests.parquet",
            "run.json",
            "scenario.yaml",
            "series.parquet",
            "summary.json",
            "tally.json",
        ]
    );
}

/// Writers that are never finished, as when the process dies: what was flushed is there.
#[test]
fn killed_run_opens_and_says_so() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(&root);
    let info = sample::info();
    let rows = sample::measurements(0..500);

    let mut requests_writer = dir.requests(&info).unwrap();
    requests_writer.write(&rows[..200]).unwrap();
    requests_writer.checkpoint().unwrap();
    requests_writer.write(&rows[200..400]).unwrap();
    requests_writer.checkpoint().unwrap();
    requests_writer.write(&rows[400..]).unwrap();
    let mut latency_writer = dir.latency(&info).unwrap();
    latency_writer.interval(0, 1, "connect", &sample::histogram()).unwrap();
    latency_writer.flush().unwrap();
    let mut series_writer = dir.series(&info);
    series_writer.push(&sample::series_row(0));
    series_writer.checkpoint().unwrap();
    series_writer.push(&sample::series_row(1));
    let mut events_writer = dir.events().unwrap();
    events_writer.write(&sample::event()).unwrap();
    // A killed process runs no destructors.
    std::mem::forget((requests_writer, latency_writer, series_writer, events_writer));

    let run = Run::open(dir.path()).unwrap();
    assert!(!run.is_complete());
    assert_eq!(
        run.missing(),
        [
            "the run is in progress or was killed; its figures end at 1.0 s",
            "there is no summary.json",
            "requests.parquet is still in segments; the last rows may be missing",
        ]
    );
    assert_eq!(run.info(), &RunInfo { status: RunStatus::Running, ..info });
    assert_eq!(requests(&run), rows[..400]);
    assert_eq!(run.series().unwrap(), [sample::series_row(0)]);
    assert_eq!(run.events().unwrap(), [sample::event()]);
    assert_eq!(intervals(&run).len(), 1);
    assert_eq!(run.summary().unwrap(), None);
    assert_eq!(run.tally().unwrap(), None);
}

/// Counts of failures and of outcomes agree, whenever a run is killed.
#[test]
fn failures_of_a_killed_run_end_where_its_tally_does() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(&root);
    let count = |start_ns| ErrorCount {
        start_ns,
        phase: 0,
        measure: Some(1),
        own_step: None,
        kind: Outcome::Status.name().to_owned(),
        detail: Some("503".to_owned()),
        count: 2,
    };
    let run = Run::open(dir.path()).unwrap();
    let counts = || {
        let mut counts = Vec::new();
        run.error_counts(|count| counts.push(count)).map(|()| counts)
    };
    assert!(counts().unwrap().is_empty() && run.error_samples().unwrap().is_empty());
    let mut errors = dir.errors().unwrap();
    errors.write_all(&[count(0), count(1_000), count(2_000)]).unwrap();
    dir.write_tally(&Tally { until_ns: Some(2_000), ..Tally::default() }).unwrap();
    assert_eq!(counts().unwrap(), [count(0), count(1_000)]);
    errors.write(&ErrorCount { measure: Some(2), ..count(0) }).unwrap();
    let error = counts().unwrap_err().to_string();
    assert!(error.ends_with("errors.jsonl is damaged: measure 2 of 2 in run.json"), "{error}");
}

/// Killed before any writer was made.
#[test]
fn bare_run_reads_as_nothing() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(create(&root).path()).unwrap();
    assert_eq!(run.missing().len(), 6);
    assert!(requests(&run).is_empty() && intervals(&run).is_empty());
    assert!(run.series().unwrap().is_empty() && run.events().unwrap().is_empty());
}

#[test]
fn run_without_measurements_is_whole() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(&root);
    dir.requests(&sample::info()).unwrap().finish().unwrap();
    dir.series(&sample::info()).finish().unwrap();
    let run = Run::open(dir.path()).unwrap();
    assert!(requests(&run).is_empty());
    assert!(run.series().unwrap().is_empty());
}

/// More rows than are encoded together, in batches that do not divide their number.
#[test]
fn row_groups_keep_the_order() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(&root);
    let rows = sample::measurements(0..300_001);
    let mut writer = dir.requests(&sample::info()).unwrap();
    rows.chunks(70_001).for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    assert!(requests(&Run::open(dir.path()).unwrap()) == rows);
}

#[test]
fn directory_is_never_taken_twice() {
    let root = tempfile::tempdir().unwrap();
    create(&root);
    let again = RunDir::create(root.path(), &sample::info(), "");
    assert!(matches!(again, Err(RecordError::Exists { .. })));
}

fn any_measurement() -> impl Strategy<Value = Measurement> {
    let outcome = proptest::sample::select(Outcome::ALL);
    let long = any::<[u64; 4]>();
    let short = (0_u16..2, 0_u16..2, any::<u16>(), any::<u16>());
    (long, short, any::<[u32; 3]>(), outcome).prop_map(|(long, short, middle, outcome)| {
        Measurement {
            due_ns: long[0],
            sent_ns: long[1],
            done_ns: long[2],
            user: long[3],
            measure: short.0,
            session: short.1,
            loop_id: short.2,
            status: short.3,
            outcome,
            weight: middle[0],
            bytes_out: middle[1],
            bytes_in: middle[2],
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    #[test]
    fn any_measurements_come_back(
        batches in proptest::collection::vec(proptest::collection::vec(any_measurement(), 0..50), 0..4),
    ) {
        let root = tempfile::tempdir().unwrap();
        let dir = create(&root);
        let mut writer = dir.requests(&sample::info()).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
            writer.checkpoint().unwrap();
        }
        writer.finish().unwrap();
        prop_assert_eq!(requests(&Run::open(dir.path()).unwrap()), batches.concat());
    }
}

#[test]
fn imported_results_come_back_and_are_whole_without_rows() {
    let root = tempfile::tempdir().unwrap();
    let info = sample::info();
    let dir = RunDir::import(root.path(), &info, &sample::import()).unwrap();
    dir.write_tally(&sample::tally()).unwrap();
    let mut writer = dir.probes(&info);
    for metric in ["CPUUtilization", "MemoryUsed"] {
        writer.probe(sample::probe(metric));
    }
    let rows: Vec<_> = (0..5).map(sample::probe_row).collect();
    rows.iter().for_each(|row| writer.push(*row));
    writer.checkpoint().unwrap();

    let run = Run::open(dir.path()).unwrap();
    assert_eq!(run.missing(), ["there is no summary.json"]);
    dir.write_summary(&sample::summary()).unwrap();
    assert!(run.is_complete());
    assert_eq!(run.info(), &info);
    assert_eq!(run.import().unwrap(), Some(sample::import()));
    let probes = run.probes().unwrap();
    assert_eq!(probes.rows, rows);
    assert_eq!(probes.list[1], sample::probe("MemoryUsed"));
    assert_eq!(run.series().unwrap(), []);
}

/// What a writer leaves that is killed after any of its steps.
#[test]
fn probes_are_read_from_segments_and_the_file() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(&root);
    let parts_dir = dir.path().join("probes.parquet.parts");
    let mut writer = dir.probes(&sample::info());
    let mut expected = record::Probes::default();
    let mut parts_most = 0;
    for number in 0..100 {
        if number % 10 == 0 {
            let info = sample::probe(&number.to_string());
            writer.probe(info.clone());
            expected.list.push(info);
        }
        let row = record::ProbeRow { probe: number / 10, ..sample::probe_row(number.into()) };
        writer.push(row);
        expected.rows.push(row);
        assert!(writer.is_pending());
        writer.write_segment().unwrap();
        assert!(!writer.is_pending());
        assert_eq!(Run::open(dir.path()).unwrap().probes().unwrap(), expected);
        let parts = std::fs::read_dir(&parts_dir).map_or(0, Iterator::count);
        parts_most = parts.max(parts_most);
    }
    assert_eq!(parts_most, 32);
    // The file is in its place, and segments that are in it are not removed yet.
    let kept = root.path().join("kept");
    std::fs::rename(&parts_dir, &kept).unwrap();
    std::fs::create_dir(&parts_dir).unwrap();
    writer.checkpoint().unwrap();
    std::fs::rename(&kept, &parts_dir).unwrap();
    assert_eq!(Run::open(dir.path()).unwrap().probes().unwrap(), expected);
}

#[test]
fn a_run_of_our_own_has_no_import_and_no_probes() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(create(&root).path()).unwrap();
    assert_eq!(run.import().unwrap(), None);
    assert_eq!(run.probes().unwrap(), record::Probes::default());
}

#[test]
fn what_is_not_known_of_a_generator_is_not_written() {
    let mut summary = sample::summary();
    summary.health = record::schema::HealthSummary::default();
    let text = serde_json::to_string(&summary).unwrap();
    assert!(!text.contains("\"health\":"), "{text}");
    let back: record::schema::Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(back, summary);
}

#[test]
fn a_probe_that_is_not_listed_is_damage() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(&root);
    let mut writer = dir.probes(&sample::info());
    writer.push(sample::probe_row(1));
    writer.checkpoint().unwrap();
    let error = Run::open(dir.path()).unwrap().probes().unwrap_err();
    assert!(error.to_string().contains("probe 1 of 0"), "{error}");
}
