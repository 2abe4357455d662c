//! The first lines of a comparison: the measures that changed with one figure each, the failures, and what has to be known
//! beside them.

use compare::{
    Change, ChangedMeasure, Comparison, ErrorChange, Figure, Rule, Verdict, p_value, percent,
    percent_bounds, shown, signed_percent,
};
use record::schema::{Finding, Severity};

use super::{legend, line};
use crate::style::{INDENT, Line, Style, Tone, wrap};
use crate::table::Table;
use crate::verdict::wrapped_finding;

/// Most failures that are listed unless all are requested.
const ERRORS_MAX: usize = 10;

/// What has to be known before the verdict; nothing if the machine was the same for both sides.
pub(super) fn caution(comparison: &Comparison, columns: usize, style: Style) -> Vec<String> {
    let cautions = comparison.remarks().filter(|remark| is_caution(comparison, remark));
    cautions.flat_map(|caution| wrapped_finding(caution, columns, style)).collect()
}

/// True of the finding that stands before the verdict.
fn is_caution(comparison: &Comparison, finding: &Finding) -> bool {
    comparison.caution.as_deref() == Some(finding.text.as_str())
}

/// A line for each measure that changed, the greatest change first, and its sentence; `None` if none did.
pub(super) fn changed(comparison: &Comparison, columns: usize) -> Option<Table> {
    let confidence = percent(1.0 - comparison.options.alpha);
    let title = match comparison.rule {
        Some(Rule::Windows) => format!("change of windows ({confidence} interval)"),
        _ => format!("change ({confidence} interval)"),
    };
    let mut table = Table::new(&["changed", "", &title]);
    for one in &comparison.changed {
        let change = change_of(comparison, one);
        let cells = [
            format!("{INDENT}{} {}", comparison.measures[one.measure].name, change.label),
            moved_by(change).unwrap_or_default(),
            interval_of_change(change),
        ];
        table.row(cells.into_iter().map(|text| (Some(Tone::Strong), text)).collect());
        for part in wrap(&one.text, columns - 4) {
            table.section(Line::default().text("    ").text(part));
        }
    }
    (!comparison.changed.is_empty()).then_some(table)
}

/// The change that leads.
pub(crate) fn change_of<'a>(comparison: &'a Comparison, one: &ChangedMeasure) -> &'a Change {
    &comparison.measures[one.measure].changes[one.change]
}

/// A figure's way from side to side: `212 → 287 ms`; `None` of a shape.
pub(crate) fn moved_by(change: &Change) -> Option<String> {
    let shown = |value: f64| shown(change.figure, value);
    Some(moved(&shown(change.baseline?), &shown(change.candidate?)))
}

/// Two values with their unit, which is written once if it is the same: `212 → 287 ms`, `512 µs → 1.20 ms`.
fn moved(from: &str, to: &str) -> String {
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} → {to}"),
        _ => format!("{from} → {to}"),
    }
}

/// A relative change with its interval: `+35 % (+28 to +43)`; that of a share of errors and of a scatter in percentage points.
pub(crate) fn interval_of_change(change: &Change) -> String {
    let within = |(low, high)| format!(" ({})", percent_bounds(low, high));
    if matches!(change.figure, Figure::ErrorRate | Figure::Spread) {
        let points = signed_percent(change.difference).replace(" %", "");
        let bounds = change.interval.map(within);
        return format!("{points} points{}", bounds.unwrap_or_default());
    }
    let bounds = change.relative_interval.map(within);
    format!("{}{}", super::relative(change), bounds.unwrap_or_default())
}

/// A line for each failure that is new, gone, more or fewer; `None` if there are none. All of them if `full`.
pub(super) fn errors(comparison: &Comparison, full: bool) -> Option<Table> {
    let mut table = Table::new(&["errors", "", ""]);
    let listed: Vec<&ErrorChange> =
        comparison.errors.iter().filter(|error| full || error.is_listed()).collect();
    let most = if full { listed.len() } else { ERRORS_MAX };
    for error in listed.iter().take(most) {
        let tone = match (error.counts, error.trend.is_rise()) {
            (true, true) => Some(Tone::Bad),
            (true, false) => Some(Tone::Good),
            (false, _) => Some(Tone::Dim),
        };
        let cells = [format!("{INDENT}{}", error.name), failures_moved(error), trend(error)];
        table.row(cells.into_iter().map(|text| (tone, text)).collect());
    }
    let more = listed.len().saturating_sub(most);
    if more > 0 {
        table.section(
            Line::default()
                .text(format!("{INDENT}and {}", units::counted(more as u64, "more kind"))),
        );
    }
    (!listed.is_empty()).then_some(table)
}

/// The way of failures from side to side: `0 → 4.20 %`, `0 → 42 a run`.
pub(crate) fn failures_moved(error: &ErrorChange) -> String {
    moved(&error.shown(error.baseline), &error.shown(error.candidate))
}

/// In which way failures differ, and how surely: `new (p 0.008)`, `new, may be chance (p 0.41)`.
pub(crate) fn trend(error: &ErrorChange) -> String {
    let doubt = match (error.seen, error.counts) {
        (false, _) => ", may be chance",
        (true, false) => ", within the tolerance",
        (true, true) => "",
    };
    format!("{}{doubt} (p {})", error.trend.name(), p_value(error.p_adjusted))
}

/// The line for all figures that did not change, and the findings that matter beside the changes.
pub(super) fn remarks(comparison: &Comparison, columns: usize, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(unchanged) = &comparison.unchanged {
        let is_decided = comparison.verdict != Verdict::Inconclusive && unchanged.figures > 0;
        let severity = if is_decided { Severity::Good } else { Severity::Note };
        let finding = judge::finding(severity, "no-difference", unchanged.text.clone()).done();
        lines.extend(wrapped_finding(&finding, columns, style));
    }
    for remark in comparison.remarks().filter(|remark| !is_caution(comparison, remark)) {
        lines.extend(wrapped_finding(remark, columns, style));
    }
    lines
}

/// The runs that are named above; all of them if there is no baseline.
pub(super) fn foot(comparison: &Comparison) -> Vec<Line> {
    let is_named = |label: &str| {
        let words =
            |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == label);
        comparison.rule.is_none() || comparison.remarks().any(|remark| words(&remark.text))
    };
    let named = comparison.runs.iter().filter(|run| is_named(&run.label));
    let mut lines: Vec<Line> = named.map(legend).collect();
    lines.push(line("--full", "all figures, tests and runs".to_owned()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_both_values_have_is_written_once() {
        assert_eq!(moved("212 ms", "287 ms"), "212 → 287 ms");
        assert_eq!(moved("512 µs", "1.20 ms"), "512 µs → 1.20 ms");
        assert_eq!(moved("0 %", "4.20 %"), "0 → 4.20 %");
        assert_eq!(moved("0 a run", "42 a run"), "0 → 42 a run");
        assert_eq!(moved("20.0/s", "18.0/s"), "20.0/s → 18.0/s");
    }
}
