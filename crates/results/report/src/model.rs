//! Models of workloads: a summary for the terminal, and the whole report.

mod markdown;
pub(crate) mod page;
mod reference_check;

use model::{Check, Finding, Model, Severity};

use units::counted;

use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;

pub use markdown::markdown;
pub use reference_check::reference_check;

/// Columns of the text.
const COLUMNS: usize = 100;
/// Tests of a check that are shown; more only if they reject.
const TESTS_MAX: usize = 12;
/// Segments and classes shown.
const ROWS_MAX: usize = 12;

/// A model, for a terminal. `directory`: where it was written.
pub fn summary(model: &Model, directory: &str, style: Style) -> String {
    let mut lines = vec![
        Line::default().tone(Tone::Strong, format!("MODEL {}", model.name)).render(COLUMNS, style),
        Line::default()
            .text(format!(
                "{}, {}, {} sessions a second over {}",
                counted(model.log.requests, "request"),
                counted(model.segments.iter().map(|segment| segment.sessions).sum(), "session"),
                figure(model.arrivals.rate_per_s),
                span(model.arrivals.span_s),
            ))
            .render(COLUMNS, style),
        String::new(),
    ];
    lines.extend(segments(model).render(COLUMNS, style));
    lines.push(String::new());
    lines.extend(classes(model).render(COLUMNS, style));
    lines.push(String::new());
    for finding in &model.findings {
        lines.extend(finding_lines(finding, style));
    }
    lines.push(String::new());
    let directory = directory.trim_end_matches('/');
    lines.push(format!("{directory}/report.md has every test; run the model with"));
    lines.push(format!(
        "  throng run {directory}/scenario.yaml --set target=http://127.0.0.1:8080/"
    ));
    lines.join("\n")
}

/// The result of a check, for a terminal.
pub fn check(check: &Check, style: Style) -> String {
    let rejected = check.tests.iter().filter(|test| test.rejected).count();
    let (tone, mark) = match check.holds {
        true => (Tone::Good, "MATCHES"),
        false => (Tone::Bad, "DIFFERS"),
    };
    let mut lines = vec![
        Line::default()
            .tone(tone, mark)
            .text(format!(
                "  {} simulated sessions against {} of the log: {rejected} of {} tests reject, at {} % for all",
                check.sessions.1,
                check.sessions.0,
                check.tests.len(),
                check.level * 100.0
            ))
            .render(COLUMNS, style),
        String::new(),
    ];
    let mut table = Table::new(&["what", "test of", "difference", "p", "adjusted"]);
    for test in check.tests.iter().take(TESTS_MAX.max(rejected)) {
        let tone = test.rejected.then_some(Tone::Bad);
        table.row(vec![
            (tone, test.what.clone()),
            (None, test.quantity.clone()),
            (None, format!("{:.2} %", test.distance * 100.0)),
            (None, format!("{:.4}", test.p)),
            (tone, format!("{:.4}", test.p_adjusted)),
        ]);
    }
    lines.extend(table.render(COLUMNS, style));
    lines.join("\n")
}

fn finding_lines(finding: &Finding, style: Style) -> Vec<String> {
    let (mark, tone) = match finding.severity {
        Severity::Good => (style.pick("✓", "+"), Tone::Good),
        Severity::Note => (style.pick("·", "-"), Tone::Dim),
        Severity::Warning => ("!", Tone::Warning),
    };
    let wrapped = wrap(&finding.text, COLUMNS - 2);
    let texts = wrapped.iter().enumerate();
    texts
        .map(|(number, text)| {
            let line = match number {
                0 => Line::default().tone(tone, format!("{mark} ")),
                _ => Line::default().text("  "),
            };
            line.text(text).render(COLUMNS, style)
        })
        .collect()
}

fn segments(model: &Model) -> Table {
    let mut table =
        Table::new(&["segment", "sessions", "per s", "requests", "mean think", "distribution"]);
    for segment in model.segments.iter().take(ROWS_MAX) {
        let thinks = &segment.behaviour.thinks;
        let fit = thinks.chosen_fit().map_or("values", |fit| fit.family.name());
        table.row(vec![
            (None, segment.name.clone()),
            (None, segment.sessions.to_string()),
            (None, figure(segment.sessions as f64 / model.arrivals.span_s)),
            (None, segment.requests.to_string()),
            (None, format!("{} s", figure(thinks.mean_s))),
            (None, fit.to_owned()),
        ]);
    }
    more(&mut table, model.segments.len());
    table
}

fn classes(model: &Model) -> Table {
    let mut table = Table::new(&["class of requests", "requests", "share"]);
    for class in model.classes.iter().take(ROWS_MAX) {
        let share = class.requests as f64 / model.log.requests.max(1) as f64;
        table.row(vec![
            (None, class.name.clone()),
            (None, class.requests.to_string()),
            (None, units::share(share)),
        ]);
    }
    more(&mut table, model.classes.len());
    table
}

fn more(table: &mut Table, count: usize) {
    if count > ROWS_MAX {
        table.section(Line::default().tone(Tone::Dim, format!("and {} more", count - ROWS_MAX)));
    }
}

/// Four significant digits.
fn figure(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return "0".to_owned();
    }
    let places = (3 - x.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{x:.places$}")
}

/// Days, hours, minutes or seconds.
fn span(seconds: f64) -> String {
    match seconds {
        s if s >= 2.0 * 86_400.0 => format!("{:.1} days", s / 86_400.0),
        s if s >= 2.0 * 3_600.0 => format!("{:.1} h", s / 3_600.0),
        s if s >= 120.0 => format!("{:.1} min", s / 60.0),
        s => format!("{s:.0} s"),
    }
}
