//! Samples of benchmarks: criterion's `raw.csv`, and the JSON of Google benchmark and pytest-benchmark. Each of their
//! samples is the mean of several iterations; none of them says when it began.

use serde::Deserialize;

use crate::samples::number::Unit;
use crate::samples::records::Records;
use crate::samples::results::{
    BadLine, Builder, End, FoundOperation, REQUEST, ReadOptions, ResultsError, ToolResults,
    float_ns,
};

const MEANS: &str =
    "times of single iterations: a sample is the mean of all iterations that were timed at once";

/// A sample without a start, of this time.
fn found(measure: u16, time_ns: u64, end: End<'_>) -> FoundOperation<'_> {
    FoundOperation { measure, start_ns: 0, time_ns, end, bytes_out: 0, bytes_in: 0 }
}

fn unit(name: &str) -> Option<Unit> {
    match name {
        "ns" => Some(Unit::Ns),
        "us" | "µs" | "\u{3bc}s" => Some(Unit::Us),
        "ms" => Some(Unit::Ms),
        "s" => Some(Unit::S),
        _ => None,
    }
}

/// Reads criterion's `raw.csv`: the time of all iterations of a sample, and how many these were ("CSV output",
/// criterion's user guide).
pub(super) fn read_criterion(
    text: &str,
    options: &ReadOptions,
) -> Result<ToolResults, ResultsError> {
    let mut records = Records::new(text, ',');
    let names = match records.next() {
        Some(names) => names?,
        None => return Err(ResultsError::Unknown),
    };
    let place = |wanted: &str| names.fields.iter().position(|name| name == wanted);
    let parts = [place("group"), place("function"), place("value")];
    let total = place("sample_measured_value");
    let count = place("iteration_count");
    let unit_place = place("unit");
    let mut builder = Builder::new("criterion, raw CSV", options);
    for record in records {
        let record = record?;
        let line = record.line;
        let named = parts.iter().map(|&part| record.field(part)).filter(|part| !part.is_empty());
        let name = named.collect::<Vec<&str>>().join("/");
        let unit = unit(record.field(unit_place)).ok_or_else(|| {
            let problem = "the unit is none of time: criterion measured something else";
            BadLine::new(line, problem)
        })?;
        let number = |column: &str, place: Option<usize>| {
            let number = record.field(place).parse::<f64>().ok();
            let number = number.filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| BadLine::new(line, format!("{column} is no number")))
        };
        let total = number("sample_measured_value", total)?;
        let count = number("iteration_count", count)?;
        let time_ns = float_ns(total / count, unit)
            .ok_or_else(|| BadLine::new(line, "an iteration takes no time of at most a day"))?;
        let measure = builder.measure(line, &name, REQUEST)?;
        builder.push(line, &found(measure, time_ns, End::success(0)))?;
    }
    builder.lacks(MEANS);
    builder.finish(false)
}

const GOOGLE: &str = "Google benchmark, JSON";

#[derive(Debug, Deserialize)]
struct GoogleReport {
    benchmarks: Vec<GoogleRun>,
}

/// A repetition of a benchmark, or an aggregate of several.
#[derive(Debug, Deserialize)]
struct GoogleRun {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    /// Time of an iteration, on average.
    real_time: Option<f64>,
    time_unit: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
}

/// Reads the report of `--benchmark_format=json`: the real time of an iteration in each repetition ("Output Formats",
/// user guide).
pub(super) fn read_google(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let document = |problem: String| ResultsError::Document { tool: GOOGLE, problem };
    let report: GoogleReport =
        serde_json::from_str(text).map_err(|error| document(error.to_string()))?;
    let mut builder = Builder::new(GOOGLE, options);
    for run in &report.benchmarks {
        let is_aggregate = run.run_type.as_deref() == Some("aggregate");
        if is_aggregate || run.aggregate_name.is_some() {
            builder.leave_out("aggregates of repetitions");
            continue;
        }
        let name = run.run_name.as_ref().unwrap_or(&run.name);
        let measure = builder.measure(0, name, REQUEST).map_err(|bad| bad.in_document(GOOGLE))?;
        let sample = if run.error_occurred {
            let message = run.error_message.as_deref().unwrap_or("error");
            found(measure, 0, End::check(0, message))
        } else {
            let unit = unit(run.time_unit.as_deref().unwrap_or("ns"));
            let time_ns = run.real_time.zip(unit).and_then(|(time, unit)| float_ns(time, unit));
            let time_ns = time_ns
                .ok_or_else(|| document(format!("{:?} has no real_time with a unit", run.name)))?;
            found(measure, time_ns, End::success(0))
        };
        builder.push(0, &sample).map_err(|bad| bad.in_document(GOOGLE))?;
    }
    builder.lacks(MEANS);
    builder.finish(false)
}

const PYTEST: &str = "pytest-benchmark, JSON";

#[derive(Debug, Deserialize)]
struct PytestReport {
    benchmarks: Vec<PytestRun>,
}

#[derive(Debug, Deserialize)]
struct PytestRun {
    name: String,
    fullname: Option<String>,
    stats: PytestStats,
}

#[derive(Debug, Deserialize)]
struct PytestStats {
    /// Seconds of an iteration, by round.
    #[serde(default)]
    data: Vec<f64>,
}

/// Reads the report of `--benchmark-json`: the seconds of an iteration in each round.
pub(super) fn read_pytest(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let document = |problem: String| ResultsError::Document { tool: PYTEST, problem };
    let report: PytestReport =
        serde_json::from_str(text).map_err(|error| document(error.to_string()))?;
    let mut builder = Builder::new(PYTEST, options);
    for run in &report.benchmarks {
        if run.stats.data.is_empty() {
            return Err(ResultsError::Lacks {
                tool: PYTEST,
                lacks: format!("{:?} has figures, and not the time of any round", run.name),
                instead: "write rounds with --benchmark-json=FILE, or --benchmark-save-data",
            });
        }
        let name = run.fullname.as_ref().unwrap_or(&run.name);
        let measure = builder.measure(0, name, REQUEST).map_err(|bad| bad.in_document(PYTEST))?;
        for &seconds in &run.stats.data {
            let time_ns = float_ns(seconds, Unit::S)
                .ok_or_else(|| document(format!("{seconds} is no time of at most a day")))?;
            let sample = found(measure, time_ns, End::success(0));
            builder.push(0, &sample).map_err(|bad| bad.in_document(PYTEST))?;
        }
    }
    builder.lacks(MEANS);
    builder.finish(false)
}
