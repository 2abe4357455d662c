//! Results for tests: a run of two phases with its summary, and a duet.

use std::collections::BTreeMap;

use compare::Options;
use compare::duet::{
    BlockFigures, BlockPair, Duet, DuetResult, DuetSettings, Interleave, StepFigures,
};
use record::schema::{
    ErrorSummary, FORMAT_VERSION, Finding, GeneratorInfo, HealthSummary, Incident, IncidentFigures,
    IncidentKind, IntervalMethod, Latency, MeasureInfo, MeasureSummary, OperationsSummary,
    PercentileInterval, PhaseInfo, PhaseSummary, RegionSummary, RegionTally, RunInfo, RunStatus,
    SeriesRow, Severity, Summary, TagSummary, ThresholdResult, UsersSummary, Verdict,
};

pub(crate) const SECOND: u64 = 1_000_000_000;

fn phase(name: &str, start_s: u64, end_s: u64, users_planned: f64) -> PhaseInfo {
    PhaseInfo {
        name: name.to_owned(),
        kind: "rate".to_owned(),
        start_ns: start_s * SECOND,
        end_ns: end_s * SECOND,
        users_planned,
        sessions_planned: None,
        users_vary: false,
    }
}

pub(crate) fn info() -> RunInfo {
    let measure = |name: &str, kind: &str| MeasureInfo::new(name, kind);
    RunInfo {
        format: FORMAT_VERSION,
        id: "20261121T101500-football-3f2a".to_owned(),
        name: "football".to_owned(),
        throng: "0.0.0".to_owned(),
        status: RunStatus::Complete,
        seed: 7,
        scenario_hash: String::new(),
        overrides: Vec::new(),
        target: "market at 127.0.0.1:4000".to_owned(),
        started_unix_ns: 0,
        ended_ns: 500 * SECOND,
        clock: "monotonic".to_owned(),
        generator: GeneratorInfo {
            mode: "wide".to_owned(),
            loops: 4,
            cores: 2,
            files_per_loop: 20_000,
            lag_max_ns: SECOND / 10,
        },
        regions: Vec::new(),
        host: BTreeMap::new(),
        measures: vec![measure("handshake", "handshake"), measure("request", "request")],
        steps: Vec::new(),
        expects_overload: false,
        metrics: Vec::new(),
        sessions: vec!["fan".to_owned()],
        phases: vec![phase("ramp", 0, 200, 24_000.0), phase("hold", 200, 500, 0.0)],
        tls_unverified: false,
        workers: Vec::new(),
    }
}

/// Second by second of the ramp.
pub(crate) fn row(second: u64) -> SeriesRow {
    SeriesRow {
        start_ns: second * SECOND,
        end_ns: (second + 1) * SECOND,
        users: 120 * (second + 1),
        connections: 120 * (second + 1),
        in_flight: 17,
        users_due: 120,
        users_started: 120,
        done: 120 + 10 * second,
        sends: 120 + 10 * second + 3,
        operations_begun: 120 + 10 * second + 3,
        operations_ended: 120 + 10 * second,
        operations_completed: 120 + 10 * second,
        lag_p50_ns: 4_000,
        lag_p99_ns: 87_200,
        lag_max_ns: 1_900_000,
        loop_busy_max: 0.314,
        rss_bytes: 212 << 20,
        ..SeriesRow::default()
    }
}

fn latency(count: u64, p50_ns: u64) -> Latency {
    Latency {
        count,
        unanswered: 0,
        bound_above: None,
        mean_ns: p50_ns as f64 * 1.2,
        min_ns: p50_ns / 2,
        p50_ns,
        p90_ns: p50_ns * 2,
        p95_ns: p50_ns * 3,
        p98_ns: p50_ns * 4,
        p99_ns: p50_ns * 5,
        p999_ns: p50_ns * 10,
        max_ns: p50_ns * 100,
        intervals: Vec::new(),
    }
}

/// The interval of a percentile with these ends.
pub(crate) fn found(share: f64, low_ns: Option<u64>, high_ns: Option<u64>) -> PercentileInterval {
    PercentileInterval {
        share,
        method: Some(IntervalMethod::EffectiveSize),
        effective: Some(1234.5),
        low_ns,
        high_ns,
        high_is_bound: false,
        missing: None,
    }
}

fn measure(name: &str, count: u64, errors: u64, p50_ns: u64) -> MeasureSummary {
    MeasureSummary {
        name: name.to_owned(),
        kind: "request".to_owned(),
        due: Some(count),
        never_begun: BTreeMap::new(),
        begun: count,
        retried: 0,
        count,
        completed: count - errors,
        drained: 0,
        offered_per_s: Some(count as f64 / 500.0),
        begun_per_s: Some(count as f64 / 500.0),
        rate_per_s: (count - errors) as f64 / 500.0,
        errors,
        errors_by_kind: BTreeMap::from([("timeout".to_owned(), errors)]),
        response: (count > errors).then(|| latency(count - errors, p50_ns)),
        succeeded: None,
        failed: None,
        service: None,
        lag: None,
    }
}

fn finding(severity: Severity, code: &str, text: &str) -> Finding {
    let evidence = BTreeMap::from([("figure".to_owned(), 1.5)]);
    Finding { severity, code: code.to_owned(), text: text.to_owned(), evidence }
}

/// The summary of the run with failures and an incident.
pub(crate) fn broken() -> Summary {
    let failed = |step: &str, kind: &str, detail: Option<&str>, count| ErrorSummary {
        step: step.to_owned(),
        kind: kind.to_owned(),
        detail: detail.map(str::to_owned),
        count,
        share: Some(count as f64 / 720_000.0),
        first_ns: 15 * SECOND,
        last_ns: 25 * SECOND,
        by_phase: vec![count, 0],
        samples: Vec::new(),
    };
    let mut errors = vec![
        failed("request", "status", Some("503"), 9),
        failed("request", "script", Some("x is not defined"), 3),
        failed("a step whose name is longer than its column", "timeout", None, 3),
    ];
    (errors[1].first_ns, errors[1].last_ns) = (16 * SECOND, 17 * SECOND);
    (errors[2].first_ns, errors[2].last_ns) = (0, 500 * SECOND);
    errors[2].share = Some(1.0);
    let usual = IncidentFigures {
        operations: 719_727,
        errors: 0,
        unanswered: 0,
        p50_ns: Some(8_000_000),
        p90_ns: Some(12_000_000),
        per_s: 1_440.0,
    };
    let incident = Incident {
        step: "request".to_owned(),
        tag: None,
        kinds: vec![IncidentKind::Errors, IncidentKind::Response],
        begin_ns: 15 * SECOND,
        end_ns: 25 * SECOND,
        to_the_end: false,
        usual,
        during: IncidentFigures { operations: 273, errors: 82, p50_ns: Some(401_000_000), ..usual },
        beside: vec![
            "begins 1 s after phase hold".to_owned(),
            "database CPU at 100 % from 0:14".to_owned(),
        ],
        text: "request: p50 8 → 401 ms, 30 % failed, from 0:15 to 0:25 (82 of 273)".to_owned(),
    };
    Summary { errors, incidents: vec![incident], ..summary() }
}

/// The same run, its requests with tags.
pub(crate) fn tagged() -> (Summary, RunInfo) {
    let mut summary = summary();
    let mut info = info();
    let tags = [("area", "shop"), ("group", "buy")];
    let request = info.measures.iter_mut().find(|m| m.name == "request");
    let request = request.expect("the sample has requests");
    request.tags = tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let tag = |key: &str, value: &str| TagSummary {
        key: key.to_owned(),
        value: value.to_owned(),
        measures: vec!["request".to_owned()],
        figures: MeasureSummary {
            kind: "tag".to_owned(),
            ..measure(&format!("{key}={value}"), 720_000, 12, 3_100_000)
        },
    };
    summary.tags = vec![tag("group", "buy"), tag("area", "shop")];
    (summary, info)
}

/// The same run, its users in two regions.
pub(crate) fn regional() -> (Summary, RunInfo) {
    let mut summary = summary();
    let mut info = info();
    let mut measures = Vec::new();
    let mut infos = Vec::new();
    for (name, kind, count) in [("handshake", "handshake", 12_000), ("request", "request", 360_000)]
    {
        for (region, p50_ns) in [("ireland", 3_100_000), ("sydney", 161_000_000)] {
            let shared_name = Some(name.to_owned());
            let name = format!("{name} (region={region})");
            let mut info = MeasureInfo { shared_name, ..MeasureInfo::new(&name, kind) };
            info.tags.insert("region".to_owned(), region.to_owned());
            infos.push(info);
            measures.push(measure(&name, count, 6, p50_ns));
        }
    }
    summary.totals = std::mem::replace(&mut summary.measures, measures);
    info.measures = infos;
    for phase in &mut summary.phases {
        phase.totals = std::mem::take(&mut phase.measures);
    }
    let users = |name: &str, share, started, failed| RegionSummary {
        name: name.to_owned(),
        share,
        users: RegionTally { started, connected: started, failed, ..RegionTally::default() },
    };
    summary.regions = vec![users("ireland", 0.65, 15_600, 0), users("sydney", 0.35, 8_400, 17)];
    (summary, info)
}

pub(crate) fn summary() -> Summary {
    let threshold = |text: &str, passed, value, shown: &str| ThresholdResult {
        text: text.to_owned(),
        passed,
        value,
        is_bound: false,
        shown: shown.to_owned(),
        interval: None,
        within_interval: false,
    };
    let phase = |name: &str, start_s: u64, end_s: u64, users_started, measures| PhaseSummary {
        name: name.to_owned(),
        start_ns: start_s * SECOND,
        end_ns: end_s * SECOND,
        users_started,
        measures,
        totals: Vec::new(),
    };
    Summary {
        format: FORMAT_VERSION,
        id: info().id,
        name: info().name,
        verdict: Verdict::Failed,
        allow_lost_workers: false,
        expects_overload: false,
        findings: vec![
            finding(Severity::Good, "generator-healthy", "the generator kept up: lag p99 87.2 µs"),
            finding(
                Severity::Warning,
                "threshold-failed",
                "threshold p98(request) < 10ms does not hold: it is 12.4 ms, and this sentence \
                 goes on until it needs a second line to end on",
            ),
            finding(Severity::Note, "throughput", "744,000 operations in 8 min 20 s: 1,488/s"),
        ],
        errors: Vec::new(),
        incidents: Vec::new(),
        thresholds: vec![
            threshold("connected >= 99.9%", true, Some(1.0), "100 %"),
            threshold("p98(request) < 10ms", false, Some(12.4e6), "12.4 ms"),
            threshold("max(broadcast) < 1s", false, None, "nothing measured"),
        ],
        users: UsersSummary {
            planned: 24_000.0,
            due: Some(24_000),
            paused: 0,
            started: 24_000,
            sessions: 24_000,
            refused: 0,
            connected: 24_000,
            finished: 24_000,
            failed: 0,
            stopped: 0,
            cut_off: 0,
            unstarted: 0,
            endings: Vec::new(),
            peak: 23_999,
            lost: 0,
            never_came: 0,
            dealt: 0,
        },
        health: HealthSummary {
            lag_p50_ns: 4_000,
            lag_p99_ns: 87_200,
            lag_max_ns: 1_900_000,
            loop_busy_mean: 0.287,
            loop_busy_max: 0.411,
            cpu_process_ns: 143 * SECOND,
            cpu_wait_ns: 0,
            rss_peak_bytes: 212 << 20,
            rows_kept: 1.0,
            host_retransmits: 0,
            host_listen_drops: 0,
            host_syn_retransmits: 0,
            host_packet_drops: 0,
            host_memory_pressures: 0,
            host_memory_aborts: 0,
        },
        traffic: None,
        tls_handshakes: None,
        clocks: Vec::new(),
        own_work: Vec::new(),
        operations: OperationsSummary::default(),
        measures: vec![
            measure("handshake", 24_000, 0, 412_000),
            measure("request", 720_000, 12, 3_100_000),
            measure("a step whose name is longer than its column", 3, 3, 0),
        ],
        totals: Vec::new(),
        regions: Vec::new(),
        tags: Vec::new(),
        metrics: Vec::new(),
        phases: vec![
            phase("ramp", 0, 200, 24_000, vec![measure("handshake", 24_000, 0, 412_000)]),
            phase("hold", 200, 500, 0, vec![measure("request", 720_000, 12, 3_100_000)]),
        ],
    }
}

/// A duet of ten pairs in which a step takes 10 % longer.
pub(crate) fn slower() -> DuetResult {
    let settings = DuetSettings {
        difference: 0.05,
        interleave: Interleave::Abba,
        how: Options { allow_errors: true, ..Options::default() },
    };
    let mut duet = Duet::new(settings);
    let block = |mean_ns: f64| BlockFigures {
        steps: vec![StepFigures {
            name: "checkout".to_owned(),
            kind: "request".to_owned(),
            operations: 100,
            mean_ns,
            quantile_ns: None,
        }],
        ended: 100,
        failed: 0,
        trusted: true,
    };
    for pair in 0..10 {
        let scatter = 1.0 + 0.001 * f64::from(pair);
        duet.add(&BlockPair { old: vec![block(2e8)], new: vec![block(2.2e8 * scatter)] });
    }
    duet.result()
}
