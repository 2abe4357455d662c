//! Conducts a run: target, loops, merged seconds, the record, the verdict.
//!
//! | module | what it does |
//! |---|---|
//! | `run` | a run from start to verdict |
//! | `workers` | the loops of a run, in threads or worker processes, and the worker protocol |
//! | `experiment` | many runs by a design, resumed after an interruption |
//! | `capacity_search` | run after run, to find the highest load that keeps the thresholds |
//! | `simulate` | a scenario in virtual time, as its server sees it |
//! | `watch` | probes without a run |
//! | `target`, `process` | a built-in target as a process; processes that we started |
//! | `surroundings` | a lab that a run takes place in |
//! | `control` | the user requests the end, or a pause |
//! | `inputs`, `secrets` | what a scenario is compiled from, and what of it is not recorded |
//! | `causes` | an error with its causes |

mod capacity_search;
mod causes;
mod control;
pub mod experiment;
mod inputs;
mod names;
mod process;
mod run;
mod secrets;
pub mod simulate;
mod surroundings;
mod target;
#[cfg(test)]
mod testing;
mod watch;
mod workers;

pub use capacity_search::{
    CapacityError, CapacityProgress, CapacityRequest, Concluded, Course, LoadedPlan, Search,
    SearchError, SearchResult, search_capacity,
};
pub use control::{Interrupt, PAUSED, Pause, RESUMED};
pub use engine::trace::{TraceEvent, Traced};
pub use inputs::{Inputs, ScenarioText, is_private_key};
pub use probe::{ProbeError, Probed};
pub use run::probing::target_location;
pub use run::tick::{Second, Tick, TickMeasure};
pub use run::{
    AttachRequest, ConductError, Conducted, NetnsError, RunRequest, TooSmall, TryRequest, attach,
    conduct, counted, try_user,
};
pub use surroundings::Surroundings;
pub use target::{LISTENING, TargetError};
pub use watch::{WatchError, WatchRequest, watch};
pub use workers::carrier::Carrier;
pub use workers::fleet::{Agent, Fleet, FleetError, Tolerances};
#[doc(hidden)]
pub use workers::fuzzing::worker_frames;
pub use workers::pool::PoolError;
pub use workers::process::WorkersError;
pub use workers::protocol::PROTOCOL_VERSION;
pub use workers::serve::{Given, WorkError, serve as work, serve_over as work_over};
