//! What the machine says of its limits.

use std::fs;

use engine::driver::real::open_files_max;

use crate::memory::Place;

/// What was seen. `None`: it could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub cores: u64,
    /// Open files a process, or a loop with a table of its own, may have.
    pub files_per_table: u64,
    /// `fs.file-max`: open files of the whole machine.
    pub files_machine: Option<u64>,
    /// How many of those are open (`fs.file-nr`).
    pub files_in_use: Option<u64>,
    /// `fs.nr_open`: how far the limit on open files of a process can be raised.
    pub files_per_table_max: Option<u64>,
    /// `net.ipv4.ip_local_port_range`.
    pub ports: Option<(u64, u64)>,
    /// `net.ipv4.ip_local_reserved_ports`, as the kernel writes them; empty: none.
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
    /// Connections that netfilter follows, and `net.netfilter.nf_conntrack_max`.
    pub tracked: Option<(u64, u64)>,
    /// `kernel.threads-max`, `kernel.pid_max` and `vm.max_map_count`.
    pub threads_max: Option<u64>,
    pub pid_max: Option<u64>,
    pub maps_max: Option<u64>,
    /// `net.ipv4.tcp_mem`, in pages.
    pub tcp_pages: Option<[u64; 3]>,
    /// The middle of `net.ipv4.tcp_rmem` and `tcp_wmem`, in bytes.
    pub buffers: Option<(u64, u64)>,
    pub memory: Option<Place>,
    pub clock: Option<String>,
}

impl Facts {
    /// Looks at this machine.
    pub fn read() -> Facts {
        let words = |path: &str| -> Option<Vec<u64>> {
            let text = fs::read_to_string(path).ok()?;
            text.split_ascii_whitespace()
                .map(|word| word.parse().ok())
                .collect()
        };
        let number = |path: &str| words(path)?.first().copied();
        let pair = |path: &str| match words(path)?[..] {
            [first, second] => Some((first, second)),
            _ => None,
        };
        let three = |path: &str| <[u64; 3]>::try_from(words(path)?).ok();
        let middle = |path: &str| three(path).map(|[_, middle, _]| middle);
        let text = |path: &str| Some(fs::read_to_string(path).ok()?.trim().to_owned());
        let sys = "/proc/sys/net/ipv4/tcp_";
        let followed = number("/proc/sys/net/netfilter/nf_conntrack_count");
        Facts {
            cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            files_per_table: open_files_max(),
            files_machine: number("/proc/sys/fs/file-max"),
            files_in_use: number("/proc/sys/fs/file-nr"),
            files_per_table_max: number("/proc/sys/fs/nr_open"),
            ports: pair("/proc/sys/net/ipv4/ip_local_port_range"),
            ports_reserved: text("/proc/sys/net/ipv4/ip_local_reserved_ports"),
            accept_queue: number("/proc/sys/net/core/somaxconn"),
            syn_queue: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
            netdev_queue: number("/proc/sys/net/core/netdev_max_backlog"),
            time_wait_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse"),
            time_wait_max: number("/proc/sys/net/ipv4/tcp_max_tw_buckets"),
            orphans_max: number("/proc/sys/net/ipv4/tcp_max_orphans"),
            tracked: followed.zip(number("/proc/sys/net/netfilter/nf_conntrack_max")),
            threads_max: number("/proc/sys/kernel/threads-max"),
            pid_max: number("/proc/sys/kernel/pid_max"),
            maps_max: number("/proc/sys/vm/max_map_count"),
            tcp_pages: three(&format!("{sys}mem")),
            buffers: middle(&format!("{sys}rmem")).zip(middle(&format!("{sys}wmem"))),
            memory: Place::read(),
            clock: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        }
    }
}
