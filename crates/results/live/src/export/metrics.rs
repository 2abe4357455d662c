//! All metrics by name, for Prometheus and OpenTelemetry; StatsD's names are derived from these.
//! `docs/exports.md` lists them.

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Gauge,
    /// A sum since the run's start.
    Counter,
}

/// One metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Follows Prometheus' conventions, unit included.
    pub name: &'static str,
    pub kind: Kind,
    /// In the Unified Code for Units of Measure, as OpenTelemetry requires.
    pub unit: &'static str,
    /// One sentence without a full stop.
    pub help: &'static str,
    /// Labels besides `run` and `scenario`, which every metric has.
    pub labels: &'static [&'static str],
}

macro_rules! metrics {
    ($($constant:ident: $kind:ident $name:literal $unit:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $constant: Metric = Metric {
                name: $name,
                kind: Kind::$kind,
                unit: $unit,
                help: $help,
                labels: &[$($label),*],
            };
        )*
        /// All metrics.
        pub static ALL: &[&Metric] = &[$(&$constant),*];
    };
}

metrics! {
    RUN_SECONDS: Gauge "throng_run_seconds" "s" [] "Time since the run's start";
    PHASE: Gauge "throng_phase" "1" ["phase"] "1 for the current phase";
    USERS: Gauge "throng_users" "1" [] "Users that have started and not finished";
    CONNECTIONS: Gauge "throng_connections" "1" [] "Open connections";
    IN_FLIGHT: Gauge "throng_in_flight" "1" [] "Operations in flight";
    USERS_DUE: Counter "throng_users_due_total" "1" [] "Users that were due to start";
    USERS_STARTED: Counter "throng_users_started_total" "1" [] "Users that started";
    USERS_UNSTARTED: Counter "throng_users_unstarted_total" "1" [] "Users that were due before the end and had not started by then";
    USERS_FINISHED: Counter "throng_users_finished_total" "1" [] "Sessions that finished";
    USERS_FAILED: Counter "throng_users_failed_total" "1" [] "Sessions that ended because a step failed";
    USERS_STOPPED: Counter "throng_users_stopped_total" "1" [] "Sessions that ended because the generator had no file, port or memory for a step";
    USERS_CUT_OFF: Counter "throng_users_cut_off_total" "1" [] "Sessions that were cut off at the end of the run";
    USERS_REFUSED: Counter "throng_users_refused_total" "1" [] "Users not started because files, ports or memory ran out";
    USERS_CONNECTED: Counter "throng_users_connected_total" "1" [] "Users whose first connection was established";
    OPERATIONS_STARTED: Counter "throng_operations_started_total" "1" [] "Operations of steps that began";
    OPERATIONS_DONE: Counter "throng_operations_done_total" "1" [] "Operations of steps that ended, successful or failed";
    OPERATIONS_COMPLETED: Counter "throng_operations_completed_total" "1" [] "Operations of steps that the target answered, with success or with a failure";
    STEPS_MISSED: Counter "throng_steps_missed_total" "1" [] "Steps that were due before the end and had not begun by then";
    ERRORS: Counter "throng_errors_total" "1" [] "Operations of steps that failed, and steps that failed of themselves";
    SENT_BYTES: Counter "throng_sent_bytes_total" "By" [] "Application bytes sent";
    RECEIVED_BYTES: Counter "throng_received_bytes_total" "By" [] "Application bytes received";
    MEASURE_OPERATIONS: Counter "throng_measure_operations_total" "1" ["measure"] "Operations of a measure that ended, successful or failed";
    MEASURE_COMPLETED: Counter "throng_measure_completed_total" "1" ["measure"] "Operations of a measure that the target answered, with success or with a failure";
    MEASURE_ERRORS: Counter "throng_measure_errors_total" "1" ["measure"] "Failed operations of a measure";
    FAILURES: Counter "throng_failures_total" "1" ["step", "kind", "detail"] "Failed operations by step, kind of failure and its detail, such as a status code";
    RESPONSE_SECONDS: Gauge "throng_response_seconds" "s" ["measure", "quantile"] "Response times of the last second; a lower bound where the quantile falls among operations that were never answered";
    RESPONSE_BOUND: Gauge "throng_response_bound" "1" ["measure", "quantile"] "1 where throng_response_seconds is a lower bound, otherwise 0";
    LAG_SECONDS: Gauge "throng_lag_seconds" "s" ["quantile"] "How late the generator was in the last second; quantile 1 is the largest";
    LOOP_BUSY: Gauge "throng_loop_busy_ratio" "1" [] "The busiest loop's share of a core";
    GENERATOR_CPU: Counter "throng_generator_cpu_seconds_total" "s" [] "CPU time of the generator's processes";
    GENERATOR_MEMORY: Gauge "throng_generator_memory_bytes" "By" [] "Resident memory of the generator's processes";
    HOST_RETRANSMITS: Counter "throng_host_retransmits_total" "1" [] "TCP segments that the generator's host retransmitted";
    HOST_SYN_RETRANSMITS: Counter "throng_host_syn_retransmits_total" "1" [] "Retransmitted SYNs of the generator's host";
    HOST_LISTEN_DROPS: Counter "throng_host_listen_drops_total" "1" [] "Connections that the generator's host dropped because an accept queue was full";
    HOST_PACKET_DROPS: Counter "throng_host_packet_drops_total" "1" [] "Packets that the generator's host dropped because a packet queue was full";
    PROBE: Gauge "throng_probe" "1" ["role", "region", "source", "via", "metric", "unit"] "Last value of a probe, in the unit of its label";
    METRIC_RECORDED: Counter "throng_metric_recorded_total" "1" ["metric"] "How often a metric of the scenario's own was recorded";
    METRIC_SUM: Counter "throng_metric_sum_total" "1" ["metric", "unit"] "Sum of a counter of the scenario's own, in the unit of its label";
    METRIC_TRUE: Counter "throng_metric_true_total" "1" ["metric"] "How often a share of the scenario's own was true";
    METRIC_LAST: Gauge "throng_metric_last" "1" ["metric", "unit"] "Last number of a gauge of the scenario's own, in the unit of its label";
    METRIC_QUANTILE: Gauge "throng_metric_quantile" "1" ["metric", "unit", "quantile"] "Quantities of the last second, in the unit of their label";
    DROPPED: Counter "throng_export_dropped_total" "1" ["to"] "Seconds that an export dropped because it was too slow";
}
