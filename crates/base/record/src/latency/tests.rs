use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::schema::{GeneratorInfo, RunStatus};

fn recorded(values: &[u64]) -> LogHistogram {
    let mut hist = LogHistogram::new();
    values.iter().for_each(|&value| hist.record(value));
    hist
}

fn info() -> RunInfo {
    RunInfo {
        format: 1,
        id: "x".to_owned(),
        name: String::new(),
        throng: String::new(),
        status: RunStatus::Running,
        seed: 0,
        scenario_hash: String::new(),
        overrides: Vec::new(),
        target: String::new(),
        started_unix_ns: 1_438_732_800_000_000_000,
        ended_ns: 0,
        clock: String::new(),
        generator: GeneratorInfo {
            mode: String::new(),
            loops: 1,
            cores: 1,
            files_per_loop: 1,
            lag_max_ns: 0,
        },
        regions: Vec::new(),
        host: std::collections::BTreeMap::new(),
        measures: Vec::new(),
        steps: Vec::new(),
        expects_overload: false,
        metrics: Vec::new(),
        sessions: Vec::new(),
        phases: Vec::new(),
        tls_unverified: false,
        workers: Vec::new(),
    }
}

/// The intervals that are read after these were written.
fn round_trip(intervals: &[(u64, u64, &str, &LogHistogram)]) -> Vec<Interval> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latency.hlog");
    let mut writer = LatencyWriter::create(path.clone(), &info(), Durability::Process).unwrap();
    for (start_ns, len_ns, tag, hist) in intervals {
        writer.interval(*start_ns, *len_ns, tag, hist).unwrap();
    }
    writer.finish().unwrap();
    let mut found = Vec::new();
    read(&path, |_| true, |interval| found.push(interval)).unwrap();
    found
}

#[test]
fn tags_that_are_not_wanted_are_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latency.hlog");
    let mut writer = LatencyWriter::create(path.clone(), &info(), Durability::Process).unwrap();
    for tag in ["a", "a.lag", "b"] {
        writer.interval(0, 1, tag, &recorded(&[5])).unwrap();
    }
    writer.finish().unwrap();
    let mut found = Vec::new();
    read(&path, |tag| tag != "a.lag", |interval| found.push(interval.tag)).unwrap();
    assert_eq!(found, ["a", "b"]);
}

#[test]
fn intervals_come_back_in_order() {
    let few = recorded(&[0, 5, 2047]);
    let many = recorded(&(1..2000).collect::<Vec<_>>());
    let empty = LogHistogram::new();
    let found = round_trip(&[
        (0, 1_000_000_000, "connect", &few),
        (0, 1_000_000_000, "a, b.lag", &many),
        (0, 1_000_000_000, "silent", &empty),
        (1_000_000_001, 999_999_999, "connect", &few),
    ]);
    let expected = |start_ns, len_ns, tag: &str, hist: &LogHistogram| Interval {
        start_ns,
        len_ns,
        tag: tag.to_owned(),
        hist: hist.clone(),
    };
    assert_eq!(
        found,
        [
            expected(0, 1_000_000_000, "connect", &few),
            expected(0, 1_000_000_000, "a, b.lag", &many),
            expected(1_000_000_001, 999_999_999, "connect", &few),
        ]
    );
}

#[test]
fn the_greatest_number_is_exact_and_the_least_the_middle_of_its_bucket() {
    // From 2^25 on, buckets are 2^15 wide.
    const LOWEST: u64 = 1 << 25;
    for least in [LOWEST, LOWEST + 100, LOWEST + (1 << 15) - 1] {
        let hist = recorded(&[least, 70_000_001, 80_000_003]);
        let found = round_trip(&[(0, 1, "request", &hist)]);
        assert_eq!(found[0].hist.max(), 80_000_003);
        assert_eq!(found[0].hist.min(), LOWEST + (1 << 14));
    }
    let alone = round_trip(&[(0, 1, "request", &recorded(&[LOWEST + 100]))]);
    assert_eq!(alone[0].hist.min(), LOWEST + 100);
}

#[test]
fn torn_last_line_is_skipped_and_damage_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latency.hlog");
    let mut writer = LatencyWriter::create(path.clone(), &info(), Durability::Process).unwrap();
    writer.interval(0, 1, "a", &recorded(&[1])).unwrap();
    writer.interval(1, 1, "a", &recorded(&[1])).unwrap();
    writer.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 2]).unwrap();
    let mut count = 0;
    read(&path, |_| true, |_| count += 1).unwrap();
    assert_eq!(count, 1);
    for (damaged, expected) in [
        ("Tag=a,0.000,1.000,1.000,AAAA\n", "line 1: "),
        ("#\nTag=a,0.000,1.000,1.000,not base64\n", "line 2: Invalid"),
        ("0.000,1.000\n", "line 1: fewer than four columns"),
    ] {
        std::fs::write(&path, damaged).unwrap();
        let error = read(&path, |_| true, |_| {}).unwrap_err().to_string();
        assert!(error.contains("latency.hlog is damaged") && error.contains(expected), "{error}");
    }
}

proptest! {
    /// `stats` makes the same buckets as HdrHistogram, and answers quantiles alike.
    #[test]
    fn our_histogram_agrees_with_hdrhistogram(
        values in vec((any::<u64>(), 1_u32..64).prop_map(|(bits, shift)| bits >> shift), 1..300),
        q in 0.001..=1.0_f64,
    ) {
        let ours = recorded(&values);
        let mut theirs = Histogram::<u64>::new(3).unwrap();
        values.iter().for_each(|&value| theirs.record(value).unwrap());
        let our_buckets: Vec<(u64, u64, u64)> = ours.iter().collect();
        let their_buckets: Vec<(u64, u64, u64)> = theirs
            .iter_recorded()
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
            .map(|(value, count)| {
                (theirs.lowest_equivalent(value), theirs.highest_equivalent(value), count)
            })
            .collect();
        prop_assert_eq!(our_buckets, their_buckets);
        prop_assert_eq!(ours.quantile(q), theirs.value_at_quantile(q).min(ours.max()));
    }

    /// What is read differs from what was written by half a bucket at most.
    #[test]
    fn counts_and_greatest_come_back(
        values in vec((any::<u64>(), 1_u32..64).prop_map(|(bits, shift)| bits >> shift), 1..300),
    ) {
        let written = recorded(&values);
        let found = round_trip(&[(7, 8, "x", &written)]).remove(0).hist;
        prop_assert_eq!(found.max(), written.max());
        prop_assert_eq!(
            found.iter().collect::<Vec<_>>(),
            written.iter().collect::<Vec<_>>()
        );
        prop_assert!((found.mean() - written.mean()).abs() <= written.mean() / 2000.0);
    }
}
