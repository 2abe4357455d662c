//! A run to write and read.

use std::collections::BTreeMap;

use record::import::{ClientReport, Repair, ReportedMeasure, ReportedPercentile, Unreachable};
use record::schema::{
    Event, EventKind, FORMAT_VERSION, Finding, GeneratorInfo, HealthSummary, IntervalMethod,
    IntervalMissing, Latency, MeasureInfo, MeasureSummary, MeasureTally, OperationsSummary,
    PercentileInterval, PhaseInfo, PhaseSummary, PhaseTally, RunInfo, RunStatus, SeriesRow,
    Severity, Summary, TagSummary, Tally, ThresholdResult, UsersSummary, Verdict,
};
use record::{Import, Measurement, Outcome, ProbeInfo, ProbeRow};
use stats::hist::LogHistogram;

pub(crate) const ID: &str = "20150805T000000-sample-0001";

pub(crate) fn info() -> RunInfo {
    RunInfo {
        format: FORMAT_VERSION,
        id: ID.to_owned(),
        name: "sample".to_owned(),
        throng: "0.0.0".to_owned(),
        status: RunStatus::Complete,
        seed: u64::MAX,
        scenario_hash: "da39a3ee5e6b4b0d3255bfef95601890afd80709".to_owned(),
        overrides: vec!["hold=5m".to_owned()],
        target: "http://127.0.0.1:1/".to_owned(),
        started_unix_ns: 1_438_732_800_123_456_789,
        ended_ns: 10_000_000_000,
        clock: "monotonic".to_owned(),
        generator: GeneratorInfo {
            mode: "precise".to_owned(),
            loops: 1,
            cores: 2,
            files_per_loop: 20_000,
            lag_max_ns: 1_000_000,
        },
        regions: Vec::new(),
        host: BTreeMap::from([("kernel".to_owned(), "6.1".to_owned())]),
        measures: ["connect", "page, with comma"]
            .map(|name| MeasureInfo::new(name, "request"))
            .to_vec(),
        steps: Vec::new(),
        expects_overload: false,
        metrics: Vec::new(),
        sessions: vec!["fan".to_owned(), "admin".to_owned()],
        phases: vec![PhaseInfo {
            name: "ramp".to_owned(),
            kind: "rate".to_owned(),
            start_ns: 0,
            end_ns: 10_000_000_000,
            users_planned: 12.5,
            sessions_planned: None,
            users_vary: false,
        }],
        tls_unverified: false,
        workers: Vec::new(),
    }
}

pub(crate) fn measurement(number: u64) -> Measurement {
    Measurement {
        due_ns: number * 5000,
        sent_ns: number * 5000 + 70,
        done_ns: number * 5000 + 1_000_000,
        user: number % 97,
        measure: (number % 2) as u16,
        session: (number % 3 / 2) as u16,
        loop_id: 0,
        outcome: if number % 10 == 9 { Outcome::Status } else { Outcome::Ok },
        status: 200,
        weight: 1,
        bytes_out: 100,
        bytes_in: 2000,
    }
}

pub(crate) fn measurements(numbers: std::ops::Range<u64>) -> Vec<Measurement> {
    numbers.map(measurement).collect()
}

pub(crate) fn series_row(second: u64) -> SeriesRow {
    SeriesRow {
        start_ns: second * 1_000_000_000,
        end_ns: (second + 1) * 1_000_000_000,
        phase: 1,
        users: 2,
        lag_max_ns: u64::MAX,
        loop_busy_max: 0.1 + second as f64,
        host_listen_drops: 3,
        ..SeriesRow::default()
    }
}

pub(crate) fn event() -> Event {
    Event { at_ns: 5, what: EventKind::Sampling { rate: 10, reason: "disk".to_owned() } }
}

pub(crate) fn histogram() -> LogHistogram {
    let mut hist = LogHistogram::new();
    (1..1000).for_each(|value| hist.record(value));
    hist
}

pub(crate) fn summary() -> Summary {
    Summary {
        format: FORMAT_VERSION,
        id: ID.to_owned(),
        name: "sample".to_owned(),
        verdict: Verdict::Passed,
        allow_lost_workers: false,
        expects_overload: true,
        findings: vec![Finding {
            severity: Severity::Good,
            code: "generator-healthy".to_owned(),
            text: "p99 lag was 12 µs".to_owned(),
            evidence: BTreeMap::from([("lag_p99_ns".to_owned(), 12_000.0)]),
        }],
        errors: Vec::new(),
        incidents: Vec::new(),
        thresholds: vec![ThresholdResult {
            text: "p98(request) < 250ms".to_owned(),
            passed: false,
            value: None,
            is_bound: true,
            shown: "nothing measured".to_owned(),
            interval: Some(interval()),
            within_interval: true,
        }],
        users: UsersSummary::default(),
        health: HealthSummary { rows_kept: 1.0, ..HealthSummary::default() },
        traffic: None,
        tls_handshakes: None,
        clocks: Vec::new(),
        own_work: Vec::new(),
        operations: OperationsSummary {
            begun: 11,
            count: 10,
            completed: 8,
            drained: 1,
            unfinished: 1,
            errors: 1,
            error_rate: Some(0.1),
            completed_per_s: Some(0.8),
            ..OperationsSummary::default()
        },
        measures: vec![measure_summary()],
        totals: Vec::new(),
        regions: Vec::new(),
        tags: vec![TagSummary {
            key: "area".to_owned(),
            value: "shop".to_owned(),
            measures: vec!["page, with comma".to_owned()],
            figures: measure_summary(),
        }],
        metrics: Vec::new(),
        phases: vec![PhaseSummary {
            name: "ramp".to_owned(),
            start_ns: 0,
            end_ns: 10_000_000_000,
            users_started: 12,
            measures: vec![measure_summary()],
            totals: Vec::new(),
        }],
    }
}

fn measure_summary() -> MeasureSummary {
    MeasureSummary {
        name: "connect".to_owned(),
        kind: "connect".to_owned(),
        due: Some(13),
        never_begun: BTreeMap::from([("busy".to_owned(), 2)]),
        begun: 11,
        retried: 1,
        count: 10,
        completed: 9,
        drained: 1,
        offered_per_s: Some(1.3),
        begun_per_s: Some(1.1),
        rate_per_s: 0.9,
        errors: 1,
        errors_by_kind: BTreeMap::from([("refused".to_owned(), 1)]),
        response: Some(Latency {
            count: 9,
            unanswered: 1,
            bound_above: Some(0.9),
            mean_ns: 4.5,
            min_ns: 1,
            p50_ns: 5,
            p90_ns: 9,
            p95_ns: 9,
            p98_ns: 9,
            p99_ns: 9,
            p999_ns: 9,
            max_ns: 9,
            intervals: vec![interval()],
        }),
        succeeded: None,
        failed: None,
        service: None,
        lag: None,
    }
}

fn interval() -> PercentileInterval {
    PercentileInterval {
        share: 0.98,
        method: Some(IntervalMethod::EffectiveSize),
        effective: Some(7.5),
        low_ns: Some(5),
        high_ns: Some(9),
        high_is_bound: true,
        missing: Some(IntervalMissing::Few),
    }
}

pub(crate) fn tally() -> Tally {
    let outcomes = BTreeMap::from([("ok".to_owned(), 9), ("status".to_owned(), 1)]);
    let measures = vec![MeasureTally { begun: 5, measure: 0, outcomes }];
    Tally { until_ns: None, phases: vec![PhaseTally { phase: 0, measures }], ..Tally::default() }
}

pub(crate) fn import() -> Import {
    let text = |text: &str| text.to_owned();
    Import {
        format: FORMAT_VERSION,
        layout: text("thesis"),
        source: text("results/baseline"),
        resolution_ns: 1_000_000,
        repairs: vec![Repair {
            code: text("ansi-colours"),
            count: 8,
            text: text("colour codes were taken out"),
            lossy: false,
            first: text("clients/eu/10.0.0.1/1:1"),
        }],
        absent: vec![text("when each operation began and ended")],
        unreachable: vec![Unreachable {
            region: text("eu"),
            host: text("10.0.0.2"),
            why: text("the report is empty"),
        }],
        clients: vec![ClientReport {
            region: text("eu"),
            host: text("10.0.0.1"),
            users_planned: 200,
            online_ns: 5_600_000_000_000,
            connected: 199,
            disconnected: 0,
            failed: 1,
            errors: BTreeMap::from([(text("read ECONNRESET"), 1)]),
            measures: vec![ReportedMeasure {
                measure: 0,
                count: 199,
                mean_ns: 13_000_000.0,
                deviation_ns: 1_500_000.0,
                min_ns: 12_000_000,
                median_ns: 13_000_000,
                max_ns: 150_000_000,
                percentiles: vec![ReportedPercentile {
                    label: text("98%"),
                    share: None,
                    value_ns: 67_000_000,
                }],
            }],
        }],
    }
}

pub(crate) fn probe(metric: &str) -> ProbeInfo {
    ProbeInfo {
        role: "servers".to_owned(),
        region: "eu".to_owned(),
        source: "10.0.0.9".to_owned(),
        metric: metric.to_owned(),
        unit: "%".to_owned(),
        via: String::new(),
    }
}

pub(crate) fn probe_row(minute: i64) -> ProbeRow {
    ProbeRow {
        at_ns: (minute - 2) * 60_000_000_000,
        probe: (minute % 2) as u32,
        value: 0.1 * minute as f64,
    }
}
