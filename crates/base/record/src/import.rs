//! `import.json`: what a run holds that was not measured here but published by somebody else.
//!
//! Published results have figures, not operations: there are no rows, no histograms, no lag. The reports of
//! their clients are kept as they are, one each, with the repairs that were needed to
//! read it and what is not there at all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// [`Import::layout`] of plain samples.
pub const SAMPLES_LAYOUT: &str = "samples";

/// `import.json`. A run directory that has one holds imported results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// [`crate::schema::FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// Which kind of results they are: `thesis`, or [`SAMPLES_LAYOUT`], which have operations
    /// and no clients.
    pub layout: String,
    /// The source of the results, as given.
    pub source: String,
    /// Resolution of the clients' times, in nanoseconds.
    pub resolution_ns: u64,
    /// Repairs of the input, counted.
    pub repairs: Vec<Repair>,
    /// Figures that these results lack, a sentence each without full stop.
    pub absent: Vec<String>,
    /// Clients that left no readable report.
    pub unreachable: Vec<Unreachable>,
    /// The others' reports, by region and host.
    pub clients: Vec<ClientReport>,
}

impl Import {
    /// True of plain samples: there are rows and histograms, and no reports of clients.
    pub fn has_operations(&self) -> bool {
        self.layout == SAMPLES_LAYOUT
    }
}

/// Something in imported results that was not as it should be, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// Stable, for machines: `ansi-colours`, `duplicate-row`, ….
    pub code: String,
    /// How often.
    pub count: u64,
    /// The fault and its repair, for people.
    pub text: String,
    /// True if the repair lost information.
    pub lossy: bool,
    /// The first occurrence: a file, and a line if it is known.
    pub first: String,
}

/// A client without a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreachable {
    /// Region in which it ran.
    pub region: String,
    /// Machine on which it ran.
    pub host: String,
    /// Why there is nothing.
    pub why: String,
}

/// The final report of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientReport {
    /// Region in which it ran.
    pub region: String,
    /// Machine on which it ran.
    pub host: String,
    /// Users it was to start.
    pub users_planned: u64,
    /// How long it was online.
    pub online_ns: u64,
    /// Users that it says were connected at the end.
    pub connected: u64,
    /// Users that it says were disconnected.
    pub disconnected: u64,
    /// Users that it says could not connect.
    pub failed: u64,
    /// Errors by the client's own wording.
    pub errors: BTreeMap<String, u64>,
    /// By measure, those of which it has values.
    pub measures: Vec<ReportedMeasure>,
}

/// A measure as a client reported it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedMeasure {
    /// Place in [`crate::schema::RunInfo::measures`].
    pub measure: u16,
    /// How many values its figures are of.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub deviation_ns: f64,
    /// Least.
    pub min_ns: u64,
    /// Median.
    pub median_ns: u64,
    /// Greatest.
    pub max_ns: u64,
    /// Percentiles in the order of its report.
    pub percentiles: Vec<ReportedPercentile>,
}

/// One column of percentiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedPercentile {
    /// As the report calls it.
    pub label: String,
    /// The share of values at or below, 0..=1; `None`: the label cannot be right.
    pub share: Option<f64>,
    /// The value.
    pub value_ns: u64,
}
