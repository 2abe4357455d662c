//! TCP: how many sockets are in which state, and what the kernel counts when it is in distress.

use machine::procfs::{field, read, table_value};

use crate::reading::Reading;
use crate::sockets;
use crate::source::ReadError;

/// Up to this number of sockets they are counted for every answer: each takes the kernel 0.2 to 0.4 µs.
const SOCKETS_ALWAYS_MAX: u64 = 20_000;
/// Above, they are counted for one answer in these.
const RARELY: u32 = 10;

/// States by their number in the kernel's `tcp_states.h`. Those that cheaper
/// files contain are left out.
const STATES: [(u8, &str); 8] = [
    (0x02, "tcp_syn_sent"),
    (0x03, "tcp_syn_received"),
    (0x04, "tcp_fin_wait_1"),
    (0x05, "tcp_fin_wait_2"),
    (0x08, "tcp_close_wait"),
    (0x09, "tcp_last_ack"),
    (sockets::LISTEN, "tcp_listen"),
    (0x0B, "tcp_closing"),
];

/// Counters of `/proc/net/snmp`, line `Tcp:`.
const SNMP: [(&str, &str); 8] = [
    ("ActiveOpens", "tcp_opened_out"),
    ("PassiveOpens", "tcp_opened_in"),
    ("AttemptFails", "tcp_attempts_failed"),
    ("EstabResets", "tcp_resets"),
    ("InSegs", "tcp_segments_in"),
    ("OutSegs", "tcp_segments_out"),
    ("RetransSegs", "tcp_retransmits"),
    ("OutRsts", "tcp_resets_sent"),
];

/// Counters of `/proc/net/netstat`, line `TcpExt:`.
const NETSTAT: [(&str, &str); 8] = [
    ("ListenOverflows", "tcp_listen_overflows"),
    ("ListenDrops", "tcp_listen_drops"),
    ("SyncookiesSent", "tcp_syn_cookies"),
    ("TCPReqQFullDrop", "tcp_syn_queue_drops"),
    ("TCPSynRetrans", "tcp_syn_retransmits"),
    ("TCPTimeouts", "tcp_timeouts"),
    ("TCPAbortOnMemory", "tcp_aborts_on_memory"),
    ("TCPMemoryPressures", "tcp_memory_pressures"),
];

/// TCP of this machine.
#[derive(Debug, Default)]
pub(super) struct Tcp {
    /// Answers since the sockets were last counted by state.
    answers: u32,
}

impl Tcp {
    pub(super) fn read_into(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        counters(&read("net/snmp")?, &read("net/netstat")?, reading);
        let sockets_count = summary(&read("net/sockstat")?, reading);
        self.answers += 1;
        if sockets_count > SOCKETS_ALWAYS_MAX && self.answers < RARELY {
            return Ok(());
        }
        self.answers = 0;
        states(reading);
        Ok(())
    }
}

fn states(reading: &mut Reading) {
    let listed = STATES.iter().fold(0, |bits, (state, _)| bits | 1 << state);
    let mut counts = STATES.map(|_| 0u64);
    let counted = sockets::each(listed, |socket| {
        if let Some(at) = STATES.iter().position(|(state, _)| *state == socket.state) {
            counts[at] += 1;
        }
    });
    if let Err(error) = counted {
        return reading.remark(format!("TCP sockets are not counted by state: {error}"));
    }
    for ((_, metric), count) in STATES.iter().zip(counts) {
        reading.gauge(metric, "1", count as f64);
    }
}

fn counters(snmp: &str, netstat: &str, reading: &mut Reading) {
    if let Some(count) = table_value(snmp, "Tcp:", "CurrEstab") {
        reading.gauge("tcp_established", "1", count as f64);
    }
    let of = |text: &str, prefix: &str, names: &[(&str, &str)], reading: &mut Reading| {
        for (name, metric) in names {
            // Kernels differ in what they count.
            if let Some(total) = table_value(text, prefix, name) {
                reading.counter(metric, "1/s", total as f64);
            }
        }
    };
    of(snmp, "Tcp:", &SNMP, reading);
    of(netstat, "TcpExt:", &NETSTAT, reading);
}

/// `TCP: inuse 5 orphan 0 tw 12 alloc 7 mem 1`; returns how many sockets there are.
fn summary(sockstat: &str, reading: &mut Reading) -> u64 {
    let Some(line) = sockstat.lines().find(|line| line.starts_with("TCP:")) else {
        return 0;
    };
    let pairs = line.replacen("TCP:", "", 1);
    let words: Vec<&str> = pairs.split_ascii_whitespace().collect();
    let text: String = words.chunks(2).map(|pair| format!("{}\n", pair.join(" "))).collect();
    let value = |name: &str| field(&text, name).unwrap_or(0);
    reading.gauge("tcp_time_wait", "1", value("tw") as f64);
    reading.gauge("tcp_orphans", "1", value("orphan") as f64);
    // In pages; those of the kernel are 4 KiB wherever this runs.
    reading.gauge("tcp_memory", "B", value("mem") as f64 * 4096.0);
    value("alloc") + value("tw")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn the_summary_and_the_counters_of_distress_are_read() {
        let mut reading = reading();
        let mut names = Names::new();
        let sockstat = "sockets: used 9\nTCP: inuse 5 orphan 2 tw 12 alloc 7 mem 3\nUDP: inuse 1\n";
        assert_eq!(summary(sockstat, &mut reading), 19);
        let expected = ["tcp_time_wait 1 12", "tcp_orphans 1 2", "tcp_memory B 12288"];
        assert_eq!(names.lines(reading.take()), expected);
        reading.begin(0);
        counters("Tcp: CurrEstab\nTcp: 4\n", "TcpExt: ListenOverflows\nTcpExt: 7\n", &mut reading);
        assert_eq!(names.lines(reading.take()), ["tcp_established 1 4"]);
        reading.begin(1_000_000_000);
        counters("", "TcpExt: ListenOverflows\nTcpExt: 9\n", &mut reading);
        assert_eq!(names.lines(reading.take()), ["tcp_listen_overflows 1/s 2"]);
    }
}
