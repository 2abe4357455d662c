//! The table of steps: what failed first, then what is slow.

use std::cmp::Reverse;

use judge::course::Course;
use record::schema::{MeasureSummary, Summary};

use super::{INDENT, VerdictText, rate};
use crate::live::chart::sparkline;
use crate::style::{Style, Tone};
use crate::table::Table;
use crate::times::{awaits_nothing, response_times};

/// Characters of a line over time.
const SPARK_COLUMNS: usize = 16;
/// The head of the column of lines over time.
const OVER_TIME: &str = "p90 over time";
/// Columns that are left out in this order where the table is too wide.
const DROPPED: &[&str] = &["max", "completed", "share", "p90", OVER_TIME, "count", "p99"];
/// The places of p50, p90, p99 and max among the response times of a measure.
const TIMES: [usize; 4] = [1, 2, 5, 7];

/// The table of [`rows`].
pub(super) fn steps(text: &VerdictText<'_>, style: Style) -> Vec<String> {
    let VerdictText { summary, course, columns, .. } = *text;
    let rows = rows(summary);
    let lines: Vec<Option<String>> = rows.iter().map(|row| line(course?, row, style)).collect();
    let has_lines = lines.iter().any(Option::is_some);
    let has_failures = rows.iter().any(|row| row.measure.errors > 0);
    let mut heads = vec!["step", "count", "completed", "failed"];
    heads.extend(has_failures.then_some("share"));
    heads.extend(["p50", "p90", "p99", "max"]);
    heads.extend(has_lines.then_some(OVER_TIME));
    let mut table = Table::new(&heads).dropping(DROPPED);
    for (row, line) in rows.iter().zip(lines) {
        let measure = row.measure;
        let failed = (measure.errors > 0).then_some(Tone::Bad);
        let mut cells = vec![
            (row.breaks_threshold.then_some(Tone::Bad), format!("{INDENT}{}", row.name)),
            (None, units::count(measure.count)),
            (None, rate(measure)),
            (failed, units::count(measure.errors)),
        ];
        cells.extend(has_failures.then(|| (failed, share(measure))));
        let times = response_times(measure);
        cells.extend(TIMES.map(|place| (None, times[place].clone())));
        cells.extend(has_lines.then(|| (None, line.unwrap_or_default())));
        table.row(cells);
    }
    table.render(columns, style)
}

/// The share of operations that failed; empty if none did.
fn share(measure: &MeasureSummary) -> String {
    match (measure.errors, measure.count) {
        (0, _) | (_, 0) => String::new(),
        (errors, count) => units::share((errors as f64 / count as f64).min(1.0)),
    }
}

/// A row of the table.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    pub(crate) measure: &'a MeasureSummary,
    /// A threshold on it failed.
    breaks_threshold: bool,
    /// It is of the complete run, and of one measure.
    is_complete: bool,
}

/// All measures of the run, and tags and phases for which there are thresholds: those first for which one failed, then
/// those with failures, then the slowest.
pub(crate) fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let failed = |name: &str| {
        let mut failed = summary.thresholds.iter().filter(|threshold| !threshold.passed);
        failed.any(|threshold| names_step(&threshold.text, name))
    };
    let measures = summary.over_regions().iter().map(|measure| Row {
        name: measure.name.clone(),
        measure,
        breaks_threshold: failed(&measure.name),
        is_complete: true,
    });
    let tags = summary.tags.iter().map(|tag| &tag.figures);
    let tags = tags.filter(|tag| summary.thresholds.iter().any(|t| names_step(&t.text, &tag.name)));
    let tags = tags.map(|tag| Row {
        name: tag.name.clone(),
        measure: tag,
        breaks_threshold: failed(&tag.name),
        is_complete: false,
    });
    let mut rows: Vec<Row<'_>> = measures.chain(tags).collect();
    // The only phase is the run.
    if summary.phases.len() > 1 {
        for phase in &summary.phases {
            let of_phase = summary.thresholds.iter().filter(|t| names_phase(&t.text, &phase.name));
            let of_phase: Vec<_> = of_phase.collect();
            let measures = phase.over_regions().iter();
            rows.extend(measures.filter_map(|measure| {
                let mut own =
                    of_phase.iter().filter(|t| names_step(&t.text, &measure.name)).peekable();
                own.peek()?;
                Some(Row {
                    name: format!("{}, phase {}", measure.name, phase.name),
                    measure,
                    breaks_threshold: own.any(|threshold| !threshold.passed),
                    is_complete: false,
                })
            }));
        }
    }
    rows.sort_by_key(|row| {
        let slow_ns = row.measure.response.as_ref().map_or(0, |response| response.p90_ns);
        (!row.breaks_threshold, Reverse(row.measure.errors), Reverse(slow_ns))
    });
    rows
}

/// True if a threshold is on a figure of this measure or tag: `p98(name) < 10ms`, `p98(name.service) < 10ms`.
pub(crate) fn names_step(threshold: &str, name: &str) -> bool {
    let opened = format!("({name}");
    let behind = threshold.match_indices(&opened).map(|(at, _)| &threshold[at + opened.len()..]);
    let mut behind = behind.map(str::trim_start);
    let ends = [")", ".succeeded)", ".service)", ".lag)"];
    behind.any(|rest| ends.iter().any(|end| rest.starts_with(end)))
}

/// True if a threshold is on a phase of this name: `p98(name) < 10ms in peak`.
fn names_phase(threshold: &str, phase: &str) -> bool {
    threshold.rsplit_once(" in ").is_some_and(|(_, name)| name.trim() == phase)
}

/// The response times of a step over time; `None` where they are not known.
fn line(course: &Course, row: &Row<'_>, style: Style) -> Option<String> {
    let mut measures = course.measures.iter().filter(|_| row.is_complete);
    let found = measures.find(|measure| measure.name == row.measure.name)?;
    let values: Vec<f64> = found.p90.iter().map(|n| n.map_or(0.0, |n| n.0)).collect();
    let peak = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    // What is brief stays to be seen.
    let few: Vec<f64> =
        values.chunks(values.len().div_ceil(SPARK_COLUMNS).max(1)).map(peak).collect();
    (!awaits_nothing(row.measure) && peak(&few) > 0.0).then(|| sparkline(&few, few.len(), style))
}
