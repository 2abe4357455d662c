//! A run for tests: 60 s at 100 users/s, each making one request of 10 ms, all well. Tests spoil
//! what they are about.

use std::collections::BTreeMap;

use record::Outcome;
use record::schema::{
    FORMAT_VERSION, Finding, GeneratorInfo, MeasureInfo, PhaseInfo, RunInfo, RunStatus, SeriesRow,
    Summary,
};

use crate::{Figures, judge_figures};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MS: u64 = 1_000_000;
pub(crate) const US: u64 = 1_000;
/// Numbers of the measures.
pub(crate) const REQUEST: usize = 1;
pub(crate) const UPDATE: usize = 2;

pub(crate) fn phase(name: &str, kind: &str, seconds: (u64, u64), users: f64) -> PhaseInfo {
    PhaseInfo {
        name: name.to_owned(),
        kind: kind.to_owned(),
        start_ns: seconds.0 * SECOND,
        end_ns: seconds.1 * SECOND,
        users_planned: users,
    }
}

pub(crate) fn info() -> RunInfo {
    let measure = |name: &str, kind: &str| MeasureInfo::new(name, kind);
    RunInfo {
        format: FORMAT_VERSION,
        id: "20261121T101500-sample-3f2a".to_owned(),
        name: "sample".to_owned(),
        throng: "0.0.0".to_owned(),
        status: RunStatus::Complete,
        seed: 1,
        scenario_hash: String::new(),
        overrides: Vec::new(),
        target: "http://127.0.0.1:8080".to_owned(),
        started_unix_ns: 0,
        ended_ns: 60 * SECOND,
        clock: "monotonic".to_owned(),
        generator: GeneratorInfo {
            mode: "precise".to_owned(),
            loops: 1,
            cores: 2,
            files_per_loop: 20_000,
            lag_max_ns: 100 * MS,
        },
        regions: Vec::new(),
        host: BTreeMap::new(),
        measures: vec![measure("connect", "connect"), measure("request", "request")],
        steps: Vec::new(),
        expects_overload: false,
        sessions: vec!["visitor".to_owned()],
        phases: vec![phase("constant", "rate", (0, 60), 6000.0)],
        tls_unverified: false,
        workers: Vec::new(),
    }
}

pub(crate) fn row(second: u64) -> SeriesRow {
    SeriesRow {
        start_ns: second * SECOND,
        end_ns: (second + 1) * SECOND,
        users: 2,
        connections: 2,
        in_flight: 1,
        users_due: 100,
        users_started: 100,
        users_finished: 100,
        users_connected: 100,
        sends: 100,
        done: 100,
        bytes_out: 10_000,
        bytes_in: 40_000,
        lag_p50_ns: 2 * US,
        lag_p99_ns: 20 * US,
        lag_max_ns: 90 * US,
        cpu_loops_ns: SECOND / 10,
        cpu_process_ns: SECOND / 8,
        loop_busy_max: 0.1,
        rss_bytes: 64 << 20,
        ..SeriesRow::default()
    }
}

/// The run of the module's head.
pub(crate) fn figures() -> Figures {
    let mut figures = Figures::new(info(), (0..60).map(row).collect(), Vec::new());
    succeed(&mut figures, 0, REQUEST, 6000, 10 * MS, 20 * US);
    figures
}

/// The same, with these measures of messages besides, of which nothing was counted yet.
pub(crate) fn with_messages(names: &[String]) -> Figures {
    let mut info = info();
    info.measures.truncate(UPDATE);
    info.measures
        .extend(names.iter().map(|name| MeasureInfo::new(name, "message")));
    let mut figures = Figures::new(info, (0..60).map(row).collect(), Vec::new());
    succeed(&mut figures, 0, REQUEST, 6000, 10 * MS, 20 * US);
    figures
}

/// The same with these seconds, none of which the cells know of.
pub(crate) fn with_rows(change: impl Fn(&mut SeriesRow)) -> Figures {
    let mut figures = figures();
    figures.series.iter_mut().for_each(change);
    figures
}

/// Adds operations that succeeded.
pub(crate) fn succeed(
    figures: &mut Figures,
    phase: usize,
    measure: usize,
    n: u64,
    response_ns: u64,
    lag_ns: u64,
) {
    let cell = figures
        .cell_mut(phase, measure)
        .expect("the sample has this cell");
    cell.response.record_n(response_ns, n);
    cell.service.record_n(response_ns - lag_ns, n);
    cell.lag.record_n(lag_ns, n);
    *cell
        .outcomes
        .entry(Outcome::Ok.name().to_owned())
        .or_default() += n;
}

/// Adds operations that ended otherwise.
pub(crate) fn fail(figures: &mut Figures, measure: usize, outcome: Outcome, n: u64) {
    let cell = figures
        .cell_mut(0, measure)
        .expect("the sample has this cell");
    *cell.outcomes.entry(outcome.name().to_owned()).or_default() += n;
}

/// Judged without thresholds.
pub(crate) fn judged(figures: &Figures) -> Summary {
    judge_figures(figures, &[], false)
}

/// Findings as one text: severity and code, then the sentence in lines of at most 80 characters.
pub(crate) fn rendered(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        text += &format!("{:?} {}\n", finding.severity, finding.code);
        let mut width = 80;
        for word in finding.text.split(' ') {
            width += word.chars().count() + 1;
            if width > 80 {
                width = word.chars().count();
                text += if text.ends_with('\n') { "   " } else { "\n   " };
            }
            text += " ";
            text += word;
        }
        text += "\n";
    }
    text
}

/// Two clients: one with 100 handshakes around 10 ms, one with 300 around 30 ms.
pub(crate) fn import() -> record::Import {
    use record::import::{
        ClientReport, Import, Repair, ReportedMeasure, ReportedPercentile, Unreachable,
    };
    let client = |region: &str, count: u64, ms: u64| ClientReport {
        region: region.to_owned(),
        host: "10.0.0.1".to_owned(),
        users_planned: count + 1,
        online_ns: 60 * SECOND,
        connected: count,
        disconnected: 0,
        failed: 1,
        errors: BTreeMap::from([("read ECONNRESET".to_owned(), 1)]),
        measures: vec![ReportedMeasure {
            measure: 0,
            count,
            mean_ns: (ms * MS) as f64,
            deviation_ns: MS as f64,
            min_ns: ms * MS / 2,
            median_ns: ms * MS,
            max_ns: 2 * ms * MS,
            percentiles: [("50%", 0.5, ms), ("98%", 0.98, ms * 5 / 3)]
                .map(|(label, share, ms)| ReportedPercentile {
                    label: label.to_owned(),
                    share: Some(share),
                    value_ns: ms * MS,
                })
                .to_vec(),
        }],
    };
    Import {
        format: FORMAT_VERSION,
        layout: "thesis".to_owned(),
        source: "results".to_owned(),
        resolution_ns: MS,
        repairs: vec![Repair {
            code: "gap".to_owned(),
            count: 5,
            text: "minutes without a row inside a metric".to_owned(),
            lossy: true,
            first: "servers/eu/a/cpu.csv".to_owned(),
        }],
        absent: Vec::new(),
        unreachable: vec![Unreachable {
            region: "eu".to_owned(),
            host: "10.0.0.3".to_owned(),
            why: "it is empty".to_owned(),
        }],
        clients: vec![client("eu", 100, 10), client("us", 300, 30)],
    }
}
