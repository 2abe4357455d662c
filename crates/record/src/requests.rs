//! `requests.parquet`: one row a measurement.
//!
//! During the run, rows go to segments, each a complete Parquet file of its own in
//! `requests.parquet.parts/`. A killed run so loses the rows since the last checkpoint at most.
//! At the end the segments are joined by copying their encoded columns.

mod rows;

use std::fs;
use std::path::{Path, PathBuf};

use crate::columnar::{self, Metadata, TableReader, TableWriter};
use crate::dir::{REQUESTS, REQUESTS_PARTS};
use crate::schema::RunInfo;
use crate::{Measurement, Outcome, RecordError};
use rows::{FIELDS, Rows};

/// Rows that are encoded together. They are held in memory at 64 bytes each until then.
const GROUP_ROWS: usize = 1 << 17;
/// Rows after which a segment is closed.
const PART_ROWS: usize = 8 * GROUP_ROWS;

/// Writes measurements. It holds up to 8 MiB and no more.
///
/// After an error it can still be used: the rows of the failed segment are given up and counted
/// in [`lost`](Self::lost), and the next row begins a new segment.
pub struct RequestsWriter {
    path: PathBuf,
    parts_dir: PathBuf,
    metadata: Metadata,
    buffer: Rows,
    part: Option<TableWriter>,
    part_rows: usize,
    parts: Vec<PathBuf>,
    /// Segments begun, those that failed too.
    parts_begun: u32,
    kept: u64,
    lost: u64,
}

impl RequestsWriter {
    pub(crate) fn create(dir: &Path, info: &RunInfo) -> Result<RequestsWriter, RecordError> {
        let parts_dir = dir.join(REQUESTS_PARTS);
        fs::create_dir(&parts_dir).map_err(RecordError::io("create", &parts_dir))?;
        Ok(RequestsWriter {
            path: dir.join(REQUESTS),
            parts_dir,
            metadata: metadata(info),
            buffer: Rows::with_capacity(GROUP_ROWS),
            part: None,
            part_rows: 0,
            parts: Vec::new(),
            parts_begun: 0,
            kept: 0,
            lost: 0,
        })
    }

    /// Adds rows. Mostly they are only copied; each 131,072nd row encodes them all and writes
    /// them to the disk.
    ///
    /// # Errors
    /// What the system says; rows are lost then.
    pub fn write(&mut self, rows: &[Measurement]) -> Result<(), RecordError> {
        self.write_pausing(rows, &mut || {})
    }

    /// Like [`write`](Self::write), and calls `pause` after each piece of the encoding, which takes
    /// some ten microseconds: a thread that shares its core with an urgent one can yield to it.
    ///
    /// # Errors
    /// As those of `write`.
    pub fn write_pausing(
        &mut self,
        mut rows: &[Measurement],
        pause: &mut dyn FnMut(),
    ) -> Result<(), RecordError> {
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.len().min(GROUP_ROWS - self.buffer.len()));
            self.buffer.extend(now);
            rows = later;
            if self.buffer.len() == GROUP_ROWS {
                let written = self.flush_group(pause);
                self.settle(written)?;
            }
            if self.part_rows >= PART_ROWS {
                let closed = self.close_part();
                self.settle(closed)?;
            }
        }
        Ok(())
    }

    /// Makes all rows so far safe from the end of this process, in a segment of their own.
    ///
    /// # Errors
    /// What the system says; rows are lost then.
    pub fn checkpoint(&mut self) -> Result<(), RecordError> {
        let closed = self
            .flush_group(&mut || {})
            .and_then(|()| self.close_part());
        self.settle(closed)
    }

    /// Joins the segments to `requests.parquet`.
    ///
    /// # Errors
    /// What the system says. The segments stay in place then, and can be read.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.checkpoint()?;
        match &self.parts[..] {
            [only] => crate::whole::rename(only, &self.path)?,
            parts => columnar::join(parts, &self.path, FIELDS, &self.metadata)?,
        }
        fs::remove_dir_all(&self.parts_dir).map_err(RecordError::io("remove", &self.parts_dir))
    }

    /// Rows that are safe in segments.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Rows that were given and could not be written.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Encodes the buffered rows and appends them to the segment, which is created if needed.
    fn flush_group(&mut self, pause: &mut dyn FnMut()) -> Result<(), RecordError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.part.is_none() {
            self.parts_begun += 1;
            let path = self
                .parts_dir
                .join(format!("{:06}.parquet", self.parts_begun));
            self.part = Some(TableWriter::create(path, FIELDS, &self.metadata)?);
        }
        if let Some(part) = &mut self.part {
            part.write_row_group(self.buffer.columns(), pause)?;
            self.part_rows += self.buffer.len();
            self.buffer.clear();
        }
        Ok(())
    }

    fn close_part(&mut self) -> Result<(), RecordError> {
        let Some(part) = self.part.take() else {
            return Ok(());
        };
        let path = part.path().to_owned();
        part.finish()?;
        self.parts.push(path);
        self.kept += self.part_rows as u64;
        self.part_rows = 0;
        Ok(())
    }

    /// After a failure, gives up the segment and the buffer and counts their rows.
    fn settle(&mut self, result: Result<(), RecordError>) -> Result<(), RecordError> {
        if result.is_err() {
            self.lost += (self.part_rows + self.buffer.len()) as u64;
            self.part_rows = 0;
            self.buffer.clear();
            if let Some(part) = self.part.take() {
                part.abandon();
            }
        }
        result
    }
}

/// What the file needs to be understood without its directory.
fn metadata(info: &RunInfo) -> Metadata {
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
        (
            "throng.outcomes",
            serde_json::Value::from(outcomes).to_string(),
        ),
    ])
}

/// The files with the rows of the run in this directory: the complete one, or else segments.
pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let whole = dir.join(REQUESTS);
    if whole.exists() {
        return Ok(vec![whole]);
    }
    let parts_dir = dir.join(REQUESTS_PARTS);
    let entries = match fs::read_dir(&parts_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RecordError::io("read", &parts_dir)(error)),
    };
    let mut parts = Vec::new();
    for entry in entries {
        let path = entry.map_err(RecordError::io("read", &parts_dir))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
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
