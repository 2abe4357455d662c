//! The run directory: schema, versions, writers, readers.

pub mod measurement;
pub mod schema;

pub use measurement::{Measurement, Outcome};
