//! TCP: how many sockets are in which state, and what the kernel counts when it is in distress.

use machine::procfs::{FileError, field, read, read_lines, table_value};

use crate::reading::Reading;
use crate::source::ReadError;

/// Up to this number of sockets their table is walked for every answer: each takes the kernel about three
/// microseconds.
const SOCKETS_ALWAYS_MAX: u64 = 2_000;
/// Up to this number it is walked for one answer in [`SELDOM`], above never.
const SOCKETS_SELDOM_MAX: u64 = 50_000;
const SELDOM: u32 = 10;

/// States by their number in `/proc/net/tcp`, as in the kernel's `tcp_states.h`. Those that cheaper
/// files contain are left out here.
const STATES: [(u8, &str); 8] = [
    (0x02, "tcp_syn_sent"),
    (0x03, "tcp_syn_received"),
    (0x04, "tcp_fin_wait_1"),
    (0x05, "tcp_fin_wait_2"),
    (0x08, "tcp_close_wait"),
    (0x09, "tcp_last_ack"),
    (0x0A, "tcp_listen"),
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
        if sockets_count > SOCKETS_SELDOM_MAX {
            reading.remark(format!(
                "TCP sockets are not counted by state while there are more than \
                 {SOCKETS_SELDOM_MAX}"
            ));
            return Ok(());
        }
        self.answers += 1;
        if sockets_count > SOCKETS_ALWAYS_MAX && self.answers < SELDOM {
            return Ok(());
        }
        self.answers = 0;
        states(reading)
    }
}

/// Walks the table of sockets.
fn states(reading: &mut Reading) -> Result<(), ReadError> {
    let mut counts = [0u64; 16];
    let count = |counts: &mut [u64; 16], name: &str| -> Result<(), FileError> {
        let mut is_head = true;
        read_lines(name, |line| {
            if !std::mem::take(&mut is_head) {
                count_state(line, counts);
            }
        })
    };
    count(&mut counts, "net/tcp")?;
    // Without IPv6 there is no such file.
    let _ = count(&mut counts, "net/tcp6");
    for (state, metric) in STATES {
        reading.gauge(metric, "1", counts[usize::from(state)] as f64);
    }
    Ok(())
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
    let text: String = words
        .chunks(2)
        .map(|pair| format!("{}\n", pair.join(" ")))
        .collect();
    let value = |name: &str| field(&text, name).unwrap_or(0);
    reading.gauge("tcp_time_wait", "1", value("tw") as f64);
    reading.gauge("tcp_orphans", "1", value("orphan") as f64);
    // In pages; those of the kernel are 4 KiB wherever this runs.
    reading.gauge("tcp_memory", "B", value("mem") as f64 * 4096.0);
    value("alloc") + value("tw")
}

/// `sl local_address rem_address st …`.
fn count_state(line: &str, counts: &mut [u64; 16]) {
    let state = line.split_ascii_whitespace().nth(3);
    let state = state.and_then(|word| u8::from_str_radix(word, 16).ok());
    if let Some(count) = state.and_then(|state| counts.get_mut(usize::from(state))) {
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn states_are_counted_by_their_number() {
        let mut counts = [0; 16];
        for state in ["0A", "08", "08", "FF", "x"] {
            let line = format!("   0: 0100007F:1F90 00000000:0000 {state} 0:0 00:0 0");
            count_state(&line, &mut counts);
        }
        count_state("", &mut counts);
        assert_eq!((counts[0x08], counts[0x0A]), (2, 1));
        assert_eq!(counts.iter().sum::<u64>(), 3);
    }

    #[test]
    fn the_summary_and_the_counters_of_distress_are_read() {
        let (mut reading, mut names) = (reading(), Names::new());
        let sockstat = "sockets: used 9\nTCP: inuse 5 orphan 2 tw 12 alloc 7 mem 3\nUDP: inuse 1\n";
        assert_eq!(summary(sockstat, &mut reading), 19);
        let expected = [
            "tcp_time_wait 1 12",
            "tcp_orphans 1 2",
            "tcp_memory B 12288",
        ];
        assert_eq!(names.lines(reading.take()), expected);
        reading.begin(0);
        counters(
            "Tcp: CurrEstab\nTcp: 4\n",
            "TcpExt: ListenOverflows\nTcpExt: 7\n",
            &mut reading,
        );
        assert_eq!(names.lines(reading.take()), ["tcp_established 1 4"]);
        reading.begin(1_000_000_000);
        counters("", "TcpExt: ListenOverflows\nTcpExt: 9\n", &mut reading);
        assert_eq!(names.lines(reading.take()), ["tcp_listen_overflows 1/s 2"]);
    }
}
