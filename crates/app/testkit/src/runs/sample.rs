//! The figures of a run: 60 s at 100 users/s, each making one request of 10 ms.

use std::collections::BTreeMap;

use record::schema::{
    FORMAT_VERSION, GeneratorInfo, MeasureInfo, PhaseInfo, RunInfo, RunStatus, SeriesRow,
};

use super::{MS, SECOND, US};

/// The number of its requests among the measures.
pub const REQUEST: usize = 1;

/// A phase from one second to another.
pub fn phase(name: &str, kind: &str, start_s: u64, end_s: u64, users: f64) -> PhaseInfo {
    PhaseInfo {
        name: name.to_owned(),
        kind: kind.to_owned(),
        start_ns: start_s * SECOND,
        end_ns: end_s * SECOND,
        users_planned: users,
        sessions_planned: None,
        users_vary: false,
    }
}

/// What is said of the run.
pub fn info() -> RunInfo {
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
        metrics: Vec::new(),
        sessions: vec!["visitor".to_owned()],
        phases: vec![phase("constant", "rate", 0, 60, 6000.0)],
        tls_unverified: false,
        workers: Vec::new(),
    }
}

/// What is said of one of its seconds.
pub fn row(second: u64) -> SeriesRow {
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
        operations_begun: 100,
        operations_ended: 100,
        operations_completed: 100,
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
