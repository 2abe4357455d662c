//! Interval logs of HdrHistogram (`.hlog`), as jHiccup and others write them.

use stats::hist::LogHistogram;

use crate::latency;
use crate::samples::number::{Unit, VALUE_NS_MAX};
use crate::samples::results::{
    BadLine, Builder, ENDS, HistogramPart, REQUEST, ReadOptions, ResultsError, ToolResults,
};

const TOOL: &str = "HdrHistogram, interval log";
/// Most intervals.
const INTERVALS_MAX: usize = 20_000;
/// The name of times without a tag.
const UNTAGGED: &str = "latency";
const UNIT: &str = "the unit of the times, which are read as nanoseconds; --unit names another";
/// Greatest start of an interval.
const START_NS_MAX: u64 = i64::MAX as u64 / 2;
/// Beginnings of comments with the moment that starts are counted from, in seconds since 1970.
const BASES: [&str; 2] = ["#[BaseTime: ", "#[StartTime: "];
/// Starts from this number of nanoseconds on are moments since 1970.
const ABSOLUTE_NS_MIN: u64 = 1_000_000_000_000_000_000;

/// Reads the intervals.
pub(super) fn read(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new(TOOL, options);
    let mut parts: Vec<HistogramPart> = Vec::new();
    let unit = options.unit.unwrap_or(Unit::Ns);
    let base_ns = base_ns(text);
    for (number, line) in text.lines().enumerate() {
        let line_number = number + 1;
        let bad = |problem: String| BadLine::new(line_number, problem);
        let Some(interval) = latency::parse_line(line).map_err(bad)? else {
            continue;
        };
        if parts.len() == INTERVALS_MAX {
            return Err(bad(format!("more than {INTERVALS_MAX} intervals; divide the file")).into());
        }
        let tag = if interval.tag.is_empty() { UNTAGGED } else { &interval.tag };
        let is_long = u128::from(interval.len_ns) > VALUE_NS_MAX;
        if is_long || interval.start_ns > START_NS_MAX {
            return Err(
                bad("the start or the length of an interval is too large".to_owned()).into()
            );
        }
        let is_absolute = interval.start_ns >= ABSOLUTE_NS_MIN;
        let start_ns = interval.start_ns.saturating_add(if is_absolute { 0 } else { base_ns });
        let times = scaled(&interval.hist, unit)
            .ok_or_else(|| bad("a time is longer than a day; is the unit right?".to_owned()))?;
        if times.is_empty() {
            continue;
        }
        parts.push(HistogramPart {
            measure: builder.measure(line_number, tag, REQUEST)?,
            start_ns,
            len_ns: interval.len_ns,
            times,
        });
    }
    if options.unit.is_none() {
        builder.lacks(UNIT);
    }
    builder.lacks(ENDS);
    builder.finish_histograms(parts, true)
}

/// The moment that starts are counted from; 0 if the log does not say.
fn base_ns(text: &str) -> u64 {
    let comments = || text.lines().take_while(|line| line.starts_with(['#', '"']));
    let base = BASES.iter().find_map(|begin| comments().find_map(|line| line.strip_prefix(*begin)));
    let seconds = base.and_then(|text| text.split([' ', ',', ']']).next());
    seconds.and_then(latency::seconds).filter(|&ns| ns <= START_NS_MAX).unwrap_or(0)
}

/// The times in nanoseconds; `None` if one is longer than a day.
fn scaled(times: &LogHistogram, unit: Unit) -> Option<LogHistogram> {
    let mut scaled = LogHistogram::new();
    for (lowest, highest, count) in times.iter() {
        let middle = lowest + (highest - lowest) / 2;
        let value = match unit {
            // As they are in the log.
            Unit::Ns => middle,
            Unit::Us | Unit::Ms | Unit::S => middle.checked_mul(unit.ns())?,
        };
        if u128::from(value) > VALUE_NS_MAX {
            return None;
        }
        scaled.record_n(value.min(times.max().saturating_mul(unit.ns())), count);
    }
    Some(scaled)
}
