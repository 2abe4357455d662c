//! The table of steps: what failed first, then what is slow.

use judge::course::Course;
use judge::focus::{StepOrder, StepRank};
use record::schema::{MeasureSummary, RunInfo, Summary};

use super::{INDENT, VerdictText, rate};
use crate::live::chart::sparkline;
use crate::style::{Style, Tone};
use crate::table::Table;
use crate::times::{awaits_nothing, response_times};

/// Characters of a line over time.
const SPARK_COLUMNS: usize = 16;
/// The head of the column of lines over time.
const OVER_TIME: &str = "p95 over time";
/// Columns that are left out in this order where the table is too wide.
const DROPPED: &[&str] = &["max", "completed", "share", "p95", OVER_TIME, "count", "p99"];
/// The places of p50, p95, p99 and max among the response times of a measure: the times of the page and of Markdown, too.
const TIMES: [usize; 4] = [1, 3, 5, 7];

/// The table of [`rows`].
pub(super) fn steps(text: &VerdictText<'_>, style: Style) -> Vec<String> {
    let VerdictText { summary, info, course, columns, .. } = *text;
    let rows = rows(summary, info);
    let lines: Vec<Option<String>> = rows.iter().map(|row| line(course?, row, style)).collect();
    let has_lines = lines.iter().any(Option::is_some);
    let has_failures = rows.iter().any(|row| row.measure.errors > 0);
    let mut heads = vec!["step", "count", "completed", "failed"];
    heads.extend(has_failures.then_some("share"));
    heads.extend(["p50", "p95", "p99", "max"]);
    heads.extend(has_lines.then_some(OVER_TIME));
    let mut table = Table::new(&heads).dropping(DROPPED);
    for (row, line) in rows.iter().zip(lines) {
        let measure = row.measure;
        let failed = (measure.errors > 0).then_some(Tone::Bad);
        let mut cells = vec![
            (row.rank.breaks_threshold().then_some(Tone::Bad), format!("{INDENT}{}", row.name)),
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
pub(crate) fn share(measure: &MeasureSummary) -> String {
    match (measure.errors, measure.count) {
        (0, _) | (_, 0) => String::new(),
        (errors, count) => units::share((errors as f64 / count as f64).min(1.0)),
    }
}

/// A row of the table.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    pub(crate) measure: &'a MeasureSummary,
    rank: StepRank,
    /// It is of the complete run, and of one measure.
    is_complete: bool,
}

/// All measures of the run, and tags and phases for which there are thresholds, in the order of [`StepOrder`].
pub(crate) fn rows<'a>(summary: &'a Summary, info: &RunInfo) -> Vec<Row<'a>> {
    let order = StepOrder::of(summary, info);
    let measures = summary.over_regions().iter().map(|measure| Row {
        name: measure.name.clone(),
        measure,
        rank: order.rank(measure),
        is_complete: true,
    });
    let tags = summary.tags.iter().filter_map(|tag| {
        let thresholds = summary.thresholds.iter();
        let own = thresholds.filter(|threshold| names_tag(&threshold.text, &tag.figures.name));
        let mut own = own.peekable();
        own.peek()?;
        let breaks_threshold = own.any(|threshold| !threshold.passed);
        Some(Row {
            name: tag.figures.name.clone(),
            measure: &tag.figures,
            rank: order.rank_of(&tag.figures, breaks_threshold),
            is_complete: false,
        })
    });
    let mut rows: Vec<Row<'a>> = measures.chain(tags).collect();
    // The only phase is the run.
    if summary.phases.len() > 1 {
        for (number, phase) in summary.phases.iter().enumerate() {
            let measures = phase.over_regions().iter();
            let judged = measures.filter(|measure| order.has_threshold(&measure.name, number));
            rows.extend(judged.map(|measure| Row {
                name: format!("{}, phase {}", measure.name, phase.name),
                measure,
                rank: order.rank_of(measure, order.breaks_threshold(&measure.name, Some(number))),
                is_complete: false,
            }));
        }
    }
    rows.sort_by(|one, other| one.rank.compare(&other.rank));
    rows
}

/// True if a threshold is on a figure of this tag: `p98(area=shop) < 10ms`, `p98(area=shop.service) < 10ms`. Measures have
/// numbers, by which their thresholds are known; tags have only names.
fn names_tag(threshold: &str, tag: &str) -> bool {
    let threshold = threshold.replace('"', "");
    let opened = format!("({tag}");
    let behind = threshold.match_indices(&opened).map(|(at, _)| &threshold[at + opened.len()..]);
    let ends = [")", ".succeeded)", ".service)", ".lag)"];
    behind.map(str::trim_start).any(|rest| ends.iter().any(|end| rest.starts_with(end)))
}

/// The response times of a step over time, with gaps where nothing ended; `None` where they are not known.
fn line(course: &Course, row: &Row<'_>, style: Style) -> Option<String> {
    if !row.is_complete || awaits_nothing(row.measure) {
        return None;
    }
    let found = course.lines.iter().find(|line| line.name == row.measure.name)?;
    let values: Vec<f64> = found.p95.iter().map(|n| n.map_or(0.0, |n| n.0)).collect();
    let peak = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    // What is brief stays to be seen. Where nothing is known, nothing is drawn: no response takes 0 ns.
    let few: Vec<f64> =
        values.chunks(values.len().div_ceil(SPARK_COLUMNS).max(1)).map(peak).collect();
    (peak(&few) > 0.0).then(|| sparkline(&few, few.len(), style))
}
