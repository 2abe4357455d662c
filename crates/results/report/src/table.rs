//! Aligned columns: the first to the left, figures to the right.
//!
//! A table that is too wide first loses columns, one after another in an order that it states, and then the middles of its
//! names. A figure is never cut.

use std::collections::{BTreeMap, BTreeSet};

use crate::style::{Line, Style, Tone};

/// Columns between two columns.
const GAP: usize = 2;
/// Columns are left out before names get fewer characters than this …
const NAME_KEPT: usize = 20;
/// … and names are not shortened below this.
const NAME_MIN: usize = 10;

/// A table whose rows may be divided into sections.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
    /// Columns by their place, in the order in which they are left out.
    dropped: Vec<usize>,
}

#[derive(Debug)]
enum Row {
    /// Across all columns.
    Section(Line),
    Cells(Vec<(Option<Tone>, String)>),
}

impl Table {
    /// A table with this header. If it is too wide, columns are left out from the last one on.
    pub fn new(header: &[&str]) -> Table {
        let cells = header.iter().map(|text| (Some(Tone::Dim), (*text).to_owned())).collect();
        Table { rows: vec![Row::Cells(cells)], dropped: (1..header.len()).rev().collect() }
    }

    /// Columns of the header that are left out before all others, in this order.
    #[must_use]
    pub fn dropping(mut self, first: &[&str]) -> Table {
        let Some(Row::Cells(header)) = self.rows.first() else {
            return self;
        };
        let place = |name: &&str| header.iter().position(|(_, text)| text == *name);
        let first: Vec<usize> = first.iter().filter_map(place).collect();
        self.dropped.retain(|column| !first.contains(column));
        self.dropped.splice(0..0, first);
        self
    }

    /// Adds a line of its own across all columns.
    pub fn section(&mut self, line: Line) {
        self.rows.push(Row::Section(line));
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<(Option<Tone>, String)>) {
        self.rows.push(Row::Cells(cells));
    }

    /// The lines, of at most `columns` characters.
    pub fn render(&self, columns: usize, style: Style) -> Vec<String> {
        let mut widths = self.widths();
        let Some(&longest) = widths.first() else {
            let lines = self.rows.iter().map(|row| line(row, &[], &BTreeMap::new()));
            return lines.map(|line| line.render(columns, style)).collect();
        };
        let mut figures: usize = widths.iter().skip(1).map(|width| width + GAP).sum();
        for &column in &self.dropped {
            if longest.min(NAME_KEPT) + figures <= columns {
                break;
            }
            figures -= widths[column] + GAP;
            widths[column] = 0;
        }
        let room = columns.saturating_sub(figures).max(NAME_MIN);
        let names = self.rows.iter().filter_map(|row| match row {
            Row::Section(_) => None,
            Row::Cells(cells) => cells.first().map(|(_, name)| name.as_str()),
        });
        let names = short_names(names.collect(), room, style);
        widths[0] = longest.min(room);
        let lines = self.rows.iter().map(|row| line(row, &widths, &names));
        lines.map(|line| line.render(columns, style)).collect()
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

/// `widths`: 0 for a column that is left out. `names`: the forms of those that are shortened.
fn line(row: &Row, widths: &[usize], names: &BTreeMap<&str, String>) -> Line {
    let cells = match row {
        Row::Section(line) => return line.clone(),
        Row::Cells(cells) => cells,
    };
    let mut line = Line::default();
    for (number, ((tone, text), width)) in cells.iter().zip(widths).enumerate() {
        line = match number {
            0 => {
                let name = names.get(text.as_str()).unwrap_or(text);
                line.maybe(*tone, format!("{name:<width$}"))
            }
            _ if *width == 0 => line,
            _ => line.text(" ".repeat(GAP + width - text.chars().count())).maybe(*tone, text),
        };
    }
    line
}

/// The names that are longer than `columns`, with the form in which they are shown: without their middles, and different
/// from all others. Where names differ decides what is left of them; names that differ in nothing that has room are
/// numbered.
fn short_names(names: BTreeSet<&str>, columns: usize, style: Style) -> BTreeMap<&str, String> {
    let is_long = |name: &&str| name.chars().count() > columns;
    let (long, short): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_long);
    let mut used: BTreeSet<String> = short.into_iter().map(str::to_owned).collect();
    let kept = columns.saturating_sub(1);
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in long {
        alike.entry(cut(name, kept, kept / 2, style)).or_default().push(name);
    }
    let mut found = BTreeMap::new();
    for group in alike.into_values() {
        // The most even cut that tells them apart.
        let tails = (0..=kept / 2).flat_map(|off| [kept / 2 - off, (kept / 2 + off).min(kept)]);
        let cuts = tails.map(|tail| -> Vec<String> {
            group.iter().map(|name| cut(name, kept, tail, style)).collect()
        });
        let mut apart = cuts.filter(|cuts| {
            let different: BTreeSet<&String> = cuts.iter().collect();
            different.len() == cuts.len() && cuts.iter().all(|cut| !used.contains(cut))
        });
        let shown = apart.next().unwrap_or_else(|| numbered(&group, kept, &used, style));
        used.extend(shown.iter().cloned());
        found.extend(group.into_iter().zip(shown));
    }
    found
}

/// The name with its first characters, a mark, and its last `tail` characters; `kept` without the mark.
fn cut(name: &str, kept: usize, tail: usize, style: Style) -> String {
    let length = name.chars().count();
    let head: String = name.chars().take(kept - tail).collect();
    let end: String = name.chars().skip(length - tail).collect();
    format!("{head}{}{end}", style.pick("…", "~"))
}

/// The beginnings of names with a number each.
fn numbered(group: &[&str], kept: usize, used: &BTreeSet<String>, style: Style) -> Vec<String> {
    let mut numbers = 1_u32..;
    let forms = group.iter().map(|name| {
        let mut forms = numbers.by_ref().map(|number| {
            let digits = number.to_string();
            let head: String = name.chars().take(kept.saturating_sub(digits.len())).collect();
            format!("{head}{}{digits}", style.pick("…", "~"))
        });
        forms.find(|form| !used.contains(form)).expect("there is always a further number")
    });
    forms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNICODE: Style = Style { colour: false, unicode: true };

    fn table(names: &[&str]) -> Table {
        let mut table = Table::new(&["step", "count", "p50", "p99", "max"]).dropping(&["p50"]);
        for name in names {
            let cells = [*name, "12,345", "11.7 ms", "401 ms", "11.7 s"];
            table.row(cells.map(|cell| (None, cell.to_owned())).into());
        }
        table
    }

    #[test]
    fn columns_are_left_out_in_their_order_and_figures_stay_complete() {
        let table = table(&["a step whose name is long", "b"]);
        let shown = |columns| table.render(columns, UNICODE).join("\n");
        expect_test::expect![[r#"
            step                        count      p50     p99     max
            a step whose name is long  12,345  11.7 ms  401 ms  11.7 s
            b                          12,345  11.7 ms  401 ms  11.7 s"#]]
        .assert_eq(&shown(60));
        expect_test::expect![[r#"
            step                       count      p50     p99     max
            a step whose…ame is long  12,345  11.7 ms  401 ms  11.7 s
            b                         12,345  11.7 ms  401 ms  11.7 s"#]]
        .assert_eq(&shown(57));
        expect_test::expect![[r#"
            step                      count     p99     max
            a step whos…ame is long  12,345  401 ms  11.7 s
            b                        12,345  401 ms  11.7 s"#]]
        .assert_eq(&shown(47));
        expect_test::expect![[r#"
            step                    count     p99
            a step who…me is long  12,345  401 ms
            b                      12,345  401 ms"#]]
        .assert_eq(&shown(37));
        assert!((10..80).all(|columns| {
            table.render(columns, UNICODE).iter().all(|line| line.chars().count() <= columns)
        }));
    }

    #[test]
    fn no_two_names_read_equal() {
        let check = |names: &[&str]| {
            for columns in 0..60 {
                for style in [UNICODE, Style::PLAIN] {
                    let short =
                        short_names(names.iter().copied().collect(), columns.max(NAME_MIN), style);
                    let shown: BTreeSet<&str> = names
                        .iter()
                        .map(|name| short.get(name).map_or(*name, String::as_str))
                        .collect();
                    assert_eq!(shown.len(), names.len(), "{columns}: {shown:?}");
                    let width = shown.iter().map(|name| name.chars().count()).max();
                    assert!(width <= Some(columns.max(NAME_MIN)), "{columns}: {shown:?}");
                }
            }
        };
        check(&["GET /shop/checkout/first/confirm", "GET /shop/checkout/other/confirm"]);
        check(&[
            "GET /shop/checkout/confirm/1",
            "GET /shop/checkout/confirm/2",
            "GET /sh…confirm/2",
        ]);
        let middle = |n: u32| format!("the same beginning {n} and the same end of all of them");
        let names: Vec<String> = (0..12).map(middle).collect();
        check(&names.iter().map(String::as_str).collect::<Vec<_>>());
        check(&["Fußball — Spiel eins von vielen", "Fußball — Spiel zwei von vielen"]);
    }
}
