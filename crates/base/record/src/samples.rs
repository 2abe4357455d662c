//! Plain samples that another tool measured, as a run directory: the times of operations of one measure.
//!
//! Unlike published results, which have figures, these have operations: rows, histograms and a tally. What
//! another tool does not state is missing: nothing is known of its generator, each operation counts as
//! succeeded, and without a column of start times there is an order but no rate.

mod number;
mod table;
mod write;

pub use number::{Unit, VALUE_NS_MAX};
pub use table::{Format, SAMPLES_MAX, Samples, SamplesError, parse};
pub use write::SampleImport;

/// [`crate::schema::RunInfo::clock`] if it is not known when operations started. Their times in the rows
/// only keep their order: each has a slot of equal length. Rates do not exist.
pub const NO_CLOCK: &str = "none";
