//! k6's samples of all metrics: JSON, an object a line, and CSV ("Results output", k6's documentation). Only the durations
//! of requests are times of operations; counts, rates, bytes and parts of these durations are not.
//!
//! The time of a sample is that at which its request ended.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Outcome;
use crate::samples::moment::moment;
use crate::samples::number::Unit;
use crate::samples::records::Records;
use crate::samples::results::{
    BadLine, Builder, End, FoundOperation, REQUEST, ReadOptions, ResultsError, ToolResults,
    float_ns, json_problem, number_or_zero, time_ns, without_query,
};

/// The duration of a request of HTTP, without the setting up of its connection.
const HTTP: &str = "http_req_duration";
/// The duration of a call of gRPC.
const GRPC: &str = "grpc_req_duration";
const WHOLE_SECONDS: &str =
    "when requests started, to less than a second: K6_CSV_TIME_FORMAT is unix; take unix_milli";

/// A sample of a metric that is the duration of a request.
struct Sample<'t> {
    line: usize,
    metric: &'t str,
    ended_ns: u64,
    time_ns: u64,
    method: &'t str,
    name: &'t str,
    status: &'t str,
    error: &'t str,
    /// The tag that says if the answer was expected: `true`, `false`, or empty.
    expected: &'t str,
}

/// True for metrics whose samples are operations.
fn is_duration(metric: &str) -> bool {
    matches!(metric, HTTP | GRPC)
}

impl Sample<'_> {
    fn add(&self, builder: &mut Builder) -> Result<(), BadLine> {
        let name = match (self.method, without_query(self.name)) {
            ("", name) => name.to_owned(),
            (method, name) => format!("{method} {name}"),
        };
        let found = FoundOperation {
            measure: builder.measure(self.line, name.trim(), REQUEST)?,
            start_ns: self.ended_ns.saturating_sub(self.time_ns),
            time_ns: self.time_ns,
            end: if self.metric == GRPC { self.call_end() } else { self.end() },
            bytes_out: 0,
            bytes_in: 0,
        };
        builder.push(self.line, &found)
    }

    fn end(&self) -> End<'_> {
        let status: u16 = number_or_zero(self.status);
        match self.expected {
            "true" => End::success(status),
            "false" if status > 0 => End::bad_status(status),
            _ if status > 0 => End::of_status(status),
            _ if self.error.is_empty() => End::of_status(0),
            _ => End::unanswered(self.error),
        }
    }

    /// The end of a call, by its status of gRPC.
    fn call_end(&self) -> End<'_> {
        let first = Outcome::GrpcCancelled as u8;
        match self.status.parse::<u8>() {
            Ok(0) => End::success(0),
            Ok(status @ 1..=16) => {
                let outcome =
                    Outcome::from_code(first + status - 1).unwrap_or(Outcome::GrpcUnknown);
                End { outcome, status: 0, detail: "".into() }
            }
            _ => End::unanswered(self.error),
        }
    }
}

/// A line of JSON.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    metric: String,
    data: Data,
}

#[derive(Debug, Deserialize)]
struct Data {
    time: Option<String>,
    value: Option<f64>,
    tags: Option<BTreeMap<String, String>>,
}

/// Reads lines of JSON.
pub(super) fn read_json(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new("k6, JSON", options);
    for (number, text) in text.lines().enumerate() {
        let line = number + 1;
        if text.trim().is_empty() {
            continue;
        }
        let read: Line = serde_json::from_str(text).map_err(|error| {
            BadLine::new(line, format!("no line of k6: {}", json_problem(&error)))
        })?;
        if read.kind != "Point" {
            continue;
        }
        if !is_duration(&read.metric) {
            builder.leave_out(&read.metric);
            continue;
        }
        let ended = read.data.time.as_deref().and_then(moment);
        let ended = ended.ok_or_else(|| BadLine::new(line, "the sample has no time"))?;
        let time_ns = read.data.value.and_then(|value| float_ns(value, Unit::Ms));
        let time_ns = time_ns.ok_or_else(|| {
            BadLine::new(line, "the value of the sample is no duration in milliseconds")
        })?;
        let tags = read.data.tags.unwrap_or_default();
        let tag = |name: &str| tags.get(name).map_or("", String::as_str);
        let sample = Sample {
            line,
            metric: &read.metric,
            ended_ns: ended.ns,
            time_ns,
            method: tag("method"),
            name: tag("name"),
            status: tag("status"),
            error: tag("error"),
            expected: tag("expected_response"),
        };
        sample.add(&mut builder)?;
    }
    builder.finish(true)
}

/// Reads CSV, whose columns are the tags that k6 was set to write.
pub(super) fn read_csv(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut records = Records::new(text, ',');
    let names = match records.next() {
        Some(names) => names?,
        None => return Err(ResultsError::Unknown),
    };
    let place = |wanted: &str| names.fields.iter().position(|name| name == wanted);
    let metric = place("metric_name");
    let timestamp = place("timestamp");
    let value = place("metric_value");
    let method = place("method");
    let name = place("name").or_else(|| place("url"));
    let status = place("status");
    let error = place("error").or_else(|| place("error_code"));
    let expected = place("expected_response");
    let mut builder = Builder::new("k6, CSV", options);
    let mut has_parts_of_seconds = true;
    for record in records {
        let record = record?;
        let line = record.line;
        let metric = record.field(metric);
        if !is_duration(metric) {
            builder.leave_out(metric);
            continue;
        }
        let timestamp = record.field(timestamp);
        has_parts_of_seconds &= !is_whole_seconds(timestamp);
        let sample = Sample {
            line,
            metric,
            ended_ns: ended_ns(line, timestamp)?,
            time_ns: time_ns(line, "metric_value", record.field(value), Unit::Ms)?,
            method: record.field(method),
            name: record.field(name),
            status: record.field(status),
            error: record.field(error),
            expected: record.field(expected),
        };
        sample.add(&mut builder)?;
    }
    if !has_parts_of_seconds {
        builder.lacks(WHOLE_SECONDS);
    }
    builder.finish(true)
}

/// True for seconds since 1970, as a number or as RFC 3339 without a fraction.
fn is_whole_seconds(timestamp: &str) -> bool {
    match timestamp.bytes().all(|byte| byte.is_ascii_digit()) {
        true => timestamp.len() <= 11,
        false => !timestamp.contains('.'),
    }
}

/// A time stamp by `K6_CSV_TIME_FORMAT`: seconds to nanoseconds since 1970, which differ in their digits, or RFC 3339.
fn ended_ns(line: usize, timestamp: &str) -> Result<u64, BadLine> {
    if let Some(moment) = moment(timestamp) {
        return Ok(moment.ns);
    }
    let unit = match timestamp.len() {
        ..=11 => Unit::S,
        12..=14 => Unit::Ms,
        15..=17 => Unit::Us,
        _ => Unit::Ns,
    };
    time_ns(line, "timestamp", timestamp, unit)
}
