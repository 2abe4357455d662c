//! Conducts a run: target, loops, merged seconds, the record, the verdict.
//!
//! | file | what it does |
//! |---|---|
//! | `conduct` | the run from start to verdict |
//! | `describe` | what `run.json` says from the start |
//! | `layout` | how many loops, and how they wait |
//! | `target` | a built-in target as a process |
//! | `merge` | the loops' intervals added up |
//! | `journal` | everything that is written while it runs |
//! | `guard` | memory that runs short ends the ramp, then the run |
//! | `doctor` | the limits of this machine, one by one |
//! | `capacity` | how many users it can hold, and what it takes for so many |
//! | `preflight` | the same, before a run |
//! | `memory` | what is left of it |
//! | `host` | what `/proc` says |

pub mod capacity;
mod conduct;
mod describe;
pub mod doctor;
mod guard;
pub mod host;
mod journal;
pub mod layout;
pub mod memory;
mod merge;
mod preflight;
mod target;

pub use conduct::{ConductError, Conducted, Interrupt, RunRequest, Tick, TickMeasure, conduct};
pub use preflight::TooSmall;
pub use target::{LISTENING, TargetError};
