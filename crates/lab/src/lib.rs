//! Emulated hosts in emulated regions on one machine: what runs on them, what lies between them, what befalls them.
//!
//! [`file`] reads a lab's file. Each host is a network namespace; the distances between them are made by `wan`.
#![deny(missing_docs)]
#![expect(dead_code, reason = "what follows uses it")]

mod clock;
mod dns;
pub mod events;
pub mod file;
mod folder;
mod instance;
mod layout;
mod message;
mod pieces;
pub mod policy;

pub use file::{LabFile, lab};
