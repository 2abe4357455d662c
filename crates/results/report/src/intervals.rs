//! How far percentiles may lie from the true ones, as text.

use record::schema::{
    IntervalMissing, MeasureSummary, PercentileInterval, Summary, ThresholdResult,
};

use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;
use crate::times::at_least;
use crate::verdict::{COLUMNS, INDENT};

/// The percentiles that are shown, and their names.
const SHARES: [(f64, &str); 6] =
    [(0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.98, "p98"), (0.99, "p99"), (0.999, "p99.9")];

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

/// The intervals of the complete run, and why some are missing; empty where a record does not say.
pub(crate) fn lines(summary: &Summary, style: Style) -> Vec<String> {
    let measures = summary.over_regions().iter();
    let known = measures.filter_map(|measure| {
        let intervals = &measure.response.as_ref()?.intervals;
        (!intervals.is_empty()).then_some((measure, intervals))
    });
    let known: Vec<(&MeasureSummary, &Vec<PercentileInterval>)> = known.collect();
    let all = known.iter().flat_map(|(_, intervals)| intervals.iter());
    let all: Vec<&PercentileInterval> = all.collect();
    let why = reasons(&all);
    if !all.iter().any(|found| found.low_ns.is_some()) {
        let text = format!("no 95 % interval of a percentile: {why}");
        return if known.is_empty() { Vec::new() } else { dim(&text, style) };
    }
    let names = SHARES.map(|(_, name)| name);
    let mut table = Table::new(&[&["95 % interval"][..], &names].concat());
    for (measure, intervals) in &known {
        let of = |(share, _): (f64, _)| intervals.iter().find(|found| found.share == share);
        let cells = SHARES.map(|share| match of(share) {
            Some(found) => (None, interval(found, style)),
            None => (None, "–".to_owned()),
        });
        let name = (None, format!("{INDENT}{}", measure.name));
        table.row([name].into_iter().chain(cells).collect());
    }
    let mut lines = table.render(COLUMNS, style);
    if !why.is_empty() {
        lines.extend(dim(&format!("not determined: {why}"), style));
    }
    lines
}

fn dim(text: &str, style: Style) -> Vec<String> {
    let parts = wrap(text, COLUMNS - INDENT.len());
    let line = |part: String| Line::default().text(INDENT).tone(Tone::Dim, part);
    parts.into_iter().map(|part| line(part).render(COLUMNS, style)).collect()
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
        assert_eq!(lines(&summary, UNICODE), Vec::<String>::new());
        let mut short = found(0.5, None, None);
        short.missing = Some(IntervalMissing::Short);
        summary.measures[0].response.as_mut().unwrap().intervals = vec![short];
        expect![[r#"
            [
                "  no 95 % interval of a percentile: too few seconds to see whether operations depend on each other",
            ]
        "#]]
        .assert_debug_eq(&lines(&summary, UNICODE));
        let response = summary.measures[1].response.as_mut().unwrap();
        let mut few = found(0.999, Some(30_000_000), None);
        few.missing = Some(IntervalMissing::Few);
        response.intervals = vec![found(0.99, Some(14_900_000), Some(16_200_000)), few];
        expect![[r#"
            [
                "95 % interval  p50  p90  p95  p98           p99      p99.9",
                "  handshake      –    –    –    –             –          –",
                "  request        –    –    –    –  14.9…16.2 ms  30.0 ms…?",
                "  not determined: too few operations for a percentile; too few seconds to see whether operations depend on each other",
            ]
        "#]]
        .assert_debug_eq(&lines(&summary, UNICODE));
    }
}
