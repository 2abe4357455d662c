//! Intervals of percentiles, through the files of a run directory.

use plan::{Basis, Comparison, Figure, MeasureId, Stat, Threshold};
use record::schema::{
    IntervalMethod, IntervalMissing, MeasureInfo, PercentileInterval, RunInfo, RunStatus, Summary,
};
use record::{Measurement, Outcome, Run, RunDir};
use stats::hist::LogHistogram;
use stats::interval::quantile_interval;
use stats::rng::{Purpose, Rng};
use testkit::runs::made::{Made, info, operation};
use testkit::runs::{MS, SECOND};

/// A run of this many seconds, each with the same number of requests; `time` draws them, by second.
fn write(
    seconds: u64,
    count: u64,
    time: impl FnMut(&mut Rng, u64) -> u64,
) -> (tempfile::TempDir, Run) {
    write_in(&["request"], seconds, count, time)
}

/// The same requests, dealt out in turn to these measures.
fn write_in(
    measures: &[&str],
    seconds: u64,
    count: u64,
    mut time: impl FnMut(&mut Rng, u64) -> u64,
) -> (tempfile::TempDir, Run) {
    let root = tempfile::tempdir().unwrap();
    let mut info = info();
    let named = measures.iter().map(|name| MeasureInfo::new(name, "request"));
    info.measures = named.collect();
    info.phases.truncate(1);
    info.phases[0].end_ns = seconds * SECOND;
    info.ended_ns = seconds * SECOND;
    info.status = RunStatus::Complete;
    let dir = RunDir::create(root.path(), &info, "name: judged\n").unwrap();
    let mut latency = dir.latency(&info).unwrap();
    let mut rng = Rng::new(4, 1, Purpose::Value);
    for second in 0..seconds {
        let mut hists = vec![LogHistogram::new(); measures.len()];
        for number in 0..count as usize {
            hists[number % measures.len()].record(time(&mut rng, second));
        }
        let start_ns = second * SECOND;
        for (name, hist) in measures.iter().zip(&hists) {
            latency.interval(start_ns, SECOND, name, hist).unwrap();
        }
        let mut failed = LogHistogram::new();
        failed.record(10_000 * MS);
        latency.interval(start_ns, SECOND, &format!("{}.censored", measures[0]), &failed).unwrap();
    }
    latency.finish().unwrap();
    dir.update_info(&info).unwrap();
    let run = Run::open(dir.path()).unwrap();
    (root, run)
}

fn median(limit_ms: u64, comparison: Comparison) -> Threshold {
    Threshold {
        text: "it".to_owned(),
        figure: Figure::Measure {
            stat: Stat::Quantile(0.5),
            measure: Some(MeasureId(0)),
            basis: Basis::Response,
            phase: None,
        },
        comparison,
        limit: (limit_ms * MS) as f64,
    }
}

fn of(summary: &Summary, share: f64) -> PercentileInterval {
    *summary.measures[0].response.as_ref().unwrap().interval(share).unwrap()
}

/// Between 50 and 150 ms.
fn uniform(rng: &mut Rng, _: u64) -> u64 {
    50 * MS + rng.below(100 * MS)
}

#[test]
fn independent_operations_have_the_ranks_of_order_statistics() {
    let (_root, run) = write(60, 99, uniform);
    let summary = judge::judge(&run, &[], false).unwrap();
    let found = of(&summary, 0.5);
    assert_eq!(found.method, Some(IntervalMethod::OrderStatistics));
    assert_eq!(found.effective, Some(6000.0));
    let mut known = LogHistogram::new();
    run.intervals(|interval| {
        if interval.tag == "request" {
            known.merge(&interval.hist);
        }
    })
    .unwrap();
    let (low, high) = quantile_interval(6000, 0.5, 0.95).unwrap();
    let ends = (known.value_at_rank(low), known.value_at_rank(high));
    assert_eq!(found.ends_ns(), Some(ends));
    // One in a hundred was never answered: the upper end of p99 is among them.
    let p99 = of(&summary, 0.99);
    assert_eq!((p99.high_ns, p99.high_is_bound), (Some(10_000 * MS), true));
    assert_eq!(of(&summary, 0.999).missing, Some(IntervalMissing::Unanswered));
    assert_eq!(summary.phases[0].measures[0].response, summary.measures[0].response);
}

#[test]
fn a_limit_within_the_interval_is_noted_and_decides_as_before() {
    let (_root, run) = write(60, 99, uniform);
    let found = of(&judge::judge(&run, &[], false).unwrap(), 0.5);
    let (low, high) = found.ends_ns().unwrap();
    assert!(low < 100 * MS && 101 * MS < high, "{low} {high}");
    let thresholds = [
        median(100, Comparison::Less),
        median(100, Comparison::Greater),
        median(140, Comparison::Less),
        median(100, Comparison::NotEqual),
    ];
    let summary = judge::judge(&run, &thresholds, false).unwrap();
    let results = summary.thresholds.iter();
    let within: Vec<bool> = results.map(|result| result.within_interval).collect();
    assert_eq!(within, [true, true, false, false]);
    assert_ne!(summary.thresholds[0].passed, summary.thresholds[1].passed);
    assert_eq!(summary.thresholds[0].interval, Some(found));
}

/// The division of requests among measures makes no difference.
#[test]
fn a_percentile_of_all_requests_has_the_interval_of_one_measure() {
    let of_all = |measures: &[&str]| {
        let (_root, run) = write_in(measures, 60, 99, uniform);
        let mut threshold = median(100, Comparison::Less);
        if let Figure::Measure { measure, .. } = &mut threshold.figure {
            *measure = None;
        }
        judge::judge(&run, &[threshold], false).unwrap().thresholds[0].clone()
    };
    let one = of_all(&["request"]);
    assert!(one.interval.is_some_and(|found| found.ends_ns().is_some()));
    assert_eq!(one, of_all(&["request", "cart", "pay"]));
    let (_root, run) = write(60, 99, uniform);
    let threshold = median(100, Comparison::Less);
    let named = judge::judge(&run, &[threshold], false).unwrap();
    assert_eq!(named.thresholds[0], one);
    // Responses of experiments are read alike.
    let values = judge::responses::run_values(&run, &["p50", "p50(request)"]).unwrap();
    let values: Vec<_> = values.iter().map(|v| v.map(|v| v.value)).collect();
    assert_eq!(values, [one.value, one.value]);
}

#[test]
fn operations_that_are_slow_together_have_wider_intervals() {
    let slow =
        |rng: &mut Rng, second: u64| uniform(rng, second) * if second * 7 % 6 < 2 { 3 } else { 1 };
    let (_root, run) = write(120, 99, slow);
    let found = of(&judge::judge(&run, &[], false).unwrap(), 0.9);
    assert_eq!(found.method, Some(IntervalMethod::EffectiveSize));
    assert!(found.effective.unwrap() < 6000.0, "{found:?}");
    assert!(found.ends_ns().is_some(), "{found:?}");
    let stretch =
        |rng: &mut Rng, second: u64| uniform(rng, second) * if second < 40 { 3 } else { 1 };
    let (_root, run) = write(120, 99, stretch);
    let found = of(&judge::judge(&run, &[], false).unwrap(), 0.9);
    assert_eq!((found.ends_ns(), found.missing), (None, Some(IntervalMissing::Dependent)));
}

#[test]
fn phases_have_intervals_of_their_own() {
    let twice = |rng: &mut Rng, second: u64| uniform(rng, second) * if second < 60 { 2 } else { 1 };
    let (root, _) = write(120, 99, twice);
    let directory = std::fs::read_dir(root.path()).unwrap().next().unwrap().unwrap().path();
    let file = directory.join("run.json");
    let mut info: RunInfo = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    info.phases.push(info.phases[0].clone());
    info.phases[0].end_ns = 60 * SECOND;
    info.phases[1].start_ns = 60 * SECOND;
    std::fs::write(&file, serde_json::to_vec(&info).unwrap()).unwrap();
    let summary = judge::judge(&Run::open(&directory).unwrap(), &[], false).unwrap();
    // Half of the run is slow: seconds depend on each other over half of it.
    assert_eq!(of(&summary, 0.5).missing, Some(IntervalMissing::Dependent));
    for (phase, median_ms) in [(0, 200), (1, 100)] {
        let response = summary.phases[phase].measures[0].response.as_ref().unwrap();
        let found = response.interval(0.5).unwrap();
        let (low, high) = found.ends_ns().unwrap();
        assert!(low < 103 * median_ms * MS / 100 && 98 * median_ms * MS / 100 < high, "{found:?}");
        assert!(high < 106 * low / 100, "{found:?}");
    }
}

#[test]
fn a_single_second_has_no_interval() {
    let (_root, run) = write(1, 99, uniform);
    let found = of(&judge::judge(&run, &[], false).unwrap(), 0.5);
    assert_eq!((found.low_ns, found.missing), (None, Some(IntervalMissing::Short)));
}

/// Five seconds do not show whether requests depend on each other. Their rows do, a twelfth of a second after the other.
#[test]
fn a_run_of_a_few_seconds_has_the_intervals_of_its_rows() {
    let median_of = |weight: u32| {
        let mut rng = Rng::new(4, 1, Purpose::Value);
        let row = |n: u64| {
            let time_ns = uniform(&mut rng, 0);
            Measurement { weight, ..operation(n, n * 10 * MS, time_ns, Outcome::Ok) }
        };
        let rows = (0..480).map(row).collect();
        let made = Made { rows, ..Made::of(5) };
        of(&judge::judge(&made.write(|_| {}), &[], false).unwrap(), 0.5)
    };
    let found = median_of(1);
    let (low, high) = found.ends_ns().unwrap();
    assert!(low < 106 * MS && 94 * MS < high && high - low < 25 * MS, "{found:?}");
    // Every second row is no picture of what happened.
    assert_eq!(median_of(2).missing, Some(IntervalMissing::Short));
}

/// The requests of a run in one measure, or alternately in two, have the same times together, and so the same intervals.
#[test]
fn a_tag_has_the_intervals_of_one_measure() {
    let root = tempfile::tempdir().unwrap();
    let write = |names: &[&str]| {
        let mut info = info();
        info.phases.truncate(1);
        info.phases[0].end_ns = 60 * SECOND;
        info.ended_ns = 60 * SECOND;
        info.status = RunStatus::Complete;
        info.measures = names
            .iter()
            .map(|name| MeasureInfo {
                tags: [("area".to_owned(), "shop".to_owned())].into(),
                ..MeasureInfo::new(name, "request")
            })
            .collect();
        let dir =
            RunDir::create(&root.path().join(names.join("-")), &info, "name: judged\n").unwrap();
        let mut latency = dir.latency(&info).unwrap();
        let mut rng = Rng::new(4, 1, Purpose::Value);
        for second in 0..60 {
            let mut hists = vec![LogHistogram::new(); names.len()];
            (0..100).for_each(|n| hists[n % names.len()].record(uniform(&mut rng, second)));
            for (name, hist) in names.iter().zip(&hists) {
                latency.interval(second * SECOND, SECOND, name, hist).unwrap();
            }
        }
        latency.finish().unwrap();
        dir.update_info(&info).unwrap();
        let run = Run::open(dir.path()).unwrap();
        let median = Threshold {
            text: "p50(area=shop) < 100ms".to_owned(),
            figure: Figure::Measures {
                stat: Stat::Quantile(0.5),
                measures: (0..).take(names.len()).map(MeasureId).collect(),
                basis: Basis::Response,
                phase: None,
            },
            comparison: Comparison::Less,
            limit: (100 * MS) as f64,
        };
        judge::judge(&run, &[median], false).unwrap()
    };
    let one = write(&["a"]);
    let two = write(&["b", "c"]);
    assert_eq!(one.measures[0].response, one.tags[0].figures.response);
    // A sum of histograms that are stored apart is off by some nanoseconds.
    let [mut single, merged] =
        [&one, &two].map(|all| all.tags[0].figures.response.clone().unwrap());
    assert!((single.mean_ns - merged.mean_ns).abs() < 100.0);
    single.mean_ns = merged.mean_ns;
    assert_eq!(single, merged);
    let intervals = &merged.intervals;
    assert_eq!(intervals.len(), 6);
    assert!(one.thresholds[0].interval.is_some());
    assert_eq!(one.thresholds, two.thresholds);
}
