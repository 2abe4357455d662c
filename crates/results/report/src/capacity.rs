//! A capacity search as text: a line for each run, and the conclusion.

use compare::capacity::{Conclusion, Ending, LONGER_TIMES, LevelFigures, Outcome, Trial};
use plan::LoadSetting;
use record::schema::Finding;

use crate::style::{COLUMNS, INDENT};
use crate::style::{Line, Style, Tone};
use crate::table::Table;
use crate::verdict::finding_lines;

/// Note that the target is left alone, as a line without a newline.
pub fn recovers(pause_ns: u64) -> String {
    format!(
        "     waits {} until the target can have worked off what it has not answered",
        units::duration(pause_ns as f64)
    )
}

/// A finished run as a line without a newline.
pub fn trial(number: usize, trial: &Trial, setting: &LoadSetting, style: Style) -> String {
    let (tone, word) = match trial.outcome {
        Outcome::Holds => (Tone::Good, "holds"),
        Outcome::Breaks => (Tone::Bad, "does not hold"),
        Outcome::Untrusted => (Tone::Warning, "untrusted"),
    };
    let length = match trial.is_longer {
        true => format!("  {LONGER_TIMES} times as long:"),
        false => String::new(),
    };
    let figures = trial.figures.as_ref().map_or(String::new(), |figures| {
        format!(
            "  {} succeeded, p50 {}, p99 {}, {} errors, {} in flight",
            units::rate(figures.per_s),
            time(figures.p50()),
            time(figures.p99()),
            units::share(figures.error_share),
            units::significant(figures.in_flight, 3)
        )
    });
    let present = trial
        .present_max
        .map_or(String::new(), |users| format!("  {} users present", units::count(users)));
    // Figures of all requests are others than that of a threshold on one step, on successes or on a phase.
    let nearest = trial.nearest().map(|one| format!("{}: {}", one.text, one.shown));
    let why = match trial.why.first().cloned().or(nearest) {
        Some(why) => format!("  ({why})"),
        None => String::new(),
    };
    Line::default()
        .text(format!("{number:>3}  {:<12} ", setting.shown(trial.load)))
        .tone(tone, format!("{word:<17}"))
        .text(length + &present + &figures + &why)
        .render(usize::MAX, style)
}

/// The conclusion of a search as text. Lines end with `\n`.
pub fn capacity(
    found: &Conclusion,
    setting: &LoadSetting,
    directory: &str,
    style: Style,
) -> String {
    let tone = match found.ending.is_success() {
        true => Tone::Good,
        false => Tone::Bad,
    };
    let shown = |load: f64| setting.shown(load);
    let headline = match (found.holds, found.breaks, found.ending) {
        (Some(low), Some(high), Ending::Found | Ending::Down) => {
            format!("CAPACITY {} TO {}", shown(low), shown(high))
        }
        (Some(load), ..) => format!("CAPACITY {} OR MORE", shown(load)),
        (None, ..) => "NO CAPACITY FOUND".to_owned(),
    };
    let headline = Line::default().tone(tone, headline).text(format!("  of {}", found.of));
    let mut table = Table::new(&["load", "held", "succeeded", "in flight", "p50", "p99", "errors"]);
    for level in &found.levels {
        table.row(cells(level, setting));
    }
    conclusion(&headline, &found.findings, &table, directory, style)
}

/// A conclusion in its parts. Lines end with `\n`.
pub(crate) fn conclusion(
    headline: &Line,
    findings: &[Finding],
    table: &Table,
    directory: &str,
    style: Style,
) -> String {
    let mut lines = vec![String::new(), headline.render(COLUMNS, style), String::new()];
    for finding in findings {
        lines.extend(finding_lines(finding, style));
    }
    lines.push(String::new());
    lines.extend(table.render(COLUMNS, style));
    lines.push(String::new());
    let record = Line::default().tone(Tone::Dim, "record     ").text(directory);
    lines.push(record.render(COLUMNS, style));
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

/// How many of the runs that can be trusted held.
pub(crate) fn held_cell(held: Option<bool>, holds: usize, breaks: usize) -> (Option<Tone>, String) {
    let tone = match held {
        Some(true) => Tone::Good,
        Some(false) => Tone::Bad,
        None => Tone::Warning,
    };
    let text = match holds + breaks {
        0 => "untrusted".to_owned(),
        trusted => format!("{holds} of {trusted}"),
    };
    (Some(tone), text)
}

pub(crate) fn none() -> String {
    "–".to_owned()
}

/// A time, or a lower bound of it.
pub(crate) fn time(found: Option<(u64, bool)>) -> String {
    found.map_or_else(none, |(ns, is_bound)| {
        let at_least = if is_bound { "≥ " } else { "" };
        format!("{at_least}{}", units::duration(ns as f64))
    })
}

fn cells(level: &LevelFigures, setting: &LoadSetting) -> Vec<(Option<Tone>, String)> {
    vec![
        (None, format!("{INDENT}{}", setting.shown(level.load))),
        held_cell(level.held, level.holds, level.breaks),
        (None, level.per_s.map_or_else(none, units::rate)),
        (None, level.in_flight.map_or_else(none, |n| units::significant(n, 3))),
        (None, time(level.p50_ns.map(|ns| (ns, level.p50_is_bound)))),
        (None, time(level.p99_ns.map(|ns| (ns, level.p99_is_bound)))),
        (None, level.error_share.map_or_else(none, units::share)),
    ]
}

#[cfg(test)]
mod tests;
