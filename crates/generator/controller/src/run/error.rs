//! Why a run could not be made.

use std::path::PathBuf;

use machine::limits::about;
use probe::ProbeError;
use record::{RecordError, RowCounts};
use workers::PoolError;

use super::network::NetnsError;
use crate::target::TargetError;

/// Why a run could not be made, or was not recorded or judged.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    #[error("cannot resolve {host:?}: {problem}; check the name, or use an address")]
    Resolve { host: String, problem: String },
    #[error(transparent)]
    Netns(#[from] NetnsError),
    #[error("the lab is not ready for the run: {0}")]
    Lab(String),
    #[error(
        "the scenario has `scaling`, which only a lab has; run it by `throng lab run`, or remove it"
    )]
    NoLab,
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    #[error("what another controller needs cannot be kept: {0}")]
    Keep(String),
    #[error("the run cannot be continued: {0}")]
    Attach(String),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error("cannot read {path}, which `options.tls` names")]
    Certificates {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("cannot write the run's record")]
    Record(#[from] RecordError),
    #[error("the record is not complete: {}", counted(*rows))]
    RowsLost {
        rows: RowCounts,
        #[source]
        source: RecordError,
    },
    #[error("cannot judge the run in {}", directory.display())]
    Judge {
        directory: PathBuf,
        #[source]
        source: judge::JudgeError,
    },
}

/// The numbers of rows that were written and lost, in words.
pub fn counted(rows: RowCounts) -> String {
    let kept = units::count(rows.kept);
    let lost = units::count(rows.lost);
    format!("{kept} rows are in requests.parquet.parts, {lost} were not written")
}

/// The machine is too small for the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this machine can hold about {} users at once{}{}, but the scenario needs {}: {limit} is {now}, \
     and {needed} is needed; `throng doctor --users {users}{}` shows what to raise; `--force` runs \
     anyway",
    about(*.holds),
    if *.target_here { " with the target on it" } else { "" },
    .region.as_ref().map_or_else(String::new, |region| format!(" in region {region}")),
    units::count(*.users),
    if *.target_here { "" } else { " --target-elsewhere" }
)]
pub struct TooSmall {
    pub users: u64,
    /// The region whose network namespace is too small; `None`: the machine is.
    pub region: Option<String>,
    pub holds: u64,
    pub target_here: bool,
    pub limit: &'static str,
    pub now: String,
    pub needed: String,
}

impl TooSmall {
    /// The region of the users, in words.
    pub(super) fn in_region(&self) -> String {
        let region = self.region.as_ref();
        region.map_or_else(String::new, |region| format!(" in region {region}"))
    }
}
