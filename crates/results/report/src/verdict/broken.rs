//! Failures by what they were, and incidents.

use std::collections::BTreeSet;

use record::schema::{ErrorSummary, Incident, Summary, failure_name};

use super::{INDENT, heading, marked};
use crate::style::{Line, Style, Tone, shorten};
use crate::table::Table;

/// Most failures and incidents that are shown unless all are.
const SHOWN_MAX: usize = 10;
/// Most first texts of failures that are shown unless more are.
const TEXTS_MAX: usize = 3;
/// Most characters of a detail.
const DETAIL_COLUMNS_MAX: usize = 200;
const UNICODE: Style = Style { colour: false, unicode: true };
/// Columns that are left out in this order where the table is too wide.
const DROPPED: &[&str] = &["share", "when"];

/// Failures of a step by what they were: `checkout: status 503`, the most frequent first. `full`: all of them.
pub(super) fn errors(summary: &Summary, full: bool, columns: usize, style: Style) -> Vec<String> {
    let errors = &summary.errors;
    if errors.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["what broke", "count", "share", "when"]).dropping(DROPPED);
    let shown = if full { errors.len() } else { errors.len().min(SHOWN_MAX) };
    for error in &errors[..shown] {
        let share = error.share.map_or("–".to_owned(), units::share);
        table.row(vec![
            (None, format!("{INDENT}{}: {}", error.step, failure(error))),
            (Some(Tone::Bad), units::count(error.count)),
            (None, share),
            (None, seen(error)),
        ]);
    }
    let rest = &errors[shown..];
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|error| error.count).sum();
        let text = format!("{INDENT}and {} more: {}", rest.len(), units::count(count));
        table.section(Line::default().tone(Tone::Dim, text));
    }
    let mut lines = table.render(columns, style);
    lines.extend(first_texts(&errors[..shown], full, columns, style));
    lines
}

/// The first texts of failures of which the table may not say all: a detail has no numbers, and a long one is cut.
fn first_texts(errors: &[ErrorSummary], full: bool, columns: usize, style: Style) -> Vec<String> {
    let mut known = BTreeSet::new();
    let texts = errors.iter().filter_map(|error| {
        let text = error.samples.first()?.text.as_str();
        let name = failure(error);
        let is_whole = name.contains(text) && name.chars().count() <= columns / 2;
        let is_new = !is_whole && known.insert(text);
        let text = shorten(text, DETAIL_COLUMNS_MAX, UNICODE);
        is_new.then(|| format!("first of {}: {text}", error.step))
    });
    let shown = if full { SHOWN_MAX } else { TEXTS_MAX };
    let mark = style.pick("·", "-");
    texts.take(shown).flat_map(|text| marked(Tone::Dim, mark, &text, columns, style)).collect()
}

/// Kind and detail: `status 503`, `script: x is not defined`.
pub(crate) fn failure(error: &ErrorSummary) -> String {
    let detail = error.detail.as_deref();
    let detail = detail.map(|detail| shorten(detail, DETAIL_COLUMNS_MAX, UNICODE));
    failure_name(&error.kind, detail.as_deref())
}

/// `checkout: status 503: 82 (30 %), 0:15–0:25`.
pub(crate) fn sentence(error: &ErrorSummary) -> String {
    let share = error.share.map_or(String::new(), |share| format!(" ({})", units::share(share)));
    let count = units::count(error.count);
    format!("{}: {}: {count}{share}, {}", error.step, failure(error), seen(error))
}

/// The first and the last of them: `0:15–0:25`.
pub(crate) fn seen(error: &ErrorSummary) -> String {
    format!("{}–{}", units::clock(error.first_ns), units::clock(error.last_ns))
}

/// Windows in which a step was worse, each with the nearest of what else happened then. `full`: all of them.
pub(super) fn incidents(
    incidents: &[Incident],
    full: bool,
    columns: usize,
    style: Style,
) -> Vec<String> {
    if incidents.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("incidents", columns, style)];
    let shown = if full { incidents.len() } else { incidents.len().min(SHOWN_MAX) };
    for incident in &incidents[..shown] {
        let beside = match full {
            true => incident.beside.join("; "),
            false => incident.beside.first().cloned().unwrap_or_default(),
        };
        let text = match beside.is_empty() {
            true => incident.text.clone(),
            false => format!("{}; {beside}", incident.text),
        };
        lines.extend(marked(Tone::Bad, style.pick("✗", "x"), &text, columns, style));
    }
    if shown < incidents.len() {
        let text = format!("{INDENT}and {} more", incidents.len() - shown);
        lines.push(Line::default().tone(Tone::Dim, text).render(columns, style));
    }
    lines
}
