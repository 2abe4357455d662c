//! The location of the rows of a fleet's run.

use serde::{Deserialize, Serialize};

/// The rows of a worker that did not send them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRows {
    /// Location of the rows.
    pub kept: RowsKept,
    /// The run's name in its fleet.
    pub run: String,
    /// The file on the agent's machine; `None`: there is none, or the agent did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Contents of the file, as the agent reported at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<RowsPart>,
    /// Rows that the agent could not write.
    #[serde(default)]
    pub lost: u64,
    /// Reason for which they could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl WorkerRows {
    /// The rows of a run that begins.
    pub fn new(kept: RowsKept, run: &str) -> WorkerRows {
        WorkerRows { kept, run: run.to_owned(), path: None, part: None, lost: 0, problem: None }
    }
}

/// The location of rows that are not in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowsKept {
    /// On the machine of the agent.
    Agent,
    /// Nowhere: none were written.
    Nowhere,
}

/// A file with rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsPart {
    /// Hexadecimal SHA-256 of the file.
    pub sha256: String,
    /// How many rows it has.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
}
