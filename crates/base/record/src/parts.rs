//! Rows that the agents of a fleet have kept: which of them are here, and how they come into the record.
//!
//! A run by a fleet may leave its rows on the agents' machines (`docs/fleet.md`). `run.json` refers to them, one part for
//! each worker. Parts that were fetched are in `requests.parquet.parts/`, each named by its agent; when all are there they
//! are joined to `requests.parquet`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{REQUESTS, REQUESTS_PARTS};
use crate::schema::{RowsKept, WorkerInfo, WorkerRows};
use crate::{Durability, RecordError, Run, requests};

/// Agents that are named where many are missing.
const NAMED_MAX: usize = 5;
/// Longest name of an agent, bytes.
const NAME_BYTES_MAX: usize = 64;

/// The parts of a run's rows.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    run: &'a Run,
}

/// Rows that were measured and are not in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowsElsewhere {
    /// No agent wrote rows.
    Nowhere,
    /// Rows on the machines of agents.
    Agents {
        /// Names of the agents.
        agents: Vec<String>,
        /// The run directory.
        directory: PathBuf,
    },
}

impl fmt::Display for RowsElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowsElsewhere::Agents { agents, directory } = self else {
            return f.write_str("its agents wrote no rows of single operations (--rows none)");
        };
        let named = agents[..agents.len().min(NAMED_MAX)].join(", ");
        let more = match agents.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let noun = if agents.len() == 1 { "agent" } else { "agents" };
        write!(
            f,
            "rows of single operations are on the machines of {noun} {named}{more}; `throng fleet fetch {} --nats URL` \
             brings them",
            directory.display()
        )
    }
}

impl<'a> Parts<'a> {
    pub(crate) fn new(run: &'a Run) -> Parts<'a> {
        Parts { run }
    }

    fn directory(&self) -> PathBuf {
        self.run.path().join(REQUESTS_PARTS)
    }

    /// The path of an agent's part, which need not exist yet.
    ///
    /// # Errors
    /// The agent has no name that a file may have: `run.json` is damaged.
    pub fn path(&self, agent: &str) -> Result<PathBuf, RecordError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if (1..=NAME_BYTES_MAX).contains(&agent.len()) && agent.chars().all(is_plain) {
            return Ok(self.directory().join(format!("{agent}.parquet")));
        }
        let what = format!("{agent:?} is no name of an agent");
        Err(RecordError::damaged(self.run.path(), what))
    }

    /// The workers whose rows an agent has and that are not here, with what is known of them.
    pub fn absent(&self) -> Vec<(&'a WorkerInfo, &'a WorkerRows)> {
        if self.run.path().join(REQUESTS).exists() {
            return Vec::new();
        }
        let is_here = |worker: &WorkerInfo| {
            let agent = worker.agent.as_deref().unwrap_or_default();
            self.path(agent).is_ok_and(|path| path.exists())
        };
        let workers = self.run.info().workers.iter();
        let left = workers.filter_map(|worker| Some((worker, worker.rows.as_ref()?)));
        left.filter(|(worker, rows)| rows.kept == RowsKept::Agent && !is_here(worker)).collect()
    }

    pub(crate) fn elsewhere(&self) -> Option<RowsElsewhere> {
        let mut rows = self.run.info().workers.iter().filter_map(|w| w.rows.as_ref());
        if rows.any(|rows| rows.kept == RowsKept::Nowhere) {
            return Some(RowsElsewhere::Nowhere);
        }
        let agents = self.absent().into_iter();
        let agents = agents.map(|(worker, _)| worker.agent.clone().unwrap_or_default());
        let agents: Vec<String> = agents.collect();
        (!agents.is_empty())
            .then(|| RowsElsewhere::Agents { agents, directory: self.run.path().to_owned() })
    }

    /// Makes the directory that parts are put into.
    ///
    /// # Errors
    /// I/O errors.
    pub fn prepare(&self) -> Result<(), RecordError> {
        let directory = self.directory();
        fs::create_dir_all(&directory).map_err(RecordError::io("create", &directory))
    }

    /// Insists that these are rows of this run, each of them, and counts them. What an agent sent may be anything.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn check(&self, path: &Path) -> Result<u64, RecordError> {
        requests::check_columns(path)?;
        let mut rows = 0;
        requests::read(path, |batch| {
            rows += batch.len() as u64;
            self.run.check_places(path, batch)
        })?;
        Ok(rows)
    }

    /// Joins files that were checked to the part of an agent, and removes them.
    ///
    /// # Errors
    /// I/O errors; then there is no such part, and the files are as they were.
    pub fn put(&self, agent: &str, files: &[PathBuf]) -> Result<(), RecordError> {
        let path = self.path(agent)?;
        match files {
            [only] => crate::whole::rename(only, &path, Durability::Process)?,
            files => self.join_to(files, &path)?,
        }
        for file in files.iter().filter(|_| files.len() > 1) {
            // What stays is no part: its name ends otherwise.
            let _ = fs::remove_file(file);
        }
        Ok(())
    }

    /// Joins all parts to `requests.parquet`, if none is absent. Until then, and if that fails, they are read one after
    /// the other.
    ///
    /// # Errors
    /// I/O errors.
    pub fn join(&self) -> Result<(), RecordError> {
        let whole = self.run.path().join(REQUESTS);
        if whole.exists() || self.elsewhere().is_some() {
            return Ok(());
        }
        let workers = self.run.info().workers.iter();
        let agents = workers.filter_map(|worker| worker.agent.as_deref());
        let parts: Result<Vec<PathBuf>, RecordError> =
            agents.map(|agent| self.path(agent)).collect();
        self.join_to(&parts?, &whole)?;
        let directory = self.directory();
        fs::remove_dir_all(&directory).map_err(RecordError::io("remove", &directory))
    }

    fn join_to(&self, files: &[PathBuf], path: &Path) -> Result<(), RecordError> {
        let metadata = requests::metadata(self.run.info());
        requests::join(files, path, &metadata, Durability::Process)
    }
}
