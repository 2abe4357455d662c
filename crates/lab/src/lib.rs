//! Emulated hosts in emulated regions on one machine: what runs on them, what lies between them, what befalls them.
//!
//! [`file`] reads a lab's file.
#![deny(missing_docs)]

pub mod file;

pub use file::{LabFile, lab};
