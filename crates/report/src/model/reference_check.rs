//! A model beside what was stated of its crowd.

use model::{Against, StatedFigure};

use super::{COLUMNS, figure};
use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;

/// What came of holding a model against stated figures, for a terminal.
pub fn model_against(against: &Against, style: Style) -> String {
    let (tone, mark) = match against.holds {
        true => (Tone::Good, "AS STATED"),
        false => (Tone::Bad, "NOT AS STATED"),
    };
    let figures = &against.figures;
    let refused = figures.iter().filter(|figure| figure.refused).count();
    let mut lines = vec![
        Line::default()
            .tone(tone, mark)
            .text(format!(
                "  {refused} of {} figures refused, at {} % for all together",
                figures.len(),
                against.level * 100.0
            ))
            .render(COLUMNS, style),
        String::new(),
    ];
    let mut table = Table::new(&["", "stated", "found", "interval", "seen", "p", ""]);
    let mut segment = "";
    for figure in figures.iter().filter(|figure| !figure.says_nothing()) {
        if figure.segment != segment {
            segment = &figure.segment;
            table.section(Line::default().tone(Tone::Strong, segment));
        }
        table.row(row(figure));
    }
    lines.extend(table.render(COLUMNS, style));
    lines.push(String::new());
    lines.extend(
        sentences(against)
            .iter()
            .flat_map(|text| wrap(text, COLUMNS)),
    );
    for told in &against.told {
        let wrapped = wrap(told, COLUMNS - 2);
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

fn row(of: &StatedFigure) -> Vec<(Option<Tone>, String)> {
    let (tone, mark) = match (of.refused, of.inside) {
        (true, _) => (Some(Tone::Bad), "refused"),
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
        (None, format!("{}{unit}", figure(of.stated))),
        (None, of.found.map_or("–".to_owned(), figure)),
        (None, format!("{} … {}", figure(of.low), figure(of.high))),
        (None, seen),
        (None, format!("{:.3}", of.p)),
        (tone, mark.to_owned()),
    ]
}

fn sentences(against: &Against) -> Vec<String> {
    let mute = against
        .figures
        .iter()
        .filter(|figure| figure.says_nothing())
        .count();
    let mut sentences = vec![format!(
        "{} of {} intervals of {} % miss what was stated; were all of it right, {:.1} would on average, and so \
         many or more with a probability of {:.3}",
        against.misses,
        against.figures.len() - mute,
        against.confidence * 100.0,
        against.misses_expected,
        against.p_misses,
    )];
    if mute > 0 {
        sentences.push(format!(
            "{mute} figures are of too few sessions to say anything; against.json has them"
        ));
    }
    if against.speed != 1.0 {
        sentences.push(format!(
            "rates are as stated: the log's crowd was {} times as fast",
            against.speed
        ));
    }
    sentences
}
