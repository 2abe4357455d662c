//! When the server's side is at its limit: one row a rule. `docs/judging-reference.md` lists them.

/// A gauge that is at its limit from a value on.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) via: &'static str,
    pub(super) metric: &'static str,
    /// In the probe's unit, or as a share of what it is compared with.
    pub(super) least: f64,
    pub(super) of: Of,
    pub(super) code: &'static str,
    pub(super) words: &'static str,
}

/// What a gauge is compared with.
#[derive(Debug)]
pub(super) enum Of {
    Itself,
    /// All cores of the machine that the generator runs on, where its processes are.
    Cores,
    /// Another metric of the same source.
    Metric(&'static str),
}

const fn limit(
    (via, metric): (&'static str, &'static str),
    (least, of): (f64, Of),
    (code, words): (&'static str, &'static str),
) -> Limit {
    Limit {
        via,
        metric,
        least,
        of,
        code,
        words,
    }
}

pub(super) const LIMITS: &[Limit] = &[
    limit(
        ("host", "cpu_busy"),
        (90.0, Of::Itself),
        ("server-cpu", "CPU was saturated"),
    ),
    limit(
        ("process", "cpu"),
        (0.9, Of::Cores),
        ("server-cpu", "it used all CPU of the machine"),
    ),
    limit(
        ("process", "cpu_busiest_thread"),
        (90.0, Of::Itself),
        ("server-thread", "one thread used a full core"),
    ),
    limit(
        ("redis", "cpu_main_thread"),
        (90.0, Of::Itself),
        ("server-thread", "the command thread used a full core"),
    ),
    limit(
        ("cgroup", "cpu_throttled"),
        (10.0, Of::Itself),
        ("server-throttled", "it was throttled by its CPU limit"),
    ),
    limit(
        ("host", "memory_used"),
        (95.0, Of::Itself),
        ("server-memory", "memory was exhausted"),
    ),
    limit(
        ("cgroup", "memory_used"),
        (0.95, Of::Metric("memory_limit")),
        ("server-memory", "memory was exhausted"),
    ),
    limit(
        ("redis", "used_memory"),
        (0.95, Of::Metric("maxmemory")),
        ("server-memory", "memory was exhausted"),
    ),
    limit(
        ("host", "disk_busy"),
        (90.0, Of::Itself),
        ("server-disk", "the disk was saturated"),
    ),
    limit(
        ("redis", "connected_clients"),
        (0.95, Of::Metric("maxclients")),
        ("server-clients", "clients were close to the maximum"),
    ),
    limit(
        ("mysql", "Threads_connected"),
        (0.95, Of::Metric("max_connections")),
        ("server-clients", "clients were close to the maximum"),
    ),
    limit(
        ("postgres", "connections"),
        (0.95, Of::Metric("max_connections")),
        ("server-clients", "clients were close to the maximum"),
    ),
    limit(
        ("mysql", "Innodb_row_lock_current_waits"),
        (1.0, Of::Itself),
        ("server-locks", "transactions waited for row locks"),
    ),
    limit(
        ("postgres", "waiting_for_lock"),
        (1.0, Of::Itself),
        ("server-locks", "sessions waited for locks"),
    ),
];

/// A rate of something that should not happen.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) via: &'static str,
    pub(super) metric: &'static str,
    pub(super) code: &'static str,
    /// Follows the number.
    pub(super) words: &'static str,
}

const fn counted(
    via: &'static str,
    metric: &'static str,
    code: &'static str,
    words: &'static str,
) -> Counted {
    Counted {
        via,
        metric,
        code,
        words,
    }
}

pub(super) const COUNTED: &[Counted] = &[
    counted(
        "host",
        "tcp_listen_overflows",
        "server-listen-overflows",
        "connections dropped because accept queues were full",
    ),
    counted(
        "redis",
        "rejected_connections",
        "server-refused",
        "connections refused because the maximum was reached",
    ),
    counted(
        "mysql",
        "Connection_errors_max_connections",
        "server-refused",
        "connections refused because the maximum was reached",
    ),
    counted(
        "nginx",
        "connections_dropped",
        "server-refused",
        "connections dropped because nginx reached its limit",
    ),
    counted(
        "redis",
        "evicted_keys",
        "server-evictions",
        "keys evicted because memory was full",
    ),
    counted("mysql", "Innodb_deadlocks", "server-deadlocks", "deadlocks"),
    counted("postgres", "deadlocks", "server-deadlocks", "deadlocks"),
    counted(
        "cgroup",
        "memory_kills",
        "server-killed",
        "processes killed because memory ran out",
    ),
];
