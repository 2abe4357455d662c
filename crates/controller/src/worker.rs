//! Workers: processes that run a share of a run's loops, here or on another machine.
//!
//! The wire between controller and worker is described in `docs/worker-protocol.md`.
//!
//! | file | what it does |
//! |---|---|
//! | `protocol` | the messages and the protocol's version |
//! | `frame` | messages as frames of bytes |
//! | `door` | the controller's side: who may come in |
//! | `clock` | how far a worker's clock is from ours |
//! | `link` | the controller's side of one worker's connection |
//! | `check` | what a worker may tell |
//! | `serve` | the worker's side |
//! | `credits` | how many handfuls of rows may be under way |

pub(crate) mod check;
pub(crate) mod clock;
mod credits;
pub(crate) mod door;
mod frame;
pub(crate) mod link;
pub(crate) mod protocol;
pub(crate) mod serve;
