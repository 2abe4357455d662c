//! State that the users of a process share while they run: rendezvous, counters, and queues between
//! users.
//!
//! Users of one run live in several loops. A [`Meeting`] is shared by the loops of a process, each of which has a
//! [`Desk`] at it that knows the loop's own users.
//!
//! | file | what it does |
//! |---|---|
//! | `line` | who waits, in order of arrival |
//! | `rendezvous`, `queue`, `counter` | the rules of each |
//! | `part` | what of a run is this process's |
//! | `mailbox` | what one loop is to learn from the others |
//! | `stock` | what users use up: rows of data that are used once, numbers of sessions |
//! | `shared` | all of it together, behind locks |
//! | `desk` | one loop's users that wait, and when it looks |
//!
//! No loop wakes another: one that has users waiting looks every [`LOOK_NS`]. A rendezvous releases its users
//! [`RELEASE_NS`] after the last one has come, so that all loops know of it before, and release theirs at the same
//! instant.

mod counter;
mod desk;
mod line;
mod mailbox;
mod part;
mod queue;
mod rendezvous;
mod shared;
mod stock;

pub use desk::{Desk, FinishedWait};
pub use part::{PartError, RunPart};
pub use queue::{Full, QUEUE_BYTES_MAX};
pub use shared::Meeting;
pub(crate) use stock::Rows;

/// How often a loop looks whether others have released its users, while some of them wait.
pub const LOOK_NS: u64 = 2_000_000;
/// How long after the last user has come a rendezvous releases all: longer than loops take to learn of it, also those that
/// sleep in milliseconds.
pub const RELEASE_NS: u64 = 5_000_000;
