//! The run directory: schema, versions, writers, readers.
//!
//! [`RunDir`] makes a directory and hands out the writers of its files; [`Run`] reads one, also
//! one whose run was killed. `docs/run-directory.md` is the reference of all files. Parquet and
//! HdrHistogram are known here alone: what crosses the crate's border are our own types.
#![deny(missing_docs)]

mod columnar;
pub mod controls;
pub mod counters;
pub mod dir;
pub mod durability;
pub mod error;
pub mod events;
mod files;
pub mod import;
pub mod index;
pub mod latency;
pub mod lines;
pub mod measurement;
pub mod note;
pub mod operations;
pub mod parts;
pub mod probes;
pub mod requests;
pub mod run;
pub mod samples;
pub mod schema;
pub mod series;
pub mod whole;

pub use dir::{RunDir, file_name, input_path, run_id};
pub use durability::Durability;
pub use error::RecordError;
pub use events::EventsWriter;
pub use import::Import;
pub use latency::{Interval, LatencyWriter};
pub use lines::LinesWriter;
pub use measurement::{Measurement, Outcome};
pub use note::Note;
pub use parts::{Parts, RowsElsewhere};
pub use probes::{ProbeInfo, ProbeRow, Probes, ProbesWriter};
pub use requests::{RequestsWriter, RowCounts};
pub use run::Run;
pub use series::SeriesWriter;
pub use whole::write as write_whole;
