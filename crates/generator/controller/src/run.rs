//! A run from start to verdict.
//!
//! A run passes through stages, each of which consumes the one before it: [`RunRequest`] → `Prepared` → `Recording` →
//! `Running` → `Ended` → [`Conducted`].
//!
//! | stage | file | what it has done |
//! |---|---|---|
//! | `Prepared` | `prepared` | the target runs, names are resolved, `setup` has run, and the loops are ready |
//! | `Recording` | `recording` | the run directory exists, and says what was known before the first user |
//! | `Running` | `running` | the loops run; their seconds are merged and recorded |
//! | `Ended` | `ended` | the loops are gone; `teardown` runs, and the record is closed and judged |
//!
//! `attach` enters at `Recording` with the run of a fleet whose controller is gone; `attempt` is one user alone, without a
//! record. The stages use:
//!
//! | file | what it does |
//! |---|---|
//! | `machines`, `preflight` | lays out the loops and finds the networks of regions; refuses a run that is too large |
//! | `network` | the addresses that names have in the network of each region |
//! | `certificates` | reads the certificates of users and of further authorities |
//! | `once` | steps that run once, before and after the users; the loop of one user |
//! | `describe` | what the record says from the start |
//! | `journal`, `outcomes` | everything that is written during the run |
//! | `merge`, `broadcasts` | the intervals of all loops added up |
//! | `by_worker` | errors and lag of each worker |
//! | `deals` | who starts the users of lost workers, and from when; what another controller of a fleet needs to continue |
//! | `outside`, `probing` | what happens beside the loops: to the target, its probes, names and the lab |
//! | `starts` | how many users the plan starts, and when |
//! | `pause`, `guard` | arrivals that pause; memory that runs short |
//! | `tick` | a second of the run for the live view |

mod attach;
mod attempt;
#[cfg(test)]
mod blame;
mod broadcasts;
mod by_worker;
mod certificates;
mod deals;
mod describe;
mod ended;
mod error;
mod failures;
mod guard;
mod journal;
mod machines;
mod merge;
mod network;
mod once;
mod outcomes;
mod outside;
mod pause;
mod preflight;
mod prepared;
pub(crate) mod probing;
mod recording;
mod running;
mod starts;
pub(crate) mod tick;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plan::Plan;
use record::Durability;
use record::schema::{RunInfo, Summary};
use workers::ScenarioText;

use crate::control::{Interrupt, Pause};
use prepared::Prepared;
use recording::Recording;
use running::Running;
use tick::Tick;

pub use attach::{AttachRequest, attach};
pub use attempt::{TryRequest, try_user};
pub use error::{ConductError, TooSmall, counted};
pub use machines::Machines;
pub use network::NetnsError;

/// A run to conduct: what runs, where, how it is recorded, and how it is controlled. Each part goes to the files that need
/// it, and no further.
#[derive(Debug)]
pub struct RunRequest<'a> {
    pub plan: Plan,
    /// The scenario that the plan was compiled from.
    pub scenario: ScenarioText,
    /// Throng's version.
    pub version: &'a str,
    pub machines: Machines<'a>,
    pub record: RecordSettings<'a>,
    pub control: Control,
}

/// Settings of a run's record, and of its verdict.
#[derive(Debug, Clone, Copy)]
pub struct RecordSettings<'a> {
    /// The directory in which run directories are created.
    pub runs: &'a Path,
    /// The failures that the record survives.
    pub durability: Durability,
    /// If workers are lost, judge the measurements of the others.
    pub allow_lost_workers: bool,
}

/// Requests of the user to a run that goes on.
#[derive(Debug, Clone, Default)]
pub struct Control {
    pub interrupt: Arc<Interrupt>,
    pub pause: Arc<Pause>,
}

/// A run that was conducted to its end.
#[derive(Debug)]
pub struct Conducted {
    pub directory: PathBuf,
    pub info: RunInfo,
    pub summary: Summary,
}

/// Conducts a run. `on_tick` is called about once a second.
pub fn conduct(
    request: RunRequest<'_>,
    on_tick: &mut dyn FnMut(&Tick<'_>),
) -> Result<Conducted, ConductError> {
    let prepared = Prepared::from_request(request)?;
    let recording = Recording::begin(prepared)?;
    let ended = Running::start(recording).run(on_tick);
    ended.conclude()
}
