//! What the generator's process and its host say of themselves in `/proc`.

use std::collections::BTreeMap;
use std::fs;

use probe::table_value;
use record::schema::SeriesRow;

/// Running totals, to be told as differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// CPU time of this process, all threads.
    pub cpu_process_ns: u64,
    pub network: Network,
}

/// What the host's network lost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Network {
    /// TCP segments the host sent again.
    pub retransmits: u64,
    /// Those of them that were SYNs.
    pub syn_retransmits: u64,
    /// Connections the host dropped at full accept queues.
    pub listen_drops: u64,
    /// Packets the host dropped at full packet queues.
    pub packet_drops: u64,
    /// How often TCP began to save memory.
    pub memory_pressures: u64,
    /// Connections broken off for want of TCP memory.
    pub memory_aborts: u64,
}

/// Reads the totals; what cannot be read stays 0.
pub fn totals() -> Totals {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    Totals {
        cpu_process_ns: cpu_process_ns().unwrap_or(0),
        network: Network::of(
            &read("/proc/net/snmp"),
            &read("/proc/net/netstat"),
            &read("/proc/net/softnet_stat"),
        ),
    }
}

impl Network {
    /// From the texts of `snmp`, `netstat` and `softnet_stat` in `/proc/net`.
    fn of(snmp: &str, netstat: &str, softnet: &str) -> Network {
        let tcp = |name: &str| table_value(netstat, "TcpExt:", name).unwrap_or(0);
        Network {
            retransmits: table_value(snmp, "Tcp:", "RetransSegs").unwrap_or(0),
            syn_retransmits: tcp("TCPSynRetrans"),
            listen_drops: tcp("ListenDrops"),
            packet_drops: packet_drops(softnet),
            memory_pressures: tcp("TCPMemoryPressures"),
            memory_aborts: tcp("TCPAbortOnMemory"),
        }
    }

    /// Writes into `row` what was lost since `before`.
    pub(crate) fn tell_since(&self, before: &Network, row: &mut SeriesRow) {
        row.host_retransmits = self.retransmits.saturating_sub(before.retransmits);
        row.host_syn_retransmits = self.syn_retransmits.saturating_sub(before.syn_retransmits);
        row.host_listen_drops = self.listen_drops.saturating_sub(before.listen_drops);
        row.host_packet_drops = self.packet_drops.saturating_sub(before.packet_drops);
        row.host_memory_pressures = self
            .memory_pressures
            .saturating_sub(before.memory_pressures);
        row.host_memory_aborts = self.memory_aborts.saturating_sub(before.memory_aborts);
    }
}

/// The second number of each core's line, in hexadecimal (`softnet_seq_show` of the kernel).
fn packet_drops(softnet: &str) -> u64 {
    let drops = softnet.lines().filter_map(|line| {
        let word = line.split_ascii_whitespace().nth(1)?;
        u64::from_str_radix(word, 16).ok()
    });
    drops.sum()
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
    // Findings on storms name these.
    tell("somaxconn", read("/proc/sys/net/core/somaxconn"));
    tell(
        "netdev_max_backlog",
        read("/proc/sys/net/core/netdev_max_backlog"),
    );
    tell("tcp_mem", read("/proc/sys/net/ipv4/tcp_mem"));
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

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens RetransSegs InErrs
Tcp: 1 200 120000 -1 1055 17 2
";
    const NETSTAT: &str = "\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPAbortOnMemory TCPMemoryPressures TCPSynRetrans
TcpExt: 0 40 41 5 6 33
IpExt: InNoRoutes
IpExt: 9
";
    const SOFTNET: &str = "\
07497a6a 000012d3 00000013 00000000
0744a2bd 0000000a 00000018 00000000
";

    #[test]
    fn what_the_network_lost_is_read() {
        let network = Network::of(SNMP, NETSTAT, SOFTNET);
        let expected = Network {
            retransmits: 17,
            syn_retransmits: 33,
            listen_drops: 41,
            packet_drops: 0x12d3 + 10,
            memory_pressures: 6,
            memory_aborts: 5,
        };
        assert_eq!(network, expected);
    }

    #[test]
    fn what_is_not_there_stays_nothing() {
        assert_eq!(
            Network::of("", "TcpExt: ListenDrops\n", "zz yy\n\n"),
            Network::default()
        );
    }

    #[test]
    fn a_row_tells_what_was_lost_since_the_last() {
        let before = Network::of(SNMP, NETSTAT, SOFTNET);
        let now = Network {
            syn_retransmits: 40,
            packet_drops: before.packet_drops + 2,
            ..before
        };
        let mut row = SeriesRow::default();
        now.tell_since(&before, &mut row);
        let expected = SeriesRow {
            host_syn_retransmits: 7,
            host_packet_drops: 2,
            ..SeriesRow::default()
        };
        assert_eq!(row, expected);
    }
}
