//! Resources that belong to one thread: cores, a file table, a network namespace.

mod cores;
mod files;
mod netns;

pub use cores::{CoreSet, LoopCores, core_halves, move_to};
pub use files::leave_shared_table;
pub use netns::{Namespace, NamespaceError};
