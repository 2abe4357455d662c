//! Rates by the time of day.

use jiff::civil::{DateTime, Time, date};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Span, Timestamp};
use plan::{PhaseKind, Spacing};

use super::{FLIGHT_MAX, Piece};
use crate::check::Checker;
use crate::check::fields::Fields;
use crate::document::node::Node;

/// The rate at a time of every day.
struct Knot {
    time: Time,
    per_s: f64,
}

/// The rate at one moment, in seconds since the phase's start by the clock.
#[derive(Clone, Copy)]
struct Moment {
    at_s: f64,
    time: Time,
    per_s: f64,
}

impl Checker<'_> {
    pub(super) fn rates(&mut self, node: &Node, fields: &Fields<'_>) -> Option<Vec<Piece>> {
        let spacing = self.spacing(fields);
        let linear = match fields.get_or_default("between") {
            Some(node) => self.choice(&node, &["linear", "step"])? == 0,
            None => true,
        };
        let speed = self.positive_factor(fields, "speed")?;
        let duration_ns = self.duration_ns(fields.get("for")?)?;
        let knots = self.knots(node)?;
        let (start, zone) = self.clock_start(fields, knots[0].time)?;
        let length_s = duration_ns as f64 / 1e9 * speed;
        if length_s / 86_400.0 * knots.len() as f64 > FLIGHT_MAX as f64 {
            let message = format!("this would be more than {FLIGHT_MAX} phases");
            self.diagnostics
                .error("too-many-steps", &node.place, message)
                .hint("shorten `for`, or name fewer times");
            return None;
        }
        let moments = moments(&knots, start, &zone, length_s, linear)?;
        let curve = Curve { moments, linear, speed, spacing };
        Some(curve.pieces(length_s, duration_ns))
    }

    /// The rates in the order of their times.
    fn knots(&mut self, node: &Node) -> Option<Vec<Knot>> {
        const EXAMPLE: &str = "write { \"08:00\": 5/s, \"09:30\": 40/s }";
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of times and rates");
            self.diagnostics.last_hint(EXAMPLE.to_owned());
            return None;
        };
        if entries.is_empty() {
            self.diagnostics.error("empty", &node.place, "there is no rate").hint(EXAMPLE);
            return None;
        }
        let mut knots: Vec<Knot> = Vec::new();
        for entry in entries {
            let rate = self.rate(&entry.value);
            let Some(time) = time_of_day(&entry.key) else {
                let message = format!("`{}` is not a time of day", entry.key);
                self.diagnostics
                    .error("bad-time", &entry.key_place, message)
                    .hint("write it like \"08:00\" or \"08:00:30\", in quotes");
                continue;
            };
            if knots.iter().any(|knot| knot.time == time) {
                let message = format!("`{}` is given twice", entry.key);
                self.diagnostics.error("duplicate-key", &entry.key_place, message);
            }
            knots.extend(rate.map(|per_s| Knot { time, per_s }));
        }
        knots.sort_by_key(|knot| knot.time);
        (knots.len() == entries.len()).then_some(knots)
    }

    /// The date and time at which the phase begins, and the zone. Without a date every day has
    /// 24 hours.
    fn clock_start(&mut self, fields: &Fields<'_>, first: Time) -> Option<(DateTime, TimeZone)> {
        let any_day = date(2000, 1, 1);
        let (start, dated) = match fields.get("from") {
            None => (any_day.to_datetime(first), false),
            Some(node) => {
                let word = self.word(node, "a time of day")?;
                let at = match time_of_day(&word.text) {
                    Some(time) => Some((any_day.to_datetime(time), false)),
                    None => word.text.parse().ok().map(|date| (date, true)),
                };
                if at.is_none() {
                    let message = format!("`{}` is neither a time of day nor a date", word.text);
                    self.diagnostics
                        .error("bad-time", &word.place, message)
                        .hint("write it like \"08:00\" or \"2026-03-29 06:00\"");
                }
                at?
            }
        };
        let Some(node) = fields.get("zone") else {
            return Some((start, TimeZone::UTC));
        };
        let word = self.word(node, "a time zone")?;
        if !dated {
            let message = "a time zone has no effect unless `from` has a date";
            self.diagnostics
                .error("no-date", &word.place, message)
                .hint("write from: \"2026-03-29 06:00\", or remove `zone`");
            return None;
        }
        // The database is part of the program: the same plan is made on every machine.
        match TimeZoneDatabase::bundled().get(&word.text) {
            Ok(zone) => Some((start, zone)),
            Err(_) => {
                let message = format!("there is no time zone `{}`", word.text);
                self.diagnostics
                    .error("bad-zone", &word.place, message)
                    .hint("write a name like Europe/Berlin or UTC");
                None
            }
        }
    }
}

/// `08:00` or `08:00:30`.
fn time_of_day(text: &str) -> Option<Time> {
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split(':').count();
    if !(2..=3).contains(&parts) || !text.split(':').all(digits) {
        return None;
    }
    text.parse().ok()
}

/// Every time of every day from the last one before the start to the first one after the end.
/// `None` where that is beyond the calendar.
fn moments(
    knots: &[Knot],
    start: DateTime,
    zone: &TimeZone,
    length_s: f64,
    linear: bool,
) -> Option<Vec<Moment>> {
    let instant =
        |at: DateTime| -> Option<Timestamp> { zone.to_ambiguous_timestamp(at).compatible().ok() };
    let zero = instant(start)?;
    let days = (length_s / 86_400.0).ceil() as i64 + 2;
    let mut moments = Vec::new();
    for day in -1..=days {
        let date = start.date().checked_add(Span::new().try_days(day).ok()?).ok()?;
        for knot in knots {
            let at = instant(date.to_datetime(knot.time))?;
            moments.push(Moment {
                at_s: at.duration_since(zero).as_secs_f64(),
                time: knot.time,
                per_s: knot.per_s,
            });
        }
    }
    // Times that summer time skips come an hour later, and perhaps behind others.
    moments.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let begins = moments.partition_point(|moment| moment.at_s <= 0.0);
    let before = moments[begins - 1];
    let after = moments[begins];
    // The phase begins at one of the times, or between two: its own rate is worked out from them.
    let part = if linear { -before.at_s / (after.at_s - before.at_s) } else { 0.0 };
    let first = Moment {
        at_s: 0.0,
        time: start.time(),
        per_s: before.per_s + (after.per_s - before.per_s) * part,
    };
    moments.splice(..begins, [first]);
    Some(moments)
}

/// The rate over the phase.
struct Curve {
    /// In order; the first is the phase's start, the last is not before its end.
    moments: Vec<Moment>,
    linear: bool,
    speed: f64,
    spacing: Spacing,
}

impl Curve {
    /// One phase for each stretch between two moments.
    fn pieces(&self, length_s: f64, duration_ns: u64) -> Vec<Piece> {
        let to_ns = |at_s: f64| ((at_s / self.speed * 1e9).round() as u64).min(duration_ns);
        let stretches = self.moments.iter().zip(self.moments.iter().skip(1));
        let pieces = stretches.filter_map(|(from, to)| {
            let end_s = to.at_s.min(length_s);
            let start_ns = to_ns(from.at_s);
            let end_ns = to_ns(end_s);
            if start_ns >= end_ns {
                return None;
            }
            let part = (end_s - from.at_s) / (to.at_s - from.at_s);
            let to_per_s =
                if self.linear { from.per_s + (to.per_s - from.per_s) * part } else { from.per_s };
            let kind = if from.per_s == 0.0 && to_per_s == 0.0 {
                PhaseKind::Hold
            } else {
                PhaseKind::Rate { from_per_s: from.per_s, to_per_s, spacing: self.spacing }
            };
            Some(Piece { label: Some(label(from.time)), ..Piece::new(kind, end_ns - start_ns) })
        });
        pieces.collect()
    }
}

fn label(time: Time) -> String {
    match time.second() {
        0 => format!("{:02}:{:02}", time.hour(), time.minute()),
        second => format!("{:02}:{:02}:{second:02}", time.hour(), time.minute()),
    }
}
