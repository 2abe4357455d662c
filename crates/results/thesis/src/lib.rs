//! One publication: its results as run directories, and its tables computed again.
//!
//! ```text
//! files ─import→ Imported ─write→ run directory
//!                    ├─judge──→ Summary      ─render→ text
//!                    └─tables─→ Reproduction ─render→ text
//! ```
//! The product does not depend on this crate: a run directory with imported results is read like any
//! other. Only `throng` calls it, for `throng import DIR`, `throng reproduce` and to show such runs.

#![deny(missing_docs)]

#[doc(hidden)]
pub mod fuzzing;
mod import;
mod judge;
mod render;
mod tables;

pub use import::{
    DetectedRuns, FILE_BYTES_MAX, FILES_MAX, ImportError, ImportedRun, Settings, detect,
    parse_time, read,
};
pub use judge::judge;
pub use render::results::imported as render_results;
pub use render::tables::thesis as render_tables;
pub use tables::{
    Agreement, ReproducedCell, ReproducedRow, ReproducedTable, Reproduction, Results, reproduce,
    start, systems,
};
