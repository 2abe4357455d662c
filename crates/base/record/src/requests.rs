//! `requests.parquet`: one row a measurement.
//!
//! During the run, rows go to segments, each a complete Parquet file of its own in
//! `requests.parquet.parts/`. A killed run so loses the rows since the last checkpoint at most, and an error the
//! rows of one segment. At the end the segments are joined (`join`).

mod join;
mod rows;

use std::fs;
use std::path::{Path, PathBuf};

use crate::columnar::{self, Metadata, TableReader, TableWriter};
use crate::files::{REQUESTS, REQUESTS_PARTS};
use crate::schema::RunInfo;
use crate::{Durability, Measurement, Outcome, RecordError};
pub(crate) use join::join;
use rows::{FIELDS, Rows};

/// Most rows of a segment. They are held in memory at 64 bytes each until they are encoded.
const SEGMENT_ROWS: usize = 1 << 17;

/// Writes measurements. It holds up to 8 MiB and no more.
///
/// After an error it can still be used: the rows of the failed segment are given up and counted
/// in [`counts`](Self::counts), and the next row begins a new segment.
pub struct RequestsWriter {
    path: PathBuf,
    parts_dir: PathBuf,
    metadata: Metadata,
    durability: Durability,
    buffer: Rows,
    parts: Vec<PathBuf>,
    /// Segments begun, those that failed too.
    parts_begun: u32,
    /// Size of all segments.
    bytes: u64,
    counts: RowCounts,
}

/// Counts of the rows that were given to a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowCounts {
    /// Rows that are safe in segments.
    pub kept: u64,
    /// Rows that could not be written.
    pub lost: u64,
}

impl RequestsWriter {
    pub(crate) fn create(
        dir: &Path,
        info: &RunInfo,
        durability: Durability,
    ) -> Result<RequestsWriter, RecordError> {
        RequestsWriter::begin(dir, metadata(info), durability)
    }

    /// The writer of rows that stay apart from the record of `run`: in a directory that must exist. Whoever puts them
    /// into the record adds what the file needs to be understood.
    ///
    /// # Errors
    /// I/O errors.
    pub fn apart(dir: &Path, run: &str) -> Result<RequestsWriter, RecordError> {
        let metadata = columnar::metadata([("throng.run", run.to_owned())]);
        RequestsWriter::begin(dir, metadata, Durability::Process)
    }

    fn begin(
        dir: &Path,
        metadata: Metadata,
        durability: Durability,
    ) -> Result<RequestsWriter, RecordError> {
        let parts_dir = dir.join(REQUESTS_PARTS);
        fs::create_dir(&parts_dir).map_err(RecordError::io("create", &parts_dir))?;
        durability.sync_folder_of(&parts_dir)?;
        Ok(RequestsWriter {
            path: dir.join(REQUESTS),
            parts_dir,
            metadata,
            durability,
            buffer: Rows::with_capacity(SEGMENT_ROWS),
            parts: Vec::new(),
            parts_begun: 0,
            bytes: 0,
            counts: RowCounts::default(),
        })
    }

    /// Adds rows. Mostly they are only copied; each 131,072nd row encodes them all and writes
    /// them to the disk.
    ///
    /// # Errors
    /// I/O errors; rows are lost then.
    pub fn write(&mut self, rows: &[Measurement]) -> Result<(), RecordError> {
        self.write_pausing(rows, &mut || {})
    }

    /// Like [`write`](Self::write), and calls `pause` after each piece of the encoding, which takes
    /// some ten microseconds: a thread that shares its core with an urgent one can yield to it.
    ///
    /// # Errors
    /// I/O errors; rows are lost then.
    pub fn write_pausing(
        &mut self,
        mut rows: &[Measurement],
        pause: &mut dyn FnMut(),
    ) -> Result<(), RecordError> {
        let mut first_error = Ok(());
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.len().min(SEGMENT_ROWS - self.buffer.len()));
            self.buffer.extend(now);
            rows = later;
            if self.buffer.len() == SEGMENT_ROWS {
                first_error = first_error.and(self.checkpoint_pausing(pause));
            }
        }
        first_error
    }

    /// True if there are rows that the next [`checkpoint`](Self::checkpoint) makes safe.
    pub fn is_pending(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Makes all rows so far safe, in a segment of their own.
    ///
    /// # Errors
    /// I/O errors; rows are lost then.
    pub fn checkpoint(&mut self) -> Result<(), RecordError> {
        self.checkpoint_pausing(&mut || {})
    }

    /// Like [`checkpoint`](Self::checkpoint), and pauses like [`write_pausing`](Self::write_pausing).
    ///
    /// # Errors
    /// As those of `checkpoint`.
    pub fn checkpoint_pausing(&mut self, pause: &mut dyn FnMut()) -> Result<(), RecordError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let rows = self.buffer.len() as u64;
        let written = self.write_segment(pause);
        match &written {
            Ok(()) => self.counts.kept += rows,
            Err(_) => self.counts.lost += rows,
        }
        self.buffer.clear();
        written
    }

    fn write_segment(&mut self, pause: &mut dyn FnMut()) -> Result<(), RecordError> {
        self.parts_begun += 1;
        let name = format!("{:06}.parquet", self.parts_begun);
        let path = self.parts_dir.join(name);
        let mut part = TableWriter::create(path.clone(), FIELDS, &self.metadata, self.durability)?;
        if let Err(error) = part.write_row_group(self.buffer.columns(), pause) {
            part.abandon();
            return Err(error);
        }
        part.finish()?;
        self.bytes += fs::metadata(&path).map_or(0, |about| about.len());
        self.parts.push(path);
        Ok(())
    }

    /// The file that [`finish`](Self::finish) makes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the segments so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Joins the segments to `requests.parquet`.
    ///
    /// # Errors
    /// I/O errors. The segments stay in place then, and can be read.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.checkpoint()?;
        match &self.parts[..] {
            [only] => crate::whole::rename(only, &self.path, self.durability)?,
            parts => join(parts, &self.path, &self.metadata, self.durability)?,
        }
        fs::remove_dir_all(&self.parts_dir).map_err(RecordError::io("remove", &self.parts_dir))
    }

    /// The rows so far, those aside that wait for the next checkpoint.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }
}

/// The metadata that the file needs to be understood without its directory.
pub(crate) fn metadata(info: &RunInfo) -> Metadata {
    let measures = serde_json::json!(info.measures);
    let sessions = serde_json::json!(info.sessions);
    let outcomes: serde_json::Map<String, serde_json::Value> = Outcome::ALL
        .iter()
        .map(|&outcome| ((outcome as u8).to_string(), outcome.name().into()))
        .collect();
    columnar::metadata([
        ("throng.run", info.id.clone()),
        ("throng.started_unix_ns", info.started_unix_ns.to_string()),
        ("throng.measures", measures.to_string()),
        ("throng.sessions", sessions.to_string()),
        ("throng.outcomes", serde_json::Value::from(outcomes).to_string()),
    ])
}

/// The files with the rows of the run in this directory: the complete one, or else segments.
pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let whole = dir.join(REQUESTS);
    if whole.exists() {
        return Ok(vec![whole]);
    }
    columnar::parts(&dir.join(REQUESTS_PARTS))
}

/// Hands over the rows of one file, a row group at a time.
pub(crate) fn read(
    path: &Path,
    mut each: impl FnMut(&[Measurement]) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    let table = TableReader::open(path)?;
    let places = rows::places(&table)?;
    for group in 0..table.groups() {
        each(&rows::read_group(&table, &places, group)?)?;
    }
    Ok(())
}

/// Insists that a table has our columns and no others, as one must that is copied as it is.
pub(crate) fn check_columns(path: &Path) -> Result<(), RecordError> {
    let table = TableReader::open(path)?;
    let places = rows::places(&table)?;
    let is_ours = table.columns() == FIELDS.len() && places.iter().copied().eq(0..FIELDS.len());
    match is_ours {
        true => Ok(()),
        false => Err(table.damaged("its columns are not those of rows")),
    }
}
