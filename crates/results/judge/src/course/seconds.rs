//! Rows of `series.parquet`, slot by slot.

use record::schema::SeriesRow;
use serde::Serialize;

use super::{COVERED_MIN_S, Division, Number, SECOND_NS};

/// One column over time; `None` where nothing was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Track {
    /// Name of the column, as in `series.parquet`.
    pub name: &'static str,
    /// Mean of the slot.
    pub mean: Vec<Option<Number>>,
    /// Least of its seconds; empty where a slot is one second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub min: Vec<Option<Number>>,
    /// Greatest of its seconds; empty where a slot is one second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub max: Vec<Option<Number>>,
}

/// The kind of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A value of its moment.
    Gauge,
    /// A share of the interval.
    Share,
    /// A count, reported per second.
    Rate,
}
use Kind::{Gauge, Rate, Share};

/// Reads a column of a row.
type Get = fn(&SeriesRow) -> f64;

/// The reported columns. Times are nanoseconds; CPU times by second are nanoseconds a second.
const COLUMNS: &[(&str, Kind, Get)] = &[
    ("users", Gauge, |r| r.users as f64),
    ("connections", Gauge, |r| r.connections as f64),
    ("in_flight", Gauge, |r| r.in_flight as f64),
    ("users_due", Rate, |r| r.users_due as f64),
    ("users_started", Rate, |r| r.users_started as f64),
    ("users_connected", Rate, |r| r.users_connected as f64),
    ("users_finished", Rate, |r| r.users_finished as f64),
    ("users_refused", Rate, |r| r.users_refused as f64),
    ("users_held", Rate, |r| r.users_held as f64),
    ("users_paused", Rate, |r| r.users_paused as f64),
    ("connects_retried", Rate, |r| r.connects_retried as f64),
    ("requests_retried", Rate, |r| r.requests_retried as f64),
    ("requests_goaway", Rate, |r| r.requests_goaway as f64),
    ("tls_handshakes_full", Rate, |r| r.tls_handshakes_full as f64),
    ("tls_handshakes_resumed", Rate, |r| r.tls_handshakes_resumed as f64),
    ("operations_begun", Rate, |r| r.operations_begun as f64),
    ("operations_completed", Rate, |r| r.operations_completed as f64),
    ("errors", Rate, |r| r.errors as f64),
    ("bytes_out", Rate, |r| r.bytes_out as f64),
    ("bytes_in", Rate, |r| r.bytes_in as f64),
    ("encoded_in", Rate, |r| r.encoded_in as f64),
    ("decoded_in", Rate, |r| r.decoded_in as f64),
    ("unmatched", Rate, |r| r.unmatched as f64),
    ("lag_p50_ns", Gauge, |r| r.lag_p50_ns as f64),
    ("lag_p99_ns", Gauge, |r| r.lag_p99_ns as f64),
    ("lag_max_ns", Gauge, |r| r.lag_max_ns as f64),
    ("cpu_process_ns", Rate, |r| r.cpu_process_ns as f64),
    ("cpu_wait_ns", Rate, |r| r.cpu_wait_ns as f64),
    ("loop_busy_max", Share, |r| r.loop_busy_max),
    ("rss_bytes", Gauge, |r| r.rss_bytes as f64),
    ("host_retransmits", Rate, |r| r.host_retransmits as f64),
    ("host_listen_drops", Rate, |r| r.host_listen_drops as f64),
    ("host_syn_retransmits", Rate, |r| r.host_syn_retransmits as f64),
    ("host_packet_drops", Rate, |r| r.host_packet_drops as f64),
    ("loops_lost", Gauge, |r| f64::from(r.loops_lost)),
];

/// All columns, slot by slot, as far as rows were added.
#[derive(Debug, Clone)]
pub(super) struct Seconds {
    slots: Vec<[Slot; COLUMNS.len()]>,
    /// True for each column that was not 0 throughout.
    is_used: [bool; COLUMNS.len()],
}

/// The values of a column that a slot has so far.
#[derive(Debug, Clone, Copy)]
struct Slot {
    sum: f64,
    seconds: f64,
    min: f64,
    max: f64,
}

impl Slot {
    const EMPTY: Slot = Slot { sum: 0.0, seconds: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };
}

impl Default for Seconds {
    fn default() -> Seconds {
        Seconds { slots: Vec::new(), is_used: [false; COLUMNS.len()] }
    }
}

impl Seconds {
    pub(super) fn add(&mut self, row: &SeriesRow, division: Division) {
        let seconds = row.end_ns.saturating_sub(row.start_ns) as f64 / SECOND_NS as f64;
        for (is_used, (_, _, get)) in self.is_used.iter_mut().zip(COLUMNS) {
            *is_used |= get(row) != 0.0;
        }
        if seconds <= 0.0 {
            return;
        }
        let place = division.slot(row.start_ns);
        if self.slots.len() <= place {
            self.slots.resize(place + 1, [Slot::EMPTY; COLUMNS.len()]);
        }
        for (slot, (_, kind, get)) in self.slots[place].iter_mut().zip(COLUMNS) {
            slot.seconds += seconds;
            let value = match kind {
                Gauge | Share => get(row),
                Rate => get(row) / seconds,
            };
            slot.sum += value * seconds;
            if *kind == Gauge || seconds >= COVERED_MIN_S {
                slot.min = slot.min.min(value);
                slot.max = slot.max.max(value);
            }
        }
    }

    /// All columns that were not 0 throughout.
    pub(super) fn tracks(&self, division: Division) -> Vec<Track> {
        (0..COLUMNS.len())
            .filter(|&column| self.is_used[column])
            .map(|column| self.track(column, division))
            .collect()
    }

    fn track(&self, column: usize, division: Division) -> Track {
        let (name, kind, _) = COLUMNS[column];
        let slots = (0..division.slots).map(|place| {
            let slot = self.slots.get(place);
            slot.map_or(Slot::EMPTY, |columns| columns[column])
        });
        thinned(name, kind, &slots.collect::<Vec<_>>(), division)
    }
}

fn thinned(name: &'static str, kind: Kind, slots: &[Slot], division: Division) -> Track {
    let points = |of: fn(&Slot) -> f64| -> Vec<Option<Number>> {
        let values = slots.iter().map(|slot| {
            let covered = match kind {
                Gauge => slot.seconds > 0.0,
                Share | Rate => slot.seconds >= COVERED_MIN_S,
            };
            let value = of(slot);
            (covered && value.is_finite()).then_some(Number(value))
        });
        values.collect()
    };
    let is_thinned = division.slot_s > 1;
    Track {
        name,
        mean: points(|slot| slot.sum / slot.seconds),
        min: if is_thinned { points(|slot| slot.min) } else { Vec::new() },
        max: if is_thinned { points(|slot| slot.max) } else { Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracks(rows: &[SeriesRow], division: Division) -> Vec<Track> {
        let mut seconds = Seconds::default();
        rows.iter().for_each(|row| seconds.add(row, division));
        seconds.tracks(division)
    }

    fn row(start_ms: u64, end_ms: u64, users: u64, operations_completed: u64) -> SeriesRow {
        SeriesRow {
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            users,
            operations_completed,
            ..SeriesRow::default()
        }
    }

    fn of<'t>(tracks: &'t [Track], name: &str) -> &'t Track {
        tracks.iter().find(|track| track.name == name).unwrap()
    }

    fn values(numbers: &[Option<Number>]) -> Vec<Option<f64>> {
        numbers.iter().map(|n| n.map(|n| n.0)).collect()
    }

    #[test]
    fn a_second_that_a_phase_cuts_is_one_slot() {
        let rows = [
            row(0, 400, 2, 40),
            row(400, 1000, 4, 20),
            row(1000, 2000, 4, 7),
            // The operations of the drain, which takes 10 ms, are no throughput.
            row(2000, 2010, 0, 5),
        ];
        let tracks = tracks(&rows, Division::of(2_010_000_000));
        assert_eq!(tracks.len(), 2, "columns of nothing but 0 are left out");
        let completed = of(&tracks, "operations_completed");
        assert_eq!(values(&completed.mean), [Some(60.0), Some(7.0), None]);
        assert!(completed.min.is_empty());
        let users = of(&tracks, "users");
        assert_eq!(values(&users.mean)[2], Some(0.0));
        assert!((values(&users.mean)[0].unwrap() - 3.2).abs() < 1e-9);
    }

    #[test]
    fn thinning_keeps_the_least_and_the_greatest() {
        let rows: Vec<SeriesRow> = (0..3600)
            .map(|s| row(s * 1000, (s + 1) * 1000, 1, if s == 1799 { 900 } else { 100 }))
            .collect();
        let tracks = tracks(&rows, Division::of(3_600_000_000_000));
        let completed = of(&tracks, "operations_completed");
        assert_eq!((completed.mean.len(), completed.max.len()), (600, 600));
        let at = 1799 / 6;
        assert_eq!(values(&completed.max)[at], Some(900.0));
        assert_eq!(values(&completed.min)[at], Some(100.0));
        assert!((values(&completed.mean)[at].unwrap() - (5.0 * 100.0 + 900.0) / 6.0).abs() < 1e-9);
        assert_eq!(values(&completed.max)[at + 1], Some(100.0));
    }
}
