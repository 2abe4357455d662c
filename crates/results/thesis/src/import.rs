//! Turns results that others published into run directories.
//!
//! ```text
//! files ─layout→ client reports ─report─┐
//!              → metrics as CSV ─metric─┴→ Imported ─write→ run directory
//!                           └─ repairs: all that was not as it should be, counted
//! ```
//! Nothing is repaired in silence and nothing is made up: what a file does not contain is missing in the
//! run directory, and `import.json` says so. Parsers are pure functions of text; only `layout` reads
//! files.

mod layout;
mod metric;
mod repairs;
mod report;
mod results;

use std::path::{Path, PathBuf};

pub use results::ImportedRun;

/// Parses a client's report, for the fuzzers.
pub(crate) fn parse_report(text: &str) {
    let _ = report::parse(text, "report", &mut repairs::Repairs::default());
}

/// Parses a metric, for the fuzzers.
pub(crate) fn parse_metric(text: &str) {
    let _ = metric::parse(text, "metric", &mut repairs::Repairs::default());
}

/// Largest file that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 16 << 20;
/// Most files of one import.
pub const FILES_MAX: usize = 100_000;

/// Facts about a run that its results do not contain.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// When the run began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: Option<u64>,
    /// The version of Throng, for `run.json`.
    pub version: String,
}

/// Why results could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file or directory could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file is larger than anything that belongs here.
    #[error("{} has more than {} MiB: that is neither a report nor a metric", path.display(), FILE_BYTES_MAX >> 20)]
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// There are more files than anything that belongs here has.
    #[error("{} holds more than {FILES_MAX} files", path.display())]
    TooMany {
        /// The directory.
        path: PathBuf,
    },
    /// Nothing here looks like results that are known.
    #[error(
        "{} contains no known results: expected clients/REGION/HOST/1, or directories that \
         contain it",
        path.display()
    )]
    Unknown {
        /// The directory.
        path: PathBuf,
    },
    /// Not one report could be read.
    #[error("{} has {files} client files, but none contains a report; the first: {why}", path.display())]
    NoReport {
        /// The directory.
        path: PathBuf,
        /// How many files there are.
        files: usize,
        /// The fault of the first.
        why: String,
    },
    /// Neither the results nor the caller say when the run began.
    #[error("{} does not contain the start of its run: give it with --start", path.display())]
    NoStart {
        /// The directory.
        path: PathBuf,
    },
}

/// Runs in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedRuns {
    /// Directories with the results of one run each, by name.
    pub runs: Vec<PathBuf>,
    /// Other entries beside them, by name; hidden files aside.
    pub skipped: Vec<PathBuf>,
}

/// The results of runs below `path`, or those that `path` itself holds.
///
/// # Errors
/// [`ImportError::Unknown`] where there are none, and what the system says.
pub fn detect(path: &Path) -> Result<DetectedRuns, ImportError> {
    layout::detect(path)
}

/// A time as `2015-07-31T15:36` (UTC, seconds if wanted) in nanoseconds since the Unix epoch; the
/// error says what was expected.
pub fn parse_time(text: &str) -> Result<u64, String> {
    metric::unix_ns(text)
        .map(i64::cast_unsigned)
        .ok_or_else(|| format!("{text:?} is not a time in UTC such as 2015-07-31T15:36"))
}

/// Reads the results of one run.
///
/// # Errors
/// If not one report can be read, if it is unknown when the run began, and errors of the system.
pub fn read(path: &Path, settings: &Settings) -> Result<ImportedRun, ImportError> {
    layout::read(path, settings)
}
