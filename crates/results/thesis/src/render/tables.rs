//! The tables of the thesis as text: printed beside computed.

use crate::{Agreement, ReproducedCell, ReproducedRow, Reproduction};

use report::{COLUMNS, INDENT, Line, Style, Table, Tone, wrap};

/// Digits behind the printed ones that a computed figure is reported with.
const MORE_DIGITS: usize = 2;

/// The text on all tables. Lines end with `\n`.
pub fn thesis(reproduction: &Reproduction, style: Style) -> String {
    let mut lines = vec![
        Line::default().tone(Tone::Strong, reproduction.source.clone()).render(COLUMNS, style),
        String::new(),
    ];
    for (mark, words) in [
        ("=", "agrees in every digit, rounded"),
        ("<", "agrees in every digit, truncated instead of rounded"),
        ("~", "agrees within the rounding of the printed inputs"),
        ("X", "does not agree; see the note below the table"),
        (" ", "no data"),
    ] {
        lines.push(format!("{INDENT}{mark}  {words}"));
    }
    lines.push(String::new());
    for remark in &reproduction.remarks {
        lines.extend(wrap(remark, COLUMNS));
    }
    for table in &reproduction.tables {
        lines.push(String::new());
        let title = Line::default()
            .tone(Tone::Strong, format!("Table {}", table.number))
            .text(format!("  {}", table.title));
        lines.push(title.render(COLUMNS, style));
        let mut shown = Table::new(&header(&reproduction.systems));
        for row in &table.rows {
            shown.row(cells(row));
        }
        lines.extend(shown.render(COLUMNS, style));
        for row in &table.rows {
            for (cell, system) in row.cells.iter().zip(&reproduction.systems) {
                lines.extend(note(row, cell, system, style));
            }
        }
    }
    lines.push(String::new());
    lines.push(counts(reproduction));
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

fn header(systems: &[String]) -> Vec<&str> {
    let columns = systems.iter().flat_map(|system| [system.as_str(), "computed", ""]);
    ["printed"].into_iter().chain(columns).collect()
}

fn cells(row: &ReproducedRow) -> Vec<(Option<Tone>, String)> {
    let name = match row.unit.is_empty() {
        true => format!("{INDENT}{}", row.name),
        false => format!("{INDENT}{}, {}", row.name, row.unit),
    };
    let mut cells = vec![(None, name)];
    for cell in &row.cells {
        let (tone, mark) = match &cell.agreement {
            Agreement::Rounded => (Some(Tone::Good), "="),
            Agreement::CutOff => (Some(Tone::Good), "<"),
            Agreement::WithinRounding => (Some(Tone::Good), "~"),
            Agreement::Differs { .. } => (Some(Tone::Bad), "X"),
            Agreement::NoData | Agreement::NotPrinted => (None, " "),
        };
        cells.push((None, cell.printed.clone().unwrap_or_default()));
        cells.push((None, computed(cell)));
        cells.push((tone, mark.to_owned()));
    }
    cells
}

/// With two digits more than are printed, where it is no count.
fn computed(cell: &ReproducedCell) -> String {
    let (Some(value), Some(printed)) = (cell.computed, &cell.printed) else {
        return String::new();
    };
    let decimals = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    if value.fract() == 0.0 && decimals == 0 {
        return format!("{value:.0}");
    }
    format!("{value:.*}", decimals + MORE_DIGITS)
}

/// Remarks on a figure that does not agree.
fn note(row: &ReproducedRow, cell: &ReproducedCell, system: &str, style: Style) -> Vec<String> {
    let Agreement::Differs { digits, note } = &cell.agreement else {
        return Vec::new();
    };
    let printed = cell.printed.as_deref().unwrap_or_default();
    let alike = match digits {
        0 => "not even the first digit agrees".to_owned(),
        1 => "1 digit agrees".to_owned(),
        digits => format!("{digits} digits agree"),
    };
    let mut text =
        format!("{system}, {}: printed {printed}, computed {}; {alike}", row.name, computed(cell));
    if let Some(note) = note {
        text += &format!("; {note}");
    }
    let lines = wrap(&text, COLUMNS - 4).into_iter().enumerate();
    let render = |(number, part)| {
        let mark = if number == 0 { "X" } else { " " };
        Line::default()
            .text(INDENT)
            .tone(Tone::Bad, mark)
            .text(" ")
            .text(part)
            .render(COLUMNS, style)
    };
    lines.map(render).collect()
}

fn counts(reproduction: &Reproduction) -> String {
    let cells = || {
        let rows = reproduction.tables.iter().flat_map(|table| &table.rows);
        rows.flat_map(|row| &row.cells).filter(|cell| cell.printed.is_some())
    };
    let count = |of: fn(&Agreement) -> bool| {
        units::count(cells().filter(|cell| of(&cell.agreement)).count() as u64)
    };
    format!(
        "Of {} printed figures, {} agree in every digit, {} agree within rounding, {} do not \
         agree, and {} lack data.",
        units::count(cells().count() as u64),
        count(|a| matches!(a, Agreement::Rounded | Agreement::CutOff)),
        count(|a| matches!(a, Agreement::WithinRounding)),
        count(|a| matches!(a, Agreement::Differs { .. })),
        count(|a| matches!(a, Agreement::NoData)),
    )
}
