//! Sources, and the ways in which they fail.

use std::time::Duration;

use machine::procfs::FileError;

use crate::reading::Reading;

/// How long a source may take to be reached, and again to answer.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(2);

/// Something that can be queried. Each has a thread of its own, so a query may block.
pub(crate) trait Source: Send {
    /// Queries once.
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError>;
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{0}")]
    Gone(String),
    #[error("cannot be reached: {}", crate::tls::in_words(.0))]
    Unreachable(String),
    #[error("invalid answer: {0}")]
    Nonsense(String),
}

/// Why a probe cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A URL that its client does not take.
    #[error("the {kind} probe's URL cannot be used: {problem}")]
    Url {
        /// As `redis`.
        kind: &'static str,
        /// The problem, without secrets.
        problem: String,
    },
    /// `process: target` or a path, of a target that is not here or unknown.
    #[error("the probe {probe:?} needs a target: {problem}")]
    Target {
        /// As the scenario says.
        probe: String,
        /// The problem in words.
        problem: &'static str,
    },
    /// A database's client is not part of this program.
    #[error(
        "this program was built without the {kind} probe: build it with the feature `databases`"
    )]
    NotBuilt {
        /// As `redis`.
        kind: &'static str,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for the probe {probe:?}")]
    Thread {
        /// As the scenario says.
        probe: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}

/// Place of the target, for probes that name it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetLocation {
    /// Process of the target, if it was started for the run.
    pub pid: Option<u32>,
    /// The TCP port it listens on, if it is on this machine.
    pub local_port: Option<u16>,
    /// `http://host:port`; what paths are appended to.
    pub url: Option<String>,
}
