//! How far percentiles may lie from the true ones, as text.

use record::schema::{
    IntervalMissing, MeasureSummary, PercentileInterval, Summary, ThresholdResult,
};

use crate::style::INDENT;
use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;
use crate::times::at_least;

/// The percentiles that are shown, and their names.
const SHARES: [(f64, &str); 6] =
    [(0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.98, "p98"), (0.99, "p99"), (0.999, "p99.9")];

/// Columns that are left out in this order where the table is too wide.
const DROPPED: &[&str] = &["p98", "p99.9", "p90", "p95", "p99"];

/// Most measures without any interval that are named.
const NAMES_MAX: usize = 8;

/// `298…331 ms`; `298 ms…?` without an upper end, `–` without any.
pub(crate) fn interval(found: &PercentileInterval, style: Style) -> String {
    let to = style.pick("…", "..");
    let Some(low_ns) = found.low_ns else {
        return "–".to_owned();
    };
    let low = units::duration(low_ns as f64);
    let Some(high_ns) = found.high_ns else {
        return format!("{low}{to}?");
    };
    let high = at_least(high_ns as f64, found.high_is_bound);
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}{to}{high}"),
        _ => format!("{low}{to}{high}"),
    }
}

/// Text appended to the value of a threshold on a percentile: the value's interval, and a note if
/// the limit lies within. Empty if no interval is determined.
pub(crate) fn of_threshold(result: &ThresholdResult, style: Style) -> String {
    let determined = result.interval.filter(|found| found.ends_ns().is_some());
    match determined.map(|found| interval(&found, style)) {
        None => String::new(),
        Some(ends) if result.within_interval => {
            format!(" (limit within the 95 % interval {ends}: undecided)")
        }
        Some(ends) => format!(" ({ends})"),
    }
}

/// The intervals of a run as they are shown, and in words what has none.
pub(crate) struct ShownIntervals<'a> {
    pub(crate) rows: Vec<IntervalRow<'a>>,
    /// The intervals that are not determined, and why.
    pub(crate) missing: Vec<String>,
}

/// A measure with intervals of some of its percentiles at least: over the complete run, or in a phase.
pub(crate) struct IntervalRow<'a> {
    measure: &'a str,
    /// `None`: the complete run.
    phase: Option<&'a str>,
    intervals: &'a [PercentileInterval],
}

impl<'a> ShownIntervals<'a> {
    /// Those of the complete run, each followed by those of phases in which more is determined. Nothing where a record does
    /// not say.
    pub(crate) fn of(summary: &'a Summary) -> ShownIntervals<'a> {
        let mut rows = Vec::new();
        let mut left_out = Vec::new();
        let mut incomplete: Vec<&PercentileInterval> = Vec::new();
        for of_run in known(summary.over_regions(), None) {
            let by_phase = of_phases(summary, &of_run);
            if of_run.has_any() {
                rows.push(of_run);
            } else if by_phase.is_empty() {
                left_out.push(of_run);
            } else {
                incomplete.extend(of_run.intervals);
            }
            rows.extend(by_phase);
        }
        incomplete.extend(rows.iter().flat_map(|row| row.intervals));
        let mut missing = Vec::new();
        let why = reasons(&incomplete);
        if !why.is_empty() {
            missing.push(format!("not determined: {why}"));
        }
        if !left_out.is_empty() {
            let what = match rows.is_empty() {
                true => "no 95 % interval of a percentile".to_owned(),
                false => format!("no interval of {}", names(&left_out)),
            };
            let all = left_out.iter().flat_map(|row| row.intervals);
            let all: Vec<&PercentileInterval> = all.collect();
            missing.push(format!("{what}: {}", reasons(&all)));
        }
        ShownIntervals { rows, missing }
    }
}

impl IntervalRow<'_> {
    pub(crate) fn name(&self) -> String {
        match self.phase {
            None => self.measure.to_owned(),
            Some(phase) => format!("{}, phase {phase}", self.measure),
        }
    }

    /// The interval of the percentile at this share.
    pub(crate) fn cell(&self, share: f64, style: Style) -> String {
        self.found(share).map_or("–".to_owned(), |found| interval(found, style))
    }

    fn found(&self, share: f64) -> Option<&PercentileInterval> {
        self.intervals.iter().find(|found| found.share == share)
    }

    /// True if one end of one interval at least is determined.
    fn has_any(&self) -> bool {
        self.intervals.iter().any(|found| found.low_ns.is_some())
    }

    /// True if it has an end that is not determined in the other.
    fn knows_more_than(&self, other: &IntervalRow<'_>) -> bool {
        self.intervals.iter().any(|own| {
            let known = other.found(own.share);
            let has_low = known.is_some_and(|known| known.low_ns.is_some());
            let has_high = known.is_some_and(|known| known.high_ns.is_some());
            own.low_ns.is_some() && !has_low || own.high_ns.is_some() && !has_high
        })
    }
}

/// The measures of whose percentiles the record says how far they may lie from the true ones.
fn known<'a>(
    measures: &'a [MeasureSummary],
    phase: Option<&'a str>,
) -> impl Iterator<Item = IntervalRow<'a>> {
    measures.iter().filter_map(move |measure| {
        let intervals = measure.response.as_ref()?.intervals.as_slice();
        let row = IntervalRow { measure: &measure.name, phase, intervals };
        (!intervals.is_empty()).then_some(row)
    })
}

/// The phases in which more is determined of a measure; none of a run with one phase, which is all of it.
fn of_phases<'a>(summary: &'a Summary, of_run: &IntervalRow<'_>) -> Vec<IntervalRow<'a>> {
    if summary.phases.len() < 2 {
        return Vec::new();
    }
    let phases = summary.phases.iter();
    let all = phases.flat_map(|phase| known(phase.over_regions(), Some(phase.name.as_str())));
    all.filter(|row| row.measure == of_run.measure && row.knows_more_than(of_run)).collect()
}

/// `connect, login and 3 more`.
fn names(rows: &[IntervalRow<'_>]) -> String {
    let shown: Vec<&str> = rows.iter().take(NAMES_MAX).map(|row| row.measure).collect();
    let shown = shown.join(", ");
    match rows.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A table of the intervals, and why some are missing; only that where there are none.
pub(crate) fn lines(summary: &Summary, columns: usize, style: Style) -> Vec<String> {
    let shown = ShownIntervals::of(summary);
    let mut lines = Vec::new();
    if !shown.rows.is_empty() {
        let names = SHARES.map(|(_, name)| name);
        let mut table = Table::new(&[&["95 % interval"][..], &names].concat()).dropping(DROPPED);
        for row in &shown.rows {
            let name = (None, format!("{INDENT}{}", row.name()));
            let cells = SHARES.map(|(share, _)| (None, row.cell(share, style)));
            table.row([name].into_iter().chain(cells).collect());
        }
        lines = table.render(columns, style);
    }
    lines.extend(shown.missing.iter().flat_map(|text| dim(text, columns, style)));
    lines
}

fn dim(text: &str, columns: usize, style: Style) -> Vec<String> {
    let parts = wrap(text, columns.saturating_sub(INDENT.len()));
    let line = |part: String| Line::default().text(INDENT).tone(Tone::Dim, part);
    parts.into_iter().map(|part| line(part).render(columns, style)).collect()
}

/// Why ends are missing, each reason once.
fn reasons(intervals: &[&PercentileInterval]) -> String {
    let all = [
        (IntervalMissing::Few, "too few operations for a percentile"),
        (IntervalMissing::Short, "too few seconds to see whether operations depend on each other"),
        (
            IntervalMissing::Dependent,
            "the run is too short for how much its operations depend on each other",
        ),
        (
            IntervalMissing::Unanswered,
            "the percentile is among operations that were never answered",
        ),
    ];
    let found = all.iter().filter(|(missing, _)| {
        let is_it = |found: &&PercentileInterval| found.missing == Some(*missing);
        intervals.iter().any(is_it)
    });
    let found: Vec<&str> = found.map(|&(_, text)| text).collect();
    found.join("; ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::sample::{found, summary};
    use crate::style::COLUMNS;

    const UNICODE: Style = Style { colour: false, unicode: true };

    #[test]
    fn ends_share_their_unit() {
        let mut one = found(0.99, Some(298_000_000), Some(331_000_000));
        assert_eq!(interval(&one, UNICODE), "298…331 ms");
        assert_eq!(interval(&one, Style::PLAIN), "298..331 ms");
        one.high_ns = Some(2_000_000_000);
        assert_eq!(interval(&one, UNICODE), "298 ms…2.00 s");
        one.high_is_bound = true;
        assert_eq!(interval(&one, UNICODE), "298 ms…≥ 2.00 s");
        one.high_ns = None;
        assert_eq!(interval(&one, UNICODE), "298 ms…?");
        one.low_ns = None;
        assert_eq!(interval(&one, UNICODE), "–");
    }

    #[test]
    fn missing_intervals_have_their_reasons() {
        let mut summary = summary();
        assert_eq!(lines(&summary, COLUMNS, UNICODE), Vec::<String>::new());
        let mut short = found(0.5, None, None);
        short.missing = Some(IntervalMissing::Short);
        summary.measures[0].response.as_mut().unwrap().intervals = vec![short];
        expect![[r#"
            [
                "  no 95 % interval of a percentile: too few seconds to see whether operations depend on each other",
            ]
        "#]]
        .assert_debug_eq(&lines(&summary, COLUMNS, UNICODE));
        let response = summary.measures[1].response.as_mut().unwrap();
        let mut few = found(0.999, Some(30_000_000), None);
        few.missing = Some(IntervalMissing::Few);
        response.intervals = vec![found(0.99, Some(14_900_000), Some(16_200_000)), few];
        expect![[r#"
            [
                "95 % interval  p50  p90  p95  p98           p99      p99.9",
                "  request        –    –    –    –  14.9…16.2 ms  30.0 ms…?",
                "  not determined: too few operations for a percentile",
                "  no interval of handshake: too few seconds to see whether operations depend on each other",
            ]
        "#]]
        .assert_debug_eq(&lines(&summary, COLUMNS, UNICODE));
    }

    /// Load rises in the first phase, and the requests of the run are not of one kind.
    #[test]
    fn phases_in_which_more_is_determined_have_their_intervals() {
        let mut summary = summary();
        let mut dependent = found(0.5, None, None);
        dependent.missing = Some(IntervalMissing::Dependent);
        summary.measures[1].response.as_mut().unwrap().intervals = vec![dependent];
        let none = "no 95 % interval of a percentile: the run is too short for how much";
        assert!(lines(&summary, COLUMNS, UNICODE)[0].contains(none));
        let hold = summary.phases.iter_mut().find(|phase| phase.name == "hold").unwrap();
        let of_hold = hold.measures.iter_mut().find(|m| m.name == "request").unwrap();
        of_hold.response.as_mut().unwrap().intervals =
            vec![found(0.5, Some(3_050_000), Some(3_150_000))];
        expect![[r#"
            [
                "95 % interval                   p50  p90  p95  p98  p99  p99.9",
                "  request, phase hold  3.05…3.15 ms    –    –    –    –      –",
                "  not determined: the run is too short for how much its operations depend on each other",
            ]
        "#]]
        .assert_debug_eq(&lines(&summary, COLUMNS, UNICODE));
        // The complete run knows as much: the phase adds nothing.
        let of_run = summary.measures[1].response.as_mut().unwrap();
        of_run.intervals = vec![found(0.5, Some(3_000_000), Some(3_200_000))];
        let shown = lines(&summary, COLUMNS, UNICODE).join("\n");
        assert!(shown.contains("  request ") && !shown.contains("phase"), "{shown}");
        // Of a higher percentile it does not.
        let hold = summary.phases.iter_mut().find(|phase| phase.name == "hold").unwrap();
        let of_hold = hold.measures.iter_mut().find(|m| m.name == "request").unwrap();
        of_hold.response.as_mut().unwrap().intervals =
            vec![found(0.99, Some(14_900_000), Some(16_200_000))];
        expect![[r#"
            [
                "95 % interval                   p50  p90  p95  p98           p99  p99.9",
                "  request              3.00…3.20 ms    –    –    –             –      –",
                "  request, phase hold             –    –    –    –  14.9…16.2 ms      –",
            ]
        "#]]
        .assert_debug_eq(&lines(&summary, COLUMNS, UNICODE));
    }
}
