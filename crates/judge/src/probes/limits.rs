//! When the server's side is at its limit: one row a rule. `docs/judging.md` lists them.

/// A gauge that is at its limit from a value on.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) via: &'static str,
    pub(super) metric: &'static str,
    /// In the probe's unit, or as a share of what it is held against.
    pub(super) least: f64,
    pub(super) of: Of,
    pub(super) code: &'static str,
    pub(super) words: &'static str,
}

/// What a gauge is held against.
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
        ("server-cpu", "its CPU was at its limit"),
    ),
    limit(
        ("process", "cpu"),
        (0.9, Of::Cores),
        ("server-cpu", "it used the machine's whole CPU"),
    ),
    limit(
        ("process", "cpu_busiest_thread"),
        (90.0, Of::Itself),
        ("server-thread", "one of its threads used a whole core"),
    ),
    limit(
        ("redis", "cpu_main_thread"),
        (90.0, Of::Itself),
        (
            "server-thread",
            "the thread that runs its commands used a whole core",
        ),
    ),
    limit(
        ("cgroup", "cpu_throttled"),
        (10.0, Of::Itself),
        ("server-throttled", "it was held back by its limit on CPU"),
    ),
    limit(
        ("host", "memory_used"),
        (95.0, Of::Itself),
        ("server-memory", "its memory was used up"),
    ),
    limit(
        ("cgroup", "memory_used"),
        (0.95, Of::Metric("memory_limit")),
        ("server-memory", "its memory was used up"),
    ),
    limit(
        ("redis", "used_memory"),
        (0.95, Of::Metric("maxmemory")),
        ("server-memory", "its memory was used up"),
    ),
    limit(
        ("host", "disk_busy"),
        (90.0, Of::Itself),
        ("server-disk", "its disk was busy all the time"),
    ),
    limit(
        ("redis", "connected_clients"),
        (0.95, Of::Metric("maxclients")),
        (
            "server-clients",
            "it had nearly as many clients as it may have",
        ),
    ),
    limit(
        ("mysql", "Threads_connected"),
        (0.95, Of::Metric("max_connections")),
        (
            "server-clients",
            "it had nearly as many clients as it may have",
        ),
    ),
    limit(
        ("postgres", "connections"),
        (0.95, Of::Metric("max_connections")),
        (
            "server-clients",
            "it had nearly as many clients as it may have",
        ),
    ),
    limit(
        ("mysql", "Innodb_row_lock_current_waits"),
        (1.0, Of::Itself),
        (
            "server-locks",
            "transactions waited for rows that others held",
        ),
    ),
    limit(
        ("postgres", "waiting_for_lock"),
        (1.0, Of::Itself),
        ("server-locks", "sessions waited for locks that others held"),
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
        "connections dropped at full accept queues",
    ),
    counted(
        "redis",
        "rejected_connections",
        "server-refused",
        "connections refused, for there were as many as may be",
    ),
    counted(
        "mysql",
        "Connection_errors_max_connections",
        "server-refused",
        "connections refused, for there were as many as may be",
    ),
    counted(
        "nginx",
        "connections_dropped",
        "server-refused",
        "connections dropped at a limit of its own",
    ),
    counted(
        "redis",
        "evicted_keys",
        "server-evictions",
        "keys given up for want of memory",
    ),
    counted("mysql", "Innodb_deadlocks", "server-deadlocks", "deadlocks"),
    counted("postgres", "deadlocks", "server-deadlocks", "deadlocks"),
    counted(
        "cgroup",
        "memory_kills",
        "server-killed",
        "processes killed for want of memory",
    ),
];
