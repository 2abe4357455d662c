//! Why there is no model.

use std::path::PathBuf;

use crate::line_problems::ProblemKind;

/// Why there is no model.
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
    /// What memory does not hold cannot be written or read again.
    #[error("cannot keep sorted requests in {}", path.display())]
    Scratch {
        /// Where.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The format is not known, or does not say enough.
    #[error("{}: {why}", path.display())]
    Format {
        /// The log.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is no such zone.
    #[error("{name:?} is no time zone: {why}")]
    Zone {
        /// As given.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// No line has a name that was given for a field.
    #[error("no line has {name:?} for the {means}; the names in the first lines are {names}")]
    Field {
        /// What it was given for, of [`MEANINGS`](crate::MEANINGS).
        means: String,
        /// As given.
        name: String,
        /// Names that lines have.
        names: String,
    },
    /// Something was asked for that the log's format has no place for.
    #[error("{option} does nothing with {what}")]
    Idle {
        /// How it was asked for.
        option: &'static str,
        /// The format.
        what: String,
    },
    /// Too many lines are bad.
    #[error("{bad} of {lines} lines are bad, more than {:.3} %:\n{summary}", max * 100.0)]
    TooManyBad {
        /// Lines left out for being bad.
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
    #[error("there are no requests in {lines} lines{why}")]
    Nothing {
        /// All lines.
        lines: u64,
        /// Where they went.
        why: String,
    },
    /// A recorded run cannot be read.
    #[error("cannot read the run")]
    Run(#[from] record::RecordError),
    /// A scenario may not be as long as this model's would be.
    #[error("{segments} segments of {classes} classes are more than a scenario has room for")]
    NoRoom {
        /// How many segments.
        segments: usize,
        /// How many classes.
        classes: usize,
    },
    /// A file of counts is none.
    #[error("{}: {why}", path.display())]
    Counts {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Why a `model.json` is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// It is no JSON, or not that of a model.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Another version of Throng wrote it.
    #[error("it has the version {0}")]
    Version(u32),
    /// Its numbers cannot be those of a log; the text says which.
    #[error("its numbers cannot be: {0}")]
    Numbers(String),
}
