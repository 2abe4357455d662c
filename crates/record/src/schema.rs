//! The types that a run directory's JSON files and series hold; `docs/run-directory.md` is their
//! reference. Fields are only ever added; readers ignore what they do not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of everything in the directory; raised when old readers would misread new data.
pub const FORMAT_VERSION: u32 = 2;

/// [`GeneratorInfo::mode`] of a directory without load, with probes only.
pub const PROBE_MODE: &str = "probe";

/// `run.json`: what ran, where, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// The directory's name; see [`crate::run_id`].
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// Throng's own version.
    pub throng: String,
    /// Its status.
    pub status: RunStatus,
    /// Of all random draws.
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
    /// How the load was generated.
    pub generator: GeneratorInfo,
    /// The worker processes, if loops ran in processes of their own. The index is the worker's number.
    #[serde(default)]
    pub workers: Vec<WorkerInfo>,
    /// Facts about the machine by name.
    pub host: BTreeMap<String, String>,
    /// What was measured; other files refer to the index.
    pub measures: Vec<MeasureInfo>,
    /// Names of the sessions; other files refer to the index.
    pub sessions: Vec<String>,
    /// The measures that steps of the scenario begin, by their index.
    #[serde(default)]
    pub steps: Vec<u16>,
    /// As planned; other files refer to the index.
    pub phases: Vec<PhaseInfo>,
    /// True if certificates were not verified.
    #[serde(default)]
    pub tls_unverified: bool,
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It is in progress, or was killed: the directory is incomplete.
    Running,
    /// It ran to its planned end.
    Complete,
    /// The user ended it early.
    Interrupted,
    /// A fault ended it early; see `events.jsonl`.
    Failed,
}

/// How the load was generated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorInfo {
    /// `precise` or `wide`.
    pub mode: String,
    /// Event loops, each a thread.
    pub loops: u32,
    /// Cores that the generator may use.
    pub cores: u32,
    /// Open files each loop may have.
    pub files_per_loop: u64,
    /// Above this p99 lag the run is not trusted.
    pub lag_max_ns: u64,
}

/// A process that ran a share of the loops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerInfo {
    /// Its number on its machine.
    pub pid: u32,
    /// Version of Throng.
    pub throng: String,
    /// The first of its loops. Its users are those whose number leaves one of its loops when it is
    /// divided by the number of all loops.
    pub loops_first: u32,
    /// How many loops it ran.
    pub loops: u32,
    /// Cores that it may use.
    pub cores: u32,
    /// Open files each of its loops may have.
    pub files_per_loop: u64,
    /// Its monotonic clock minus the controller's, at the start.
    pub clock_offset_ns: i64,
    /// The largest possible error of that offset.
    pub clock_bound_ns: u64,
    /// When it was lost; `None`: it was not.
    #[serde(default)]
    pub lost_at_ns: Option<u64>,
}

/// A measure; its place in the list is its number in `requests.parquet`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureInfo {
    /// Unique among the measures of its kind.
    pub name: String,
    /// `connect`, `request`, `handshake`, `message`, `transaction` or `check`.
    pub kind: String,
}

/// A phase as planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseInfo {
    /// As the scenario calls it.
    pub name: String,
    /// `rate`, `poisson`, `hold` or `closed`.
    pub kind: String,
    /// Since the run's start.
    pub start_ns: u64,
    /// Since the run's start.
    pub end_ns: u64,
    /// Sessions the plan starts in it (the expected number if arrivals are random).
    pub users_planned: f64,
}

/// One row of `series.parquet`: one second of the run (or the part of it up to a phase's end),
/// over all loops. Counts are of this interval; gauges are as at its end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SeriesRow {
    /// The interval's start, since the run's start.
    pub start_ns: u64,
    /// The interval's end, since the run's start.
    pub end_ns: u64,
    /// Index into `RunInfo::phases`; the drain after the last phase counts to the last phase.
    pub phase: u32,
    /// Gauge: users that have started and not finished.
    pub users: u64,
    /// The most of them at once within the interval: the sum of each loop's own maximum.
    pub users_peak: u64,
    /// Gauge: connections that are open.
    pub connections: u64,
    /// Gauge: operations in flight.
    pub in_flight: u64,
    /// Users the plan wanted to start.
    pub users_due: u64,
    /// Sessions that started, including those that a closed population restarted.
    pub users_started: u64,
    /// The restarted sessions among them.
    pub users_repeated: u64,
    /// Sessions that came to the end of their program.
    pub users_finished: u64,
    /// Sessions that ended because a step failed.
    pub users_failed: u64,
    /// Sessions that ended because the generator had no file, port or memory for a step.
    pub users_stopped: u64,
    /// Sessions that were cut off at the end of the run.
    pub users_cut: u64,
    /// Users that were due before the end and had not started by then.
    pub users_unstarted: u64,
    /// Steps that were due before the end and had not begun by then.
    pub steps_missed: u64,
    /// Not started for lack of files, ports or memory.
    pub users_refused: u64,
    /// Users that started late because as many connections were being set up as may be
    /// (`options.connecting_max`).
    pub users_held: u64,
    /// Users that were due while arrivals were paused. Those of a closed population, and users of their
    /// own, start when the pause is over; the others never.
    pub users_paused: u64,
    /// Users whose first connection was made in this interval.
    pub users_connected: u64,
    /// Connections that failed and were retried (`options.connect_retries`).
    pub connects_retried: u64,
    /// Operations begun (closing a connection is none).
    pub sends: u64,
    /// Operations that ended, with success or not.
    pub done: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Application bytes sent.
    pub bytes_out: u64,
    /// Application bytes received.
    pub bytes_in: u64,
    /// Messages that no step waited for and no `messages` entry matched.
    pub unmatched: u64,
    /// Median of the generator lag of all operations of the interval.
    pub lag_p50_ns: u64,
    /// Its 99th percentile.
    pub lag_p99_ns: u64,
    /// Its greatest.
    pub lag_max_ns: u64,
    /// CPU time of the loops' threads.
    pub cpu_loops_ns: u64,
    /// Time the loops' threads were ready but another ran on their core.
    pub cpu_wait_ns: u64,
    /// CPU time of the generator process and its workers.
    pub cpu_process_ns: u64,
    /// The busiest loop's CPU time as a share of the interval, 0..=1; spinning for punctuality
    /// does not count.
    pub loop_busy_max: f64,
    /// Gauge: resident memory of the generator process, its workers included.
    pub rss_bytes: u64,
    /// TCP segments that the host retransmitted in this interval (`/proc/net/snmp`).
    pub host_retransmits: u64,
    /// Connections that the host dropped at full accept queues (`/proc/net/netstat`).
    pub host_listen_drops: u64,
    /// SYNs that the host retransmitted: each is a connect that took 1 s, 3 s, … longer
    /// (`TCPSynRetrans` there; RFC 6298 §2 and §5.5 for the times).
    pub host_syn_retransmits: u64,
    /// Packets that the host dropped at full packet queues (`/proc/net/softnet_stat`).
    pub host_packet_drops: u64,
    /// How often TCP came to the middle mark of `tcp_mem`, from where on it saves memory
    /// (`TCPMemoryPressures`).
    pub host_memory_pressures: u64,
    /// Connections that the host aborted for lack of TCP memory (`TCPAbortOnMemory`).
    pub host_memory_aborts: u64,
    /// Gauge: loops whose worker was lost; this interval is without them.
    pub loops_lost: u32,
    /// Gauge: connections set up so far, which the following are of; estimated while many are open.
    pub tcp_connections: u64,
    /// Gauge: TCP segments sent on them so far (`TCP_INFO`).
    pub tcp_segments_out: u64,
    /// Gauge: TCP segments received.
    pub tcp_segments_in: u64,
    /// Gauge: bytes of payload sent, each once.
    pub tcp_payload_out: u64,
    /// Gauge: bytes of payload received.
    pub tcp_payload_in: u64,
    /// Gauge: segments sent again.
    pub tcp_retransmits: u64,
    /// Gauge: bytes of the IP packets sent, estimated from segments and payload.
    pub ip_bytes_out: u64,
    /// Gauge: bytes of the IP packets received, estimated.
    pub ip_bytes_in: u64,
}

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Since the run's start.
    pub at_ns: u64,
    /// What happened.
    #[serde(flatten)]
    pub what: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A phase began.
    PhaseStarted {
        /// The phase's name.
        phase: String,
    },
    /// After the last phase: operations in flight may end.
    Draining,
    /// The run is over.
    RunEnded {
        /// How it ended.
        status: RunStatus,
    },
    /// One of the first errors of a kind at a measure.
    Error {
        /// The measure's name.
        measure: String,
        /// [`crate::Outcome::name`].
        outcome: String,
        /// The user's number in the run.
        user: u64,
        /// In words.
        detail: String,
    },
    /// From here on one in `rate` rows of `requests.parquet` is kept.
    Sampling {
        /// Rows that each kept row stands for.
        rate: u32,
        /// In words.
        reason: String,
    },
    /// The user requested the end.
    Interrupted,
    /// The user paused arrivals.
    ArrivalsPaused,
    /// The user resumed arrivals.
    ArrivalsResumed,
    /// A worker process was lost, and the run continues without its users.
    WorkerLost {
        /// Its index in [`RunInfo::workers`].
        worker: u32,
        /// Its number on its machine.
        pid: u32,
        /// The first of its loops.
        loops_first: u32,
        /// How many loops it ran.
        loops: u32,
        /// Until when the record holds its figures, since the run's start.
        reported_ns: u64,
        /// Users it had at that time.
        users: u64,
        /// Users it had started or refused by then, each once.
        users_begun: u64,
        /// Users it had connected by then.
        users_connected: u64,
        /// Users of its share that were still to start.
        users_due_after: u64,
        /// In words.
        why: String,
    },
    /// Memory ran short, and from here on no user starts.
    MemoryPressure {
        /// What was left, on the machine or within the limit of a control group.
        available_bytes: u64,
        /// Users that were present.
        users: u64,
    },
    /// The built-in target ended, though the run did not end it. The run ends there.
    TargetEnded {
        /// Its name.
        target: String,
        /// Its process.
        pid: u32,
        /// With which exit status, or by which signal, in words.
        why: String,
    },
    /// A source of probes no longer answers.
    ProbeLost {
        /// What it is to the system.
        role: String,
        /// Its name.
        source: String,
        /// In words, without secrets.
        why: String,
    },
    /// It answers again.
    ProbeBack {
        /// What it is to the system.
        role: String,
        /// Its name.
        source: String,
        /// Queries without an answer since it was lost.
        missed: u64,
    },
    /// The queries to a source, at the run's end.
    ProbeSource {
        /// What it is to the system.
        role: String,
        /// Where it is; may be empty.
        region: String,
        /// Its name.
        source: String,
        /// How it was queried.
        via: String,
        /// Answers.
        readings: u64,
        /// Queries without an answer.
        missed: u64,
        /// CPU time of the queries in this process.
        cpu_ns: u64,
    },
    /// Something that is no error of an operation, in words.
    Note {
        /// In words.
        text: String,
    },
}

/// `summary.json`: the figures and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// The run's id.
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// True if the results of the remaining workers are judged although workers were lost.
    #[serde(default)]
    pub allow_lost_workers: bool,
    /// The most important first; the generator's health is always the first.
    pub findings: Vec<Finding>,
    /// All of them, in the order of the scenario.
    pub thresholds: Vec<ThresholdResult>,
    /// Users over the complete run.
    pub users: UsersSummary,
    /// The generator's own state; left out if it is not known, as in imported results.
    #[serde(default, skip_serializing_if = "HealthSummary::is_unknown")]
    pub health: HealthSummary,
    /// Traffic of the generator's connections; left out if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficSummary>,
    /// Whole run, in the order of `RunInfo::measures`, those that measured something.
    pub measures: Vec<MeasureSummary>,
    /// In the order of [`RunInfo::phases`].
    pub phases: Vec<PhaseSummary>,
}

/// Traffic of the connections over the complete run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TrafficSummary {
    /// Connections that were set up.
    pub connections: u64,
    /// All of them together.
    pub total: WireFigures,
    /// The mean of one.
    pub per_connection: WireFigures,
}

/// TCP as the kernel counted it, and IP estimated from that.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct WireFigures {
    /// Segments sent, those without payload too.
    pub segments_out: f64,
    /// Segments received.
    pub segments_in: f64,
    /// Bytes of payload sent, each counted once; of TLS, its records.
    pub payload_out: f64,
    /// Bytes of payload received.
    pub payload_in: f64,
    /// Segments sent again.
    pub retransmits: f64,
    /// Bytes of IP packets sent, estimated: payload and headers of all segments.
    pub ip_bytes_out: f64,
    /// Bytes of IP packets received, estimated.
    pub ip_bytes_in: f64,
}

/// What it all comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There are no thresholds, and the run can be trusted. Exit code 0.
    Measured,
    /// All thresholds hold, and the run can be trusted. Exit code 0.
    Passed,
    /// A threshold does not hold, nothing succeeded, or a step never did. Exit code 1.
    Failed,
    /// The generator was the limit, or the run is not the one that was planned. Exit code 2.
    Untrusted,
}

/// A sentence with a figure, its evidence and what it means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How grave it is.
    pub severity: Severity,
    /// Stable, for machines: `generator-healthy`, `generator-cpu`, `generator-files`, ….
    pub code: String,
    /// For people.
    pub text: String,
    /// Figures behind it by name.
    #[serde(default)]
    pub evidence: BTreeMap<String, f64>,
}

/// Codes of findings that make a run fail whatever its thresholds say.
const FAILING: [&str; 2] = ["nothing-succeeded", "steps-never-succeeded"];

impl Finding {
    /// True if a run with this finding has failed, whatever its thresholds say.
    pub fn fails_run(&self) -> bool {
        FAILING.contains(&self.code.as_str())
    }
}

/// How grave a finding is, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// To be looked into; the run can still be trusted.
    Warning,
    /// Makes the run untrusted.
    Fatal,
}

/// One threshold's outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdResult {
    /// As written in the scenario.
    pub text: String,
    /// True if it holds.
    pub passed: bool,
    /// In the figure's base unit; `None`: nothing was measured, which fails.
    pub value: Option<f64>,
    /// The value for people, as `31.2 ms`.
    pub shown: String,
}

/// Users over the complete run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UsersSummary {
    /// Users the plan starts; the expected number if arrivals are random.
    pub planned: f64,
    /// Users that did start, each once.
    pub started: u64,
    /// Their sessions: more than users if a closed population restarts them.
    #[serde(default)]
    pub sessions: u64,
    /// Not started for lack of files, ports or memory.
    pub refused: u64,
    /// Users whose first connection was made.
    pub connected: u64,
    /// Sessions that came to the end of their program.
    pub finished: u64,
    /// Sessions that ended because a step failed.
    #[serde(default)]
    pub failed: u64,
    /// Sessions that ended because the generator had no file, port or memory for a step.
    #[serde(default)]
    pub stopped: u64,
    /// Sessions that were cut off at the end of the run.
    #[serde(default)]
    pub cut_off: u64,
    /// Users that were due before the end and had not started by then.
    #[serde(default)]
    pub unstarted: u64,
    /// Where sessions were that did not come to their end.
    #[serde(default)]
    pub endings: Vec<Ending>,
    /// Largest number at once.
    pub peak: u64,
    /// Users that were there when their worker was lost. They count as started, and not as connected.
    #[serde(default)]
    pub lost: u64,
    /// Users that never came since their worker was lost before they were due.
    #[serde(default)]
    pub never_came: u64,
}

/// The generator's own state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HealthSummary {
    /// Median of the lag of all operations.
    pub lag_p50_ns: u64,
    /// Its 99th percentile.
    pub lag_p99_ns: u64,
    /// Its greatest.
    pub lag_max_ns: u64,
    /// Mean over the run of the busiest loop's share of a core.
    pub loop_busy_mean: f64,
    /// Its greatest in any interval.
    pub loop_busy_max: f64,
    /// CPU time of the process.
    pub cpu_process_ns: u64,
    /// Time the loops' threads were ready but another ran on their core.
    pub cpu_wait_ns: u64,
    /// Greatest resident memory of the process.
    pub rss_peak_bytes: u64,
    /// Share of rows kept in `requests.parquet`, 0..=1.
    pub rows_kept: f64,
    /// TCP segments that the host retransmitted.
    pub host_retransmits: u64,
    /// Connections that the host dropped at full accept queues.
    pub host_listen_drops: u64,
    /// SYNs that the host retransmitted.
    #[serde(default)]
    pub host_syn_retransmits: u64,
    /// Packets that the host dropped at full packet queues.
    #[serde(default)]
    pub host_packet_drops: u64,
    /// How often TCP began to save memory.
    #[serde(default)]
    pub host_memory_pressures: u64,
    /// Connections that the host aborted for lack of TCP memory.
    #[serde(default)]
    pub host_memory_aborts: u64,
}

impl HealthSummary {
    /// True if nothing is known of the generator: a run of Throng kept rows.
    fn is_unknown(&self) -> bool {
        *self == HealthSummary::default()
    }
}

/// The figures of one measure over the run or a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureSummary {
    /// The measure's name.
    pub name: String,
    /// As [`MeasureInfo::kind`].
    pub kind: String,
    /// Operations that began.
    #[serde(default)]
    pub begun: u64,
    /// Ended, successful or failed.
    pub count: u64,
    /// `count` by second.
    pub rate_per_s: f64,
    /// Operations that failed.
    pub errors: u64,
    /// The same by [`crate::Outcome::name`].
    pub errors_by_kind: BTreeMap<String, u64>,
    /// Of operations that succeeded; `None`: none did.
    pub response: Option<Latency>,
    /// As `response`, from when they were sent.
    pub service: Option<Latency>,
    /// As `response`, from when they were due to when they were sent.
    pub lag: Option<Latency>,
}

/// A distribution in a row. Nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The number of values.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Least.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 98th percentile.
    pub p98_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Greatest.
    pub max_ns: u64,
}

/// The figures of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// The phase's name.
    pub name: String,
    /// Since the run's start.
    pub start_ns: u64,
    /// Since the run's start.
    pub end_ns: u64,
    /// Users that started in it, each once.
    pub users_started: u64,
    /// In the order of [`RunInfo::measures`], those that measured something.
    pub measures: Vec<MeasureSummary>,
}

/// `tally.json`: how operations ended, by phase and measure. Rewritten every few seconds, so
/// that a killed run still shows its errors; a measurement belongs to the phase it ended in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Those in which something ended.
    pub phases: Vec<PhaseTally>,
    /// Operations begun, by measure.
    #[serde(default)]
    pub begun: Vec<u64>,
    /// Sessions that did not reach the end of their program.
    #[serde(default)]
    pub endings: Vec<Ending>,
}

/// Sessions that did not reach the end of their program, of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Index into `RunInfo::sessions`.
    pub session: u16,
    /// Index into `RunInfo::measures`: the step that the sessions were in, or would have come to next.
    pub step: Option<u16>,
    /// What their users did.
    pub state: UserState,
    /// Why they ended.
    pub end: SessionEnd,
    /// How many.
    pub users: u64,
}

/// Why a session did not reach the end of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// A step failed.
    Failed,
    /// The generator had no file, port or memory for a step.
    Stopped,
    /// The run was over.
    CutOff,
}

/// What a user does when its session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserState {
    /// It thinks, or waits for its pace, before the step.
    Thinking,
    /// It waits for a connection.
    Connecting,
    /// It waits to try its connection again.
    Retrying,
    /// It waits for an answer or a message.
    Waiting,
    /// It is about to do the step.
    Working,
}

/// How operations ended in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PhaseTally {
    /// Index into `RunInfo::phases`.
    pub phase: u32,
    /// Those that measured something.
    pub measures: Vec<MeasureTally>,
}

/// How the operations of a measure ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MeasureTally {
    /// Index into `RunInfo::measures`.
    pub measure: u16,
    /// Operations by [`crate::Outcome::name`].
    pub outcomes: BTreeMap<String, u64>,
}
