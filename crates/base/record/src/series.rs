//! `series.parquet`: the run second by second.

use std::path::{Path, PathBuf};

use crate::columnar::{self, Column, Field, Kind, Metadata, Packing, TableReader, TableWriter};
use crate::schema::{RunInfo, SeriesRow};
use crate::{Durability, RecordError};

/// Keeps all rows (360 bytes per second of the run) and rewrites the file at each checkpoint, so that it
/// is always one complete, well-packed table.
#[derive(Debug)]
pub struct SeriesWriter {
    path: PathBuf,
    metadata: Metadata,
    durability: Durability,
    rows: Vec<SeriesRow>,
}

impl SeriesWriter {
    pub(crate) fn new(path: PathBuf, info: &RunInfo, durability: Durability) -> SeriesWriter {
        let phases = serde_json::json!(info.phases);
        let metadata = columnar::metadata([
            ("throng.run", info.id.clone()),
            ("throng.started_unix_ns", info.started_unix_ns.to_string()),
            ("throng.phases", phases.to_string()),
        ]);
        SeriesWriter { path, metadata, durability, rows: Vec::new() }
    }

    /// Adds a row; it is in the file after the next checkpoint.
    pub fn push(&mut self, row: &SeriesRow) {
        self.rows.push(row.clone());
    }

    /// Replaces the file by one with all rows so far.
    ///
    /// # Errors
    /// An error of the system. The rows are kept for the next attempt.
    pub fn checkpoint(&mut self) -> Result<(), RecordError> {
        self.checkpoint_pausing(&mut || {})
    }

    /// Like [`checkpoint`](Self::checkpoint), and calls `pause` after each piece of the encoding.
    ///
    /// # Errors
    /// As those of `checkpoint`.
    pub fn checkpoint_pausing(&mut self, pause: &mut dyn FnMut()) -> Result<(), RecordError> {
        let path = self.path.clone();
        let durability = self.durability;
        let mut table = TableWriter::create(path, FIELDS, &self.metadata, durability)?;
        let columns = columns_of(&self.rows);
        match table.write_row_group(columns.iter().map(Values::as_column), pause) {
            Ok(()) => table.finish(),
            Err(error) => {
                table.abandon();
                Err(error)
            }
        }
    }

    /// Writes the last checkpoint.
    ///
    /// # Errors
    /// The errors of [`checkpoint`](Self::checkpoint).
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.checkpoint()
    }
}

/// A column's values.
enum Values {
    Longs(Vec<i64>),
    Unsigned(Vec<i32>),
    Reals(Vec<f64>),
}

impl Values {
    fn as_column(&self) -> Column<'_> {
        match self {
            Values::Longs(values) => Column::Long(values),
            Values::Unsigned(values) => Column::Unsigned(values),
            Values::Reals(values) => Column::Real(values),
        }
    }
}

/// How a type of a field of [`SeriesRow`] is stored in a column.
trait Cell: Copy {
    const KIND: Kind;
    const PACKING: Packing;
    fn column(cells: impl Iterator<Item = Self>) -> Values;
    fn read(table: &TableReader, group: usize, place: usize) -> Result<Vec<Self>, RecordError>;
}

impl Cell for u64 {
    const KIND: Kind = Kind::Long;
    const PACKING: Packing = Packing::Differences;
    fn column(cells: impl Iterator<Item = u64>) -> Values {
        Values::Longs(cells.map(u64::cast_signed).collect())
    }
    fn read(table: &TableReader, group: usize, place: usize) -> Result<Vec<u64>, RecordError> {
        Ok(table.longs(group, place)?.into_iter().map(i64::cast_unsigned).collect())
    }
}

impl Cell for u32 {
    const KIND: Kind = Kind::Unsigned(32);
    const PACKING: Packing = Packing::Differences;
    fn column(cells: impl Iterator<Item = u32>) -> Values {
        Values::Unsigned(cells.map(u32::cast_signed).collect())
    }
    fn read(table: &TableReader, group: usize, place: usize) -> Result<Vec<u32>, RecordError> {
        table.unsigned(group, place)
    }
}

impl Cell for f64 {
    const KIND: Kind = Kind::Real;
    const PACKING: Packing = Packing::Repeats;
    fn column(cells: impl Iterator<Item = f64>) -> Values {
        Values::Reals(cells.collect())
    }
    fn read(table: &TableReader, group: usize, place: usize) -> Result<Vec<f64>, RecordError> {
        table.reals(group, place)
    }
}

macro_rules! series {
    ($($name:ident: $cell:ty,)+) => {
        /// The fields of [`SeriesRow`] in the file's order.
        const FIELDS: &[Field] =
            &[$(Field { name: stringify!($name), kind: <$cell>::KIND, packing: <$cell>::PACKING },)+];

        fn columns_of(rows: &[SeriesRow]) -> Vec<Values> {
            vec![$(<$cell as Cell>::column(rows.iter().map(|row| row.$name)),)+]
        }

        fn read_group(
            table: &TableReader,
            group: usize,
            rows: &mut [SeriesRow],
        ) -> Result<(), RecordError> {
            let mut fields = FIELDS.iter();
            $(
                let place = fields.next().map(|field| table.find(field)).transpose()?.flatten();
                // A file of an earlier version may lack a column: then it stays 0.
                if let Some(place) = place {
                    let cells = <$cell as Cell>::read(table, group, place)?;
                    rows.iter_mut().zip(cells).for_each(|(row, cell)| row.$name = cell);
                }
            )+
            Ok(())
        }
    };
}

series! {
    start_ns: u64,
    end_ns: u64,
    phase: u32,
    users: u64,
    users_peak: u64,
    connections: u64,
    in_flight: u64,
    closed_late_ns: u64,
    users_due: u64,
    users_fell_due: u64,
    users_started: u64,
    users_repeated: u64,
    users_finished: u64,
    users_failed: u64,
    users_stopped: u64,
    users_cut: u64,
    users_unstarted: u64,
    steps_missed: u64,
    users_refused: u64,
    users_held: u64,
    users_paused: u64,
    users_resumed: u64,
    users_connected: u64,
    connects_retried: u64,
    requests_retried: u64,
    requests_goaway: u64,
    tls_handshakes_full: u64,
    tls_handshakes_resumed: u64,
    sends: u64,
    done: u64,
    operations_begun: u64,
    operations_ended: u64,
    operations_completed: u64,
    own_failures: u64,
    errors: u64,
    bytes_out: u64,
    bytes_in: u64,
    encoded_in: u64,
    decoded_in: u64,
    unmatched: u64,
    lag_p50_ns: u64,
    lag_p99_ns: u64,
    lag_max_ns: u64,
    cpu_loops_ns: u64,
    cpu_wait_ns: u64,
    script_calls: u64,
    scripts_ns: u64,
    cpu_throttled_ns: u64,
    cpu_process_ns: u64,
    loop_busy_max: f64,
    rss_bytes: u64,
    host_retransmits: u64,
    host_listen_drops: u64,
    host_syn_retransmits: u64,
    host_packet_drops: u64,
    host_memory_pressures: u64,
    host_memory_aborts: u64,
    loops_lost: u32,
    tcp_connections: u64,
    tcp_segments_out: u64,
    tcp_segments_in: u64,
    tcp_payload_out: u64,
    tcp_payload_in: u64,
    tcp_retransmits: u64,
    ip_bytes_out: u64,
    ip_bytes_in: u64,
}

/// All rows of the file.
pub(crate) fn read(path: &Path) -> Result<Vec<SeriesRow>, RecordError> {
    let table = TableReader::open(path)?;
    // Without the interval's ends the rows would mean nothing.
    let start = table.require(&FIELDS[0])?;
    table.require(&FIELDS[1])?;
    let mut rows = Vec::new();
    for group in 0..table.groups() {
        let first = rows.len();
        let count = table.longs(group, start)?.len();
        rows.resize(first + count, SeriesRow::default());
        read_group(&table, group, &mut rows[first..])?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_column() {
        let row = serde_json::to_value(SeriesRow::default()).unwrap();
        let names: Vec<&String> = row.as_object().unwrap().keys().collect();
        let columns: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
        assert_eq!(names, columns);
    }
}
