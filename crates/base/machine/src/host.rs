//! Facts about this host for the record, and running totals of this process and of the network.

use std::collections::BTreeMap;
use std::fs::File;

use crate::cgroup;
use crate::procfs::{self, FileError, TICKS_PER_S, setting, table_value};

/// Running totals since the machine or the process started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// CPU time of this process, all threads.
    pub cpu_process_ns: u64,
    /// Time in which a CPU limit of its control groups held this process back.
    pub cpu_throttled_ns: u64,
    pub network: Network,
}

/// Losses of the host's network so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Network {
    /// TCP segments the host retransmitted.
    pub retransmits: u64,
    /// The SYNs among them.
    pub syn_retransmits: u64,
    /// Connections the host dropped at full accept queues.
    pub listen_drops: u64,
    /// Packets the host dropped at full packet queues.
    pub packet_drops: u64,
    /// How often TCP began to save memory.
    pub memory_pressures: u64,
    /// Connections aborted for lack of TCP memory.
    pub memory_aborts: u64,
}

/// The counters of a network namespace; they can be read from outside of it.
#[derive(Debug)]
pub struct NetworkCounters {
    snmp: File,
    netstat: File,
}

impl NetworkCounters {
    /// Those of the namespace that the calling thread is in.
    ///
    /// # Errors
    /// If the kernel does not show them.
    pub fn open() -> Result<NetworkCounters, FileError> {
        Ok(NetworkCounters {
            snmp: procfs::open("thread-self/net/snmp")?,
            netstat: procfs::open("thread-self/net/netstat")?,
        })
    }

    /// Packets that were dropped are counted by the machine, not here.
    fn read(&self) -> Network {
        let read = |file| procfs::text_again(file).unwrap_or_default();
        Network::parse(&read(&self.snmp), &read(&self.netstat), "")
    }
}

/// Reads the totals; what cannot be read stays 0. Network counters are those of these namespaces together, or of the
/// process's own if there are none.
pub fn totals(namespaces: &[NetworkCounters]) -> Totals {
    let read = |name: &str| procfs::read(name).unwrap_or_default();
    let softnet = read("net/softnet_stat");
    let network = match namespaces.is_empty() {
        true => Network::parse(&read("net/snmp"), &read("net/netstat"), &softnet),
        false => {
            let machine = Network::parse("", "", &softnet);
            let all = namespaces.iter().map(NetworkCounters::read);
            all.fold(machine, |sum, one| sum.and(&one))
        }
    };
    Totals {
        cpu_process_ns: cpu_process_ns().unwrap_or(0),
        cpu_throttled_ns: cgroup::throttled_ns(),
        network,
    }
}

impl Network {
    /// From the texts of `snmp`, `netstat` and `softnet_stat` in `/proc/net`.
    fn parse(snmp: &str, netstat: &str, softnet: &str) -> Network {
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

    /// The losses of two sources together.
    fn and(&self, other: &Network) -> Network {
        Network {
            retransmits: self.retransmits + other.retransmits,
            syn_retransmits: self.syn_retransmits + other.syn_retransmits,
            listen_drops: self.listen_drops + other.listen_drops,
            packet_drops: self.packet_drops + other.packet_drops,
            memory_pressures: self.memory_pressures + other.memory_pressures,
            memory_aborts: self.memory_aborts + other.memory_aborts,
        }
    }

    /// The losses since `before`.
    pub fn since(&self, before: &Network) -> Network {
        Network {
            retransmits: self.retransmits.saturating_sub(before.retransmits),
            syn_retransmits: self.syn_retransmits.saturating_sub(before.syn_retransmits),
            listen_drops: self.listen_drops.saturating_sub(before.listen_drops),
            packet_drops: self.packet_drops.saturating_sub(before.packet_drops),
            memory_pressures: self.memory_pressures.saturating_sub(before.memory_pressures),
            memory_aborts: self.memory_aborts.saturating_sub(before.memory_aborts),
        }
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
    // Fields 14 and 15 of proc_pid_stat(5), counted behind the name, which may contain blanks.
    let stat = procfs::read("self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(ticks * (1_000_000_000 / TICKS_PER_S))
}

/// Resident memory of this process in bytes.
pub fn resident_bytes() -> u64 {
    let status = procfs::read("self/status").unwrap_or_default();
    procfs::field(&status, "VmRSS").unwrap_or(0) * 1024
}

/// Facts about the machine that a reader of the run may want.
pub fn facts() -> BTreeMap<String, String> {
    let field = |name: &str, key: &str| {
        let text = procfs::read(name).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let facts = [
        ("hostname", setting("kernel.hostname")),
        ("kernel", setting("kernel.osrelease")),
        ("port_range", setting("net.ipv4.ip_local_port_range")),
        // Findings on connection storms name these.
        ("somaxconn", setting("net.core.somaxconn")),
        ("netdev_max_backlog", setting("net.core.netdev_max_backlog")),
        ("tcp_mem", setting("net.ipv4.tcp_mem")),
        ("clock_source", procfs::clock_source()),
        ("cpu", field("cpuinfo", "model name")),
        ("memory", field("meminfo", "MemTotal")),
    ];
    let known = facts.into_iter();
    let known = known.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.collect()
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
        let network = Network::parse(SNMP, NETSTAT, SOFTNET);
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
    fn namespaces_are_added_up_and_counters_can_be_read_again() {
        let counters = [NetworkCounters::open(), NetworkCounters::open()];
        let counters = counters.map(Result::unwrap);
        let one = counters[0].read();
        assert_eq!(one.and(&one).retransmits, 2 * one.retransmits);
        let text = procfs::text_again(&counters[0].snmp).unwrap();
        assert!(table_value(&text, "Tcp:", "RetransSegs").is_some(), "{text}");
    }

    #[test]
    fn missing_counters_are_zero() {
        assert_eq!(Network::parse("", "TcpExt: ListenDrops\n", "zz yy\n\n"), Network::default());
    }

    #[test]
    fn a_difference_holds_what_was_lost_since() {
        let before = Network::parse(SNMP, NETSTAT, SOFTNET);
        let now = Network { syn_retransmits: 40, packet_drops: before.packet_drops + 2, ..before };
        let expected = Network { syn_retransmits: 7, packet_drops: 2, ..Network::default() };
        assert_eq!(now.since(&before), expected);
        assert_eq!(before.since(&now), Network::default(), "never below nothing");
    }
}
