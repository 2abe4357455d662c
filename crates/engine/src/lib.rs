//! Runs one slice of a plan: arrivals, session machine, timers, connections, two drivers.

pub mod arrivals;
mod channels;
pub mod command;
mod conn;
pub mod driver;
mod extract;
mod identity;
pub mod measure;
pub mod pushes;
mod receiver;
#[cfg(test)]
mod sizes;
mod slots;
mod tls;
pub mod traffic;
pub mod trust;
mod user;
mod wheel;
mod wire;
pub mod worker;

pub use worker::{Setup, SetupError, Worker};
