//! The messages between controller and worker. `docs/worker-protocol.md` is the reference.

use std::net::{IpAddr, SocketAddr};

use driver::real::LoopNews;
use engine::addresses::Answers;
use plan::Plan;
use record::Measurement;
use serde::{Deserialize, Serialize};
use trust::Identity;

use super::adoption::Adoption;
use super::fleet::Rows;
use super::rows::LeftRows;
use crate::inputs::{ScenarioText, hex_digest};

/// Raised when a message changes its form or its meaning.
pub const PROTOCOL_VERSION: u32 = 21;
/// The first bytes of a worker's first message.
pub(crate) const MAGIC: [u8; 6] = *b"throng";
/// Frames of rows that a worker may send before the first of them was taken.
pub(crate) const ROWS_WINDOW: u32 = 64;

/// The front of a worker's first message. Its form is the same in all versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) magic: [u8; 6],
    pub(crate) protocol: u32,
    /// Throng's version.
    pub(crate) throng: String,
    /// The token that the controller gave to this worker alone.
    pub(crate) token: String,
}

/// The second part of that message, in the same frame.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Introduction {
    pub(crate) pid: u32,
    /// Cores that the worker may use.
    pub(crate) cores: u32,
    /// Open files each of its loops may have.
    pub(crate) files_per_loop: u64,
}

/// The answer to a hello. Its form is the same in all versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The reason for which the worker is refused; `None`: it is accepted.
    pub(crate) refused: Option<String>,
}

/// From the controller.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// A part of a run. Answered by `Ready` or `Unable`.
    Slice(Box<Slice>),
    /// Answered at once by a `Pong` of the same number.
    Ping { number: u32 },
    /// The run's zero: on the worker's clock, and on the controller's wall clock.
    Start { clock_ns: u64, unix_ns: u64 },
    /// The level of [`driver::real::StopFlag`].
    Stop { level: u8 },
    /// The worker may send this number of further frames of rows.
    RowsTaken { frames: u32 },
    /// No user starts while the last of these was true.
    Pause { paused: bool },
    /// New connections go to these addresses, which are of the endpoints of the slice.
    Addresses(Answers),
    /// The worker's loops start these users, of lost loops, besides their own.
    Adopt(Vec<Adoption>),
}

/// From a worker.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ToController {
    /// All loops wait for the start.
    Ready,
    /// The slice cannot be run.
    Unable {
        why: String,
    },
    Pong {
        number: u32,
        /// The worker's clock; nanoseconds since a moment of its own choice.
        clock_ns: u64,
    },
    News(LoopNews),
    Rows(Vec<Measurement>),
    /// The resources that the process has used so far; follows the first interval of each second.
    Usage(Usage),
    /// A loop has failed; the worker ends.
    Failed {
        why: String,
    },
    /// All loops have ended and all their rows were sent, or left. Nothing follows.
    Done,
    /// The rows that were left on the worker's machine; before `Done`.
    RowsLeft(LeftRows),
}

/// The resources that a process has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time since it began.
    pub cpu_ns: u64,
    /// Resident memory now.
    pub resident_bytes: u64,
}

/// One worker's part of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slice {
    pub(crate) scenario: ScenarioText,
    /// The digest of the plan that the scenario must compile to; see [`plan_digest`].
    pub(crate) plan_digest: String,
    /// The address of the built-in target.
    pub(crate) target: Option<SocketAddr>,
    /// Addresses by endpoint and resolver.
    pub(crate) addresses: Answers,
    /// Set if an endpoint uses TLS, unless the worker has it from the store of its fleet.
    pub(crate) trust: Option<Trust>,
    pub(crate) loops: Loops,
    /// Loops sleep in milliseconds instead of waiting precisely.
    pub(crate) wide: bool,
    /// Local addresses to connect from; empty: the loops choose.
    pub(crate) sources: Vec<IpAddr>,
    /// The maximum number of users of the run at once.
    pub(crate) users_max: u64,
    /// Users who are due this long after the worker's last contact wait for the next one; `None`: they do not.
    pub(crate) contact_ns_max: Option<u64>,
    /// The destination of rows.
    pub(crate) rows: Rows,
}

/// Which certificates are trusted, and the users' own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Trust {
    /// True if servers' certificates are checked at all.
    pub verify: bool,
    /// Names and contents of PEM files with further roots.
    pub pems: Vec<(String, Vec<u8>)>,
    /// The certificate that users present.
    pub identity: Option<Identity>,
}

/// Loops `first` up to `first + count` of all `of` of the run. Theirs are the users whose number
/// leaves one of these when it is divided by `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loops {
    /// The number of the first.
    pub first: u32,
    /// The number of loops.
    pub count: u32,
    /// All loops of the run.
    pub of: u32,
}

impl Loops {
    /// All loops of a run.
    pub fn all(of: u32) -> Loops {
        Loops { first: 0, count: of, of }
    }

    /// The share of worker `index` of `workers_count`: as many as the others have, or one more.
    pub fn share(self, index: u32, workers_count: u32) -> Loops {
        let end = |index: u32| {
            self.first
                + (u64::from(self.count) * u64::from(index) / u64::from(workers_count)) as u32
        };
        Loops { first: end(index), count: end(index + 1) - end(index), of: self.of }
    }

    /// The numbers of the loops.
    pub fn numbers(self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }
}

/// Hexadecimal SHA-1 of a plan's serialised form. Two processes of one version that compile the same
/// scenario with the same inputs have the same one.
pub fn plan_digest(plan: &Plan) -> String {
    let bytes = postcard::to_stdvec(plan).expect("a plan's types all have a serialised form");
    hex_digest(&bytes)
}

#[cfg(test)]
mod tests;
