//! The results index: the runs, experiments, searches, models and pages below a directory, each with a few
//! figures that are cheap to read.
//!
//! Any directory can be listed: a damaged or unfinished result is an entry that says so, and what exceeds the
//! limits is excluded and counted. Symbolic links are not followed, so the index holds only what is below its
//! root. The id of an entry follows from its path, so that a link to it stays valid when the list is made
//! again.

mod read;
mod trend;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub use record::index::Kind;
use record::index::{Scan, ScanEntry, Stamp, scan};
use serde::Serialize;
pub use trend::{TREND_RUNS_MIN, Trend, TrendAlarm, TrendFigure, TrendPart, TrendRun, trend};

use judge::course::Number;

/// Most entries of a list.
const ENTRIES_MAX: usize = 5_000;

/// The index of a directory that is listed repeatedly: unchanged results are not read again.
#[derive(Debug)]
pub struct Index {
    root: PathBuf,
    /// `None`: a file that is not a page of Throng.
    known: HashMap<PathBuf, (Vec<Stamp>, Option<Entry>)>,
}

/// The entries at one time.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Listing {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// Directories that were left out, a sentence each.
    pub omitted: Vec<String>,
}

/// The outcome of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ts_rs::TS)]
#[ts(rename = "EntryState")]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The run can be trusted; it has no thresholds.
    Measured,
    /// All thresholds hold, and the run can be trusted.
    Passed,
    /// A threshold does not hold, nothing succeeded, a step never did, or sessions failed of themselves.
    Failed,
    /// The run cannot be trusted.
    Untrusted,
    /// Results that were measured elsewhere.
    Imported,
    /// A run in progress: its record grows.
    Running,
    /// Interrupted or killed; of an experiment or a search also in progress.
    Unfinished,
    /// It cannot be read.
    Damaged,
    /// Finished, and without a verdict.
    Done,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Entry {
    /// 16 hexadecimal digits that follow from its path.
    pub id: String,
    /// The id of the experiment or search that contains it.
    pub parent: Option<String>,
    /// Kind of the entry.
    pub kind: Kind,
    /// The scenario's name, or its own.
    pub name: String,
    /// Path of the entry below the root, for people.
    pub path: String,
    /// Outcome of the entry.
    pub state: State,
    /// Further information as text; may be empty.
    pub detail: String,
    /// Note that somebody wrote about the run.
    pub note: Option<String>,
    /// When it started, milliseconds since the Unix epoch.
    pub started_unix_ms: Option<u64>,
    /// Duration of the run, or of the model's log.
    pub seconds: Option<Number>,
    /// Users that started; for a model the sessions of its log.
    pub users: Option<u64>,
    /// Operations per second; for a model sessions.
    pub rate_per_s: Option<Number>,
    /// Failed operations as a share of all, 0..=1.
    pub error_share: Option<Number>,
    /// The step with the percentiles: the one that users wait for most often.
    pub step: Option<String>,
    /// Median response time of the step.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the step's response time.
    pub p99_ns: Option<u64>,
    /// Percentiles above this share are lower bounds.
    pub bound_above: Option<Number>,
    /// Whether it can be compared with others.
    pub comparable: bool,
    /// The directory, or the page's file.
    #[serde(skip)]
    pub location: PathBuf,
}

impl Index {
    /// The index of this directory.
    pub fn new(root: &Path) -> Index {
        Index { root: root.to_owned(), known: HashMap::new() }
    }

    /// Lists the current results. `now_unix_ms`: the time, in milliseconds since the Unix epoch, which distinguishes a run in
    /// progress from one that was killed.
    ///
    /// # Errors
    /// The directory itself cannot be read.
    pub fn list(&mut self, now_unix_ms: u64) -> std::io::Result<Listing> {
        let Scan { mut found, mut omitted } = scan(&self.root)?;
        if found.len() > ENTRIES_MAX {
            let more = found.len() - ENTRIES_MAX;
            omitted.push(format!("{more} more results than {ENTRIES_MAX} are not shown"));
            found.truncate(ENTRIES_MAX);
        }
        let mut known = HashMap::with_capacity(found.len());
        let mut entries: Vec<Option<Entry>> = Vec::with_capacity(found.len());
        for found in &found {
            let stamp = read::stamp(found);
            let entry = match self.known.remove(&found.path) {
                Some((before, entry)) if before == stamp => entry,
                _ => self.read(found),
            };
            entries.push(entry.clone().map(|entry| read::with_progress(entry, now_unix_ms)));
            known.insert(found.path.clone(), (stamp, entry));
        }
        self.known = known;
        set_parents(&mut entries, &found);
        let mut entries: Vec<Entry> = entries.into_iter().flatten().collect();
        entries.sort_by(|a, b| (b.started_unix_ms, &b.path).cmp(&(a.started_unix_ms, &a.path)));
        Ok(Listing { entries, omitted })
    }

    fn read(&self, found: &ScanEntry) -> Option<Entry> {
        let path = found.path.strip_prefix(&self.root).unwrap_or(&found.path);
        // The root itself may be a run directory.
        let path = match path.as_os_str() {
            path if path.is_empty() => OsStr::new("."),
            path => path,
        };
        let name = found.path.file_name().unwrap_or_default();
        let empty = Entry {
            id: id(path.as_encoded_bytes()),
            parent: None,
            kind: found.kind,
            name: name.to_string_lossy().into_owned(),
            path: path.to_string_lossy().into_owned(),
            state: State::Done,
            detail: String::new(),
            note: None,
            started_unix_ms: None,
            seconds: None,
            users: None,
            rate_per_s: None,
            error_share: None,
            step: None,
            p50_ns: None,
            p99_ns: None,
            bound_above: None,
            comparable: false,
            location: found.path.clone(),
        };
        read::entry(found, empty)
    }
}

/// Sets the parent of each entry; a parent started with the first of its runs.
fn set_parents(entries: &mut [Option<Entry>], found: &[ScanEntry]) {
    for (number, found) in found.iter().enumerate() {
        let Some(outer) = found.parent else { continue };
        let started = entries[number].as_ref().and_then(|entry| entry.started_unix_ms);
        // The entries beyond the limit are the last ones, and a parent comes first.
        let Some(outer) = &mut entries[outer] else {
            continue;
        };
        let first = [outer.started_unix_ms, started];
        outer.started_unix_ms = first.into_iter().flatten().min();
        let id = outer.id.clone();
        if let Some(entry) = &mut entries[number] {
            entry.parent = Some(id);
        }
    }
}

/// The hash of Fowler, Noll and Vo (FNV-1a) of 64 bits: the same in every version of Throng. Two paths with
/// the same id, which happens once in 10¹² lists, lead to one of the two.
fn id(path: &[u8]) -> String {
    let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests;
