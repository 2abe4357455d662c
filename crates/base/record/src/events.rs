//! `events.jsonl`: one JSON object a line.

use std::path::Path;

use serde::Deserialize;

use crate::RecordError;
use crate::lines::{self, LinesWriter};
use crate::schema::Event;

/// Appends events.
pub type EventsWriter = LinesWriter<Event>;

/// The names of all [`crate::schema::EventKind`]s; others come from later versions.
const KNOWN: &[&str] = &[
    "phase_started",
    "draining",
    "run_ended",
    "error",
    "sampling",
    "interrupted",
    "script_aborted",
    "aborted",
    "until",
    "arrivals_paused",
    "network_emulated",
    "time_dilated",
    "lab_used",
    "addresses_changed",
    "fault_began",
    "fault_ended",
    "arrivals_resumed",
    "worker_lost",
    "share_dealt",
    "clock_compared",
    "memory_pressure",
    "target_ended",
    "probe_lost",
    "probe_back",
    "probe_source",
    "console",
    "note",
];

#[derive(Deserialize)]
struct Name {
    event: String,
}

/// All events of the file, but for those of unknown kinds and a last line that was cut off.
pub(crate) fn read(path: &Path) -> Result<Vec<Event>, RecordError> {
    lines::read(path, is_unknown)
}

fn is_unknown(line: &str) -> bool {
    serde_json::from_str::<Name>(line).is_ok_and(|name| !KNOWN.contains(&name.event.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Durability;
    use crate::schema::{EventKind, HostFlow, HostUse, KnownFigure, RunStatus, TrafficPrices};

    fn one_of_each() -> Vec<Event> {
        let text = String::new;
        let kinds = [
            EventKind::PhaseStarted { phase: "ramp".to_owned() },
            EventKind::Draining,
            EventKind::RunEnded { status: RunStatus::Complete },
            EventKind::Error { measure: text(), outcome: text(), user: u64::MAX, detail: text() },
            EventKind::Sampling { rate: 10, reason: text() },
            EventKind::Interrupted,
            EventKind::ScriptAborted,
            EventKind::Aborted { threshold: text(), shown: text(), over_ns: u64::MAX },
            EventKind::Until {
                is_known: false,
                looks: 3,
                looks_max: 12,
                at_most_ns: u64::MAX,
                figures: vec![KnownFigure {
                    text: text(),
                    is_known: false,
                    value_ns: Some(2),
                    low_ns: Some(1),
                    high_ns: None,
                }],
            },
            EventKind::ArrivalsPaused,
            EventKind::NetworkEmulated {
                packets: 1_000,
                lost: 10,
                overflow: 0,
                late_p99_ns: Some(100_000),
                late_max_ns: Some(1_000_000),
                cpu_ns: Some(u64::MAX),
            },
            EventKind::TimeDilated { factor: 10 },
            EventKind::LabUsed {
                currency: Some(text()),
                hosts: vec![HostUse {
                    host: text(),
                    region: text(),
                    used_ns: 1,
                    billed_ns: u64::MAX,
                    per_hour: None,
                }],
                flows: vec![HostFlow {
                    from: Some(text()),
                    from_region: text(),
                    to: None,
                    to_region: text(),
                    bytes: u64::MAX,
                }],
                traffic: TrafficPrices { regions: Some(text()), users: None },
            },
            EventKind::AddressesChanged {
                name: text(),
                region: text(),
                addresses: std::iter::once((text(), 1)).collect(),
                resolvers: 16,
            },
            EventKind::FaultBegan { number: 1, text: text() },
            EventKind::FaultEnded { number: 1, text: text() },
            EventKind::ArrivalsResumed,
            EventKind::WorkerLost {
                worker: 1,
                pid: 4321,
                loops_first: 26,
                loops: 26,
                reported_ns: 12_000_000_000,
                users: 25_000,
                users_begun: 25_100,
                users_connected: 25_000,
                users_due_after: u64::MAX,
                why: text(),
            },
            EventKind::ShareDealt {
                worker: 1,
                from_ns: 45_000_000_000,
                users: 12_345,
                users_untaken: 0,
                loops: vec![0, 52],
            },
            EventKind::ClockCompared {
                measure: text(),
                offset_ns: -400_000_000,
                bound_ns: 200_000,
                replies: 7,
                corrected: true,
            },
            EventKind::MemoryPressure { available_bytes: u64::MAX, users: 2 },
            EventKind::TargetEnded { target: text(), pid: u32::MAX, why: text() },
            EventKind::ProbeLost { role: text(), source: text(), why: text() },
            EventKind::ProbeBack { role: text(), source: text(), missed: 3 },
            EventKind::ProbeSource {
                role: text(),
                region: text(),
                source: text(),
                via: text(),
                readings: 9,
                missed: u64::MAX,
                cpu_ns: 1,
            },
            EventKind::Console { text: text() },
            EventKind::Note { text: "line\nbreak, \u{1F600}".to_owned() },
        ];
        kinds.into_iter().map(|what| Event { at_ns: u64::MAX - 1, what }).collect()
    }

    fn write_all(path: &Path, events: &[Event]) {
        let mut writer = EventsWriter::create(path.to_owned(), Durability::Process).unwrap();
        events.iter().for_each(|event| writer.write(event).unwrap());
    }

    #[test]
    fn events_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        write_all(&path, &one_of_each());
        assert_eq!(read(&path).unwrap(), one_of_each());
    }

    #[test]
    fn what_a_network_did_not_count_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let what = EventKind::NetworkEmulated {
            packets: 1_000,
            lost: 10,
            overflow: 0,
            late_p99_ns: None,
            late_max_ns: None,
            cpu_ns: None,
        };
        let events = [Event { at_ns: 1, what }];
        write_all(&path, &events);
        assert!(!std::fs::read_to_string(&path).unwrap().contains("late_"));
        assert_eq!(read(&path).unwrap(), events);
    }

    #[test]
    fn every_kind_is_known() {
        let names: Vec<String> = one_of_each()
            .iter()
            .map(|event| serde_json::from_str::<Name>(&serde_json::to_string(event).unwrap()))
            .map(|name| name.unwrap().event)
            .collect();
        assert_eq!(names, KNOWN);
    }

    #[test]
    fn torn_last_line_and_later_kinds_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let whole_line = "{\"at_ns\":1,\"event\":\"draining\",\"later\":true}\n";
        let later = "{\"at_ns\":2,\"event\":\"meteor\",\"size\":3}\n";
        let text = format!("{whole_line}{later}{{\"at_ns\":3,\"event\":\"note\",\"text\":\"\u{e9}");
        // The cut falls into the middle of a character.
        std::fs::write(&path, &text.as_bytes()[..text.len() - 1]).unwrap();
        assert_eq!(read(&path).unwrap(), [Event { at_ns: 1, what: EventKind::Draining }]);
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        std::fs::write(&path, "{\"at_ns\":1,\"event\":\"draining\"}\nrubbish\n{}").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("events.jsonl is damaged: line 2: expected value"), "{error}");
    }
}
