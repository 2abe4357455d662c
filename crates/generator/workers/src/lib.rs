//! The loops of a run, in threads of this process or of worker processes, here or on another machine.
//!
//! `docs/worker-protocol.md` describes the wire between controller and worker.
//!
//! | file | what it does |
//! |---|---|
//! | `pool` | all loops of a run behind one stream of events |
//! | `layout` | how many loops, and how they wait |
//! | `setup` | what loops need besides the plan |
//! | `threads` | loops as threads of this process |
//! | `processes` | the workers of a run |
//! | `process` | one worker, from its start to its end |
//! | `fleet`, `agent` | workers on machines of a fleet: what is required of it, and the first words with an agent |
//! | `allowed` | what a worker may connect to |
//! | `adoption` | users of lost loops that other loops start |
//! | `carrier` | what carries frames: TCP, or what a fleet has instead |
//! | `listener` | accepts the workers that were started for this run |
//! | `connection` | the controller's side of one worker's connection |
//! | `check` | refuses values that are impossible in this run |
//! | `clock` | the offset between a worker's clock and ours |
//! | `protocol`, `frame` | the messages, and their bytes |
//! | `fuzzing` | the fuzzers' way to the frames |
//! | `serve`, `credits` | the worker's side |
//! | `prepared` | a worker without loops, to measure a controller |
//! | `report`, `rows` | the reports of loops and workers; the channel of rows, and the thread that writes them |
//! | `numbering` | which measure of the record is meant by what a loop reports |
//! | `inputs` | what a scenario is compiled from, as a worker gets it |
//! | `children` | processes that we started |
//! | `causes` | an error with its causes |

mod adoption;
mod agent;
mod allowed;
mod carrier;
mod causes;
mod check;
pub mod children;
mod clock;
mod connection;
mod credits;
mod fleet;
mod frame;
mod fuzzing;
mod inputs;
mod layout;
mod listener;
mod material;
mod numbering;
mod pool;
mod prepared;
mod process;
mod processes;
mod protocol;
mod report;
mod rows;
mod serve;
mod setup;
#[cfg(test)]
mod testing;
mod threads;

pub use adoption::{Adoption, Lot};
pub use carrier::Carrier;
pub use causes::with_causes;
pub use clock::{Drift, Offset};
pub use fleet::{Agent, Fleet, FleetError, Rows, Tolerances, shares};
#[doc(hidden)]
pub use fuzzing::worker_frames;
pub use inputs::{Inputs, ScenarioText, hex_digest, is_private_key};
pub use layout::{Layout, layout};
pub use material::Material;
pub use numbering::Numbering;
pub use pool::{Pool, PoolError, PoolEvent};
#[doc(hidden)]
pub use prepared::{PreparedReports, serve_prepared};
pub use process::{LostWorker, WorkersError};
pub use processes::{BegunWorker, BegunWorkers, FleetShares, SpawnRequest};
pub use protocol::{Loops, PROTOCOL_VERSION, Trust, Usage, plan_digest};
pub use rows::{
    LeftRows, LoopRows, RowLimits, RowsRoom, RowsThread, WrittenRows, rest, rows_channel,
};
pub use serve::{AgentGrant, RunRows, WorkError, compile, serve, serve_over};
pub use setup::{LoopsSetup, Place};
