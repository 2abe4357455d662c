use plan::{Figure, MeasureId};
use record::schema::{
    MeasureTally, PhaseTally, RunStatus, SeriesRow, Severity, Summary, Tally, Verdict,
};
use record::{Measurement, Outcome, RunDir};
use stats::hist::LogHistogram;

use super::*;
use crate::sample::{self, MS, REQUEST, SECOND};

const CODE: &str = "threshold-by-lag";

/// 60,000 requests of 10 ms. Of them `late` began 480 ms late, and `slow` took 480 ms.
fn figures(late: u64, slow: u64) -> Figures {
    let mut figures = sample::figures();
    figures.cell_mut(0, REQUEST).map(std::mem::take);
    let all = 60_000 - late - slow;
    sample::succeed(&mut figures, 0, REQUEST, all, 10 * MS, 0);
    sample::succeed(&mut figures, 0, REQUEST, late, 490 * MS, 480 * MS);
    sample::succeed(&mut figures, 0, REQUEST, slow, 480 * MS, 0);
    figures
}

fn threshold(stat: Stat, limit: f64) -> Threshold {
    Threshold {
        text: "it < limit".to_owned(),
        figure: Figure::Measure {
            stat,
            measure: Some(MeasureId(REQUEST as u16)),
            basis: Basis::Response,
            phase: None,
        },
        comparison: Comparison::Less,
        limit,
    }
}

fn verdict(figures: &Figures, threshold: Threshold) -> (Verdict, String) {
    let summary = crate::judge_figures(figures, &[threshold], false);
    (summary.verdict, summary.findings[0].code.clone())
}

#[test]
fn lag_is_judged_at_the_percentile_of_the_threshold() {
    // 0.5 s without the generator in 60 s: 500 of 60,000 are late, fewer than 1 %.
    let stopped = figures(500, 0);
    for (stat, expected) in [
        (Stat::Quantile(0.99), (Verdict::Passed, "generator-healthy")),
        (Stat::Quantile(0.999), (Verdict::Untrusted, CODE)),
        (Stat::Max, (Verdict::Untrusted, CODE)),
    ] {
        let (found, first) = verdict(&stopped, threshold(stat, 100e6));
        assert_eq!((found, first.as_str()), expected, "{stat:?}");
    }
    // A threshold that holds in spite of lag is not decided by it.
    let (found, _) = verdict(&stopped, threshold(Stat::Quantile(0.999), 600e6));
    assert_eq!(found, Verdict::Passed);
}

#[test]
fn lag_decides_over_all_requests_as_well() {
    let mut all = threshold(Stat::Quantile(0.999), 100e6);
    if let Figure::Measure { measure, .. } = &mut all.figure {
        *measure = None;
    }
    let (found, first) = verdict(&figures(500, 0), all.clone());
    assert_eq!((found, first.as_str()), (Verdict::Untrusted, CODE));
    let (found, _) = verdict(&figures(0, 500), all);
    assert_eq!(found, Verdict::Failed);
}

/// 60,000 requests of 300 ms. The generator stopped for half a second: 300 that were due then began late, and the
/// answers of 300 that were in flight were read late. `slow` took 800 ms.
fn in_flight(slow: u64) -> Figures {
    let mut figures = sample::figures();
    figures.cell_mut(0, REQUEST).map(std::mem::take);
    let all = 60_000 - 600 - slow;
    sample::succeed(&mut figures, 0, REQUEST, all, 300 * MS, 0);
    sample::succeed(&mut figures, 0, REQUEST, slow, 800 * MS, 0);
    sample::succeed(&mut figures, 0, REQUEST, 300, 780 * MS, 480 * MS);
    sample::succeed(&mut figures, 0, REQUEST, 300, 780 * MS, 0);
    let cell = figures.cell_mut(0, REQUEST).unwrap();
    cell.late.record_n(480 * MS, 300);
    figures
}

#[test]
fn answers_that_were_read_late_are_the_generators_doing() {
    let on = |basis, stat, limit| {
        let mut threshold = threshold(stat, limit);
        if let Figure::Measure { basis: of, .. } = &mut threshold.figure {
            *of = basis;
        }
        threshold
    };
    let p999 = Stat::Quantile(0.999);
    for basis in [Basis::Response, Basis::Succeeded, Basis::Service] {
        for stat in [p999, Stat::Max] {
            let (found, first) = verdict(&in_flight(0), on(basis, stat, 500e6));
            assert_eq!((found, first.as_str()), (Verdict::Untrusted, CODE));
        }
        // The mean of a fifth of a second in 300 is within 5 %.
        let (found, _) = verdict(&in_flight(0), on(basis, Stat::Mean, 302e6));
        assert_eq!(found, Verdict::Failed);
        // Slower than the limit without any of it.
        let (found, _) = verdict(&in_flight(0), on(basis, p999, 250e6));
        assert_eq!(found, Verdict::Failed);
    }
    // All that began late shows in responses alone: a service time has no lag.
    let (found, _) = verdict(&figures(500, 0), on(Basis::Service, p999, 5e6));
    assert_eq!(found, Verdict::Failed);
    // Most of the slowest hundredth were slow, and the rest was read late.
    let slow = on(Basis::Service, Stat::Quantile(0.99), 310e6);
    let (found, _) = verdict(&in_flight(1000), slow);
    assert_eq!(found, Verdict::Failed);
}

/// Messages that came in half a second in which their loop did not run.
#[test]
fn messages_that_were_read_late_are_not_blamed_on_their_sender() {
    let names = ["said", "said.ahead"].map(str::to_owned);
    let mut figures = sample::with_messages(&names);
    sample::succeed(&mut figures, 0, sample::UPDATE, 59_500, 10 * MS, 0);
    sample::succeed(&mut figures, 0, sample::UPDATE, 500, 490 * MS, 480 * MS);
    let mut threshold = threshold(Stat::Quantile(0.999), 100e6);
    if let Figure::Measure { measure, .. } = &mut threshold.figure {
        *measure = Some(MeasureId(sample::UPDATE as u16));
    }
    let (found, first) = verdict(&figures, threshold);
    assert_eq!((found, first.as_str()), (Verdict::Untrusted, CODE));
}

#[test]
fn a_slow_target_fails_on_its_own_account() {
    let slow = figures(0, 500);
    let (found, _) = verdict(&slow, threshold(Stat::Quantile(0.999), 100e6));
    assert_eq!(found, Verdict::Failed);
    // Lag that would not have changed the result decides nothing.
    let both = figures(500, 0);
    let (found, _) = verdict(&both, threshold(Stat::Quantile(0.999), 5e6));
    assert_eq!(found, Verdict::Failed);
}

#[test]
fn slow_and_late_operations_add_up_at_a_percentile() {
    // p99.9 leaves out 60. Neither the 50 that were late nor the 50 that were slow are as many.
    let p999 = |limit| threshold(Stat::Quantile(0.999), limit);
    let (found, first) = verdict(&figures(50, 50), p999(100e6));
    assert_eq!((found, first.as_str()), (Verdict::Untrusted, CODE));
    let (found, _) = verdict(&figures(50, 61), p999(100e6));
    assert_eq!(found, Verdict::Failed);
    let at_least = Threshold { comparison: Comparison::Greater, ..p999(100e6) };
    let (found, first) = verdict(&figures(50, 50), at_least);
    assert_eq!((found, first.as_str()), (Verdict::Untrusted, CODE));
}

/// What is recorded of a minute: 100 requests a second of 10 ms each, and what a test adds.
struct Recorded {
    rows: Vec<Measurement>,
    /// Seconds in which answers were read late, and by how much.
    late: Vec<(u64, u64)>,
    /// The recorded lag of a request.
    lag: fn(&Measurement) -> u64,
    /// The rows that are in the record.
    kept: fn(&mut Vec<Measurement>),
}

/// A request that was due then, began late, and was answered after its service time, all in milliseconds.
fn request(due_ms: u64, lag_ms: u64, service_ms: u64) -> Measurement {
    let due_ns = due_ms * MS;
    let sent_ns = due_ns + lag_ms * MS;
    Measurement {
        due_ns,
        sent_ns,
        done_ns: sent_ns + service_ms * MS,
        user: due_ms,
        measure: REQUEST as u16,
        session: 0,
        loop_id: 0,
        outcome: Outcome::Ok,
        status: 200,
        weight: 1,
        bytes_out: 100,
        bytes_in: 400,
    }
}

/// One that was answered with a failure.
fn failure(due_ms: u64, lag_ms: u64, service_ms: u64) -> Measurement {
    Measurement { outcome: Outcome::Status, status: 500, ..request(due_ms, lag_ms, service_ms) }
}

/// Requests that were due while the generator did not run for 200 ms from this second on.
fn stop(second: u64) -> impl Iterator<Item = Measurement> {
    (0..10).map(move |n| request(second * 1000 + n, 200 - n, 10))
}

impl Recorded {
    fn of(more: impl IntoIterator<Item = Measurement>) -> Recorded {
        let usual = (0..6000).map(|n| request(n * 10, 0, 10));
        Recorded {
            rows: usual.chain(more).collect(),
            late: Vec::new(),
            lag: Measurement::lag_ns,
            kept: |_| {},
        }
    }

    fn write(&self, root: &std::path::Path) -> Run {
        let mut info = sample::info();
        info.ended_ns = 61 * SECOND;
        let dir = RunDir::create(root, &info, "name: sample\n").unwrap();
        let mut kept = self.rows.clone();
        (self.kept)(&mut kept);
        if !kept.is_empty() {
            let mut requests = dir.requests(&info).unwrap();
            requests.write(&kept).unwrap();
            requests.finish().unwrap();
        }
        let mut series = dir.series(&info);
        let mut latency = dir.latency(&info).unwrap();
        for second in 0..=60 {
            let ended = self.rows.iter().filter(|row| row.done_ns / SECOND == second);
            let hist = |outcome: Outcome, of: fn(&Measurement) -> u64| {
                let mut hist = LogHistogram::new();
                let rows = ended.clone().filter(|row| row.outcome == outcome);
                rows.for_each(|row| hist.record(of(row)));
                hist
            };
            let mut late = LogHistogram::new();
            let of_second = self.late.iter().filter(|(of, _)| *of == second);
            of_second.for_each(|(_, late_ns)| late.record(*late_ns));
            for (tag, hist) in [
                ("request", hist(Outcome::Ok, Measurement::response_ns)),
                ("request.failed", hist(Outcome::Status, Measurement::response_ns)),
                ("request.service", hist(Outcome::Ok, Measurement::service_ns)),
                ("request.lag", hist(Outcome::Ok, self.lag)),
                ("request.late", late),
            ] {
                latency.interval(second * SECOND, SECOND, tag, &hist).unwrap();
            }
            let lag_max_ns = ended.map(self.lag).max().unwrap_or(0);
            let usual = match second {
                60 => {
                    SeriesRow { start_ns: 60 * SECOND, end_ns: 61 * SECOND, ..SeriesRow::default() }
                }
                _ => sample::row(second),
            };
            series.push(&SeriesRow { lag_max_ns, ..usual });
        }
        series.finish().unwrap();
        latency.finish().unwrap();
        let count =
            |outcome: Outcome| self.rows.iter().filter(|row| row.outcome == outcome).count() as u64;
        let outcomes = [Outcome::Ok, Outcome::Status];
        let outcomes = outcomes.map(|outcome| (outcome.name().to_owned(), count(outcome))).into();
        let measure = REQUEST as u16;
        let measures = vec![MeasureTally { measure, outcomes, ..MeasureTally::default() }];
        let phases = vec![PhaseTally { phase: 0, measures }];
        dir.write_tally(&Tally { phases, ..Tally::default() }).unwrap();
        info.status = RunStatus::Complete;
        dir.update_info(&info).unwrap();
        Run::open(dir.path()).unwrap()
    }

    fn judged(&self, thresholds: &[Threshold]) -> Summary {
        let root = tempfile::tempdir().unwrap();
        crate::judge(&self.write(root.path()), thresholds, false).unwrap()
    }

    /// The verdict, and the texts of thresholds that lag decides.
    fn verdict(&self, threshold: Threshold) -> (Verdict, Vec<String>) {
        let summary = self.judged(&[threshold]);
        let fatal = summary.findings.iter().filter(|f| f.severity == Severity::Fatal);
        assert_eq!(fatal.filter(|f| f.code != CODE).count(), 0, "{:?}", summary.findings);
        let by_lag = summary.findings.into_iter().filter(|f| f.code == CODE);
        (summary.verdict, by_lag.map(|f| f.text).collect())
    }

    fn is_decided_by_lag(&self, threshold: Threshold) -> bool {
        match self.verdict(threshold) {
            (Verdict::Untrusted, texts) => {
                assert_eq!(texts.len(), 1);
                true
            }
            (verdict, texts) => {
                assert_eq!((verdict, texts.len()), (Verdict::Failed, 0));
                false
            }
        }
    }
}

fn slowest(limit_ms: u64) -> Threshold {
    threshold(Stat::Max, (limit_ms * MS) as f64)
}

fn p999(basis: Basis, limit_ms: u64) -> Threshold {
    let mut threshold = threshold(Stat::Quantile(0.999), (limit_ms * MS) as f64);
    if let Figure::Measure { basis: of, .. } = &mut threshold.figure {
        *of = basis;
    }
    threshold
}

/// One answer takes a second. The generator stops for 200 ms long after it, when only others are in flight.
#[test]
fn lag_of_others_decides_nothing() {
    let slow = request(1005, 0, 1000);
    let recorded = Recorded::of(stop(20).chain([slow]));
    assert_eq!(recorded.verdict(slowest(900)), (Verdict::Failed, Vec::new()));
    // The stop alone is the generator's.
    assert!(Recorded::of(stop(20)).is_decided_by_lag(slowest(100)));
    // Without the slow one the maximum would be within this limit, but the maximum is not its own.
    assert!(!recorded.is_decided_by_lag(slowest(100)));
}

#[test]
fn rows_show_whose_lag_it_was_within_a_second() {
    let slow = request(19_105, 0, 1000);
    let mut recorded = Recorded::of(stop(20).chain([slow]));
    assert!(!recorded.is_decided_by_lag(slowest(900)));
    // Without all rows of the second it may have been the lag of the slow one.
    let some: [fn(&mut Vec<Measurement>); 3] = [
        Vec::clear,
        |rows| rows.retain(|row| row.done_ns != 20_105 * MS),
        |rows| {
            let mut number = 0;
            rows.retain_mut(|row| {
                row.weight = 2;
                number += 1;
                number % 2 == 0
            });
        },
    ];
    for kept in some {
        recorded.kept = kept;
        let (verdict, texts) = recorded.verdict(slowest(900));
        assert_eq!(verdict, Verdict::Untrusted);
        assert!(texts[0].contains("of up to 1 operation, by the lags of each second"), "{texts:?}");
    }
    // Rows of other seconds do not matter.
    recorded.kept = |rows| rows.retain(|row| row.done_ns > 10 * SECOND);
    assert!(!recorded.is_decided_by_lag(slowest(900)));
}

/// Of 6,018 operations eight are above the limit, and one of these ended in the second of the stop. Without it the lower
/// percentile would be within the limit and the higher one would not, so rows are read for the lower one alone.
#[test]
fn thresholds_on_the_same_times_are_judged_by_rows_if_one_needs_them() {
    let slow = (0..7).map(|n| request(30_001 + n, 0, 1000));
    let recorded = Recorded::of(stop(20).chain([request(19_105, 0, 1000)]).chain(slow));
    let below = |share| threshold(Stat::Quantile(share), 900e6);
    assert!(!recorded.is_decided_by_lag(below(0.998_75)));
    let both = recorded.judged(&[below(0.998_75), below(0.999)]);
    assert_eq!(both.verdict, Verdict::Failed);
}

#[test]
fn each_operations_own_lag_is_taken_off() {
    // Of 6,016 operations p99.9 leaves out six.
    let slow = |count| (0..count).map(|n| request(10_000 + n, 0, 300));
    let recorded = Recorded::of(stop(20).chain(slow(6)));
    let (verdict, texts) = recorded.verdict(p999(Basis::Response, 100));
    assert_eq!(verdict, Verdict::Untrusted);
    assert!(texts[0].contains("10.0 ms without that of 10 operations: "), "{texts:?}");
    let recorded = Recorded::of(stop(20).chain(slow(7)));
    assert!(!recorded.is_decided_by_lag(p999(Basis::Response, 100)));
    assert!(!recorded.is_decided_by_lag(p999(Basis::Service, 100)));
}

#[test]
fn failures_have_the_lag_of_their_rows() {
    let late = || (0..10).map(|n| failure(20_000 + n, 200 - n, 10));
    assert!(Recorded::of(late()).is_decided_by_lag(p999(Basis::Response, 100)));
    // The target took its time for these, while others were late.
    let slow = (0..10).map(|n| failure(20_000 + n, 0, 210));
    let mut recorded = Recorded::of(slow.chain(stop(20)));
    assert!(!recorded.is_decided_by_lag(p999(Basis::Response, 100)));
    recorded.kept = Vec::clear;
    assert!(recorded.is_decided_by_lag(p999(Basis::Response, 100)));
}

/// Answers that came while the generator did not run, which no row shows.
#[test]
fn late_reading_counts_in_its_second() {
    let in_flight = (0..10).map(|n| request(20_000 + n, 0, 400));
    let mut recorded = Recorded::of(in_flight);
    recorded.late = vec![(20, 390 * MS); 10];
    for basis in [Basis::Response, Basis::Succeeded, Basis::Service] {
        assert!(recorded.is_decided_by_lag(p999(basis, 100)), "{basis:?}");
    }
    // As many are slow in another second.
    recorded.rows.extend((0..10).map(|n| request(30_000 + n, 0, 400)));
    for basis in [Basis::Response, Basis::Succeeded, Basis::Service] {
        assert!(!recorded.is_decided_by_lag(p999(basis, 100)), "{basis:?}");
    }
}

/// A paced step that fell due while its user was busy was sent long after, and only its user kept it from its time.
#[test]
fn lag_is_no_longer_than_the_longest_that_was_recorded() {
    let paced = (0..6).map(|n| request(19_490 + n, 510, 10));
    let mut recorded = Recorded::of(stop(20).chain(paced).chain([request(19_700, 0, 400)]));
    recorded.lag = |row| if row.lag_ns() > 200 * MS { 0 } else { row.lag_ns() };
    // Of 6,017 operations p99.9 leaves out six, and seven took longer than the limit.
    assert!(!recorded.is_decided_by_lag(p999(Basis::Response, 300)));
}
