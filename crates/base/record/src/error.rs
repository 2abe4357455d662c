//! The errors of reading and writing a run directory.

use std::io;
use std::path::{Path, PathBuf};

/// Why a run directory could not be written or read. Every variant names the file.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The operating system refused; the source says why.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation that failed: `write`, `read`, `rename`, ….
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The directory of a new run exists already.
    #[error("{} already exists", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// There is no `run.json`.
    #[error("{} is not a run directory: it contains no run.json", path.display())]
    NotARun {
        /// The path that was to be opened.
        path: PathBuf,
    },
    /// The file was written by another version of Throng, in a format that this one does not read.
    #[error(
        "{} has format {found}, but this version of throng reads format {reads}; {}",
        path.display(),
        match found > reads {
            true => "use a newer version of throng",
            false => "make the run again, or read it with the version of throng that wrote it",
        }
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The format that is read.
        reads: u32,
    },
    /// Rows are not written because of a limit of ours.
    #[error("no more rows are written to {}: {what}", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// The limit that was reached.
        what: String,
    },
    /// The file has invalid contents.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage, and its place in the file if that is known.
        what: String,
    },
}

impl RecordError {
    /// True if the disk (or the user's quota) is full.
    pub fn is_disk_full(&self) -> bool {
        let RecordError::Io { source, .. } = self else {
            return false;
        };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// For `map_err`: an error of the system while doing `action` to `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordError {
        move |source| RecordError::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> RecordError {
        RecordError::Damaged { path: path.to_owned(), what: what.into() }
    }
}
