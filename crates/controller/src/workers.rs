//! The loops of a run: threads of this process or of worker processes, here or on another machine.
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
//! | `news`, `rows` | what loops report, and the channel of their rows |

pub(crate) mod adoption;
mod agent;
mod allowed;
pub(crate) mod carrier;
mod check;
pub(crate) mod clock;
mod connection;
mod credits;
pub(crate) mod fleet;
mod frame;
pub(crate) mod fuzzing;
pub(crate) mod layout;
mod listener;
pub(crate) mod material;
mod news;
pub(crate) mod pool;
pub(crate) mod process;
mod processes;
pub(crate) mod protocol;
pub(crate) mod rows;
pub(crate) mod serve;
pub(crate) mod setup;
mod threads;
