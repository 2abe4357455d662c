//! Reading a run directory, complete or not.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::files::{
    ERRORS, EVENTS, IMPORT, LATENCY, METRICS, REQUESTS, REQUESTS_PARTS, RUN, SAMPLES, SCENARIO,
    SERIES, SUMMARY, TALLY,
};
use crate::parts::{Parts, RowsElsewhere};
use crate::schema::{
    ErrorCount, ErrorSample, Event, FORMAT_VERSION, MetricRow, RunInfo, RunStatus, SeriesRow,
    Summary, Tally,
};
use crate::{
    Import, Interval, Measurement, Probes, RecordError, events, latency, lines, probes, requests,
    series, whole,
};

/// A run that has ended or is in progress. Only `run.json` is required; other missing files are listed by
/// [`missing`](Self::missing) and reads as nothing.
#[derive(Debug, Clone)]
pub struct Run {
    path: PathBuf,
    info: RunInfo,
}

impl Run {
    /// Opens the directory.
    ///
    /// # Errors
    /// [`RecordError::NotARun`] if there is no `run.json`, [`RecordError::Format`] if a version of Throng
    /// with another format wrote it.
    pub fn open(path: &Path) -> Result<Run, RecordError> {
        let file = path.join(RUN);
        let Some(info) = read_versioned(&file)? else {
            return Err(RecordError::NotARun { path: path.to_owned() });
        };
        Ok(Run { path: path.to_owned(), info })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The description of the run and how it ended.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// True if the run ended in good order (early or not) and all its files are present.
    pub fn is_complete(&self) -> bool {
        self.missing().is_empty()
    }

    /// The files and figures that the directory lacks, a sentence each without full stop.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.info.status == RunStatus::Running {
            missing.push(match self.until_ns() {
                Ok(until_ns) => format!(
                    "the run is in progress or was killed; its figures end at {:.1} s",
                    until_ns as f64 / 1e9
                ),
                Err(_) => "the run is in progress or was killed".to_owned(),
            });
        }
        // Imported results have only these; `import.json` lists what they lack.
        let names = match self.path.join(IMPORT).exists() {
            true => &[SUMMARY, TALLY][..],
            false => &[SCENARIO, SUMMARY, SERIES, EVENTS, LATENCY, REQUESTS],
        };
        for &name in names {
            if self.path.join(name).exists() {
                continue;
            }
            let parts = self.path.join(REQUESTS_PARTS);
            missing.push(match (name, self.rows_elsewhere()) {
                (REQUESTS, Some(elsewhere)) => elsewhere.to_string(),
                (REQUESTS, None) if parts.exists() => {
                    format!("{REQUESTS} is still in segments; the last rows may be missing")
                }
                _ => format!("there is no {name}"),
            });
        }
        missing
    }

    /// The scenario's text as it was run; `None`: it is missing.
    ///
    /// # Errors
    /// The file cannot be read or is no UTF-8.
    pub fn scenario(&self) -> Result<Option<String>, RecordError> {
        whole::read(&self.path.join(SCENARIO))
    }

    /// The figures and the verdict; `None`: the run has none yet.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or of a later version.
    pub fn summary(&self) -> Result<Option<Summary>, RecordError> {
        read_versioned(&self.path.join(SUMMARY))
    }

    /// The description of imported results; `None`: the run was made by Throng.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or of a later version.
    pub fn import(&self) -> Result<Option<Import>, RecordError> {
        read_versioned(&self.path.join(IMPORT))
    }

    /// The metrics of the server's side; none if the file is missing. Of a run in progress or a killed one, with the
    /// segments so far.
    ///
    /// # Errors
    /// A file cannot be read, is damaged or of a later version.
    pub fn probes(&self) -> Result<Probes, RecordError> {
        probes::read(&self.path)
    }

    /// How operations ended; `None`: nothing was recorded yet.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn tally(&self) -> Result<Option<Tally>, RecordError> {
        whole::read_json(&self.path.join(TALLY))
    }

    /// The run second by second; empty if the file is missing. Of a run in progress or a killed one, up to its
    /// last checkpoint.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or of a later version.
    pub fn series(&self) -> Result<Vec<SeriesRow>, RecordError> {
        let until_ns = self.until_ns()?;
        let mut rows = self.all_series()?;
        rows.retain(|row| row.end_ns <= until_ns);
        Ok(rows)
    }

    fn all_series(&self) -> Result<Vec<SeriesRow>, RecordError> {
        let path = self.path.join(SERIES);
        if path.exists() { series::read(&path) } else { Ok(Vec::new()) }
    }

    /// Up to when the files of a run in progress, or of a killed one, agree: its last checkpoint. Each file is
    /// written by itself, the tally last; what others have beyond it would be counted by some and not by others.
    fn until_ns(&self) -> Result<u64, RecordError> {
        if self.info.status != RunStatus::Running {
            return Ok(u64::MAX);
        }
        match self.tally()?.and_then(|tally| tally.until_ns) {
            Some(until_ns) => Ok(until_ns),
            None => Ok(self.all_series()?.last().map_or(0, |row| row.end_ns)),
        }
    }

    /// The events of the run, in order; empty if the file is missing. Kinds of events that this version does not know
    /// are left out.
    ///
    /// # Errors
    /// The file cannot be read or is damaged elsewhere than in an incomplete last line.
    pub fn events(&self) -> Result<Vec<Event>, RecordError> {
        events::read(&self.path.join(EVENTS))
    }

    /// Passes on failures by step, kind and detail, interval by interval; none if the file is missing, as in older records.
    /// The rows of a run in progress or a killed one end with its last checkpoint.
    ///
    /// # Errors
    /// The file cannot be read or is damaged elsewhere than in an incomplete last line.
    pub fn error_counts(&self, mut each: impl FnMut(ErrorCount)) -> Result<(), RecordError> {
        let until_ns = self.until_ns()?;
        let path = self.path.join(ERRORS);
        let measures = self.info.measures.len();
        let is_unknown = |measure: &u16| usize::from(*measure) >= measures;
        let mut unknown = None;
        lines::each(&path, |count: ErrorCount| {
            let other = count.measure.filter(is_unknown);
            if other.is_none() && count.start_ns < until_ns {
                each(count);
            }
            unknown = unknown.or(other);
        })?;
        self.check_measures(&path, unknown.into_iter())
    }

    /// Passes on what was recorded of the scenario's own metrics, interval by interval; none if the file is missing. Of a run
    /// in progress or a killed one, up to its last checkpoint.
    ///
    /// # Errors
    /// The file cannot be read or is damaged elsewhere than in an incomplete last line.
    pub fn metrics(&self, mut each: impl FnMut(MetricRow)) -> Result<(), RecordError> {
        let path = self.path.join(METRICS);
        let until_ns = self.until_ns()?;
        let mut unknown = None;
        lines::each(&path, |row: MetricRow| {
            let info = self.info.metrics.get(usize::from(row.metric));
            match info.is_some_and(|info| info.kind == row.values.kind()) {
                true if row.start_ns < until_ns => each(row),
                true => {}
                false => unknown = unknown.or(Some(row.metric)),
            }
        })?;
        match unknown {
            Some(metric) => {
                let what = format!("metric {metric}, which is not in {RUN} or is another there");
                Err(RecordError::damaged(&path, what))
            }
            None => Ok(()),
        }
    }

    /// Some failures as their users saw them, in the order in which they were reported; empty if the file is missing.
    ///
    /// # Errors
    /// The file cannot be read or is damaged elsewhere than in an incomplete last line.
    pub fn error_samples(&self) -> Result<Vec<ErrorSample>, RecordError> {
        let path = self.path.join(SAMPLES);
        let samples: Vec<ErrorSample> = lines::read(&path, |_| false)?;
        self.check_measures(&path, samples.iter().filter_map(|sample| sample.measure))?;
        Ok(samples)
    }

    fn check_measures(
        &self,
        path: &Path,
        mut measures: impl Iterator<Item = u16>,
    ) -> Result<(), RecordError> {
        let count = self.info.measures.len();
        match measures.find(|measure| usize::from(*measure) >= count) {
            Some(measure) => {
                let what = format!("measure {measure} of {count} in {RUN}");
                Err(RecordError::damaged(path, what))
            }
            None => Ok(()),
        }
    }

    /// Passes on the histograms in the order they were written; none if the file is missing. Of a run in
    /// progress or a killed one, up to its last checkpoint.
    ///
    /// # Errors
    /// The file cannot be read or is damaged elsewhere than in an incomplete last line.
    pub fn intervals(&self, each: impl FnMut(Interval)) -> Result<(), RecordError> {
        self.intervals_of(|_| true, each)
    }

    /// As [`intervals`](Self::intervals), for the tags that are wanted. The others are not decoded.
    ///
    /// # Errors
    /// As there.
    pub fn intervals_of(
        &self,
        wanted: impl Fn(&str) -> bool,
        mut each: impl FnMut(Interval),
    ) -> Result<(), RecordError> {
        let until_ns = self.until_ns()?;
        let each = |interval: Interval| {
            if interval.start_ns.saturating_add(interval.len_ns) <= until_ns {
                each(interval);
            }
        };
        latency::read(&self.path.join(LATENCY), wanted, each)
    }

    /// The rows that agents of a fleet have kept, as far as they are here.
    pub fn parts(&self) -> Parts<'_> {
        Parts::new(self)
    }

    /// Which rows were measured and are not here, as some agents have them or none were written. `None`: there are no
    /// such rows.
    pub fn rows_elsewhere(&self) -> Option<RowsElsewhere> {
        self.parts().elsewhere()
    }

    /// Passes on the measurements in batches, in the order they were written; of a killed run
    /// those of its segments, of a fleet's run those of its parts, agent by agent. As long as a part is missing it passes
    /// on none: a few agents' rows are no sample of the run. Their measures and sessions are places in
    /// [`info`](Self::info).
    ///
    /// # Errors
    /// A file cannot be read, is damaged or of a later version.
    pub fn requests(&self, mut each: impl FnMut(&[Measurement])) -> Result<(), RecordError> {
        if self.rows_elsewhere().is_some() {
            return Ok(());
        }
        for path in requests::files(&self.path)? {
            requests::read(&path, |batch| {
                self.check_places(&path, batch)?;
                each(batch);
                Ok(())
            })?;
        }
        Ok(())
    }

    pub(crate) fn check_places(
        &self,
        path: &Path,
        batch: &[Measurement],
    ) -> Result<(), RecordError> {
        let measures = self.info.measures.len();
        let sessions = self.info.sessions.len();
        for row in batch {
            if usize::from(row.measure) >= measures {
                let what = format!("measure {} of {measures} in {RUN}", row.measure);
                return Err(RecordError::damaged(path, what));
            }
            if usize::from(row.session) >= sessions {
                let what = format!("session {} of {sessions} in {RUN}", row.session);
                return Err(RecordError::damaged(path, what));
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// The value in a JSON file with a format: another format is refused before the rest, which
/// may look otherwise, is looked at.
fn read_versioned<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordError> {
    let Some(text) = whole::read(path)? else {
        return Ok(None);
    };
    let damaged = |error: serde_json::Error| RecordError::damaged(path, error.to_string());
    let Format { format } = serde_json::from_str(&text).map_err(damaged)?;
    if format != FORMAT_VERSION {
        return Err(RecordError::Format {
            path: path.to_owned(),
            found: format,
            reads: FORMAT_VERSION,
        });
    }
    serde_json::from_str(&text).map(Some).map_err(damaged)
}
