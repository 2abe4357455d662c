//! Fortio's log of requests (`-access-log-file` in JSON), an object a line: latency in seconds, start in nanoseconds since
//! 1970, whether the request succeeded, and its status or error (`fileAccessLogger` of its package `periodic`).

use serde::Deserialize;

use crate::samples::number::Unit;
use crate::samples::results::{
    BadLine, Builder, End, FoundOperation, REQUEST, ReadOptions, ResultsError, ToolResults,
    float_ns, json_problem,
};

/// A line.
#[derive(Debug, Deserialize)]
struct Entry {
    latency: f64,
    timestamp: u64,
    ok: bool,
    #[serde(default)]
    details: String,
}

/// Reads the log.
pub(super) fn read(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new("fortio, log", options);
    for (number, text) in text.lines().enumerate() {
        let line = number + 1;
        if text.trim().is_empty() {
            continue;
        }
        let entry: Entry = serde_json::from_str(text).map_err(|error| {
            BadLine::new(line, format!("no request of fortio: {}", json_problem(&error)))
        })?;
        let time_ns = float_ns(entry.latency, Unit::S)
            .ok_or_else(|| BadLine::new(line, "latency is no time of at most a day"))?;
        let status: u16 = entry.details.trim().parse().unwrap_or(0);
        let end = match (entry.ok, status) {
            (true, status) => End::success(status),
            (false, 0) => End::unanswered(&entry.details),
            (false, status) => End::bad_status(status),
        };
        let found = FoundOperation {
            measure: builder.measure(line, REQUEST, REQUEST)?,
            start_ns: entry.timestamp,
            time_ns,
            end,
            bytes_out: 0,
            bytes_in: 0,
        };
        builder.push(line, &found)?;
    }
    builder.finish(true)
}
