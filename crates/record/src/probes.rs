//! `probes.parquet`: the metrics of the server's side during the run.
//!
//! One row is one value of one probe at one time. A probe is a metric of a source: a host, a
//! process, a database, a group of hosts. Values come in whatever rhythm the source has; a probe
//! without a value at a time has no row there.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::columnar::{self, Column, Field, Kind, Metadata, Packing, TableReader, TableWriter};
use crate::schema::RunInfo;
use crate::{Durability, RecordError};

/// Rows in a row group.
const GROUP_ROWS: usize = 1 << 17;

/// One probe.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProbeInfo {
    /// What the source is to the system: `servers`, `redis`, `mysql`, `host`, ….
    pub role: String,
    /// Its region; may be empty.
    pub region: String,
    /// The source's own name, as an address.
    pub source: String,
    /// The metric, as the source names it.
    pub metric: String,
    /// Its unit: `%`, `B`, `B/s`, `s`, `1`, `1/s`, `s/s`, …. A counter is recorded as its
    /// rate.
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
    Field {
        name,
        kind,
        packing,
    }
}

/// Key of the file's metadata that holds the probes.
const PROBES_KEY: &str = "throng.probes";

/// Keeps all rows (24 bytes each) and rewrites the file at each checkpoint, so that it is always one
/// complete table.
#[derive(Debug)]
pub struct ProbesWriter {
    path: PathBuf,
    metadata: Metadata,
    durability: Durability,
    probes: Probes,
}

impl ProbesWriter {
    pub(crate) fn new(path: PathBuf, info: &RunInfo, durability: Durability) -> ProbesWriter {
        let metadata = columnar::metadata([
            ("throng.run", info.id.clone()),
            ("throng.started_unix_ns", info.started_unix_ns.to_string()),
        ]);
        ProbesWriter {
            path,
            metadata,
            durability,
            probes: Probes::default(),
        }
    }

    /// Adds a probe and returns its number.
    pub fn probe(&mut self, info: ProbeInfo) -> u32 {
        self.probes.list.push(info);
        u32::try_from(self.probes.list.len() - 1).expect("there are fewer than four billion probes")
    }

    /// Adds a value; it is in the file after the next checkpoint.
    pub fn push(&mut self, row: ProbeRow) {
        self.probes.rows.push(row);
    }

    /// Replaces the file by one with all rows so far.
    ///
    /// # Errors
    /// What the system says. The rows stay for the next attempt.
    pub fn checkpoint(&mut self) -> Result<(), RecordError> {
        let mut metadata = self.metadata.clone();
        let list = serde_json::json!(self.probes.list);
        metadata.push((PROBES_KEY, list.to_string()));
        let path = self.path.clone();
        let mut table = TableWriter::create(path, FIELDS, &metadata, self.durability)?;
        let groups = self.probes.rows.chunks(GROUP_ROWS);
        for group in groups {
            if let Err(error) = write_group(&mut table, group) {
                table.abandon();
                return Err(error);
            }
        }
        table.finish()
    }
}

fn write_group(table: &mut TableWriter, rows: &[ProbeRow]) -> Result<(), RecordError> {
    let at: Vec<i64> = rows.iter().map(|row| row.at_ns).collect();
    let probe: Vec<i32> = rows.iter().map(|row| row.probe.cast_signed()).collect();
    let value: Vec<f64> = rows.iter().map(|row| row.value).collect();
    table.write_row_group(
        [
            Column::Long(&at),
            Column::Unsigned(&probe),
            Column::Real(&value),
        ],
        &mut || {},
    )
}

/// All of the file.
pub(crate) fn read(path: &Path) -> Result<Probes, RecordError> {
    let table = TableReader::open(path)?;
    let list = table
        .metadata(PROBES_KEY)
        .ok_or_else(|| table.damaged(format!("it has no `{PROBES_KEY}`")))?;
    let list: Vec<ProbeInfo> = serde_json::from_str(list)
        .map_err(|error| table.damaged(format!("`{PROBES_KEY}`: {error}")))?;
    let [at, probe, value] = [
        table.require(&AT)?,
        table.require(&PROBE)?,
        table.require(&VALUE)?,
    ];
    let mut rows = Vec::new();
    for group in 0..table.groups() {
        let times = table.longs(group, at)?;
        let numbers = table.unsigned(group, probe)?;
        let values = table.reals(group, value)?;
        for ((at_ns, probe), value) in times.into_iter().zip(numbers).zip(values) {
            if probe as usize >= list.len() {
                let count = list.len();
                return Err(table.damaged(format!("probe {probe} of {count} in its metadata")));
            }
            rows.push(ProbeRow {
                at_ns,
                probe,
                value,
            });
        }
    }
    Ok(Probes { list, rows })
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
