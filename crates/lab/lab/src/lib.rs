//! Emulated hosts in emulated regions on one machine: what runs on them, what lies between them, what befalls them.
//!
//! [`mod@file`] reads a lab's file. Each host is a network namespace; the distances between them are made by `wan`.
#![deny(missing_docs)]

mod calibrate;
mod certificates;
pub mod client;
mod clock;
mod control;
mod directory;
mod dns;
mod error;
pub mod events;
mod faults;
pub mod file;
mod flows;
pub mod folder;
mod health;
mod instance;
pub mod launch;
mod layout;
pub mod message;
mod network;
mod pieces;
pub mod policy;
mod request;
mod scaler;
pub mod scaling;
mod shortage;
mod site;
mod system;
pub mod wan;

pub use crate::wan::EmulatorRequest;
pub use file::{LabFile, describe, lab};
pub use network::{emulator, in_words as emulator_in_words};
pub use system::{memory_granted, missing_programs};
