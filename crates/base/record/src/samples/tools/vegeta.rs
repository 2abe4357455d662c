//! Results of `vegeta encode`: JSON, an object a line, and CSV without names of columns ("encode command", vegeta's
//! README).

use serde::Deserialize;

use crate::samples::moment::moment;
use crate::samples::number::Unit;
use crate::samples::records::Records;
use crate::samples::results::{
    BadLine, Builder, End, FoundOperation, REQUEST, ReadOptions, ResultsError, ToolResults,
    json_problem, number_or_zero, time_ns, without_query,
};

/// The name of requests without any.
const UNNAMED: &str = "request";

/// A line of JSON.
#[derive(Debug, Deserialize)]
struct Hit {
    #[serde(default)]
    attack: String,
    code: u16,
    timestamp: String,
    /// Nanoseconds.
    latency: u64,
    #[serde(default)]
    bytes_out: u64,
    #[serde(default)]
    bytes_in: u64,
    #[serde(default)]
    error: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    url: String,
}

/// Reads lines of JSON.
pub(super) fn read_json(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new("vegeta, JSON", options);
    for (number, text) in text.lines().enumerate() {
        let line = number + 1;
        if text.trim().is_empty() {
            continue;
        }
        let hit: Hit = serde_json::from_str(text).map_err(|error| {
            BadLine::new(line, format!("no result of vegeta: {}", json_problem(&error)))
        })?;
        let start = moment(&hit.timestamp).ok_or_else(|| {
            BadLine::new(line, "timestamp is no time such as 2026-01-31T12:00:00.5+01:00")
        })?;
        let measure = builder.measure(line, &name(&hit.method, &hit.url, &hit.attack), REQUEST)?;
        let found = FoundOperation {
            measure,
            start_ns: start.ns,
            time_ns: hit.latency,
            end: end(hit.code, &hit.error),
            bytes_out: hit.bytes_out,
            bytes_in: hit.bytes_in,
        };
        builder.push(line, &found)?;
    }
    builder.finish(true)
}

/// Reads CSV: start and latency in nanoseconds, the start since 1970. Older versions write no method, URL and headers.
pub(super) fn read_csv(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new("vegeta, CSV", options);
    for record in Records::new(text, ',') {
        let record = record?;
        let line = record.line;
        let field = |place: usize| record.field(Some(place));
        if record.fields.len() < 9 {
            let problem = "the line has less than vegeta's 9 fields; complete or remove it";
            return Err(BadLine::new(line, problem).into());
        }
        let code = field(1)
            .parse()
            .map_err(|_| BadLine::new(line, "the second field is no status of HTTP"))?;
        let measure = builder.measure(line, &name(field(9), field(10), field(7)), REQUEST)?;
        let found = FoundOperation {
            measure,
            start_ns: time_ns(line, "the first field", field(0), Unit::Ns)?,
            time_ns: time_ns(line, "the third field", field(2), Unit::Ns)?,
            end: end(code, field(5)),
            bytes_out: number_or_zero(field(3)),
            bytes_in: number_or_zero(field(4)),
        };
        builder.push(line, &found)?;
    }
    builder.finish(true)
}

/// The name of a request: its method and URL, else the name of its attack.
fn name(method: &str, url: &str, attack: &str) -> String {
    let names = [without_query(url), attack, UNNAMED];
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or(UNNAMED);
    match method.is_empty() || url.is_empty() {
        true => name.to_owned(),
        false => format!("{method} {name}"),
    }
}

/// The end of a request, by vegeta's own rule: statuses from 200 to 399 are successes.
fn end(code: u16, error: &str) -> End<'_> {
    match code {
        0 if !error.is_empty() => End::unanswered(error),
        code => End::of_status(code),
    }
}
