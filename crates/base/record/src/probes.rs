//! `probes.parquet`: the metrics of the server's side during the run.
//!
//! One row is one value of one probe at one time. A probe is a metric of a source: a host, a
//! process, a database, a group of hosts. Values come in whatever rhythm the source has; a probe
//! without a value at a time has no row there.
//!
//! During the run, new rows and new probes go to segments in `probes.parquet.parts/`, each named by the number of rows
//! before it. Now and then, and at the end, one file takes the place of all. A run that is killed between the two steps
//! leaves segments whose rows are in the file already; the number shows it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::columnar::{self, Column, Field, Kind, Metadata, Packing, TableReader, TableWriter};
use crate::files::{PROBES, PROBES_PARTS};
use crate::schema::RunInfo;
use crate::{Durability, RecordError};

/// Rows in a row group.
const GROUP_ROWS: usize = 1 << 17;
/// Fewer segments stay as they are until the end.
const PARTS_MAX: usize = 32;
/// More are joined once their rows are this part of those in the file, which is written again.
const JOINED_PART: usize = 10;

/// One probe.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ts_rs::TS)]
pub struct ProbeInfo {
    /// Role of the source in the system: `servers`, `redis`, `mysql`, `host`, ….
    pub role: String,
    /// Region of the source; may be empty.
    pub region: String,
    /// The source's own name, as an address.
    pub source: String,
    /// The metric, as the source names it.
    pub metric: String,
    /// Unit of the metric: `%`, `B`, `B/s`, `s`, `1`, `1/s`, `s/s`, …. A counter is recorded as its rate.
    pub unit: String,
    /// How the source was queried: `host`, `process`, `redis`, …; empty if that is not known.
    #[serde(default)]
    pub via: String,
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeRow {
    /// Time since the run's start; negative before it.
    pub at_ns: i64,
    /// Place in [`Probes::list`].
    pub probe: u32,
    /// In the probe's unit.
    pub value: f64,
}

/// All probes of a run and their values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Probes {
    /// The probes; a place in this list is a probe's number.
    pub list: Vec<ProbeInfo>,
    /// Their values, in the order in which they were written.
    pub rows: Vec<ProbeRow>,
}

const AT: Field = field("at_ns", Kind::Long, Packing::Differences);
const PROBE: Field = field("probe", Kind::Unsigned(32), Packing::Differences);
const VALUE: Field = field("value", Kind::Real, Packing::Repeats);
const FIELDS: &[Field] = &[AT, PROBE, VALUE];

const fn field(name: &'static str, kind: Kind, packing: Packing) -> Field {
    Field { name, kind, packing }
}

/// Key of the file's metadata that holds the probes.
const PROBES_KEY: &str = "throng.probes";

/// Counts of the rows and probes that are in files.
#[derive(Debug, Clone, Copy, Default)]
struct StoredCounts {
    rows: usize,
    probes: usize,
}

/// Keeps all rows (24 bytes each), writes new ones to segments, and all to the file at each checkpoint.
#[derive(Debug)]
pub struct ProbesWriter {
    path: PathBuf,
    parts_dir: PathBuf,
    metadata: Metadata,
    durability: Durability,
    probes: Probes,
    written: StoredCounts,
    /// Rows of the file itself.
    joined_rows: usize,
    parts_count: usize,
}

impl ProbesWriter {
    pub(crate) fn new(dir: &Path, info: &RunInfo, durability: Durability) -> ProbesWriter {
        let metadata = columnar::metadata([
            ("throng.run", info.id.clone()),
            ("throng.started_unix_ns", info.started_unix_ns.to_string()),
        ]);
        ProbesWriter {
            path: dir.join(PROBES),
            parts_dir: dir.join(PROBES_PARTS),
            metadata,
            durability,
            probes: Probes::default(),
            written: StoredCounts::default(),
            joined_rows: 0,
            parts_count: 0,
        }
    }

    /// Adds a probe and returns its number.
    pub fn probe(&mut self, info: ProbeInfo) -> u32 {
        self.probes.list.push(info);
        u32::try_from(self.probes.list.len() - 1).expect("there are fewer than four billion probes")
    }

    /// Adds a value; it is safe after the next segment or checkpoint.
    pub fn push(&mut self, row: ProbeRow) {
        self.probes.rows.push(row);
    }

    /// True if there are rows that the next segment makes safe.
    pub fn is_pending(&self) -> bool {
        self.written.rows < self.probes.rows.len()
    }

    /// Makes all rows so far safe: the new ones in a segment, or all in the file if there are many segments.
    ///
    /// # Errors
    /// I/O errors. The rows stay for the next attempt.
    pub fn write_segment(&mut self) -> Result<(), RecordError> {
        let unjoined = self.probes.rows.len() - self.joined_rows;
        if self.parts_count >= PARTS_MAX && unjoined >= self.joined_rows / JOINED_PART {
            return self.checkpoint();
        }
        if !self.is_pending() {
            return Ok(());
        }
        if self.parts_count == 0 {
            fs::create_dir_all(&self.parts_dir)
                .map_err(RecordError::io("create", &self.parts_dir))?;
            self.durability.sync_folder_of(&self.parts_dir)?;
        }
        let name = format!("{:012}.parquet", self.written.rows);
        self.write(self.parts_dir.join(name), self.written)?;
        self.parts_count += 1;
        Ok(())
    }

    /// Replaces the file by one with all rows so far, and removes the segments.
    ///
    /// # Errors
    /// I/O errors. The rows stay for the next attempt.
    pub fn checkpoint(&mut self) -> Result<(), RecordError> {
        self.write(self.path.clone(), StoredCounts::default())?;
        self.joined_rows = self.written.rows;
        if std::mem::take(&mut self.parts_count) == 0 {
            return Ok(());
        }
        fs::remove_dir_all(&self.parts_dir).map_err(RecordError::io("remove", &self.parts_dir))
    }

    /// Writes a table with the rows and probes that are not in `before`.
    fn write(&mut self, path: PathBuf, before: StoredCounts) -> Result<(), RecordError> {
        let mut metadata = self.metadata.clone();
        let list = serde_json::json!(self.probes.list[before.probes..]);
        metadata.push((PROBES_KEY, list.to_string()));
        let mut table = TableWriter::create(path, FIELDS, &metadata, self.durability)?;
        let groups = self.probes.rows[before.rows..].chunks(GROUP_ROWS);
        for group in groups {
            if let Err(error) = write_group(&mut table, group) {
                table.abandon();
                return Err(error);
            }
        }
        table.finish()?;
        self.written =
            StoredCounts { rows: self.probes.rows.len(), probes: self.probes.list.len() };
        Ok(())
    }
}

fn write_group(table: &mut TableWriter, rows: &[ProbeRow]) -> Result<(), RecordError> {
    let at: Vec<i64> = rows.iter().map(|row| row.at_ns).collect();
    let probe: Vec<i32> = rows.iter().map(|row| row.probe.cast_signed()).collect();
    let value: Vec<f64> = rows.iter().map(|row| row.value).collect();
    table.write_row_group(
        [Column::Long(&at), Column::Unsigned(&probe), Column::Real(&value)],
        &mut || {},
    )
}

/// All probes of the run in this directory: of the file, and of segments that are not in it.
pub(crate) fn read(dir: &Path) -> Result<Probes, RecordError> {
    let mut probes = Probes::default();
    let path = dir.join(PROBES);
    if path.exists() {
        read_table(&path, &mut probes)?;
    }
    for path in columnar::parts(&dir.join(PROBES_PARTS))? {
        let name = path.file_stem().and_then(|name| name.to_str());
        let before = name.and_then(|name| name.parse::<usize>().ok());
        if before.is_some_and(|before| before >= probes.rows.len()) {
            read_table(&path, &mut probes)?;
        }
    }
    Ok(probes)
}

/// Adds the probes and rows of one table.
fn read_table(path: &Path, probes: &mut Probes) -> Result<(), RecordError> {
    let table = TableReader::open(path)?;
    let list = table
        .metadata(PROBES_KEY)
        .ok_or_else(|| table.damaged(format!("it has no `{PROBES_KEY}`")))?;
    let list: Vec<ProbeInfo> = serde_json::from_str(list)
        .map_err(|error| table.damaged(format!("`{PROBES_KEY}`: {error}")))?;
    probes.list.extend(list);
    let count = probes.list.len();
    let [at, probe, value] = [table.require(&AT)?, table.require(&PROBE)?, table.require(&VALUE)?];
    for group in 0..table.groups() {
        let times = table.longs(group, at)?;
        let numbers = table.unsigned(group, probe)?;
        let values = table.reals(group, value)?;
        for ((at_ns, probe), value) in times.into_iter().zip(numbers).zip(values) {
            if probe as usize >= count {
                return Err(table.damaged(format!("probe {probe} of {count} in its metadata")));
            }
            probes.rows.push(ProbeRow { at_ns, probe, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_a_row() {
        // The struct and its columns are written out in one order.
        let names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
        assert_eq!(names, ["at_ns", "probe", "value"]);
    }
}
