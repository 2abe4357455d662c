//! The numbers behind the verdict, in one place. Shares are in 0..=1.
//!
//! `docs/judging-reference.md` gives the reason for each. The limit on lag itself is the scenario's
//! (`GeneratorInfo::lag_max_ns`).

/// Below this share of the planned starts a run is not the one that was requested.
pub const STARTS_SHARE_MIN: f64 = 0.99;

/// Standard deviations by which a Poisson phase may fall short of its expected starts.
pub const POISSON_SIGMAS: f64 = 4.0;

/// A loop that is busy for at least this share is named as the cause: the rest of its core is the kernel's
/// bookkeeping and gaps too short to use.
pub const LOOP_BUSY_MIN: f64 = 0.90;

/// Ready loops that waited this share of their cores' time were starved by somebody else.
pub const CPU_WAIT_MIN: f64 = 0.10;

/// Scripts that take more than this share of the loops' time are worth a warning: a loop that is busy with them is late
/// for others.
pub const SCRIPTS_SHARE_MAX: f64 = 0.10;

/// Own work that takes more than this share of a median response time on average is worth a warning …
pub const OWN_WORK_OF_RESPONSE_MAX: f64 = 0.10;

/// … provided it is at least this long, in nanoseconds.
pub const OWN_WORK_NS_MIN: u64 = 100_000;

/// Most steps whose own work is reported.
pub const OWN_WORK_SHOWN_MAX: usize = 3;

/// Own work that takes a millisecond ([`LAG_WARN_NS_MIN`]) is the cause of lateness that no other explains if it took as long,
/// in all, as this share of all lag.
pub const OWN_WORK_OF_LAG_MIN: f64 = 0.5;

/// Connections were the cause of lateness where this share of the users in late seconds, or users in this share of these
/// seconds, had to wait for other connections to be set up.
pub const HELD_SHARE_MIN: f64 = 0.10;

/// In-flight operations at this share of the open files mean that the target did not answer.
pub const FILES_IN_FLIGHT_MIN: f64 = 0.90;

/// Lag that is more than this share of a time is worth a warning …
pub const LAG_OF_RESPONSE_MAX: f64 = 0.05;

/// … provided it is at least this long, in nanoseconds.
pub const LAG_WARN_NS_MIN: u64 = 1_000_000;

/// A clock that is off by more than this share of the median latency by its stamps makes these latencies
/// say nothing.
pub const CLOCK_OF_LATENCY_MAX: f64 = 0.05;

/// The latency log holds operations that succeeded. Where they are a smaller share of all, lag
/// is estimated from the seconds of the series, which know them all.
pub const LAG_COVERAGE_MIN: f64 = 0.90;

/// Fewer operations of a step have no 99th percentile of lag to speak of.
pub const LAG_STEP_COUNT_MIN: u64 = 100;

/// Segments that were sent again, as a share of the operations, and SYNs, as a share of the
/// connections, above which it is reported.
pub const RETRANSMITS_SHARE_MAX: f64 = 0.001;

/// A connection attempt whose SYN was repeated takes 1 s at least (RFC 6298); the histogram's rounding taken off.
pub const SYN_REPEATED_NS: u64 = 999_000_000;

/// Most measures with errors that get a finding of their own.
pub const ERROR_FINDINGS_MAX: usize = 5;

/// Operations that are unfinished at the end have failed if they waited for longer than any answer of their measure took,
/// and at least this long, in nanoseconds: what is shorter, the end of the run may have interrupted.
pub const OVERDUE_NS_MIN: u64 = 1_000_000_000;

/// Operations that the end of the run cut off would have taken longer than all that were answered, if they are more than
/// usually wait at one moment: by this factor, since a record by the second does not say when in it they were due …
pub const CUT_OFF_SHARE: f64 = 1.05;

/// … and by this many standard deviations of a Poisson number.
pub const CUT_OFF_Z: f64 = 3.0;

/// Percentiles name the share of failures that were answered sooner if it is at least this.
pub const FAILED_SOONER_MIN: f64 = 0.001;

/// Above this share of attempts that were tried again, a finding about them is a warning.
pub const RETRIED_SHARE_MAX: f64 = 0.10;

/// Most kinds of error that such a finding names.
pub const ERROR_KINDS_MAX: usize = 3;

/// Most characters of the first error of a kind that such a finding quotes.
pub const ERROR_TEXT_CHARS_MAX: usize = 80;

/// If more than this share of the requests are attempts of a `retry` that failed, requests do not say how great the load was.
pub const RETRIED_LOAD_SHARE_MAX: f64 = 0.01;

/// Requests that were sent again are many if they are at least so many, and more than this share of all operations: fewer may
/// have met connections that the target was just closing.
pub const RESENT_MANY_MIN: u64 = 10;
pub const RESENT_SHARE_MAX: f64 = 0.05;

/// A run of whose sessions a larger share failed for reasons of our own is not the one that was wanted.
pub const OWN_FAILURES_SHARE_MAX: f64 = 0.01;

/// Most kinds of endings of sessions that a finding names.
pub const ENDINGS_MAX: usize = 4;

/// Most steps that a finding names.
pub const STEPS_NAMED_MAX: usize = 5;

/// Most different notes of the run that are repeated among its findings.
pub const NOTES_MAX: usize = 5;

/// Most pauses of arrivals that are reported with their times.
pub const PAUSES_SHOWN_MAX: usize = 5;

/// Most lost workers that get a finding of their own.
pub const LOSSES_SHOWN_MAX: usize = 5;

/// A probe at its limit is reported where it was so for this share of its readings while load was planned …
pub const PROBE_LIMIT_SHARE_MIN: f64 = 0.20;

/// … and for at least this many.
pub const PROBE_LIMIT_READINGS_MIN: usize = 3;

/// Most limits of the server's side that are reported.
pub const PROBE_FINDINGS_MAX: usize = 8;

/// Intervals shorter than this say nothing of how busy a loop was: the last one, in which all users
/// are let go, may last a few milliseconds.
pub const BUSY_INTERVAL_NS_MIN: u64 = 500_000_000;

/// Chance below which a check of an experiment's residuals warns.
pub const EXPERIMENT_SIGNIFICANCE: f64 = 0.05;
/// Greatest value by least from which logarithms are advised; Jain (1991), section 18.8, would
/// have them where the range covers several orders of magnitude.
pub const EXPERIMENT_SPAN_FOR_LOG: f64 = 10.0;
/// Greatest value by least from which logarithms are advised if repetitions scatter more where their mean is greater.
pub const EXPERIMENT_SPAN_FOR_LOG_BY_SPREAD: f64 = 3.0;
/// Repetitions from which a combination has a spread, and combinations from which spreads are held
/// against means: of four not even the rarest order is as rare as one in twenty.
pub const EXPERIMENT_SPREAD_REPETITIONS: usize = 3;
/// Combinations from which spreads are held against means; see [`EXPERIMENT_SPREAD_REPETITIONS`].
pub const EXPERIMENT_SPREAD_CELLS: usize = 5;
/// Share of the variation from which a second and third term are reported beside the largest.
pub const EXPERIMENT_SHARE_SHOWN: f64 = 0.01;
/// Combinations that are reported one by one where runs are missing.
pub const EXPERIMENT_CELLS_SHOWN: usize = 5;
/// Bins wider than this share of a median hide what differs: most of a run's times stand in a few.
pub const EXPERIMENT_BIN_OF_MEDIAN_MAX: f64 = 0.1;

/// Below this share of the requests due, those answered in the second half of a run show a target that falls
/// behind …
pub const SATURATED_ANSWERED_MAX: f64 = 0.95;
/// … if at least this many have no answer at the end …
pub const SATURATED_BACKLOG_MIN: f64 = 20.0;
/// … and this many times what Little's law makes of the response times at the beginning …
pub const SATURATED_TIMES_LITTLE: f64 = 3.0;
/// … of which those of the requests due first count as this share of the run at most …
pub const SATURATED_FIRST_SHARE_MAX: f64 = 1.0 / 6.0;
/// … and their number grows: by Student's t over windows with this confidence …
pub const SATURATED_CONFIDENCE: f64 = 0.99;
/// … or by this many standard deviations of the counts, if these were as random as Poisson's.
pub const SATURATED_Z: f64 = 5.0;
/// A backlog that the responses of the beginning explain has to grow so in each half of a time of this many windows a
/// half at least, by Student's t.
pub const SATURATED_STEADY_WINDOWS_MIN: usize = 5;
/// Requests that wait at the end of the run are backlog if they have waited for no longer than this share of the answers took:
/// those that are lost wait for longer than nearly all of them.
pub const SATURATED_WAIT_QUANTILE: f64 = 0.95;
/// Requests that were never answered are a target's backlog if the share of those answered fell in the run by this
/// many standard errors: the split is the one with the greatest difference, which chance makes larger than usual …
pub const FADING_Z: f64 = 5.0;
/// … and those answered had to wait for long before it fell: for at least this share of the time that the others were
/// waited for …
pub const FADING_WAIT_SHARE_MIN: f64 = 0.25;
/// … and for this many times what the fastest ones took, or for longer than those due first by the same share.
pub const FADING_TIMES_FASTEST: f64 = 3.0;
/// Fewer answers have no mean response time to speak of.
pub const FADING_ANSWERS_MIN: f64 = 5.0;
/// A step has a backlog of its own if it has this share of all requests without an answer …
pub const SLOW_STEP_SHARE_MIN: f64 = 0.75;
/// … and of its requests this many times the share that the others have of theirs.
pub const SLOW_STEP_TIMES_OTHERS: f64 = 4.0;
/// Users who could not start since connections were being set up wait for the target if those took this many
/// times as long in the second half of a run as in its first second, or if the loops had CPU as the fastest connection
/// or request of the run …
pub const SLOW_CONNECTS_TIMES: f64 = 4.0;
/// … and at least this long on average, in seconds.
pub const SLOW_CONNECTS_S_MIN: f64 = 0.1;
/// Shorter runs say nothing of their target but that they are too short.
pub const SATURATED_SECONDS_MIN: usize = 3;
/// Windows in which the requests of all measures are counted …
pub const WINDOWS_MAX: usize = 500_000;
/// … and those of each measure at least.
pub const WINDOWS_MIN: usize = 600;
/// A target that answered nothing for this many seconds in a row, although requests waited, was silent …
pub const SILENT_SECONDS_MIN: usize = 2;
/// … if that is this many times the longest mean response time of a second …
pub const SILENT_TIMES_RESPONSE: f64 = 3.0;
/// … and as many answers were to be expected in the time: of exponential times none comes by chance once in
/// 22,000.
pub const SILENT_ANSWERS_EXPECTED_MIN: f64 = 10.0;
/// Answers after a silence do not say how long a response usually takes if this many requests waited in it on average …
pub const SILENT_STOP_WAITING_MIN: u64 = 10;
/// … and as many answers were to be expected in it, by the median of a second: independent ones stay away by chance
/// once in 500 million.
pub const SILENT_STOP_ANSWERS_MIN: u64 = 20;
/// A loop that closed an interval so late did not run for so long, and knows nothing of its target's silence.
pub const SILENT_CLOSED_LATE_NS_MAX: u64 = 500_000_000;
/// Seconds of a run whose requests are counted one by one: four days.
pub const FLOW_SECONDS_MAX: usize = 345_600;

/// The confidence of the intervals of percentiles.
pub const INTERVAL_CONFIDENCE: f64 = 0.95;

/// Most stretches of a run whose scatter shows how far its percentiles may lie from the true ones: of longer
/// runs they are several seconds each.
pub const INTERVAL_BLOCKS_MAX: u64 = 600;

/// A run or phase that lasts for fewer seconds is divided into as many stretches, from its rows …
pub const INTERVAL_STRETCHES: u64 = 60;
/// … none of which is shorter than this …
pub const INTERVAL_STRETCH_NS_MIN: u64 = 50_000_000;
/// … if there are rows of at least this share of its operations …
pub const INTERVAL_ROWS_SHARE_MIN: f64 = 0.99;
/// … and the run has no more operations.
pub const INTERVAL_ROWS_MAX: u64 = 1_000_000;

/// A lab's network whose packets depart later than this, at the 99th percentile, did not have the distances that were
/// requested. It is ten times what it reaches on a machine with time for it.
pub const NETWORK_LATE_P99_NS_MAX: u64 = 1_000_000;

/// Agents differ in their errors where chance would make as great a difference with this probability at most …
pub const AGENTS_DIFFER_P_MAX: f64 = 0.001;

/// … and one's share of errors is this number of times the others' at least, or they have none.
pub const AGENTS_DIFFER_RATIO_MIN: f64 = 2.0;

/// Most agents that differ that get a finding of their own.
pub const AGENTS_LISTED_MAX: usize = 5;

/// A clock of an agent that may be further from where it was at the start than this is reported, in nanoseconds.
pub const AGENT_CLOCK_MOVED_NS_MAX: u64 = 5_000_000;

/// Chance finds an incident in this share of healthy runs at most.
pub const INCIDENT_ALPHA: f64 = 0.05;
/// A step has an incident where its share of failures, or of operations without an answer, is greater by this …
pub const INCIDENT_ERRORS_MIN: f64 = 0.01;
/// … or its responses, by their geometric mean, are this many times as long …
pub const INCIDENT_RESPONSE_TIMES: f64 = 1.25;
/// … and this many times in a window that is shorter than [`INCIDENT_SHORT_NS`]: a busy machine makes some answers longer for
/// a moment …
pub const INCIDENT_SHORT_RESPONSE_TIMES: f64 = 2.0;
/// The length from which a window is none of [`INCIDENT_SHORT_RESPONSE_TIMES`], in nanoseconds.
pub const INCIDENT_SHORT_NS: u64 = 2_000_000_000;
/// … or fewer operations end by this share of those that are due, or usually due if these are more …
pub const INCIDENT_SHORTFALL_MIN: f64 = 0.25;
/// … in this many slots in a row at least: in one, a longer response is a shortfall …
pub const INCIDENT_THROUGHPUT_SLOTS_MIN: usize = 2;
/// … of a step of which as many operations are usually due in a slot: of others, each one is a shortfall until it ends.
pub const INCIDENT_DUE_MIN: f64 = 1.0;
/// As many operations are slow, or missing, in an incident at least: one that took long is none.
pub const INCIDENT_OPERATIONS_MIN: f64 = 5.0;
/// Windows of a step that are no further apart are one incident, in nanoseconds.
pub const INCIDENT_ENDS_NS: u64 = 1_000_000_000;
/// A response that is long from the first seconds on, less than this, and shorter later is a warm-up.
pub const WARM_UP_BEFORE_NS: u64 = 3_000_000_000;
/// Most slots of a run in which incidents are looked for: seconds, up to an hour.
pub const INCIDENT_SLOTS_MAX: usize = 3_600;
/// Most series in which incidents are looked for: steps and their tags.
pub const INCIDENT_SERIES_MAX: usize = 200;
/// The load of a second is the mean of as many seconds around it.
pub const INCIDENT_LOAD_S: u64 = 9;
/// Most incidents of a run: those in which most was lost.
pub const INCIDENTS_MAX: usize = 100;
/// Most incidents that get a finding of their own.
pub const INCIDENT_FINDINGS_MAX: usize = 8;
/// An event this long before or after an incident began or ended is named beside it, in nanoseconds …
pub const BESIDE_NS: u64 = 5_000_000_000;
/// … of which this many at most.
pub const BESIDE_MAX: usize = 6;
/// A probe is named beside an incident if its mean in it is this many standard deviations of its other readings away …
pub const BESIDE_PROBE_Z: f64 = 4.0;
/// … and different by this share at least …
pub const BESIDE_PROBE_SHARE_MIN: f64 = 0.5;
/// … of which this many at most …
pub const BESIDE_PROBES_MAX: usize = 3;
/// … or if it is at its limit in this share of its readings in it.
pub const BESIDE_LIMIT_SHARE_MIN: f64 = 0.3;
/// Stalls that come back as often are periodic, if their distances are alike.
pub const STALLS_MIN: usize = 5;
/// By this share of their period, and a slot, the distances of periodic stalls differ at most.
pub const STALLS_SCATTER_MAX: f64 = 0.15;
/// Responses grow while a run goes on if they are this many times as long at its end.
pub const GROWTH_TIMES_MIN: f64 = 1.25;
/// Answers of a step are of two groups if each has this share of them …
pub const GROUPS_SHARE_MIN: f64 = 0.1;
/// … the slower ones take this many times as long …
pub const GROUPS_TIMES_MIN: f64 = 3.0;
/// … and there are as many answers.
pub const GROUPS_ANSWERS_MIN: u64 = 200;
/// Most steps whose answers are looked at.
pub const GROUPS_STEPS_MAX: usize = 10;
/// Connections are closed by the target if this many times as many were opened as were open at once, or as users came …
pub const RENEWED_TIMES_MIN: f64 = 3.0;
/// … and this many more at least.
pub const RENEWED_MIN: u64 = 10;
