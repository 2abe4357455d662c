//! Runs made of operations, and written as run directories.

use std::collections::BTreeMap;
use std::path::Path;

use record::schema::{
    FORMAT_VERSION, GeneratorInfo, MeasureInfo, PhaseInfo, RunInfo, RunStatus, SeriesRow,
};
use record::{Measurement, Outcome, Run, RunDir};
use stats::hist::LogHistogram;
use tempfile::TempDir;

use super::sample::phase;
use super::{MS, SECOND};

/// What is said of a run of six seconds at 10 users/s; the first two are the warm-up.
pub fn info() -> RunInfo {
    RunInfo {
        format: FORMAT_VERSION,
        id: "20261121T101500-judged-3f2a".to_owned(),
        name: "judged".to_owned(),
        throng: "0.0.0".to_owned(),
        status: RunStatus::Running,
        seed: 1,
        scenario_hash: String::new(),
        overrides: Vec::new(),
        target: "http://127.0.0.1:8080".to_owned(),
        started_unix_ns: 1_800_000_000 * SECOND,
        ended_ns: 0,
        clock: "monotonic".to_owned(),
        generator: GeneratorInfo {
            mode: "precise".to_owned(),
            loops: 1,
            cores: 2,
            files_per_loop: 20_000,
            lag_max_ns: 50 * MS,
        },
        regions: Vec::new(),
        host: BTreeMap::new(),
        measures: vec![MeasureInfo::new("request", "request")],
        steps: Vec::new(),
        expects_overload: false,
        metrics: Vec::new(),
        sessions: vec!["visitor".to_owned()],
        phases: vec![phase("warm-up", "rate", 0, 2, 20.0), phase("measured", "rate", 2, 6, 40.0)],
        tls_unverified: false,
        workers: Vec::new(),
    }
}

/// A run combined second by second.
pub struct Made {
    /// The directory below which it is written.
    pub root: TempDir,
    /// How long it lasted.
    pub seconds: u64,
    /// Its operations, in any order.
    pub rows: Vec<Measurement>,
    /// What is said of each of its seconds.
    pub series: Vec<SeriesRow>,
}

/// An operation: its user, when it was due and sent, how long it took, how it ended.
pub fn operation(user: u64, due_ns: u64, time_ns: u64, outcome: Outcome) -> Measurement {
    Measurement {
        due_ns,
        sent_ns: due_ns,
        done_ns: due_ns + time_ns,
        user,
        measure: 0,
        session: 0,
        loop_id: 0,
        outcome,
        status: 200,
        weight: 1,
        bytes_out: 100,
        bytes_in: 400,
    }
}

/// Numbers in 0..1 that look like chance and never change.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut rng = stats::rng::Rng::new(seed, 0, stats::rng::Purpose::Value);
    move || rng.unit()
}

impl Made {
    /// A run in which nothing happens yet.
    pub fn of(seconds: u64) -> Made {
        let row = |second: u64| SeriesRow {
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            users: 5,
            connections: 5,
            cpu_loops_ns: SECOND / 10,
            rss_bytes: 50 << 20,
            ..SeriesRow::default()
        };
        Made {
            root: tempfile::tempdir().unwrap(),
            seconds,
            rows: Vec::new(),
            series: (0..seconds).map(row).collect(),
        }
    }

    /// Twenty operations a second that take about this many milliseconds, by second.
    pub fn answering(seconds: u64, time_ms: impl Fn(f64) -> f64) -> Made {
        let mut made = Made::of(seconds);
        let mut noise = noise(seconds);
        for second in 0..seconds {
            for n in 0..20 {
                let due_ns = second * SECOND + n * 40 * MS;
                let time_ms = time_ms(second as f64) * (0.8 + 0.4 * noise());
                let time_ns = (time_ms * 1e6) as u64;
                made.rows.push(operation(n, due_ns, time_ns, Outcome::Ok));
            }
        }
        made
    }

    /// Writes the run, with `change` of what is said of it.
    pub fn write(&self, change: impl Fn(&mut RunInfo)) -> Run {
        self.write_into(self.root.path(), change)
    }

    /// Writes the run below this directory, with `change` of what is said of it.
    pub fn write_into(&self, root: &Path, change: impl Fn(&mut RunInfo)) -> Run {
        self.written(root, change, false)
    }

    /// Writes the run with the times of failed operations in its latency log as well.
    pub fn write_with_failures(&self) -> Run {
        self.written(self.root.path(), |_| (), true)
    }

    fn written(&self, root: &Path, change: impl Fn(&mut RunInfo), has_failures: bool) -> Run {
        let mut info = RunInfo {
            phases: vec![PhaseInfo {
                name: "all".to_owned(),
                kind: "rate".to_owned(),
                start_ns: 0,
                end_ns: self.seconds * SECOND,
                users_planned: 5.0,
                sessions_planned: None,
                users_vary: false,
            }],
            ..info()
        };
        change(&mut info);
        let dir = RunDir::create(root, &info, "name: made\n").unwrap();
        let mut rows = self.rows.clone();
        rows.sort_by_key(|row| row.done_ns);
        let mut requests = dir.requests(&info).unwrap();
        requests.write(&rows).unwrap();
        requests.finish().unwrap();
        let mut series = dir.series(&info);
        self.series.iter().for_each(|row| series.push(row));
        series.finish().unwrap();
        let mut latency = dir.latency(&info).unwrap();
        for second in 0..self.seconds {
            let mut hist = LogHistogram::new();
            let ended = rows.iter().filter(|row| row.done_ns / SECOND == second);
            ended
                .filter(|row| row.outcome == Outcome::Ok)
                .for_each(|row| hist.record(row.response_ns()));
            if !hist.is_empty() {
                latency.interval(second * SECOND, SECOND, "request", &hist).unwrap();
                // Everything is sent when it is due.
                latency.interval(second * SECOND, SECOND, "request.service", &hist).unwrap();
            }
            for tag in ["request.failed", "request.censored"].into_iter().filter(|_| has_failures) {
                let is_of = |outcome: Outcome| match tag {
                    "request.failed" => outcome.is_answered_failure(),
                    _ => outcome.is_unanswered(),
                };
                let mut hist = LogHistogram::new();
                let ended = rows.iter().filter(|row| row.done_ns / SECOND == second);
                let failed = ended.filter(|row| is_of(row.outcome));
                failed.for_each(|row| hist.record(row.response_ns()));
                if !hist.is_empty() {
                    latency.interval(second * SECOND, SECOND, tag, &hist).unwrap();
                }
            }
        }
        latency.finish().unwrap();
        info.status = RunStatus::Complete;
        info.ended_ns = self.seconds * SECOND;
        dir.update_info(&info).unwrap();
        let run = Run::open(dir.path()).unwrap();
        dir.write_summary(&judge::judge(&run, &[], false).unwrap()).unwrap();
        run
    }
}
