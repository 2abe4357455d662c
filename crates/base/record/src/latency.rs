//! `latency.hlog`: histograms of each interval in HdrHistogram's interval log.
//!
//! The format is that of HdrHistogram's `HistogramLogWriter` (log version 1.3, histograms
//! encoded by `V2` with compression), which the usual plotters open. Start times are stated in
//! seconds since the log's `BaseTime`, the run's zero; to the nanosecond, since an interval that
//! begins with a phase must not be read as one that begins before it.

mod line;
mod read;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use stats::hist::LogHistogram;

use crate::schema::RunInfo;
use crate::{Durability, RecordError};

pub(crate) use read::{parse_line, read};

/// Decimal seconds, as in the lines of a log, in nanoseconds.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    line::seconds(text)
}

/// The histogram of one tag in one interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    /// Since the run's start.
    pub start_ns: u64,
    /// Length of the interval.
    pub len_ns: u64,
    /// As it was given to [`LatencyWriter::interval`].
    pub tag: String,
    /// Nanoseconds. The counts are exact; the greatest number is exact; all others, the least among
    /// them, are the middles of their buckets, within 0.05 %.
    pub hist: LogHistogram,
}

/// Appends intervals.
pub struct LatencyWriter {
    path: PathBuf,
    file: BufWriter<File>,
    durability: Durability,
    serializer: V2DeflateSerializer,
    /// Reused: a fresh one would be allocated up to its greatest number each time.
    histogram: Histogram<u64>,
    encoded: Vec<u8>,
}

impl LatencyWriter {
    pub(crate) fn create(
        path: PathBuf,
        info: &RunInfo,
        durability: Durability,
    ) -> Result<LatencyWriter, RecordError> {
        let file = File::create(&path).map_err(RecordError::io("create", &path))?;
        let histogram = Histogram::new(3)
            .map_err(|error| RecordError::io("create", &path)(std::io::Error::other(error)))?;
        let mut writer = LatencyWriter {
            path,
            file: BufWriter::new(file),
            durability,
            serializer: V2DeflateSerializer::new(),
            histogram,
            encoded: Vec::new(),
        };
        writer.write_line(&line::header(&info.id, info.started_unix_ns))?;
        writer.flush()?;
        Ok(writer)
    }

    /// Appends an interval; an empty histogram leaves no line. Numbers above `i64::MAX` count as
    /// `i64::MAX`, the greatest that the format knows.
    ///
    /// # Errors
    /// I/O errors.
    pub fn interval(
        &mut self,
        start_ns: u64,
        len_ns: u64,
        tag: &str,
        hist: &LogHistogram,
    ) -> Result<(), RecordError> {
        if hist.is_empty() {
            return Ok(());
        }
        self.encode(hist)
            .map_err(|error| RecordError::io("write", &self.path)(std::io::Error::other(error)))?;
        let payload = STANDARD.encode(&self.encoded);
        let line = line::interval(start_ns, len_ns, tag, hist.max(), &payload);
        self.write_line(&line)
    }

    /// Makes all lines so far safe.
    ///
    /// # Errors
    /// I/O errors.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io("write", &self.path))?;
        self.durability.sync(self.file.get_ref(), &self.path)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// I/O errors.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.flush()
    }

    fn write_line(&mut self, line: &str) -> Result<(), RecordError> {
        self.file.write_all(line.as_bytes()).map_err(RecordError::io("write", &self.path))
    }

    fn encode(
        &mut self,
        hist: &LogHistogram,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.histogram.reset();
        for (lowest, _, count) in hist.iter() {
            self.histogram.record_n(lowest.min(i64::MAX as u64), count)?;
        }
        self.encoded.clear();
        self.serializer
            .serialize(&self.histogram, &mut self.encoded)
            .map_err(|error| error.to_string())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
