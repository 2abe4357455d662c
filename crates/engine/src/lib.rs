//! Runs one slice of a plan: session machine, waits, connections.
//!
//! What drives a [`Shard`] is in the crate `driver`: real sockets, or a simulated network.

pub mod addresses;
pub mod command;
mod conn;
#[doc(hidden)]
pub mod fuzzing;
mod interpreter;
pub mod measure;
mod messages;
#[doc(hidden)]
pub mod microbench;
mod received;
#[cfg(feature = "scripts")]
mod scripts;
#[cfg(not(feature = "scripts"))]
#[path = "no_scripts.rs"]
mod scripts;
pub mod shard;
#[cfg(test)]
mod sizes;
pub mod trace;
pub mod traffic;
mod users;

pub use shard::{Setup, SetupError, Shard};
