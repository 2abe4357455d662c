//! Losses of the network: connects at full queues, packets, memory for sockets.
//!
//! The kernel's counters of queues are of the whole host and all of its programs. What the run itself lost shows in
//! its own connections: in their retransmissions, and in connects that took a second or three longer, since that is
//! when a SYN without an answer is repeated. What is only known of the host is named as the host's.

use record::schema::{Finding, HealthSummary, Severity};
use stats::hist::LogHistogram;

use crate::case::Case;
use crate::figures::{Cell, Figures};
use crate::finding::finding;
use crate::limits::{RETRANSMITS_SHARE_MAX, SYN_REPEATED_NS};

/// Connects, packets, segments and memory that were lost; those that touch most users first.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let Case { figures, health, .. } = case;
    let all = [
        connects(figures, health),
        packets(figures, health),
        segments(figures, health),
        memory(figures, health),
    ];
    all.into_iter().flatten().collect()
}

/// Segments that the run's own connections retransmitted, SYNs among them; `None` if the record does not
/// say, as where no connection was established.
fn own_retransmits(figures: &Figures) -> Option<u64> {
    let last = figures.series.last()?;
    (last.tcp_connections > 0).then_some(last.tcp_retransmits)
}

/// The run's connection attempts, those of all regions.
fn connect_cells(figures: &Figures) -> impl Iterator<Item = Cell> {
    let measures = 0..figures.info.measures.len();
    let connects = measures.filter(|&measure| figures.kind(measure) == "connect");
    connects.map(|measure| figures.cell(None, measure))
}

/// The run's connection attempts long enough for a repeated SYN.
#[derive(Debug, Clone, Copy, Default)]
struct SynRepeats {
    answered: u64,
    unanswered: u64,
}

impl SynRepeats {
    /// `None` if the record has no times of connection attempts.
    fn count(figures: &Figures) -> Option<SynRepeats> {
        let late = |times: &LogHistogram| times.count() - times.count_at_most(SYN_REPEATED_NS);
        let mut found = None;
        for cell in connect_cells(figures) {
            if !cell.response.is_empty() || !cell.unanswered.is_empty() {
                let sum = found.get_or_insert(SynRepeats::default());
                sum.answered += late(&cell.response);
                sum.unanswered += late(&cell.unanswered);
            }
        }
        // Setting TLS up may take as long. But then nothing was retransmitted.
        found.map(|found| SynRepeats {
            answered: found.answered.min(own_retransmits(figures).unwrap_or(u64::MAX)),
            ..found
        })
    }

    fn words(self) -> String {
        let attempts = |n| units::counted(n, "connection attempt");
        let were = |n| if n == 1 { "was" } else { "were" };
        let answered = format!(
            "{} {} answered only after a SYN retransmission (1 s, 3 s, … later)",
            attempts(self.answered),
            were(self.answered)
        );
        let unanswered = format!(
            "{} {} never answered, though SYNs were retransmitted",
            attempts(self.unanswered),
            were(self.unanswered)
        );
        match (self.answered, self.unanswered) {
            (_, 0) => answered,
            (0, _) => unanswered,
            _ => format!("{answered}, and {unanswered}"),
        }
    }
}

/// Connects that had to be requested again.
fn connects(figures: &Figures, health: &HealthSummary) -> Option<Finding> {
    let host = health.host_syn_retransmits;
    let drops = health.host_listen_drops;
    let own = SynRepeats::count(figures);
    let again = own.map_or(host, |own| host.min(own.answered + own.unanswered));
    let ended = connect_cells(figures).map(|cell| cell.ended()).sum();
    // If none of the run's segments was repeated, the queues were full for others.
    let touches_run = match own_retransmits(figures) {
        Some(own) => own > 0,
        None => own.is_none(),
    };
    let is_dropped = drops > 0 && (again > 0 || touches_run);
    if !is_dropped && !is_worth_telling(again, ended) {
        return None;
    }
    let late = match own {
        Some(own) if again > 0 => {
            SynRepeats { answered: own.answered.min(again), unanswered: own.unanswered.min(again) }
                .words()
        }
        Some(_) => "connections of the run retransmitted segments".to_owned(),
        None if host == 0 => {
            "connects may have waited for a SYN retransmission (1 s, 3 s, …)".to_owned()
        }
        None => format!(
            "this host, with all of its programs, retransmitted {}",
            units::counted(host, "SYN")
        ),
    };
    let (code, why) = match (is_dropped, health.host_packet_drops) {
        (false, 0) => (
            "host-syn-retransmits",
            "the SYNs were lost in the network or at the queues of the target host".to_owned(),
        ),
        (false, _) => ("host-syn-retransmits", "this host dropped packets".to_owned()),
        (true, _) => (
            "host-listen-drops",
            format!(
                "this host, with all of its programs, dropped {} because accept queues were full ({}); fix: \
                 `sysctl -w net.core.somaxconn=65535 net.ipv4.tcp_max_syn_backlog=65535`, and an equally long \
                 backlog in the server",
                units::counted(drops, "connection"),
                setting(figures, "somaxconn", "net.core.somaxconn"),
            ),
        ),
    };
    let finding = finding(Severity::Warning, code, format!("{late}: {why}"))
        .with("drops", drops as f64)
        .with("syn_retransmits", again as f64)
        .with("host_syn_retransmits", host as f64);
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
        None => (health.host_retransmits, "this host, with all of its programs,"),
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
        .with("sends", sends as f64);
    Some(finding.done())
}

/// TCP at its own limit of memory, which is not the machine's.
fn memory(figures: &Figures, health: &HealthSummary) -> Option<Finding> {
    let pressures = health.host_memory_pressures;
    let aborts = health.host_memory_aborts;
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
