//! Aligned columns: the first to the left, figures to the right.

use crate::style::{Line, Style, Tone, shorten};

/// Columns between two columns.
const GAP: usize = 2;
/// Names are not shortened below this.
const NAME_MIN: usize = 10;

/// A table whose rows may be divided into sections.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
}

#[derive(Debug)]
enum Row {
    /// Across all columns.
    Section(Line),
    Cells(Vec<(Option<Tone>, String)>),
}

impl Table {
    /// A table with this header.
    pub fn new(header: &[&str]) -> Table {
        let cells = header.iter().map(|text| (Some(Tone::Dim), (*text).to_owned())).collect();
        Table { rows: vec![Row::Cells(cells)] }
    }

    /// Adds a line of its own across all columns.
    pub fn section(&mut self, line: Line) {
        self.rows.push(Row::Section(line));
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<(Option<Tone>, String)>) {
        self.rows.push(Row::Cells(cells));
    }

    /// The lines, of at most `columns` characters as far as cutting names allows.
    pub fn render(&self, columns: usize, style: Style) -> Vec<String> {
        let mut widths = self.widths();
        let figures: usize = widths.iter().skip(1).map(|width| width + GAP).sum();
        let name_max = columns.saturating_sub(figures).max(NAME_MIN);
        if let Some(name) = widths.first_mut() {
            *name = (*name).min(name_max);
        }
        self.rows.iter().map(|row| line(row, &widths, style).render(columns, style)).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            let Row::Cells(cells) = row else { continue };
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, (_, text)) in widths.iter_mut().zip(cells) {
                *width = (*width).max(text.chars().count());
            }
        }
        widths
    }
}

fn line(row: &Row, widths: &[usize], style: Style) -> Line {
    let cells = match row {
        Row::Section(line) => return line.clone(),
        Row::Cells(cells) => cells,
    };
    let mut line = Line::default();
    for (number, ((tone, text), width)) in cells.iter().zip(widths).enumerate() {
        line = match number {
            0 => line.maybe(*tone, format!("{:<width$}", shorten(text, *width, style))),
            _ => line.text(" ".repeat(GAP + width - text.chars().count())).maybe(*tone, text),
        };
    }
    line
}
