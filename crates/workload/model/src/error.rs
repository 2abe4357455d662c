//! Errors of modelling and of reading a `model.json`.

use std::path::PathBuf;

use units::counted;

use crate::FORMAT_VERSION;
use crate::line_problems::ProblemKind;

/// Why no model was made.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A log cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Temporary files cannot be written or read.
    #[error("cannot sort requests in {}", path.display())]
    Scratch {
        /// The scratch directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The format is not known, or does not say enough.
    #[error("{}: {why}", path.display())]
    Format {
        /// The log.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// There is no such zone.
    #[error("{name:?} is not a time zone: {why}")]
    Zone {
        /// As given.
        name: String,
        /// The problem.
        why: String,
    },
    /// No line has a name that was given for a field.
    #[error("no line has a field {name:?} for the {means}; the first lines have {names}")]
    Field {
        /// The meaning that the name was given for, one of [`MEANINGS`](crate::MEANINGS).
        means: String,
        /// As given.
        name: String,
        /// Names that lines have.
        names: String,
    },
    /// An option has no effect for the log's format.
    #[error("{option} has no effect for {what}")]
    Idle {
        /// The option.
        option: &'static str,
        /// The format.
        what: String,
    },
    /// Too many lines are bad.
    #[error("{bad} of {lines} lines cannot be used, more than {:.3} %:\n{summary}", max * 100.0)]
    TooManyBad {
        /// Lines left out.
        bad: u64,
        /// All lines.
        lines: u64,
        /// The share that may be.
        max: f64,
        /// The kind that most of them have.
        most: ProblemKind,
        /// Kinds with examples.
        summary: String,
    },
    /// Nothing is left to model.
    #[error("no requests in {}{why}", counted(*lines, "line"))]
    Nothing {
        /// All lines.
        lines: u64,
        /// The reasons why lines were left out.
        why: String,
    },
    /// A recorded run cannot be read.
    #[error("cannot read the run")]
    Run(#[from] record::RecordError),
    /// The scenario of this model would be too long.
    #[error("{segments} segments with {classes} classes do not fit into a scenario")]
    NoRoom {
        /// How many segments.
        segments: usize,
        /// How many classes.
        classes: usize,
    },
    /// A file of counts has something else in it.
    #[error("{}: {why}", path.display())]
    Counts {
        /// Which.
        path: PathBuf,
        /// The problem.
        why: String,
    },
}

/// Why a `model.json` is rejected.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// It is not JSON, or not that of a model.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Another version of Throng wrote it.
    #[error("{}", version_text(*.0))]
    Version(u32),
    /// The values cannot come from a log; the text says which.
    #[error("impossible values: {0}")]
    Numbers(String),
}

fn version_text(version: u32) -> String {
    let age = if version < FORMAT_VERSION { "an older" } else { "a newer" };
    format!(
        "it was made by {age} version of Throng (format {version}; this version reads {FORMAT_VERSION}): run `throng \
         model` again"
    )
}
