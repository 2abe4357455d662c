//! Runs one slice of a plan: arrivals, session machine, timers, connections, two drivers.

pub mod arrivals;
mod channels;
pub mod command;
mod conn;
mod deflate;
pub mod driver;
mod extract;
mod identity;
pub mod measure;
mod receiver;
pub mod sequences;
pub mod shard;
#[cfg(test)]
mod sizes;
mod slots;
mod tls;
pub mod traffic;
pub mod trust;
mod user;
mod wheel;
mod wire;

pub use shard::{Setup, SetupError, Shard};
