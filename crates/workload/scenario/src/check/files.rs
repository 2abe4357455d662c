//! Files that a scenario names.

use plan::expr::value::Number;

use super::Checker;
use crate::document::csv::{Fault, Rows};
use crate::document::node::{Node, Place};

/// The text of a file, and what messages need.
pub(super) struct File {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) place: Place,
}

impl Checker<'_> {
    /// The file whose name stands there.
    pub(super) fn file(&mut self, node: &Node) -> Option<File> {
        let word = self.word(node, "a file's name")?;
        match (self.settings.files)(&word.text) {
            Ok(text) => Some(File { name: word.text, text, place: word.place }),
            Err(reason) => {
                let message = format!("`{}` cannot be read: {reason}", word.text);
                self.diagnostics.error("no-file", &word.place, message);
                None
            }
        }
    }

    /// reports what is wrong in a file.
    pub(super) fn file_fault(&mut self, file: &File, fault: &Fault, hint: &str) {
        let Fault { line, column, message } = fault;
        let message = format!("`{}`, line {line}, column {column}: {message}", file.name);
        self.diagnostics.error("bad-data", &file.place, message).hint(hint);
    }

    /// The values of a file, each read by `read`, whose error is what is wrong. `column`: the file
    /// is CSV and the values are this column; else they stand apart by `separators`, and `#` begins
    /// a comment.
    pub(super) fn values_of<T>(
        &mut self,
        file: &File,
        column: Option<&Node>,
        separators: &[char],
        hint: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let found = match column {
            Some(node) => {
                let name = self.word(node, "a column's name")?.text;
                values_of_column(&file.text, &name, read)
            }
            None => separate_values(&file.text, separators, read),
        };
        match found {
            Ok(values) if values.is_empty() => {
                let message = format!("`{}` has no value", file.name);
                self.diagnostics.error("bad-data", &file.place, message).hint(hint);
                None
            }
            Ok(values) => Some(values),
            Err(fault) => {
                self.file_fault(file, &fault, hint);
                None
            }
        }
    }
}

/// A number in a file.
pub(super) fn plain_number(text: &str) -> Result<f64, String> {
    let number = Number::parse(text).map(Number::as_f64);
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("`{}` is not a number", shortened(text)))
}

/// A text's beginning, for messages.
pub(super) fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn separate_values<T>(
    text: &str,
    separators: &[char],
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Fault> {
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let sound = line.split('#').next().unwrap_or_default();
        for item in sound.split(separators).map(str::trim) {
            if item.is_empty() {
                continue;
            }
            values.push(read(item).map_err(|message| {
                let before = item.as_ptr() as usize - line.as_ptr() as usize;
                Fault { line: index + 1, column: line[..before].chars().count() + 1, message }
            })?);
        }
    }
    Ok(values)
}

fn values_of_column<T>(
    text: &str,
    name: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Fault> {
    let mut rows = Rows::new(text, ',');
    let header = rows.next().transpose()?;
    let names = header.map(|row| row.cells).unwrap_or_default();
    let Some(at) = names.iter().position(|(_, cell)| cell.trim() == name) else {
        let known: Vec<_> = names.iter().map(|(_, cell)| cell.trim()).collect();
        return Err(Fault {
            line: 1,
            column: 1,
            message: format!(
                "there is no column `{name}`; the columns are {}",
                shortened(&known.join(", "))
            ),
        });
    };
    let mut values = Vec::new();
    for row in rows {
        let row = row?;
        let Some((column, cell)) = row.cells.get(at) else {
            return Err(Fault {
                line: row.line,
                column: row.cells.last().map_or(1, |last| last.0),
                message: format!("the row ends before the column `{name}`"),
            });
        };
        values.push(read(cell.trim()).map_err(|message| Fault {
            line: row.line,
            column: *column,
            message,
        })?);
    }
    Ok(values)
}
