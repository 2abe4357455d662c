//! Results of other tools as a run directory: operations with their measure, start, time and end.
//!
//! Unlike published results, which have figures, these have operations: rows, histograms and a tally. [`parse`] reads
//! plain numbers and chosen columns; [`read_results`] recognises the forms of other tools and reads them with their
//! meaning. What a tool does not state is missing: nothing is known of its generator, and without start times there is an
//! order but no rate.

mod moment;
mod number;
mod records;
mod results;
mod table;
mod tools;
mod write;

pub use number::{Unit, VALUE_NS_MAX};
pub use results::{
    HistogramPart, MEASURES_MAX, Measurements, ReadOptions, ResultsError, ToolMeasure,
    ToolOperation, ToolResults,
};
pub use table::{Format, SAMPLES_MAX, SampleEnd, Samples, SamplesError, parse};
pub use tools::{is_results, read as read_results};
pub use write::SampleImport;

/// [`crate::schema::RunInfo::clock`] if it is not known when operations started. Their times in the rows
/// only keep their order: each has a slot of equal length. Rates do not exist.
pub const NO_CLOCK: &str = "none";
