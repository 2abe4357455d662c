//! The report of ghz (`-O json` or `-O pretty`): calls of gRPC with their end, latency, error and status (`ResultDetail`
//! of its package `runner`).

use serde::Deserialize;

use crate::samples::moment::moment;
use crate::samples::results::{
    Builder, End, FoundOperation, REQUEST, ReadOptions, ResultsError, ToolResults,
};

const TOOL: &str = "ghz, JSON";

/// The report.
#[derive(Debug, Deserialize)]
struct Report {
    count: u64,
    #[serde(default)]
    options: CallOptions,
    #[serde(default)]
    details: Option<Vec<Detail>>,
}

#[derive(Debug, Default, Deserialize)]
struct CallOptions {
    #[serde(default)]
    call: String,
}

/// A call.
#[derive(Debug, Deserialize)]
struct Detail {
    /// Its end.
    timestamp: String,
    /// Nanoseconds.
    latency: u64,
    #[serde(default)]
    error: String,
    #[serde(default)]
    status: String,
}

/// Reads the calls.
pub(super) fn read(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let document = |problem: String| ResultsError::Document { tool: TOOL, problem };
    let report: Report = serde_json::from_str(text).map_err(|error| document(error.to_string()))?;
    let mut builder = Builder::new(TOOL, options);
    let details = report.details.unwrap_or_default();
    if (details.len() as u64) < report.count {
        // It keeps a million of them, and none of those that its options skip.
        let left = report.count - details.len() as u64;
        builder.lacks(&format!("{left} calls of which ghz kept the number alone"));
    }
    let name = if report.options.call.is_empty() { REQUEST } else { &report.options.call };
    for (place, detail) in details.iter().enumerate() {
        let call = |problem: &str| document(format!("call {}: {problem}", place + 1));
        let end = moment(&detail.timestamp).ok_or_else(|| call("timestamp is no time"))?;
        let start_ns = end
            .ns
            .checked_sub(detail.latency)
            .ok_or_else(|| call("the latency is longer than the time since 1970"))?;
        let measure = builder.measure(place, name, REQUEST);
        let found = FoundOperation {
            measure: measure.map_err(|bad| bad.in_document(TOOL))?,
            start_ns,
            time_ns: detail.latency,
            end: end_of(detail),
            bytes_out: 0,
            bytes_in: 0,
        };
        builder.push(place, &found).map_err(|bad| bad.in_document(TOOL))?;
    }
    builder.finish(true)
}

fn end_of(detail: &Detail) -> End<'_> {
    match detail.status.as_str() {
        "OK" | "" if detail.error.is_empty() => End::success(0),
        "DeadlineExceeded" | "Unavailable" | "" => End::unanswered(&detail.error),
        // The server answered with another status.
        status => End::check(0, status),
    }
}
