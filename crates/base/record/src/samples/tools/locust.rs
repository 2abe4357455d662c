//! Locust's statistics of `--json`: a histogram for each method and name. Times have two digits, and those of failures are
//! among those of successes.

use std::collections::BTreeMap;

use serde::Deserialize;
use stats::hist::LogHistogram;

use crate::samples::number::{Unit, VALUE_NS_MAX, nanoseconds};
use crate::samples::results::{
    Builder, HistogramPart, REQUEST, ReadOptions, ResultsError, ToolResults, without_query,
};

const TOOL: &str = "Locust, JSON";
const ROUNDED: &str = "times beyond two digits: Locust rounds them";
/// Most requests of a method and name.
const COUNT_MAX: u64 = 1 << 40;
/// The length of the one interval that is written; nothing is known of the times within it.
const LENGTH_NS: u64 = 1_000_000_000;

/// The requests of one method and name.
#[derive(Debug, Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    method: Option<String>,
    num_failures: u64,
    #[serde(default)]
    num_none_requests: u64,
    /// Requests by their rounded time in milliseconds.
    response_times: BTreeMap<String, u64>,
}

/// Reads the statistics.
pub(super) fn read(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let document = |problem: String| ResultsError::Document { tool: TOOL, problem };
    let entries: Vec<Entry> =
        serde_json::from_str(text).map_err(|error| document(error.to_string()))?;
    let failed: u64 =
        entries.iter().fold(0, |failed, entry| failed.saturating_add(entry.num_failures));
    if failed > 0 {
        return Err(ResultsError::Lacks {
            tool: TOOL,
            lacks: format!(
                "{failed} requests failed, and their times are among those of the others, so that failures would count \
                 as fast or slow answers"
            ),
            instead: "write each request with a listener of the event `request`, and import that as CSV",
        });
    }
    let mut builder = Builder::new(TOOL, options);
    let mut parts: BTreeMap<u16, LogHistogram> = BTreeMap::new();
    for entry in &entries {
        if entry.num_none_requests > 0 {
            builder.lacks("requests without a time");
        }
        let method = entry.method.as_deref().unwrap_or_default();
        let name = format!("{method} {}", without_query(&entry.name));
        let measure = builder.measure(0, name.trim(), REQUEST);
        let measure = measure.map_err(|bad| bad.in_document(TOOL))?;
        for (time, &count) in &entry.response_times {
            let ns = nanoseconds(time, Unit::Ms).ok().filter(|&ns| ns <= VALUE_NS_MAX);
            let ns = ns.ok_or_else(|| document(format!("{time:?} is no time in milliseconds")))?;
            let times = parts.entry(measure).or_default();
            if times.count().saturating_add(count) > COUNT_MAX {
                return Err(document("the number of requests is too large".to_owned()));
            }
            times.record_n(ns as u64, count);
        }
    }
    builder.lacks(ROUNDED);
    let parts = parts.into_iter().filter(|(_, times)| !times.is_empty());
    let parts = parts.map(|(measure, times)| HistogramPart {
        measure,
        start_ns: 0,
        len_ns: LENGTH_NS,
        times,
    });
    builder.finish_histograms(parts.collect(), false)
}
