//! Recorded rates and recorded starts.

use jiff::Timestamp;
use plan::{PhaseKind, Series, Trace};
use units::parse::{self, UnitError};

use super::{Piece, USERS_MAX};
use crate::check::Checker;
use crate::check::fields::Fields;
use crate::check::files::plain_number;
use crate::check::words::DURATION_MAX_S;
use crate::document::node::Node;

/// Beyond the last recorded start, so that it lies within the phase.
const AFTER_LAST_NS: u64 = 1_000;

impl Checker<'_> {
    /// A factor by which time or numbers are changed.
    pub(super) fn positive_factor(&mut self, fields: &Fields<'_>, key: &str) -> Option<f64> {
        let node = fields.get_or_default(key)?;
        let factor = self.number(&node)?;
        if (1e-6..=1e9).contains(&factor) {
            return Some(factor);
        }
        let message = format!("`{key}` must be from 0.000001 to 1000000000");
        self.diagnostics.error("bad-number", &node.place, message);
        None
    }

    /// The second of the recording at which the phase begins; the recording's beginning is 0.
    fn recorded_from(&mut self, fields: &Fields<'_>) -> Option<f64> {
        let Some(node) = fields.get("from") else {
            return Some(0.0);
        };
        self.unit(node, "bad-duration", "a duration", |text| {
            let seconds = parse::duration(text)?;
            let within = (seconds <= DURATION_MAX_S).then_some(seconds);
            within.ok_or_else(|| UnitError {
                message: format!("`{text}` is out of range"),
                hint: "write at most 366d".to_owned(),
            })
        })
    }

    pub(super) fn trace(&mut self, node: &Node, fields: &Fields<'_>) -> Option<Vec<Piece>> {
        let spacing = self.spacing(fields);
        let bin = fields.get_or_default("bin")?;
        let bin_s = self.duration_ns(&bin)? as f64 / 1e9;
        let speed = self.positive_factor(fields, "speed");
        let scale = self.positive_factor(fields, "scale");
        let from_s = self.recorded_from(fields)?;
        let speed = speed?;
        let scale = scale?;
        let file = self.file(node)?;
        let hint = "a trace lists the number of users that start in each `bin`: `3 0 5.5 2`";
        let count = |text: &str| match plain_number(text)? {
            count if count < 0.0 => Err(format!("`{text}` is below 0")),
            count if count * scale > USERS_MAX => Err(format!("`{text}` is too many users")),
            count => Ok(count * scale),
        };
        let separators = [' ', '\t', ','];
        let counts = self.values_of(&file, fields.get("column"), &separators, hint, count)?;
        let skipped = (from_s / bin_s).floor() as usize;
        let Some(counts) = counts.get(skipped..).filter(|counts| !counts.is_empty()) else {
            let message = format!("`{}` is shorter than `from`", file.name);
            self.diagnostics.error("too-short", &file.place, message);
            return None;
        };
        let trace = Trace::new(bin_s / speed, counts, spacing);
        let length_s = trace.bin_s * counts.len() as f64;
        let duration_ns = self.recorded_length(fields, node, length_s, 0)?;
        Some(vec![Piece::new(PhaseKind::Trace(trace), duration_ns)])
    }

    /// `for`, or the recording's own length.
    fn recorded_length(
        &mut self,
        fields: &Fields<'_>,
        node: &Node,
        length_s: f64,
        more_ns: u64,
    ) -> Option<u64> {
        if let Some(node) = fields.get("for") {
            return self.duration_ns(node);
        }
        if length_s > DURATION_MAX_S {
            let message = "the recording lasts longer than 366 days";
            self.diagnostics
                .error("too-long", &node.place, message)
                .hint("use `begin: first` for times since the Unix epoch; `for` selects a part");
            return None;
        }
        Some((length_s * 1e9).ceil() as u64 + more_ns)
    }

    pub(super) fn replay(&mut self, node: &Node, fields: &Fields<'_>) -> Option<Vec<Piece>> {
        let begin = fields.get("begin").map(|node| self.choice(node, &["zero", "first"]));
        let speed = self.positive_factor(fields, "speed");
        let from_s = self.recorded_from(fields)?;
        let speed = speed?;
        let file = self.file(node)?;
        let hint =
            "write seconds like `12.5`, or a date with a time zone like `2026-03-29T06:00:00Z`";
        let times = self.values_of(&file, fields.get("column"), &[], hint, recorded_time)?;
        let (dates, mut seconds) = split(&times);
        if !dates.is_empty() && !seconds.is_empty() {
            let message = format!("`{}` has both seconds and dates", file.name);
            self.diagnostics.error("bad-data", &file.place, message).hint(hint);
            return None;
        }
        let first_by_rule = !dates.is_empty();
        seconds.extend(since_first(&dates));
        seconds.sort_unstable_by(f64::total_cmp);
        let first = match begin {
            Some(choice) => choice? == 1,
            None => first_by_rule,
        };
        let zero_s = from_s + if first { seconds[0] } else { 0.0 };
        let starts = seconds.iter().map(|time| (time - zero_s) / speed);
        let mut starts: Vec<f64> = starts.filter(|start| *start >= 0.0).collect();
        let length_s = starts.last().copied().unwrap_or(0.0);
        let duration_ns = self.recorded_length(fields, node, length_s, AFTER_LAST_NS)?;
        let end_s = duration_ns as f64 / 1e9;
        starts.truncate(starts.partition_point(|start| *start < end_s));
        if starts.is_empty() {
            let message = format!("no time of `{}` lies within the phase", file.name);
            self.diagnostics
                .error("too-short", &file.place, message)
                .hint("check `begin`, `from` and `for`");
            return None;
        }
        let kind = PhaseKind::Starts(Series::new(starts));
        Some(vec![Piece::new(kind, duration_ns)])
    }
}

/// One line of a recording.
enum Time {
    Seconds(f64),
    Date(Timestamp),
}

fn recorded_time(text: &str) -> Result<Time, String> {
    if let Ok(date) = text.parse::<Timestamp>() {
        return Ok(Time::Date(date));
    }
    let seconds = plain_number(text).map(Time::Seconds);
    seconds
        .map_err(|_| format!("`{text}` is neither a number of seconds nor a date with a time zone"))
}

fn split(times: &[Time]) -> (Vec<Timestamp>, Vec<f64>) {
    let mut dates = Vec::new();
    let mut seconds = Vec::new();
    for time in times {
        match time {
            Time::Seconds(time) => seconds.push(*time),
            Time::Date(date) => dates.push(*date),
        }
    }
    (dates, seconds)
}

/// Dates in seconds since the earliest: so their fractions keep their digits.
fn since_first(dates: &[Timestamp]) -> Vec<f64> {
    let Some(first) = dates.iter().min() else {
        return Vec::new();
    };
    let seconds = |date: &Timestamp| date.duration_since(*first).as_secs_f64();
    dates.iter().map(seconds).collect()
}
