//! Conducts a run: target, loops, merged seconds, the record, the verdict.
//!
//! | module | what it does |
//! |---|---|
//! | `run` | a run from start to verdict |
//! | `experiment` | many runs by a design, resumed after an interruption |
//! | `duet` | two targets in pairs of runs, until it is decided which is slower |
//! | `capacity_search` | run after run, to find the highest load that keeps the thresholds |
//! | `series` | what the runs of a search, an experiment or a duet have in common |
//! | `simulate` | a scenario in virtual time, as its server sees it |
//! | `watch` | probes without a run |
//! | `target` | a built-in target as a process |
//! | `surroundings` | a lab that a run takes place in |
//! | `control` | the user requests the end, or a pause |
//! | `shares` | how much of the time of a run others had this machine |
//! | `secrets` | what is not recorded of that which a scenario is compiled from |

mod capacity_search;
mod control;
pub mod duet;
pub mod experiment;
pub mod names;
mod run;
mod secrets;
mod series;
mod shares;
pub mod simulate;
mod surroundings;
mod target;
#[cfg(test)]
mod testing;
mod watch;

pub use capacity_search::{
    CapacityError, CapacityProgress, CapacityRequest, Course, Search, SearchConclusion,
    SearchError, SearchResult, search_capacity,
};
pub use control::{Interrupt, PAUSED, Pause, RESUMED};
pub use engine::trace::{TraceEvent, TracedEvent};
pub use probe::{ProbeError, ProbeValue};
pub use run::probing::target_location;
pub use run::tick::{Second, Tick, TickMeasure};
pub use run::{
    AttachRequest, ConductError, Conducted, Control, Machines, NetnsError, RecordSettings,
    RunRequest, TooSmall, TryRequest, attach, conduct, counted, try_user,
};
pub use series::{CompiledPlan, SeriesSettings};
pub use surroundings::Surroundings;
pub use target::{LISTENING, TargetError};
pub use watch::{WatchError, WatchRequest, watch};
pub use workers::{
    Fleet, FleetError, Inputs, PoolError, Rows, ScenarioText, Tolerances, WorkersError,
    is_private_key,
};
