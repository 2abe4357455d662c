//! The limits of this machine as the kernel states them.

use crate::loops::{cores, files_per_table, has_own_tables};
use crate::memory::Memory;
use crate::procfs::{clock_source, setting};

/// Limits and settings read from this machine. `None`: the value could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub cores: u64,
    /// Open files a process, or a loop with a table of its own, may have.
    pub files_per_table: u64,
    /// Whether all loops share one table, since the system refuses them tables of their own.
    pub one_table: bool,
    /// `fs.file-max`: open files of the machine.
    pub files_machine: Option<u64>,
    /// Number of open files (`fs.file-nr`).
    pub files_in_use: Option<u64>,
    /// `fs.nr_open`: the maximum of the limit on open files of a process.
    pub files_per_table_max: Option<u64>,
    /// `net.ipv4.ip_local_port_range`.
    pub ports: Option<(u64, u64)>,
    /// `net.ipv4.ip_local_reserved_ports`, as the kernel lists them; empty: none.
    pub ports_reserved: Option<String>,
    /// `net.core.somaxconn`.
    pub accept_queue: Option<u64>,
    /// `net.ipv4.tcp_max_syn_backlog`.
    pub syn_queue: Option<u64>,
    /// `net.core.netdev_max_backlog`.
    pub netdev_queue: Option<u64>,
    /// `net.ipv4.tcp_tw_reuse`: 0 off, 1 on, 2 for loopback.
    pub time_wait_reuse: Option<u64>,
    /// `net.ipv4.tcp_max_tw_buckets`.
    pub time_wait_max: Option<u64>,
    /// `net.ipv4.tcp_max_orphans`.
    pub orphans_max: Option<u64>,
    /// Connections that netfilter tracks, and `net.netfilter.nf_conntrack_max`.
    pub tracked: Option<(u64, u64)>,
    /// `kernel.threads-max`, `kernel.pid_max` and `vm.max_map_count`.
    pub threads_max: Option<u64>,
    pub pid_max: Option<u64>,
    pub maps_max: Option<u64>,
    /// `net.ipv4.tcp_mem`, in pages.
    pub tcp_pages: Option<[u64; 3]>,
    /// The middle of `net.ipv4.tcp_rmem` and `tcp_wmem`, in bytes.
    pub buffers: Option<(u64, u64)>,
    /// `net.ipv4.tcp_slow_start_after_idle`: 1 on.
    pub slow_start_after_idle: Option<u64>,
    /// `net.ipv4.tcp_fin_timeout`, in seconds.
    pub fin_timeout_s: Option<u64>,
    /// `net.ipv4.tcp_syn_retries` and `tcp_synack_retries`.
    pub handshake_retries: Option<(u64, u64)>,
    /// `vm.overcommit_memory`: 0 by a guess, 1 always, 2 within limits.
    pub overcommit: Option<u64>,
    pub memory: Option<Memory>,
    /// The control group whose memory that is, with its limit; `None`: the machine's.
    pub memory_group: Option<String>,
    pub clock: Option<String>,
}

impl Facts {
    /// Reads this machine.
    pub fn read() -> Facts {
        let numbers = |key: &str| -> Option<Vec<u64>> {
            let text = setting(key)?;
            text.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
        };
        let number = |key: &str| numbers(key)?.first().copied();
        let pair = |key: &str| match numbers(key)?[..] {
            [first, second] => Some((first, second)),
            _ => None,
        };
        let three = |key: &str| <[u64; 3]>::try_from(numbers(key)?).ok();
        let middle = |key: &str| three(key).map(|[_, middle, _]| middle);
        let tracked = number("net.netfilter.nf_conntrack_count");
        let (memory, group) = Memory::read_source().unzip();
        Facts {
            cores: u64::from(cores()),
            files_per_table: files_per_table(),
            one_table: !has_own_tables(),
            files_machine: number("fs.file-max"),
            files_in_use: number("fs.file-nr"),
            files_per_table_max: number("fs.nr_open"),
            ports: pair("net.ipv4.ip_local_port_range"),
            ports_reserved: setting("net.ipv4.ip_local_reserved_ports"),
            accept_queue: number("net.core.somaxconn"),
            syn_queue: number("net.ipv4.tcp_max_syn_backlog"),
            netdev_queue: number("net.core.netdev_max_backlog"),
            time_wait_reuse: number("net.ipv4.tcp_tw_reuse"),
            time_wait_max: number("net.ipv4.tcp_max_tw_buckets"),
            orphans_max: number("net.ipv4.tcp_max_orphans"),
            tracked: tracked.zip(number("net.netfilter.nf_conntrack_max")),
            threads_max: number("kernel.threads-max"),
            pid_max: number("kernel.pid_max"),
            maps_max: number("vm.max_map_count"),
            tcp_pages: three("net.ipv4.tcp_mem"),
            buffers: middle("net.ipv4.tcp_rmem").zip(middle("net.ipv4.tcp_wmem")),
            slow_start_after_idle: number("net.ipv4.tcp_slow_start_after_idle"),
            fin_timeout_s: number("net.ipv4.tcp_fin_timeout"),
            handshake_retries: number("net.ipv4.tcp_syn_retries")
                .zip(number("net.ipv4.tcp_synack_retries")),
            overcommit: number("vm.overcommit_memory"),
            memory,
            memory_group: group.flatten().map(|folder| folder.display().to_string()),
            clock: clock_source(),
        }
    }
}
