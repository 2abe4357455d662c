//! Reading tables of users' data.

use std::collections::HashMap;

use plan::Table;
use serde_json::Value as Json;

use crate::check::files::shortened;
use crate::document::csv::{Fault, Rows};

/// Most columns of a table.
const COLUMNS_MAX: usize = 256;

/// Columns and cells read from a file.
pub(super) struct Read {
    pub(super) columns: Vec<String>,
    pub(super) table: Table,
}

/// Puts a table together.
struct Builder {
    columns: Vec<String>,
    text: String,
    ends: Vec<u32>,
}

impl Builder {
    fn new(columns: Vec<String>) -> Result<Builder, String> {
        if columns.len() > COLUMNS_MAX {
            return Err(format!("there are more than {COLUMNS_MAX} columns"));
        }
        let mut before = columns.iter().enumerate();
        if let Some((_, name)) = before.find(|(index, name)| columns[..*index].contains(name)) {
            return Err(format!("two columns are named `{}`", shortened(name)));
        }
        Ok(Builder { columns, text: String::new(), ends: Vec::new() })
    }

    fn push(&mut self, cell: &str) -> Result<(), String> {
        self.text.push_str(cell);
        let end = u32::try_from(self.text.len());
        self.ends.push(end.map_err(|_| "the file has more than 4 GiB".to_owned())?);
        Ok(())
    }

    fn finish(self, is_json: bool) -> Result<Read, Fault> {
        if self.ends.is_empty() {
            return Err(at(1, 1, "there is no row"));
        }
        let table = Table::new(self.columns.len(), self.text, self.ends, is_json);
        Ok(Read { columns: self.columns, table })
    }
}

fn at(line: usize, column: usize, message: impl Into<String>) -> Fault {
    Fault { line, column, message: message.into() }
}

pub(super) fn read_csv(
    text: &str,
    separator: char,
    columns: Option<Vec<String>>,
) -> Result<Read, Fault> {
    let mut rows = Rows::new(text, separator);
    let (line, names) = match columns {
        Some(names) => (1, names),
        None => {
            let header = rows.next().transpose()?;
            let header = header.ok_or_else(|| at(1, 1, "the file is empty"))?;
            let names = header.cells.iter().map(|(_, cell)| cell.trim().to_owned());
            (header.line, names.collect())
        }
    };
    let mut table = Builder::new(names).map_err(|e| at(line, 1, e))?;
    let wanted = table.columns.len();
    for row in rows {
        let row = row?;
        if row.cells.len() != wanted {
            let found = row.cells.len();
            let place = row.cells.get(wanted).or(row.cells.last());
            let column = place.map_or(1, |cell| cell.0);
            let message = match found < wanted {
                true => format!("the row ends after {found} of {wanted} cells"),
                false => format!("the row has more cells than the {wanted} of the first one"),
            };
            return Err(at(row.line, column, message));
        }
        for (column, cell) in &row.cells {
            table.push(cell).map_err(|e| at(row.line, *column, e))?;
        }
    }
    table.finish(false)
}

pub(super) fn read_plain(
    text: &str,
    separator: char,
    columns: Option<Vec<String>>,
) -> Result<Read, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate();
    let mut lines = lines.filter(|(_, line)| !line.is_empty());
    let names = match columns {
        Some(names) => names,
        None => {
            let (_, first) = lines.next().ok_or_else(|| at(1, 1, "the file is empty"))?;
            first.split(separator).map(|name| name.trim().to_owned()).collect()
        }
    };
    let mut table = Builder::new(names).map_err(|e| at(1, 1, e))?;
    let wanted = table.columns.len();
    for (index, line) in lines {
        let found = line.split(separator).take(wanted).map(|cell| table.push(cell));
        let pushed = found.collect::<Result<Vec<()>, String>>();
        let found = pushed.map_err(|e| at(index + 1, 1, e))?.len();
        if found < wanted {
            let message = format!("the line ends after {found} of {wanted} cells");
            return Err(at(index + 1, line.chars().count() + 1, message));
        }
    }
    table.finish(false)
}

pub(super) fn read_json_lines(text: &str) -> Result<Read, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty()).peekable();
    let Some(&(first, line)) = lines.peek() else {
        return Err(at(1, 1, "the file is empty"));
    };
    let columns: Vec<String> = object(first, line)?.keys().cloned().collect();
    if columns.is_empty() {
        return Err(at(first, 1, "the object has no keys"));
    }
    let mut table = Builder::new(columns.clone()).map_err(|e| at(first, 1, e))?;
    for (number, line) in lines {
        let row = object(number, line)?;
        if let Some(extra) = row.keys().find(|key| !columns.contains(key)) {
            let message = format!("the first line has no `{}`", shortened(extra));
            return Err(at(number, 1, message));
        }
        // Numbers have all of their digits in the line alone. Of pairs with the same key the last one counts.
        let mut written = HashMap::new();
        let taken = plan::json::pairs(line.as_bytes(), |key, value| {
            written.insert(key.to_owned(), value);
        });
        for column in &columns {
            let Some(value) = row.get(column) else {
                let message = format!("`{}` is missing", shortened(column));
                return Err(at(number, 1, message));
            };
            let text = taken.and_then(|()| std::str::from_utf8(written.get(column)?).ok());
            let cell = match (value, text) {
                (Json::Number(_) | Json::Array(_) | Json::Object(_), Some(text)) => text.to_owned(),
                _ => value.to_string(),
            };
            table.push(&cell).map_err(|e| at(number, 1, e))?;
        }
    }
    table.finish(true)
}

fn object(number: usize, line: &str) -> Result<serde_json::Map<String, Json>, Fault> {
    match serde_json::from_str(line) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(at(number, 1, "this is not an object")),
        Err(error) => {
            // serde_json counts bytes.
            let end = line.floor_char_boundary(error.column().saturating_sub(1).min(line.len()));
            let column = line[..end].chars().count() + 1;
            let text = error.to_string();
            let diagnostics = text.split(" at line ").next().unwrap_or_default();
            Err(at(number, column, format!("this is not JSON: {diagnostics}")))
        }
    }
}
