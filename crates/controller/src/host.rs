//! What the generator's process and its host say of themselves in `/proc`.

use std::collections::BTreeMap;
use std::fs;

/// Running totals, to be told as differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// CPU time of this process, all threads.
    pub cpu_process_ns: u64,
    /// TCP segments the host sent again.
    pub retransmits: u64,
    /// Connections the host dropped at full accept queues.
    pub listen_drops: u64,
}

/// Reads the totals; what cannot be read stays 0.
pub fn totals() -> Totals {
    Totals {
        cpu_process_ns: cpu_process_ns().unwrap_or(0),
        retransmits: counter("/proc/net/snmp", "Tcp:", "RetransSegs").unwrap_or(0),
        listen_drops: counter("/proc/net/netstat", "TcpExt:", "ListenDrops").unwrap_or(0),
    }
}

/// In steps of a tick, 10 ms.
fn cpu_process_ns() -> Option<u64> {
    // Fields 14 and 15 of proc_pid_stat(5), counted behind the name, which may hold blanks.
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    // USER_HZ is 100 on every architecture Linux still supports for user space.
    Some(ticks * 10_000_000)
}

/// Resident memory of this process in bytes.
pub fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// A counter of a two-line table: names in the first line of that prefix, values in the second.
fn counter(path: &str, prefix: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let place = lines
        .next()?
        .split_ascii_whitespace()
        .position(|word| word == name)?;
    lines
        .next()?
        .split_ascii_whitespace()
        .nth(place)?
        .parse()
        .ok()
}

/// Facts about the machine that a reader of the run may want.
pub fn facts() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut tell = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    let read = |path: &str| Some(fs::read_to_string(path).ok()?.trim().to_owned());
    tell("hostname", read("/proc/sys/kernel/hostname"));
    tell("kernel", read("/proc/sys/kernel/osrelease"));
    tell("port_range", read("/proc/sys/net/ipv4/ip_local_port_range"));
    tell(
        "clock_source",
        read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    );
    let field = |path: &str, name: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    tell("cpu", field("/proc/cpuinfo", "model name"));
    tell("memory", field("/proc/meminfo", "MemTotal"));
    facts
}
