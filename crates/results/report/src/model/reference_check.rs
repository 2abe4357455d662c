//! A model beside its reference figures.

use model::{ReferenceCheck, ReferenceFigure};

use super::{COLUMNS, figure};
use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;

/// The result of a test against reference figures, for a terminal.
pub fn reference_check(check: &ReferenceCheck, style: Style) -> String {
    let (tone, mark) = match check.holds {
        true => (Tone::Good, "AGREES"),
        false => (Tone::Bad, "DISAGREES"),
    };
    let figures = &check.figures;
    let rejected = figures.iter().filter(|figure| figure.rejected).count();
    let mut lines = vec![
        Line::default()
            .tone(tone, mark)
            .text(format!(
                "  {rejected} of {} figures rejected, at {} % for all together",
                figures.len(),
                check.level * 100.0
            ))
            .render(COLUMNS, style),
        String::new(),
    ];
    let mut table = Table::new(&["", "reference", "observed", "interval", "count", "p", ""]);
    let mut segment = "";
    for figure in figures.iter().filter(|figure| !figure.is_uninformative()) {
        if figure.segment != segment {
            segment = &figure.segment;
            table.section(Line::default().tone(Tone::Strong, segment));
        }
        table.row(row(figure));
    }
    lines.extend(table.render(COLUMNS, style));
    lines.push(String::new());
    lines.extend(sentences(check).iter().flat_map(|text| wrap(text, COLUMNS)));
    for note in &check.notes {
        let wrapped = wrap(note, COLUMNS - 2);
        for (number, text) in wrapped.iter().enumerate() {
            let line = match number {
                0 => Line::default().tone(Tone::Warning, "! "),
                _ => Line::default().text("  "),
            };
            lines.push(line.text(text).render(COLUMNS, style));
        }
    }
    lines.join("\n")
}

fn row(of: &ReferenceFigure) -> Vec<(Option<Tone>, String)> {
    let (tone, mark) = match (of.rejected, of.inside) {
        (true, _) => (Some(Tone::Bad), "rejected"),
        (false, true) => (None, ""),
        (false, false) => (Some(Tone::Warning), "missed"),
    };
    let unit = if of.of.is_none() { "/s" } else { "" };
    let seen = match of.of {
        Some(all) => format!("{} of {all}", of.count),
        None => of.count.to_string(),
    };
    vec![
        (tone, format!("  {}", of.what)),
        (None, format!("{}{unit}", figure(of.reference))),
        (None, of.observed.map_or("–".to_owned(), figure)),
        (None, format!("{} … {}", figure(of.low), figure(of.high))),
        (None, seen),
        (None, format!("{:.3}", of.p)),
        (tone, mark.to_owned()),
    ]
}

fn sentences(check: &ReferenceCheck) -> Vec<String> {
    let uninformative = check.figures.iter().filter(|figure| figure.is_uninformative()).count();
    let mut sentences = vec![format!(
        "{} of {} intervals of {} % miss the reference; if all of it is right, {:.1} do on average, and this many or \
         more with a probability of {:.3}",
        check.misses,
        check.figures.len() - uninformative,
        check.confidence * 100.0,
        check.misses_expected,
        check.p_misses,
    )];
    if uninformative > 0 {
        sentences.push(format!(
            "{uninformative} figures have too few sessions for a test; against.json lists them"
        ));
    }
    if check.speed != 1.0 {
        sentences.push(format!(
            "rates are on the scale of the table: the log's users were {} times as fast",
            check.speed
        ));
    }
    sentences
}
