//! The order in which the findings of a run are shown.

/// The rank of a rule's findings among those of a run, the first to be shown first.
///
/// The first findings are about what the target did not keep up with, since that explains what follows. Then come
/// those that make the run untrusted, the one that explains most at their head; those that make it fail whatever its
/// thresholds say; what broke and when; the generator; the circumstances of the run; what its users met; and what is only
/// counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    // The target was the limit.
    /// `target-saturated`, `target-stopped`, `target-stalled`.
    Overload,

    // The run is untrusted.
    /// `worker-lost`, also where the loss was accepted.
    LostWorkers,
    /// `target-ended`.
    TargetEnded,
    /// `network-overloaded`, `network-late`.
    NetworkFault,
    /// `generator-memory`, where the memory guard stopped the ramp.
    MemoryPressure,
    /// `generator-files`, `generator-ports`, `generator-memory`, `generator-refused`, `target-limit`.
    Shortages,
    /// `generator-limited`, `generator-scripts`, `generator-cpu`, `generator-starved`, `generator-work`, `generator-lag`,
    /// `connecting-limit`, `target-limit`: load that was missed or late.
    Load,
    /// `run-incomplete`.
    Incomplete,
    /// `arrivals-paused`, where that made another run of it.
    PlanChanged,
    /// `threshold-by-lag`.
    ThresholdsByLag,

    // The run has failed.
    /// `run-aborted`.
    Aborted,
    /// `own-failures`.
    OwnFailures,
    /// `nothing-succeeded`, `steps-never-succeeded`.
    Failures,

    // What broke, and when.
    /// `incident`.
    Incidents,
    /// `periodic-stall`.
    PeriodicStalls,
    /// `response-grows`.
    Growth,
    /// `keep-alive-closed`.
    KeepAlive,

    // The generator.
    /// `generator-healthy`.
    Healthy,
    /// `generator-lag` within its limit: it says what response times include, the others what happened. So it is shown
    /// here only if nothing else is wrong, and otherwise behind the last finding that is a warning or fatal.
    LagWithinLimit,

    // The circumstances of the run.
    /// `precision-reached`, `precision-missed`.
    Precision,
    /// `arrivals-paused`, where few users or none stayed away.
    Pauses,
    /// `fault`.
    Faults,
    /// `addresses-changed`.
    Addresses,
    /// `tls-unverified`.
    Certificates,
    /// `host-listen-drops`, `host-syn-retransmits`, `host-packet-drops`, `retransmits`, `host-tcp-memory`.
    Storms,
    /// `rows-sampled`.
    RowsSampled,
    /// `rows-none`, `rows-left`, `rows-lost`.
    Rows,
    /// `scripts-slow`.
    Scripts,
    /// `own-work`.
    OwnWork,
    /// `network-emulated`, `network-unmeasured`.
    Network,
    /// `time-dilated`.
    TimeDilation,
    /// `lab-unlimited`.
    LabLimits,
    /// `agent-clock`, `agents-differ`, `agents-lag`.
    Agents,
    /// `lab-cost`.
    LabCost,

    // What users met.
    /// `threshold-failed`.
    Thresholds,
    /// `channels-ended`.
    Channels,
    /// `two-groups`.
    TwoGroups,
    /// `errors`.
    Errors,
    /// `sums-broken`, `sessions-…`, `steps-not-reached`, `steps-missed`, `users-unstarted`.
    Accounts,
    /// `server-…`, `probe-lost`, `probes`.
    Probes,
    /// `setup`, `setup-failed`, `teardown`, `teardown-failed`.
    Once,
    /// `attempts-retried`.
    Attempts,
    /// `iterations-dropped`.
    IterationsDropped,

    // Counts.
    /// `connects-retried`.
    ConnectsRetried,
    /// `requests-retried`.
    RequestsRetried,
    /// `requests-goaway`.
    RequestsGoaway,
    /// `tls-handshakes`.
    TlsHandshakes,
    /// `bodies-decoded`.
    Bodies,
    /// `users-held`.
    UsersHeld,
    /// `sequence-anomalies`, `numbers-…`, `subscriptions-silent`.
    Sequences,
    /// `clock-skew`.
    Clocks,
    /// `unmatched-messages`.
    Unmatched,
    /// `regions-without-network`.
    Regions,
    /// `note`.
    Notes,
    /// `throughput`.
    Throughput,
    /// `traffic`.
    Traffic,
    /// `run-too-short`.
    RunTooShort,
}
