//! Conducts a run: target, loops, merged seconds, the record, the verdict.
//!
//! | file | what it does |
//! |---|---|
//! | `conduct` | the run from start to verdict |
//! | `prepare` | what a run needs before its loops |
//! | `knee` | run after run, to find the highest load that keeps the thresholds |
//! | `crew` | where the loops are: threads here, or worker processes |
//! | `worker` | worker processes: the protocol and both its ends |
//! | `describe` | what `run.json` says from the start |
//! | `layout` | how many loops, and how they wait |
//! | `target` | a built-in target as a process |
//! | `process` | processes that we started |
//! | `probing` | what the server's side tells |
//! | `watch` | the server's side without a run |
//! | `secrets` | what is not written down |
//! | `merge` | the loops' intervals added up |
//! | `journal` | everything that is written while it runs |
//! | `starts` | how many users the plan wants started |
//! | `experiment` | many runs by a design, resumed where they were left |
//! | `simulate` | a scenario in virtual time, as its server sees it |
//! | `tick` | a second of the run for the live view |
//! | `pause` | arrivals that are paused for a while |
//! | `guard` | memory that runs short ends the ramp, then the run |
//! | `preflight` | refuses a run that is too large for this machine |
//! | `broadcasts` | when the first and the last user got each, over all loops |

mod broadcasts;
mod conduct;
mod crew;
mod describe;
pub mod experiment;
mod guard;
mod journal;
mod knee;
pub mod layout;
mod merge;
mod oddities;
mod pause;
mod preflight;
mod prepare;
mod probing;
mod process;
mod secrets;
pub mod simulate;
mod starts;
mod target;
mod tick;
mod watch;
mod worker;

pub use conduct::{ConductError, Conducted, Interrupt, RunRequest, conduct};
pub use crew::CrewError;
pub use knee::{KneeError, KneeNews, KneeRequest, Loaded, Search, SearchError, Sought, seek};
pub use pause::{PAUSED, Pause, RESUMED};
pub use preflight::TooSmall;
pub use probe::{ProbeError, Probed};
pub use probing::target_place;
pub use target::{LISTENING, TargetError};
pub use tick::{Second, Tick, TickMeasure};
pub use watch::{WatchError, WatchRequest, watch};
pub use worker::protocol::{Inputs, ScenarioText};
pub use worker::serve::{WorkError, serve as work};
