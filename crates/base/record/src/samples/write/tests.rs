use super::*;
use crate::Run;
use crate::samples::{ReadOptions, Samples, read_results};
use crate::schema::ErrorCount;

fn imported(results: &ToolResults) -> (tempfile::TempDir, Run) {
    let imported = SampleImport {
        results,
        source: "old.txt",
        name: "samples",
        label: "old",
        started_unix_ns: None,
        throng: "0.0.0",
    };
    let space = tempfile::tempdir().unwrap();
    let dir = imported.write(space.path()).unwrap();
    assert!(matches!(imported.write(space.path()), Err(RecordError::Exists { .. })));
    let run = Run::open(dir.path()).unwrap();
    (space, run)
}

fn written(times_ns: Vec<u64>, starts_ns: Vec<u64>) -> (tempfile::TempDir, Run) {
    let samples = Samples { column: None, times_ns, starts_ns, ends: Vec::new() };
    imported(&samples.results("checkout").unwrap())
}

/// The histograms' counts by tag.
fn tags(run: &Run) -> BTreeMap<String, u64> {
    let mut tags = BTreeMap::new();
    run.intervals(|interval| {
        *tags.entry(interval.tag).or_default() += interval.hist.count();
    })
    .unwrap();
    tags
}

fn rows(run: &Run) -> Vec<Measurement> {
    let mut rows = Vec::new();
    run.requests(|batch| rows.extend_from_slice(batch)).unwrap();
    rows
}

#[test]
fn without_starts_samples_keep_their_order_in_slots_of_one_length() {
    let (_space, run) = written(vec![500, 20, 100], Vec::new());
    let times = rows(&run);
    let times: Vec<u64> = times.iter().map(Measurement::response_ns).collect();
    assert_eq!(times, [500, 20, 100]);
    let starts: Vec<u64> = rows(&run).iter().map(|row| row.due_ns).collect();
    assert_eq!(starts, [0, 501, 1002]);
    assert_eq!(run.info().clock, NO_CLOCK);
    assert!(run.series().unwrap().is_empty());
    assert!(run.info().id.starts_with("19700101T000000-samples-old-"));
    assert_eq!(run.missing(), ["there is no summary.json"]);
    assert!(run.import().unwrap().unwrap().has_operations());
}

#[test]
fn with_starts_rows_and_seconds_are_in_the_order_of_their_ends() {
    let start = |ms: u64| UNIX_NS_MIN + ms * 1_000_000;
    let starts = vec![start(2_500), start(0), start(10)];
    let (_space, run) = written(vec![10, 2_600_000_000, 20], starts);
    let times: Vec<(u64, u64)> = rows(&run).iter().map(|r| (r.due_ns, r.done_ns)).collect();
    let ms = 1_000_000;
    assert_eq!(times, [(10 * ms, 10 * ms + 20), (2_500 * ms, 2_500 * ms + 10), (0, 2_600 * ms)]);
    let done: Vec<u64> = run.series().unwrap().iter().map(|row| row.done).collect();
    assert_eq!(done, [1, 0, 2]);
    let mut counted = 0;
    run.intervals(|interval| {
        assert_eq!(interval.tag, "checkout");
        counted += interval.hist.count();
    })
    .unwrap();
    assert_eq!(counted, 3);
    assert!(run.info().id.starts_with("20010909T014640-samples-old-"));
    assert_eq!(run.info().ended_ns, 2_600 * ms);
}

#[test]
fn a_single_sample_of_no_length_is_a_run() {
    let (_space, run) = written(vec![0], Vec::new());
    assert_eq!((rows(&run).len(), run.info().ended_ns), (1, 1));
}

/// A failure is one in the rows, the histograms, the tally, the series and the failures by what they were.
#[test]
fn failures_are_failures_in_every_file() {
    let text = "timeStamp,elapsed,label,responseCode,responseMessage,success\n\
                1675412206000,200,login,200,OK,true\n\
                1675412206010,5,login,503,,false\n\
                1675412208010,6,login,503,,false\n\
                1675412206020,3000,login,Non HTTP response code: java.net.SocketTimeoutException,,false\n\
                1675412206000,210,all,200,Number of samples in transaction : 1,true\n";
    let results = read_results(text.as_bytes(), &ReadOptions::default()).unwrap();
    let (_space, run) = imported(&results);
    let expected =
        [("all (transaction)", 1), ("login", 1), ("login.censored", 1), ("login.failed", 2)];
    let expected: BTreeMap<String, u64> =
        expected.iter().map(|&(tag, count)| (tag.to_owned(), count)).collect();
    assert_eq!(tags(&run), expected);
    let kinds: Vec<&str> = run.info().measures.iter().map(|m| m.kind.as_str()).collect();
    assert_eq!(kinds, ["request", "transaction"]);
    let tally = run.tally().unwrap().unwrap();
    assert_eq!(tally.begun, [4, 1]);
    let ends = &tally.phases[0].measures[0].outcomes;
    assert_eq!((ends["ok"], ends["status"], ends["timeout"]), (1, 2, 1));
    let mut counts = Vec::new();
    run.error_counts(|count| counts.push(count)).unwrap();
    let counts: Vec<(u64, &str, Option<&str>, u64)> = counts
        .iter()
        .map(|one| (one.start_ns, one.kind.as_str(), one.detail.as_deref(), one.count))
        .collect();
    let timeout = Some("java.net.SocketTimeoutException");
    let expected = [
        (0, "status", Some("503"), 1),
        (2 * SECOND, "status", Some("503"), 1),
        (3 * SECOND, "timeout", timeout, 1),
    ];
    assert_eq!(counts, expected);
    let series = run.series().unwrap();
    let sums: (u64, u64, u64) = series.iter().fold((0, 0, 0), |sums, row| {
        (sums.0 + row.done, sums.1 + row.operations_ended, sums.2 + row.errors)
    });
    assert_eq!(sums, (5, 4, 3), "the transaction consists of a request, and is none");
    let statuses: Vec<u16> = rows(&run).iter().map(|row| row.status).collect();
    assert_eq!(statuses, [503, 200, 200, 503, 0]);
    assert_eq!(run.import().unwrap().unwrap().source, "old.txt (JMeter, CSV)");
}

#[test]
fn failures_that_are_too_many_to_be_told_apart_are_others() {
    let details: Vec<String> = (0..5).map(|number| format!("error {number}")).collect();
    let mut failures = Failures::new(&details);
    let operation = ToolOperation {
        start_ns: 0,
        time_ns: 1,
        bytes_out: 0,
        bytes_in: 0,
        measure: 0,
        status: 0,
        detail: 1,
        outcome: Outcome::Other,
    };
    for measure in 0..ErrorCount::DISTINCT_MAX as u16 + 7 {
        failures.add(0, &ToolOperation { measure, ..operation });
        failures.add(0, &ToolOperation { measure, outcome: Outcome::Ok, ..operation });
    }
    let counts = failures.counts();
    let is_other = |one: &&ErrorCount| one.detail.as_deref() == Some(ErrorCount::OTHERS);
    assert_eq!(counts.iter().filter(is_other).count(), 7);
    assert_eq!(counts[0].detail.as_deref(), Some("error 0"));
}

#[test]
fn histograms_are_a_run_without_rows() {
    let mut times = LogHistogram::new();
    times.record_n(1_000_000, 30);
    times.record(9_000_000);
    let part = |second: u64| HistogramPart {
        measure: 0,
        start_ns: UNIX_NS_MIN + second * SECOND,
        len_ns: SECOND,
        times: times.clone(),
    };
    let results = ToolResults {
        tool: "tool",
        measures: vec![crate::samples::ToolMeasure { name: "x".to_owned(), kind: "request" }],
        measured: Measurements::Histograms(vec![part(1), part(0)]),
        has_starts: true,
        details: Vec::new(),
        absent: Vec::new(),
    };
    let (_space, run) = imported(&results);
    assert_eq!(tags(&run), BTreeMap::from([("x".to_owned(), 62)]));
    assert!(rows(&run).is_empty());
    let done: Vec<u64> = run.series().unwrap().iter().map(|row| row.done).collect();
    assert_eq!((done, run.info().ended_ns), (vec![31, 31], 2 * SECOND));
    assert_eq!(run.missing(), ["there is no summary.json"]);
    let unclocked = ToolResults { has_starts: false, ..results };
    let (_space, run) = imported(&unclocked);
    assert_eq!(run.info().clock, NO_CLOCK);
    assert!(run.series().unwrap().is_empty());
}
