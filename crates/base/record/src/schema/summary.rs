//! `summary.json`: the figures of a run and its verdict.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::metrics::MetricKind;

use super::{ErrorSummary, Incident, RegionTally, UnfinishedSessions, WorkKind};

/// `summary.json`: the figures and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT_VERSION`](super::FORMAT_VERSION) of the writer.
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
    /// True if the scenario expects that the target does not keep up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expects_overload: bool,
    /// The most important first; the generator's health is always the first.
    pub findings: Vec<Finding>,
    /// All of them, in the order of the scenario.
    pub thresholds: Vec<ThresholdResult>,
    /// Failures by what they were, the most frequent first; left out if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorSummary>,
    /// Windows in which a step was worse than in the rest of the run, the gravest first; left out if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
    /// Users over the complete run.
    pub users: UsersSummary,
    /// The generator's own state; left out if it is not known, as in imported results.
    #[serde(default, skip_serializing_if = "HealthSummary::is_unknown")]
    pub health: HealthSummary,
    /// Traffic of the generator's connections; left out if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficSummary>,
    /// TLS handshakes; left out if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_handshakes: Option<TlsHandshakes>,
    /// The clocks that stamped messages, as far as they are known to differ or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<ClockSummary>,
    /// The generator's own work by step, the largest total first; left out if no step computes anything that may take
    /// long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_work: Vec<WorkSummary>,
    /// Operations of steps over the complete run.
    #[serde(default)]
    pub operations: OperationsSummary,
    /// Whole run, in the order of `RunInfo::measures`, those that measured something.
    pub measures: Vec<MeasureSummary>,
    /// The same measures over all regions, if the run has regions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub totals: Vec<MeasureSummary>,
    /// Users by region, in the order of [`RunInfo::regions`](super::RunInfo::regions).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionSummary>,
    /// Whole run, by key and value; left out if no step has tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<TagSummary>,
    /// Numbers of the scenario's own over the complete run, in the order of
    /// [`RunInfo::metrics`](super::RunInfo::metrics); left out if it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSummary>,
    /// In the order of [`RunInfo::phases`](super::RunInfo::phases).
    pub phases: Vec<PhaseSummary>,
}

impl Summary {
    /// The measures over the complete run, those of several regions as one.
    pub fn over_regions(&self) -> &[MeasureSummary] {
        over_regions(&self.totals, &self.measures)
    }

    /// Findings for which the run has failed, besides thresholds that do not hold.
    pub fn failing(&self) -> impl Iterator<Item = &Finding> {
        let overload = self.verdict == Verdict::Failed && !self.expects_overload;
        let findings = self.findings.iter();
        findings.filter(move |found| found.fails_run() || overload && found.is_overload())
    }
}

impl PhaseSummary {
    /// The measures of the phase, those of several regions as one.
    pub fn over_regions(&self) -> &[MeasureSummary] {
        over_regions(&self.totals, &self.measures)
    }
}

/// Without regions there are no totals over them.
fn over_regions<'a>(
    totals: &'a [MeasureSummary],
    measures: &'a [MeasureSummary],
) -> &'a [MeasureSummary] {
    match totals.is_empty() {
        true => measures,
        false => totals,
    }
}

/// Figures of a metric of the scenario's own. Those that its kind does not have, or that nothing was recorded for, are left
/// out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct MetricSummary {
    /// As the scenario calls it.
    pub name: String,
    /// `counter`, `gauge`, `share` or `quantity`.
    #[ts(type = "\"counter\" | \"gauge\" | \"share\" | \"quantity\"")]
    pub kind: MetricKind,
    /// Behind its numbers, for people; may be empty.
    pub unit: String,
    /// How often it was recorded.
    pub count: u64,
    /// The sum of a counter or of quantities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<f64>,
    /// The sum of a counter by second of the planned load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// How often a share was true, of all times; 0..=1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The last number of a gauge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<f64>,
    /// The mean of quantities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The least number of a gauge or quantity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The median of quantities, as the others that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// The 95th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// The 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// The greatest number of a gauge or quantity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// Operations of steps over the complete run, those of all measures together; see [`crate::operations`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationsSummary {
    /// Operations that began, those of the drain included.
    pub begun: u64,
    /// Operations that succeeded or failed.
    pub count: u64,
    /// Those of them that the target answered while load was planned, with success or with a failure.
    pub completed: u64,
    /// Those of them that the target answered in the drain.
    pub drained: u64,
    /// Operations that the end of the run interrupted: begun, and neither successful nor failed.
    pub unfinished: u64,
    /// Operations that failed, and `own_failures`.
    pub errors: u64,
    /// Failures that are no operation's: steps, conditions, times and meetings that failed of themselves.
    pub own_failures: u64,
    /// `errors` as a share of `count` and `own_failures`, 0..=1; `None`: there were none.
    pub error_rate: Option<f64>,
    /// Operations that were due while load was planned, by second of that time; `None` if the record does not say.
    pub offered_per_s: Option<f64>,
    /// Operations that began in that time, by second of it; `None` if the record does not say.
    pub begun_per_s: Option<f64>,
    /// `completed` by second of that time; `None` if it is not known when that was.
    pub completed_per_s: Option<f64>,
}

/// The clock that stamped a kind of messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClockSummary {
    /// The measure of these messages.
    pub measure: String,
    /// By how much it was ahead of the generator's, as replies show; `None`: no reply had a stamp.
    pub offset_ns: Option<i64>,
    /// How far the true offset may lie from it.
    pub bound_ns: Option<u64>,
    /// Replies that were compared.
    pub replies: u64,
    /// Messages that were stamped later than they arrived. They have no latency.
    pub ahead: u64,
    /// The most by which one of them was, in nanoseconds.
    pub ahead_max_ns: u64,
    /// True if stamps were corrected by the offset.
    pub corrected: bool,
}

/// The generator's own work for a step over the complete run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSummary {
    /// The purpose of the work.
    pub kind: WorkKind,
    /// The step's name; of one that is no operation, what it does and in which session.
    pub step: String,
    /// The number of times that it was done.
    pub count: u64,
    /// The time that it took in all.
    pub total_ns: u64,
    /// The longest of them.
    pub max_ns: u64,
}

impl WorkSummary {
    /// The time that it took on average.
    pub fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.count.max(1) as f64
    }
}

/// TLS handshakes over the complete run, those that came to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TlsHandshakes {
    /// Those that agreed on everything, certificates included.
    pub full: u64,
    /// Those that resumed a session of before.
    pub resumed: u64,
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

/// The verdict on the run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There are no thresholds, and the run can be trusted. Exit code 0.
    Measured,
    /// All thresholds hold, and the run can be trusted. Exit code 0.
    Passed,
    /// A threshold does not hold, nothing succeeded, a step never did, or sessions failed of themselves. Exit code 1.
    Failed,
    /// The generator was the limit, or the run is not the one that was planned. Exit code 2.
    Untrusted,
}

/// A sentence with a figure, its evidence and what it means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
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

impl Finding {
    /// Codes of findings that make a run fail whatever its thresholds say.
    pub const FAILING: [&str; 5] = [
        "setup-failed",
        "run-aborted",
        "own-failures",
        "nothing-succeeded",
        "steps-never-succeeded",
    ];
    /// Codes of findings that say that the target did not do what was due. A run with thresholds that hold has failed
    /// then, unless its scenario expects that.
    pub const OVERLOAD: [&str; 2] = ["target-saturated", "target-stopped"];

    /// True if a run with this finding has failed, whatever its thresholds say.
    pub fn fails_run(&self) -> bool {
        Finding::FAILING.contains(&self.code.as_str())
    }

    /// True if it says that the target did not do what was due to the end.
    pub fn is_overload(&self) -> bool {
        Finding::OVERLOAD.contains(&self.code.as_str())
    }
}

/// How grave a finding is, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ts_rs::TS)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct ThresholdResult {
    /// As written in the scenario.
    pub text: String,
    /// True if it holds.
    pub passed: bool,
    /// In the figure's base unit; `None`: nothing was measured, which fails.
    pub value: Option<f64>,
    /// True if the figure is only known to be at least `value`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_bound: bool,
    /// The value for people, as `31.2 ms`.
    pub shown: String,
    /// Confidence interval of the figure, if it is a percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<PercentileInterval>,
    /// True if the limit lies within that interval: another run like this one may come to the other result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub within_interval: bool,
}

/// Users over the complete run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ts_rs::TS)]
pub struct UsersSummary {
    /// Users the plan starts; the expected number if arrivals are random.
    pub planned: f64,
    /// Users that fell due before the end, each once: those that started, and those of `refused`, `paused` and
    /// `unstarted`. Whoever is refused and tries again is in `refused` each time. `None` in records that do not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// Users that were due in a pause of arrivals and never started.
    #[serde(default)]
    pub paused: u64,
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
    /// Places of the sessions that did not come to their end.
    #[serde(default)]
    pub endings: Vec<UnfinishedSessions>,
    /// Largest number at once.
    pub peak: u64,
    /// Users that were there when their worker was lost. They count as started, and not as connected.
    #[serde(default)]
    pub lost: u64,
    /// Users that never came since their worker was lost before they were due.
    #[serde(default)]
    pub never_came: u64,
    /// Users that other workers had to start since theirs was lost before they were due.
    #[serde(default, skip_serializing_if = "is_none")]
    pub dealt: u64,
}

/// True of a count that is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The generator's own state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ts_rs::TS)]
pub struct HealthSummary {
    /// Median of the lag of all operations.
    pub lag_p50_ns: u64,
    /// 99th percentile of the lag.
    pub lag_p99_ns: u64,
    /// Greatest lag.
    pub lag_max_ns: u64,
    /// Mean over the run of the busiest loop's share of a core.
    pub loop_busy_mean: f64,
    /// Greatest share of a core in any interval.
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
    /// As [`MeasureInfo::kind`](super::MeasureInfo::kind), or `tag`.
    pub kind: String,
    /// Operations that were due: those that began, and those of `never_begun`. `None` of a phase, and in records
    /// that do not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// Operations that were due and never began, by [`WhyNot::name`](super::WhyNot::name).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub never_begun: BTreeMap<String, u64>,
    /// Operations that began.
    #[serde(default)]
    pub begun: u64,
    /// Attempts that failed and were tried again: those of all attempts, or those that failed by this step. 0 of a phase.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retried: u64,
    /// Ended, successful or failed.
    pub count: u64,
    /// Those of them that the target answered, with success or with a failure, while load was planned: without the drain.
    #[serde(default)]
    pub completed: u64,
    /// Those that the target answered in the drain; 0 of all phases but the last.
    #[serde(default, skip_serializing_if = "is_none")]
    pub drained: u64,
    /// Operations that were due while load was planned, by second of that time; `None` in a phase, and where the record
    /// does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    /// Operations that began while load was planned, by second of that time; `None` where the record does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_per_s: Option<f64>,
    /// `completed` by second of the phase, or of the time in which load was planned.
    pub rate_per_s: f64,
    /// Operations that failed, those included that were unfinished at the end and had waited for longer than any answer
    /// took.
    pub errors: u64,
    /// The same by [`crate::Outcome::name`].
    pub errors_by_kind: BTreeMap<String, u64>,
    /// Latency of all operations, from when they were due; `None`: there were none.
    pub response: Option<Latency>,
    /// As `response`, of those that succeeded.
    #[serde(default)]
    pub succeeded: Option<Latency>,
    /// As `response`, of those that the target answered with a failure.
    #[serde(default)]
    pub failed: Option<Latency>,
    /// As `succeeded`, from when they were sent.
    pub service: Option<Latency>,
    /// As `succeeded`, from when they were due to when they were sent.
    pub lag: Option<Latency>,
}

/// The requests and handshakes with a tag, all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TagSummary {
    /// `group`, or as the scenario has it.
    pub key: String,
    /// For a group its name and those of the groups around it, `outer/inner`. An outer group has the steps of inner
    /// ones.
    pub value: String,
    /// The names of the measures that were added up.
    pub measures: Vec<String>,
    /// Their figures as those of one measure, named `key=value`, of the kind `tag`.
    pub figures: MeasureSummary,
}

/// A distribution in a row. Nanoseconds. Operations that were never answered took at least as long as they
/// were waited for: percentiles that fall among them are lower bounds (see [`Latency::is_bound`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The number of values.
    pub count: u64,
    /// Those of them that were never answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Percentiles above this share of the values, the maximum and the mean are lower bounds; left out if
    /// none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_above: Option<f64>,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Least, within 0.05 % as it is read from histograms.
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
    /// How far the percentiles may lie from the true ones; of `response` only, empty where a record does not
    /// say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<PercentileInterval>,
}

impl Latency {
    /// The interval of the percentile at this share.
    pub fn interval(&self, share: f64) -> Option<&PercentileInterval> {
        self.intervals.iter().find(|found| found.share == share)
    }

    /// True if the percentile at this share, 0..=1, is only known to be at least its value. The mean and the
    /// maximum are where that of 1 is.
    pub fn is_bound(&self, share: f64) -> bool {
        // The sum of shares is exact to about this.
        const ROUNDING: f64 = 1e-12;
        self.bound_above.is_some_and(|known| share > known + ROUNDING)
    }
}

/// The confidence interval, at 95 %, of a percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct PercentileInterval {
    /// The percentile, in 0..1.
    pub share: f64,
    /// How it was found; `None` where no method applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<IntervalMethod>,
    /// How many independent operations would show as much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<f64>,
    /// The lower end; `None`: not determined.
    pub low_ns: Option<u64>,
    /// The upper end; `None`: not determined.
    pub high_ns: Option<u64>,
    /// True if the upper end is only known to be at least `high_ns`, since operations were never answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub high_is_bound: bool,
    /// Why an end is not determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<IntervalMissing>,
}

impl PercentileInterval {
    /// Both ends, where both are determined.
    pub fn ends_ns(&self) -> Option<(u64, u64)> {
        self.low_ns.zip(self.high_ns)
    }

    /// True if this number of nanoseconds lies strictly between the ends, or above an upper end that is a
    /// bound.
    pub fn encloses(&self, ns: f64) -> bool {
        self.ends_ns().is_some_and(|(low, high)| {
            (low as f64) < ns && (ns < high as f64 || self.high_is_bound)
        })
    }
}

/// How the interval of a percentile was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// By the ranks of the binomial distribution for all operations, which are independent as far as their
    /// seconds show.
    OrderStatistics,
    /// By the same ranks for the effective number of operations, since they depend on each other.
    EffectiveSize,
}

/// Why an end of an interval is not determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMissing {
    /// There are too few operations for this percentile.
    Few,
    /// There are too few seconds to see whether operations depend on each other.
    Short,
    /// Operations depend on each other over too large a part of the run.
    Dependent,
    /// The percentile falls among operations that were never answered.
    Unanswered,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
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
    /// In the order of [`RunInfo::measures`](super::RunInfo::measures), those that measured something.
    pub measures: Vec<MeasureSummary>,
    /// The same measures over all regions, if the run has regions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub totals: Vec<MeasureSummary>,
}

/// The users of a region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegionSummary {
    /// Name of the region.
    pub name: String,
    /// Share of the users that the scenario wants, 0..=1.
    pub share: f64,
    /// Users of the region by what happened to them.
    pub users: RegionTally,
}
