use std::collections::BTreeMap;

use expect_test::expect;
use record::import::{ClientReport, Repair, ReportedMeasure, Unreachable};
use record::schema::{GeneratorInfo, MeasureInfo, MeasureTally, PhaseInfo, PhaseTally, RunStatus};
use report::{Style, finding_lines};

use super::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn info() -> RunInfo {
    RunInfo {
        format: FORMAT_VERSION,
        id: "20150731T153600-baseline-3f2a".to_owned(),
        name: "baseline".to_owned(),
        throng: "0.0.0".to_owned(),
        status: RunStatus::Complete,
        seed: 1,
        scenario_hash: String::new(),
        overrides: Vec::new(),
        target: String::new(),
        started_unix_ns: 0,
        ended_ns: 60 * SECOND,
        clock: String::new(),
        generator: GeneratorInfo::imported(),
        regions: Vec::new(),
        host: BTreeMap::new(),
        measures: vec![MeasureInfo::new("connect", "handshake")],
        steps: Vec::new(),
        expects_overload: false,
        metrics: Vec::new(),
        sessions: Vec::new(),
        phases: vec![PhaseInfo {
            name: "all".to_owned(),
            kind: "imported".to_owned(),
            start_ns: 0,
            end_ns: 60 * SECOND,
            users_planned: 402.0,
            sessions_planned: None,
            users_vary: false,
        }],
        tls_unverified: false,
        workers: Vec::new(),
    }
}

/// A client with `count` handshakes around `ms` milliseconds, and one failed user.
fn client(region: &str, count: u64, ms: u64) -> ClientReport {
    ClientReport {
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
            percentiles: Vec::new(),
        }],
    }
}

fn import() -> Import {
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

#[test]
fn unknown_health_and_latencies_stay_empty() {
    let outcomes = BTreeMap::from([("ok".to_owned(), 400), ("reset".to_owned(), 2)]);
    let measures = vec![MeasureTally { measure: 0, outcomes, ..MeasureTally::default() }];
    let tally = Tally {
        until_ns: None,
        phases: vec![PhaseTally { phase: 0, measures }],
        ..Tally::default()
    };
    let summary = judge(&info(), &import(), &tally);
    assert_eq!(summary.health, HealthSummary::default());
    assert_eq!((summary.users.connected, summary.users.started), (400, 402));
    assert_eq!((summary.measures[0].count, summary.measures[0].errors), (402, 2));
    assert_eq!(summary.measures[0].response, None);
    let lines = summary.findings.iter();
    let lines: Vec<_> = lines.flat_map(|finding| finding_lines(finding, Style::PLAIN)).collect();
    // The first line keeps `expect` from dropping the indentation of the others.
    let text = format!("findings\n{}\n", lines.join("\n"));
    expect![[r#"
        findings
          ! warning: another generator measured these results: whether it kept up is unknown, and latencies may include its lag
          ! warning: 1 of 3 clients left no readable report, and their measurements are missing from all figures; the first:
            10.0.0.3 in eu: it is empty
          ! warning: 5 x minutes without a row inside a metric (`gap`; first: servers/eu/a/cpu.csv)
          ! warning: connect: 2 of 402 failed (0.498 %): 2 x reset
          - percentiles of 2 clients cannot be merged: the table shows the bounds between which they lie, with a resolution of
            1.00 ms
    "#]]
    .assert_eq(&text);
}
