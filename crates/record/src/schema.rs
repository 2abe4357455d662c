//! The types that a run directory's JSON files and series hold; `docs/run-directory.md` is their
//! reference. Fields are only ever added; readers ignore what they do not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of everything in the directory; raised when old readers would misread new data.
pub const FORMAT_VERSION: u32 = 1;

/// `run.json`: what ran, where, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    pub format: u32,
    pub id: String,
    pub name: String,
    /// Throng's own version.
    pub throng: String,
    pub status: RunStatus,
    pub seed: u64,
    /// Hex SHA-1 of `scenario.yaml`.
    pub scenario_hash: String,
    /// `--set` overrides as given.
    #[serde(default)]
    pub overrides: Vec<String>,
    /// What was under load, for people.
    pub target: String,
    /// The run's zero in nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// When it ended, since its start; 0 while it runs.
    #[serde(default)]
    pub ended_ns: u64,
    /// How time was read.
    pub clock: String,
    pub generator: GeneratorInfo,
    pub host: BTreeMap<String, String>,
    pub measures: Vec<MeasureInfo>,
    pub sessions: Vec<String>,
    pub phases: Vec<PhaseInfo>,
    /// True where certificates were not verified.
    #[serde(default)]
    pub tls_unverified: bool,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It runs, or was killed: the directory is incomplete.
    Running,
    /// It ran to its planned end.
    Complete,
    /// It was ended early by the user.
    Interrupted,
    /// It was ended early by a fault, told in `events.jsonl`.
    Failed,
}

/// How the load was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorInfo {
    /// `precise` or `wide`.
    pub mode: String,
    pub loops: u32,
    pub cores: u32,
    /// Open files each loop may have.
    pub files_per_loop: u64,
    /// Above this p99 lag the run is not trusted.
    pub lag_max_ns: u64,
}

/// A measure; its place in the list is its number in `requests.parquet`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureInfo {
    pub name: String,
    /// `connect`, `request`, `handshake`, `message`, `transaction` or `check`.
    pub kind: String,
}

/// A phase as planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseInfo {
    pub name: String,
    /// `rate`, `poisson`, `hold` or `closed`.
    pub kind: String,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Sessions the plan starts in it (the expected number where arrivals are random).
    pub users_planned: f64,
}

/// One row of `series.parquet`: one second of the run (or the part of it up to a phase's end),
/// over all loops. Counts are of this interval; gauges are as at its end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SeriesRow {
    /// The interval, since the run's start.
    pub start_ns: u64,
    pub end_ns: u64,
    /// Index into `RunInfo::phases`; the drain after the last phase counts to the last phase.
    pub phase: u32,
    /// Gauge: users that have started and not finished.
    pub users: u64,
    /// Gauge: connections that are open.
    pub connections: u64,
    /// Gauge: operations in flight.
    pub in_flight: u64,
    /// Users the plan wanted to start.
    pub users_due: u64,
    pub users_started: u64,
    pub users_finished: u64,
    /// Not started for want of files, ports or memory.
    pub users_refused: u64,
    /// Users whose first connection was made in this interval.
    pub users_connected: u64,
    /// Operations begun (the closing of a TCP connection is none).
    pub sends: u64,
    /// Operations ended, well or not.
    pub done: u64,
    pub errors: u64,
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// Messages that nobody waited for and no `messages` entry matched.
    pub unmatched: u64,
    /// Generator lag, all operations of the interval.
    pub lag_p50_ns: u64,
    pub lag_p99_ns: u64,
    pub lag_max_ns: u64,
    /// CPU time of the loops' threads.
    pub cpu_loops_ns: u64,
    /// Time the loops' threads were ready but another ran on their core.
    pub cpu_wait_ns: u64,
    /// CPU time of the whole generator process.
    pub cpu_process_ns: u64,
    /// The busiest loop's CPU time as a share of the interval, 0..=1; spinning for punctuality
    /// does not count.
    pub loop_busy_max: f64,
    /// Gauge: resident memory of the generator process.
    pub rss_bytes: u64,
    /// TCP segments the whole host sent again in this interval (`/proc/net/snmp`).
    pub host_retransmits: u64,
    /// Connections the whole host dropped at full accept queues (`/proc/net/netstat`).
    pub host_listen_drops: u64,
}

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Since the run's start.
    pub at_ns: u64,
    #[serde(flatten)]
    pub what: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    PhaseStarted { phase: String },
    /// After the last phase: operations in flight may end.
    Draining,
    RunEnded { status: RunStatus },
    /// One of the first errors of a kind at a measure.
    Error { measure: String, outcome: String, user: u64, detail: String },
    /// From here on one in `rate` rows of `requests.parquet` is kept.
    Sampling { rate: u32, reason: String },
    /// The user asked for the end.
    Interrupted,
    /// Something that is no error of an operation, in words.
    Note { text: String },
}

/// `summary.json`: the figures and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub format: u32,
    pub id: String,
    pub name: String,
    pub verdict: Verdict,
    /// The process's exit code for this verdict.
    pub exit_code: i32,
    /// The most important first; the generator's health is always the first.
    pub findings: Vec<Finding>,
    pub thresholds: Vec<ThresholdResult>,
    pub users: UsersSummary,
    pub health: HealthSummary,
    /// Whole run, in the order of `RunInfo::measures`, those that measured something.
    pub measures: Vec<MeasureSummary>,
    pub phases: Vec<PhaseSummary>,
}

/// What it all comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All thresholds hold (there may be none) and the run can be trusted. Exit code 0.
    Passed,
    /// A threshold does not hold. Exit code 1.
    Failed,
    /// The generator was the limit, or the run is not the one that was planned. Exit code 2.
    Untrusted,
}

/// A sentence with a figure, its evidence and what it means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    /// Stable, for machines: `generator-healthy`, `generator-cpu`, `generator-files`, ….
    pub code: String,
    pub text: String,
    /// Figures behind it by name.
    #[serde(default)]
    pub evidence: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Good,
    Note,
    Warning,
    /// Makes the run untrusted.
    Fatal,
}

/// One threshold's outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdResult {
    pub text: String,
    pub passed: bool,
    /// In the figure's base unit; `None`: nothing was measured, which fails.
    pub value: Option<f64>,
    /// The value for people, as `31.2 ms`.
    pub shown: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UsersSummary {
    pub planned: f64,
    pub started: u64,
    pub refused: u64,
    /// Users whose first connection was made.
    pub connected: u64,
    pub finished: u64,
    /// Largest number at once.
    pub peak: u64,
}

/// The generator's own state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HealthSummary {
    pub lag_p50_ns: u64,
    pub lag_p99_ns: u64,
    pub lag_max_ns: u64,
    /// Mean over the run of the busiest loop's share of a core.
    pub loop_busy_mean: f64,
    pub loop_busy_max: f64,
    pub cpu_process_ns: u64,
    pub cpu_wait_ns: u64,
    pub rss_peak_bytes: u64,
    /// Share of rows kept in `requests.parquet`, 0..=1.
    pub rows_kept: f64,
    pub host_retransmits: u64,
    pub host_listen_drops: u64,
}

/// The figures of one measure over the run or a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureSummary {
    pub name: String,
    pub kind: String,
    /// Ended, well or not.
    pub count: u64,
    pub rate_per_s: f64,
    pub errors: u64,
    pub errors_by_kind: BTreeMap<String, u64>,
    /// Of those that ended well; `None` where none did.
    pub response: Option<Latency>,
    pub service: Option<Latency>,
    pub lag: Option<Latency>,
}

/// A distribution in a row. Nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many values it is made of.
    pub count: u64,
    pub mean_ns: f64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p98_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    pub name: String,
    pub start_ns: u64,
    pub end_ns: u64,
    pub users_started: u64,
    pub measures: Vec<MeasureSummary>,
}

/// `tally.json`: how operations ended, by phase and measure. Rewritten every few seconds, so
/// that a killed run still tells its errors; a measurement belongs to the phase it ended in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    pub phases: Vec<PhaseTally>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PhaseTally {
    /// Index into `RunInfo::phases`.
    pub phase: u32,
    pub measures: Vec<MeasureTally>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MeasureTally {
    /// Index into `RunInfo::measures`.
    pub measure: u16,
    /// Operations by [`crate::Outcome::name`].
    pub outcomes: BTreeMap<String, u64>,
}
