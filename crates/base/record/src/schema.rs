//! The types that a run directory's JSON files and series hold; `docs/run-directory.md` is their
//! reference. Fields are only ever added; readers ignore what they do not know.

mod event;
mod failures;
mod rows;
mod summary;
mod tally;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::metrics::{MetricKind, MetricValues};

pub use event::{
    Event, EventKind, HostFlow, HostUse, KnownFigure, OnceEnd, OnceEnded, OnceOperation,
    TrafficPrices,
};
pub use failures::{
    ErrorCount, ErrorSample, ErrorSummary, Incident, IncidentFigures, IncidentKind, failure_name,
};
pub use rows::{RowsKept, RowsPart, WorkerRows};
pub use summary::{
    ClockSummary, Finding, HealthSummary, IntervalMethod, IntervalMissing, Latency, MeasureSummary,
    MetricSummary, OperationsSummary, PercentileInterval, PhaseSummary, RegionSummary, Severity,
    Summary, TagSummary, ThresholdResult, TlsHandshakes, TrafficSummary, UsersSummary, Verdict,
    WireFigures, WorkSummary,
};
pub use tally::{
    MeasureTally, NeverBegun, PhaseTally, RegionTally, SessionEnd, StepWork, Tally,
    UnfinishedSessions, UserState, WhyNot, WorkKind, WorkerTally,
};

/// Version of everything in the directory; raised when old readers would misread new data.
pub const FORMAT_VERSION: u32 = 2;

/// [`GeneratorInfo::mode`] of a directory without load, with probes only.
pub const PROBE_MODE: &str = "probe";

/// [`GeneratorInfo::mode`] of a directory with results that another tool measured.
pub const IMPORTED_MODE: &str = "imported";

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
    /// Status of the run.
    pub status: RunStatus,
    /// Seed of all random draws.
    pub seed: u64,
    /// Hex SHA-1 of `scenario.yaml`.
    pub scenario_hash: String,
    /// `--set` overrides as given.
    #[serde(default)]
    pub overrides: Vec<String>,
    /// The system under load, for people.
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
    /// Regions that users connected from, if the scenario has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionInfo>,
    /// Facts about the machine by name.
    pub host: BTreeMap<String, String>,
    /// The measures of the run; other files refer to the index.
    pub measures: Vec<MeasureInfo>,
    /// The scenario's own metrics; other files refer to the index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricInfo>,
    /// Names of the sessions; other files refer to the index.
    pub sessions: Vec<String>,
    /// The measures that steps of the scenario begin, check or take, by their index.
    #[serde(default)]
    pub steps: Vec<u16>,
    /// As planned; other files refer to the index.
    pub phases: Vec<PhaseInfo>,
    /// True if the scenario expects the target to fall behind.
    #[serde(default)]
    pub expects_overload: bool,
    /// True if certificates were not verified.
    #[serde(default)]
    pub tls_unverified: bool,
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It is in progress, or was killed: the directory is incomplete.
    Running,
    /// It ran to its planned end.
    Complete,
    /// The user ended it early.
    Interrupted,
    /// A threshold ended it early.
    Aborted,
    /// The scenario's `until` ended it early: enough is known, or the time for that was over.
    Until,
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

impl GeneratorInfo {
    /// That of imported results: nothing is known of it.
    pub fn imported() -> GeneratorInfo {
        GeneratorInfo {
            mode: IMPORTED_MODE.to_owned(),
            loops: 0,
            cores: 0,
            files_per_loop: 0,
            lag_max_ns: 0,
        }
    }
}

/// A region from which some of the users connected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegionInfo {
    /// The value of the tag `region` of what its users measured.
    pub name: String,
    /// Share of the users, in proportion to the shares of the other regions.
    pub share: f64,
    /// The first of the loops that ran its users.
    pub loops_first: u32,
    /// How many loops there were.
    pub loops: u32,
    /// The network namespace that they connected from; `None`: that of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
}

/// A process that ran a share of the loops.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerInfo {
    /// Process number on its machine.
    pub pid: u32,
    /// The agent that started it; `None`: it was started by the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Version of Throng.
    pub throng: String,
    /// The first of its loops. Without regions, its users are those whose number leaves one of its loops
    /// when it is divided by the number of all loops.
    pub loops_first: u32,
    /// How many loops it ran.
    pub loops: u32,
    /// Cores that it may use.
    pub cores: u32,
    /// Open files each of its loops may have.
    pub files_per_loop: u64,
    /// The worker's monotonic clock minus the controller's, at the start.
    pub clock_offset_ns: i64,
    /// The largest possible error of that offset.
    pub clock_bound_ns: u64,
    /// The clock when it was last compared, if that was done while the run went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_last: Option<WorkerClock>,
    /// When it was lost; `None`: it was not.
    #[serde(default)]
    pub lost_at_ns: Option<u64>,
    /// Rows that the worker did not send; `None`: all are in the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<WorkerRows>,
}

/// How a worker's clock has moved against the controller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerClock {
    /// The worker's monotonic clock minus the controller's.
    pub offset_ns: i64,
    /// The largest possible error of that offset.
    pub bound_ns: u64,
    /// How fast it moves away: nanoseconds a second.
    pub drift_ns_per_s: i64,
}

/// A measure; its place in the list is its number in `requests.parquet`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureInfo {
    /// Unique among the measures of its kind.
    pub name: String,
    /// `connect`, `request`, `handshake`, `message`, `redirect`, `meeting`, `transaction`, `check`, `value`, or `step`: what
    /// failed and is no operation.
    pub kind: String,
    /// Keys and values by which figures are added up. A group is `group`, its value with those around it:
    /// `outer/inner`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The name that it shares with others whose tags differ; left out if it is the only one of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_name: Option<String>,
    /// True if its operations wait for what the target sends by itself, as long as that takes: messages that are
    /// expected, polls, streams that reconnect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

/// Numbers that the scenario records and that are no times; its place in the list is its number in `metrics.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricInfo {
    /// Unique among the metrics and measures.
    pub name: String,
    /// The kind of the numbers, and so how they are added up.
    pub kind: MetricKind,
    /// Behind the numbers, for people; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

/// A line of `metrics.jsonl`: what was recorded of a metric in one second, over all loops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricRow {
    /// The interval's start, since the run's start.
    pub start_ns: u64,
    /// The interval's end, since the run's start.
    pub end_ns: u64,
    /// Index into `RunInfo::phases`, as in the series.
    pub phase: u32,
    /// Index into `RunInfo::metrics`.
    pub metric: u16,
    /// The recorded numbers.
    pub values: MetricValues,
}

/// The key of the tag that regions give to measures.
const REGION: &str = "region";

impl MeasureInfo {
    /// The name without its region: that of the same measure over all regions.
    pub fn over_regions(&self) -> String {
        let mut name = self.name.clone();
        let Some(region) = self.tags.get(REGION) else {
            return name;
        };
        let pair = format!("{REGION}={region}");
        let forms =
            [(format!(" ({pair})"), ""), (format!("({pair}, "), "("), (format!(", {pair}"), "")];
        for (form, rest) in forms {
            if let Some(at) = name.rfind(&form) {
                name.replace_range(at..at + form.len(), rest);
                return name;
            }
        }
        name
    }

    /// A measure without tags.
    pub fn new(name: &str, kind: &str) -> MeasureInfo {
        MeasureInfo {
            name: name.to_owned(),
            kind: kind.to_owned(),
            tags: BTreeMap::new(),
            shared_name: None,
            waits: false,
        }
    }
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
    /// Sessions that the users of a closed phase begin, each as often as it does; `None`: as many as there is time for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_planned: Option<u64>,
    /// True if populations stand side by side, and the number of users of a closed one changes in the phase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub users_vary: bool,
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
    /// How long after its end the last loop closed the interval: it did not run for this time.
    pub closed_late_ns: u64,
    /// Users the plan wanted to start; of random arrivals the expected number.
    pub users_due: u64,
    /// Users that fell due, each once.
    #[serde(default)]
    pub users_fell_due: u64,
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
    /// Users that had to wait because as many connections were being set up as may be
    /// (`options.connecting_max`), in the interval in which they began to wait.
    pub users_held: u64,
    /// Users that were due while arrivals were paused. Those of a closed population, and users of their
    /// own, start when the pause is over; the others never.
    pub users_paused: u64,
    /// Those of them that started after the pause, or were refused then.
    #[serde(default)]
    pub users_resumed: u64,
    /// Users whose first connection was made in this interval.
    pub users_connected: u64,
    /// Connections that failed and were retried (`options.connect_retries`).
    pub connects_retried: u64,
    /// Requests that were sent again over another connection because the server had ended theirs.
    #[serde(default)]
    pub requests_retried: u64,
    /// Those of them whose connection's end the server had announced (`GOAWAY` of HTTP/2). The others met the end of an
    /// idle connection.
    #[serde(default)]
    pub requests_goaway: u64,
    /// TLS handshakes that agreed on everything.
    #[serde(default)]
    pub tls_handshakes_full: u64,
    /// TLS handshakes that resumed a session of before.
    #[serde(default)]
    pub tls_handshakes_resumed: u64,
    /// Operations of all measures that began (closing a connection is none).
    pub sends: u64,
    /// Operations of all measures that ended, with success or not.
    pub done: u64,
    /// Operations of steps that began; see [`OperationCounts`](crate::operations::OperationCounts), as for those below.
    #[serde(default)]
    pub operations_begun: u64,
    /// Operations of steps that succeeded or failed.
    #[serde(default)]
    pub operations_ended: u64,
    /// Those of them that the target answered.
    #[serde(default)]
    pub operations_completed: u64,
    /// Failures that are no operation's: steps, conditions, times and meetings that failed of themselves.
    #[serde(default)]
    pub own_failures: u64,
    /// Operations of steps that failed, and `own_failures`.
    pub errors: u64,
    /// Application bytes sent.
    pub bytes_out: u64,
    /// Application bytes received.
    pub bytes_in: u64,
    /// Received bytes of bodies that were decoded, as they came.
    #[serde(default)]
    pub encoded_in: u64,
    /// The same bodies, decoded.
    #[serde(default)]
    pub decoded_in: u64,
    /// Messages that no step waited for and no `messages` entry matched.
    pub unmatched: u64,
    /// Median of the generator lag of all operations of the interval.
    pub lag_p50_ns: u64,
    /// 99th percentile of the generator lag.
    pub lag_p99_ns: u64,
    /// Greatest generator lag.
    pub lag_max_ns: u64,
    /// CPU time of the loops' threads.
    pub cpu_loops_ns: u64,
    /// Time the loops' threads were ready but another ran on their core.
    pub cpu_wait_ns: u64,
    /// Calls of functions and steps in JavaScript.
    #[serde(default)]
    pub script_calls: u64,
    /// Time that the loops spent in them.
    #[serde(default)]
    pub scripts_ns: u64,
    /// Time in which a CPU limit of the generator's control groups held it back (`cpu.stat`).
    #[serde(default)]
    pub cpu_throttled_ns: u64,
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

impl SeriesRow {
    /// The number of which `errors` failed: operations of steps that ended, and what failed and is none.
    pub fn errors_among(&self) -> u64 {
        self.operations_ended + self.own_failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_over_all_regions_keeps_other_tags() {
        let over = |name: &str| {
            let mut measure = MeasureInfo::new(name, "request");
            measure.tags.insert(REGION.to_owned(), "north".to_owned());
            measure.over_regions()
        };
        assert_eq!(over("GET / (region=north)"), "GET /");
        assert_eq!(over("GET / (area=a, region=north)"), "GET / (area=a)");
        assert_eq!(over("GET / (area=a, region=north, zone=z)"), "GET / (area=a, zone=z)");
        assert_eq!(over("GET / (region=north, zone=z)"), "GET / (zone=z)");
        assert_eq!(over("GET /"), "GET /", "there is one region only");
    }
}
