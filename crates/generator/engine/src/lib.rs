//! Runs one slice of a plan: session machine, waits, connections.
//!
//! The crate `driver` runs a [`Shard`] on real sockets, [`sim`] runs it on a simulated network in virtual time.

pub mod addresses;
pub mod channels;
pub mod command;
mod conn;
mod failures;
pub mod fetch;
#[doc(hidden)]
pub mod fuzzing;
pub mod identity;
mod interpreter;
pub mod measure;
pub mod meeting;
mod messages;
#[doc(hidden)]
pub mod microbench;
mod protocols;
mod received;
mod requests;
pub mod schedule;
mod scripts;
pub mod sequences;
pub mod shard;
pub mod sim;
#[cfg(test)]
mod sizes;
pub mod tables;
pub mod tls;
pub mod trace;
pub mod traffic;
mod users;
mod vus;
pub mod work;

pub use shard::{Setup, SetupError, Shard};
