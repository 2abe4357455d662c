//! The names of a run directory's files.

pub(crate) const RUN: &str = "run.json";
pub(crate) const SCENARIO: &str = "scenario.yaml";
/// Holds the files that the scenario consists of besides its own text.
pub(crate) const INPUTS: &str = "inputs";
pub(crate) const SUMMARY: &str = "summary.json";
pub(crate) const TALLY: &str = "tally.json";
pub(crate) const EVENTS: &str = "events.jsonl";
/// Failures by what they were, line by line.
pub(crate) const ERRORS: &str = "errors.jsonl";
/// Some failures as their users saw them.
pub(crate) const SAMPLES: &str = "samples.jsonl";
/// The scenario's own metrics, second by second.
pub(crate) const METRICS: &str = "metrics.jsonl";
pub(crate) const LATENCY: &str = "latency.hlog";
pub(crate) const SERIES: &str = "series.parquet";
pub(crate) const PROBES: &str = "probes.parquet";
/// Holds segments of `probes.parquet` until they are joined.
pub(crate) const PROBES_PARTS: &str = "probes.parquet.parts";
pub(crate) const IMPORT: &str = "import.json";
pub(crate) const REQUESTS: &str = "requests.parquet";
/// Holds the segments of `requests.parquet` until they are joined.
pub(crate) const REQUESTS_PARTS: &str = "requests.parquet.parts";
