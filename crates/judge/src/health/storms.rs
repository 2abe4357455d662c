//! What the host's network lost: connects at full queues, packets, memory for sockets.
//!
//! The counters of queues are of the whole host and all of its programs; a run that retransmitted nothing
//! itself lost nothing there. A target on the same machine loses at its queues; the kernel tells nobody, and
//! users see it as connects that take a second or three longer.

use record::schema::{Finding, HealthSummary, Severity};

use crate::figures::Figures;
use crate::finding::finding;
use crate::limits::RETRANSMITS_SHARE_MAX;

/// All there is to say, what touches most users first.
pub(super) fn findings(figures: &Figures, health: &HealthSummary) -> Vec<Finding> {
    let all = [
        connects(figures, health),
        packets(figures, health),
        segments(figures, health),
        memory(figures, health),
    ];
    all.into_iter().flatten().collect()
}

/// Segments that the run's own connections retransmitted, SYNs among them; `None` if the record does not
/// say.
fn own_retransmits(figures: &Figures) -> Option<u64> {
    let last = figures.series.last()?;
    (last.tcp_connections > 0).then_some(last.tcp_retransmits)
}

/// Connection attempts that ended: with regions, each has a measure of its own.
fn connections_ended(figures: &Figures) -> u64 {
    let measures = 0..figures.info.measures.len();
    let connects = measures.filter(|&measure| figures.kind(measure) == "connect");
    connects
        .map(|measure| figures.cell(None, measure).ended())
        .sum()
}

/// Connects that had to be requested again.
fn connects(figures: &Figures, health: &HealthSummary) -> Option<Finding> {
    let own = own_retransmits(figures).unwrap_or(u64::MAX);
    if own == 0 {
        return None;
    }
    let again = health.host_syn_retransmits.min(own);
    let drops = health.host_listen_drops;
    let is_reported = drops > 0 || is_worth_telling(again, connections_ended(figures));
    if !is_reported {
        return None;
    }
    let late = match again {
        0 => "connects waited for a SYN retransmission (1 s, 3 s, …)".to_owned(),
        _ => format!(
            "{} only after a SYN retransmission (1 s, 3 s, … later)",
            match again {
                1 => "1 connection attempt was answered".to_owned(),
                _ => format!("{} connection attempts were answered", units::count(again)),
            }
        ),
    };
    let (code, why) = match (drops, health.host_packet_drops) {
        (0, 0) => (
            "host-syn-retransmits",
            "the SYNs were lost in the network or at the queues of the target host".to_owned(),
        ),
        (0, _) => (
            "host-syn-retransmits",
            "this host dropped packets".to_owned(),
        ),
        _ => (
            "host-listen-drops",
            format!(
                "this host dropped {} because accept queues were full ({}); fix: `sysctl -w \
                 net.core.somaxconn=65535 net.ipv4.tcp_max_syn_backlog=65535`, and an equally \
                 long backlog in the server",
                units::counted(drops, "connection"),
                setting(figures, "somaxconn", "net.core.somaxconn"),
            ),
        ),
    };
    let finding = finding(Severity::Warning, code, format!("{late}: {why}"))
        .with("drops", drops as f64)
        .with("syn_retransmits", again as f64);
    Some(finding.done())
}

/// Packets that found the queue of a core full.
fn packets(figures: &Figures, health: &HealthSummary) -> Option<Finding> {
    let drops = health.host_packet_drops;
    if drops == 0 || own_retransmits(figures) == Some(0) {
        return None;
    }
    let text = format!(
        "this host dropped {} because packet queues were full ({}): their data was retransmitted \
         and arrived late; fix: `sysctl -w net.core.netdev_max_backlog=100000`",
        units::counted(drops, "packet"),
        setting(figures, "netdev_max_backlog", "net.core.netdev_max_backlog"),
    );
    let finding = finding(Severity::Warning, "host-packet-drops", text);
    Some(finding.with("packets", drops as f64).done())
}

/// Segments that were sent again.
fn segments(figures: &Figures, health: &HealthSummary) -> Option<Finding> {
    let sends = figures.total(|row| row.sends);
    let (again, whose) = match own_retransmits(figures) {
        Some(own) => (own, "the run's connections"),
        None => (
            health.host_retransmits,
            "this host, with all of its programs,",
        ),
    };
    if !is_worth_telling(again, sends) {
        return None;
    }
    let text = format!(
        "{whose} retransmitted {}: packets were lost, and their data arrived late",
        units::counted(again, "TCP segment"),
    );
    let finding = finding(Severity::Warning, "retransmits", text)
        .with("segments", again as f64)
        .with("operations", sends as f64);
    Some(finding.done())
}

/// TCP at its own limit of memory, which is not the machine's.
fn memory(figures: &Figures, health: &HealthSummary) -> Option<Finding> {
    let (pressures, aborts) = (health.host_memory_pressures, health.host_memory_aborts);
    if pressures == 0 && aborts == 0 {
        return None;
    }
    let broken = match aborts {
        0 => String::new(),
        _ => format!(
            " and {} aborted",
            match aborts {
                1 => "1 connection was".to_owned(),
                _ => format!("{} connections were", units::count(aborts)),
            }
        ),
    };
    let text = format!(
        "the kernel's TCP memory ran short ({}): sends were delayed{broken}; fix: raise \
         `net.ipv4.tcp_mem` to the value that `throng doctor --users {}` shows",
        setting(figures, "tcp_mem", "net.ipv4.tcp_mem"),
        figures.peak(|row| row.users),
    );
    let finding = finding(Severity::Warning, "host-tcp-memory", text)
        .with("pressures", pressures as f64)
        .with("aborts", aborts as f64);
    Some(finding.done())
}

/// Something is always lost somewhere; it matters from a share of the whole on.
fn is_worth_telling(again: u64, of: u64) -> bool {
    again > 0 && again as f64 > RETRANSMITS_SHARE_MAX * of as f64
}

/// A kernel setting with the value it had, where the record has that.
fn setting(figures: &Figures, fact: &str, name: &str) -> String {
    match figures.info.host.get(fact) {
        Some(value) => format!("{name} {}", value.replace('\t', " ")),
        None => name.to_owned(),
    }
}
