//! A metric as CSV: one row a minute, in no order that can be relied on.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::repairs::{Kind, Repairs};

/// Time from one row to the next.
pub(crate) const STEP_NS: i64 = 60_000_000_000;

/// A metric in the order of time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metric {
    /// Unit of the values.
    pub(crate) unit: String,
    /// (nanoseconds since the Unix epoch, value), each time once.
    pub(crate) rows: Vec<(i64, f64)>,
}

/// Reads a metric; `name` is its file's for messages. `None` where this is none at all.
pub(crate) fn parse(text: &str, name: &str, repairs: &mut Repairs) -> Option<Metric> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header: Vec<&str> = lines.next()?.1.split(',').map(str::trim).collect();
    let column = |word: &str| header.iter().position(|&cell| cell == word);
    let time = column("Timestamp")?;
    let value = column("Average")?;
    let unit = column("Unit")?;
    let samples = column("SampleCount");
    let mut metric = Metric { unit: String::new(), rows: Vec::new() };
    for (number, line) in lines {
        let place = || format!("{name}:{}", number + 1);
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != header.len() {
            repairs.add(Kind::RaggedRow, place);
            continue;
        }
        let read = (unix_ns(cells[time]), cells[value].parse::<f64>());
        let (Some(at_ns), Ok(value)) = read else {
            repairs.add(Kind::BadRow, place);
            continue;
        };
        if !value.is_finite() || !(metric.unit.is_empty() || metric.unit == unit_of(cells[unit])) {
            repairs.add(Kind::BadRow, place);
            continue;
        }
        metric.unit = unit_of(cells[unit]).to_owned();
        let several = samples.and_then(|at| cells[at].parse::<f64>().ok());
        repairs.add_many(Kind::SeveralSamples, several.is_some_and(|n| n > 1.0).into(), place);
        metric.rows.push((at_ns, value));
    }
    if metric.rows.is_empty() {
        repairs.add(Kind::Empty, || name.to_owned());
    }
    sort(&mut metric.rows, name, repairs);
    Some(metric)
}

/// Puts the rows in order, each time once.
fn sort(rows: &mut Vec<(i64, f64)>, name: &str, repairs: &mut Repairs) {
    let place = || name.to_owned();
    if !rows.is_sorted_by_key(|row| row.0) {
        repairs.add(Kind::Unordered, place);
    }
    // Rows of one time stay in the order of the file.
    rows.sort_by_key(|row| row.0);
    rows.dedup_by(|later, first| {
        let again = later.0 == first.0;
        if again && later.1.to_bits() == first.1.to_bits() {
            repairs.add(Kind::DuplicateRow, place);
        } else if again {
            repairs.add(Kind::ConflictingRow, place);
        }
        again
    });
    let missing = rows.windows(2).map(|pair| ((pair[1].0 - pair[0].0) / STEP_NS - 1).max(0));
    repairs.add_many(Kind::Gap, missing.sum::<i64>().cast_unsigned(), place);
}

/// `2015-07-31 15:36:00`, in UTC, as nanoseconds since the Unix epoch; nothing before it or too far
/// after it for 64 bits.
pub(crate) fn unix_ns(text: &str) -> Option<i64> {
    let time: DateTime = text.parse().ok()?;
    let zoned = time.to_zoned(TimeZone::UTC).ok()?;
    let ns = i64::try_from(zoned.timestamp().as_nanosecond()).ok()?;
    // Differences of two times must fit as well.
    (0..i64::MAX / 2).contains(&ns).then_some(ns)
}

/// Our word for a unit; others stay as they are. Megabytes and gigabytes are those of the scripts
/// that measured them: 1,024² and 1,024³ bytes.
fn unit_of(word: &str) -> &str {
    match word {
        "Percent" => "%",
        "Bytes" => "B",
        "Megabytes" => "MiB",
        "Gigabytes" => "GiB",
        "Count" => "1",
        "Seconds" => "s",
        "Bytes/Second" => "B/s",
        "Count/Second" => "1/s",
        other => other,
    }
}

#[cfg(test)]
mod tests;
