//! The limits of the server's side, one a row. `docs/judging-reference.md` lists them.

/// A gauge that is at its limit from a value on.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) via: &'static str,
    pub(super) metric: &'static str,
    /// The value in the probe's unit, or as a share of what it is compared with.
    pub(super) least: f64,
    pub(super) of: Reference,
    pub(super) code: &'static str,
    pub(super) words: &'static str,
}

/// The value with which a gauge is compared.
#[derive(Debug)]
pub(super) enum Reference {
    Itself,
    /// All cores of the machine that the generator runs on, where its processes are.
    Cores,
    /// Another metric of the same source.
    Metric(&'static str),
}

pub(super) const LIMITS: &[Limit] = &[
    Limit {
        via: "host",
        metric: "cpu_busy",
        least: 90.0,
        of: Reference::Itself,
        code: "server-cpu",
        words: "CPU was saturated",
    },
    Limit {
        via: "process",
        metric: "cpu",
        least: 0.9,
        of: Reference::Cores,
        code: "server-cpu",
        words: "it used all CPU of the machine",
    },
    Limit {
        via: "process",
        metric: "cpu_busiest_thread",
        least: 90.0,
        of: Reference::Itself,
        code: "server-thread",
        words: "one thread used a full core",
    },
    Limit {
        via: "redis",
        metric: "cpu_main_thread",
        least: 90.0,
        of: Reference::Itself,
        code: "server-thread",
        words: "the command thread used a full core",
    },
    Limit {
        via: "cgroup",
        metric: "cpu_throttled",
        least: 10.0,
        of: Reference::Itself,
        code: "server-throttled",
        words: "it was throttled by its CPU limit",
    },
    Limit {
        via: "host",
        metric: "memory_used",
        least: 95.0,
        of: Reference::Itself,
        code: "server-memory",
        words: "memory was exhausted",
    },
    Limit {
        via: "cgroup",
        metric: "memory_used",
        least: 0.95,
        of: Reference::Metric("memory_limit"),
        code: "server-memory",
        words: "memory was exhausted",
    },
    Limit {
        via: "redis",
        metric: "used_memory",
        least: 0.95,
        of: Reference::Metric("maxmemory"),
        code: "server-memory",
        words: "memory was exhausted",
    },
    Limit {
        via: "host",
        metric: "disk_busy",
        least: 90.0,
        of: Reference::Itself,
        code: "server-disk",
        words: "the disk was saturated",
    },
    Limit {
        via: "redis",
        metric: "connected_clients",
        least: 0.95,
        of: Reference::Metric("maxclients"),
        code: "server-clients",
        words: "clients were close to the maximum",
    },
    Limit {
        via: "mysql",
        metric: "Threads_connected",
        least: 0.95,
        of: Reference::Metric("max_connections"),
        code: "server-clients",
        words: "clients were close to the maximum",
    },
    Limit {
        via: "postgres",
        metric: "connections",
        least: 0.95,
        of: Reference::Metric("max_connections"),
        code: "server-clients",
        words: "clients were close to the maximum",
    },
    Limit {
        via: "mysql",
        metric: "Innodb_row_lock_current_waits",
        least: 1.0,
        of: Reference::Itself,
        code: "server-locks",
        words: "transactions waited for row locks",
    },
    Limit {
        via: "postgres",
        metric: "waiting_for_lock",
        least: 1.0,
        of: Reference::Itself,
        code: "server-locks",
        words: "sessions waited for locks",
    },
];

/// A rate of something that should not happen.
#[derive(Debug)]
pub(super) struct UnwantedRate {
    pub(super) via: &'static str,
    pub(super) metric: &'static str,
    pub(super) code: &'static str,
    /// Follows the number.
    pub(super) words: &'static str,
}

pub(super) const UNWANTED: &[UnwantedRate] = &[
    UnwantedRate {
        via: "host",
        metric: "tcp_listen_overflows",
        code: "server-listen-overflows",
        words: "connections dropped because accept queues were full",
    },
    UnwantedRate {
        via: "redis",
        metric: "rejected_connections",
        code: "server-refused",
        words: "connections refused because the maximum was reached",
    },
    UnwantedRate {
        via: "mysql",
        metric: "Connection_errors_max_connections",
        code: "server-refused",
        words: "connections refused because the maximum was reached",
    },
    UnwantedRate {
        via: "nginx",
        metric: "connections_dropped",
        code: "server-refused",
        words: "connections dropped because nginx reached its limit",
    },
    UnwantedRate {
        via: "redis",
        metric: "evicted_keys",
        code: "server-evictions",
        words: "keys evicted because memory was full",
    },
    UnwantedRate {
        via: "mysql",
        metric: "Innodb_deadlocks",
        code: "server-deadlocks",
        words: "deadlocks",
    },
    UnwantedRate {
        via: "postgres",
        metric: "deadlocks",
        code: "server-deadlocks",
        words: "deadlocks",
    },
    UnwantedRate {
        via: "cgroup",
        metric: "memory_kills",
        code: "server-killed",
        words: "processes killed because memory ran out",
    },
];
