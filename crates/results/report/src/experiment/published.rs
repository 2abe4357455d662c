//! Values that others published for a response: the means of the runs beside them, and the verdicts
//! on their claims.

use compare::experiment::{
    Analysis, BarGroup, ClaimFigures, ClaimVerdict, PublishedFigures, ResponseAnalysis,
};

use super::numbers::Numbers;
use super::values::{at, levels_of};
use super::{COLUMNS, INDENT};
use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;

/// Most means that are listed.
const MEANS_MAX: usize = 64;

/// The lines of what was published; none if nothing was.
pub(super) fn lines(analysis: &Analysis, response: &ResponseAnalysis, style: Style) -> Vec<String> {
    let Some(published) = &response.published else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if !response.bars.groups.is_empty() {
        lines.push(String::new());
        lines.extend(means(analysis, response, published).render(COLUMNS, style));
    }
    if !published.source.is_empty() {
        let text = format!("{INDENT}published: {}", published.source);
        let line = Line::default().tone(Tone::Dim, text);
        lines.push(line.render(COLUMNS, style));
    }
    if !published.claims.is_empty() {
        lines.push(String::new());
        let heading = Line::default().tone(Tone::Dim, "published claims");
        lines.push(heading.render(COLUMNS, style));
    }
    for claim in &published.claims {
        lines.extend(claim_lines(analysis, claim, style));
    }
    lines
}

/// The means by the levels of one factor, with intervals.
fn means(analysis: &Analysis, response: &ResponseAnalysis, published: &PublishedFigures) -> Table {
    let numbers = Numbers::new(response);
    let bars = &response.bars;
    let factor = analysis.factors.get(bars.factor);
    let title = format!("means by {}", factor.map_or("", |factor| &factor.name));
    let interval = format!("{} interval", units::share(analysis.confidence));
    let has_values = !published.cells.is_empty();
    let mut header = vec![title.as_str(), "runs", "mean", interval.as_str()];
    header.extend(has_values.then_some("published"));
    let mut table = Table::new(&header);
    let mut shown = 0;
    for group in &bars.groups {
        if shown + group.bars.len() > MEANS_MAX {
            break;
        }
        shown += group.bars.len();
        section(&mut table, analysis, group);
        for bar in &group.bars {
            let levels = factor.map_or(&[][..], |factor| &factor.levels);
            let name = levels.get(bar.level).map_or("", String::as_str);
            let at_least = if bar.is_bound { "≥ " } else { "" };
            let ends = bar.low.zip(bar.high);
            let ends = ends
                .map(|(low, high)| format!("{} to {}", numbers.value(low), numbers.value(high)));
            let mut row = vec![
                (None, format!("{INDENT}{INDENT}{name}")),
                (None, units::count(bar.runs as u64)),
                (None, format!("{at_least}{}", numbers.value(bar.mean))),
                (None, ends.unwrap_or_else(|| "–".to_owned())),
            ];
            if has_values {
                let value = bar.published.map(|value| numbers.value(value));
                row.push((None, value.unwrap_or_else(|| "–".to_owned())));
            }
            table.row(row);
        }
    }
    let all: usize = bars.groups.iter().map(|group| group.bars.len()).sum();
    if shown < all {
        let text = format!("{INDENT}and {} more, in analysis.json", all - shown);
        table.section(Line::default().tone(Tone::Dim, text));
    }
    table
}

/// The levels of the other factors, and whether the scatter differs there.
fn section(table: &mut Table, analysis: &Analysis, group: &BarGroup) {
    let place = at(&levels_of(analysis, &group.levels));
    let note = match group.pooled {
        true => "",
        false => "the scatter differs: each interval is of its own runs",
    };
    if !place.is_empty() || !note.is_empty() {
        let gap = if place.is_empty() { "" } else { "  " };
        let line = Line::default().text(format!("{INDENT}{place}{gap}"));
        table.section(line.tone(Tone::Dim, note));
    }
}

/// A claim and whether it holds, then the same of each combination of the other factors.
fn claim_lines(analysis: &Analysis, claim: &ClaimFigures, style: Style) -> Vec<String> {
    let (tone, unicode, ascii) = match claim.verdict {
        ClaimVerdict::Holds => (Tone::Good, "✓", "+"),
        ClaimVerdict::DoesNotHold => (Tone::Bad, "✗", "x"),
        ClaimVerdict::NotSeparable | ClaimVerdict::NotMeasured => (Tone::Dim, "·", "-"),
    };
    let mark = style.pick(unicode, ascii);
    let order = match claim.text == claim.order {
        true => String::new(),
        false => format!(" ({})", claim.order),
    };
    let text = format!("{}: {}{order}", claim.verdict.text(), claim.text);
    let mut lines = Vec::new();
    for part in wrap(&text, COLUMNS - 4) {
        let line = Line::default().text(INDENT);
        let line = match lines.is_empty() {
            true => line.tone(tone, mark).text(" "),
            false => line.text("  "),
        };
        lines.push(line.text(part).render(COLUMNS, style));
    }
    for place in &claim.places {
        let levels = at(&levels_of(analysis, &place.levels));
        let gap = if levels.is_empty() { "" } else { ": " };
        let text = format!("{levels}{gap}{}: {}", place.verdict.text(), place.why);
        for part in wrap(&text, COLUMNS - 6) {
            let line = Line::default().text("      ").text(part);
            lines.push(line.render(COLUMNS, style));
        }
    }
    lines
}
