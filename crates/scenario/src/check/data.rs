//! Users' own data: reading tables, and the steps that take rows of them.

use serde_json::Value as Json;

use super::Checker;
use super::fields::Fields;
use super::files::{File, shortened};
use super::program::Program;
use crate::csv::{Fault, Rows};
use crate::expr::parse::is_name;
use crate::keys::DATA;
use crate::node::{Entry, Node, Place};
use crate::plan::{Data, DataId, End, Feed, Op, Order, Table};

/// Most columns of a table.
const COLUMNS_MAX: usize = 256;

/// A table that was declared.
pub(super) struct Declared {
    pub(super) data: Data,
    columns: Vec<String>,
    place: Place,
    used: bool,
}

/// What was read of a file.
struct Read {
    columns: Vec<String>,
    table: Table,
}

impl Checker<'_> {
    pub(super) fn data(&mut self, node: &Node) {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of names and files");
            return;
        };
        for entry in entries {
            if let Some(declared) = self.declared(entry) {
                self.data.push(declared);
            }
        }
    }

    fn declared(&mut self, entry: &Entry) -> Option<Declared> {
        let called = format!("the data `{}`", entry.key);
        let fields = self.fields(&entry.value, &DATA, &called)?;
        let order = match fields.get_or_default("order") {
            Some(node) => self.choice(&node, &["sequential", "random", "unique"])?,
            None => 0,
        };
        let order = [Order::Sequential, Order::Random, Order::Unique][order];
        let end = match fields.get("end") {
            Some(node) => {
                [End::Wrap, End::Stop, End::Error][self.choice(node, &["wrap", "stop", "error"])?]
            }
            None if order == Order::Unique => End::Error,
            None => End::Wrap,
        };
        let separator = self.separator(&fields)?;
        let file = self.file(fields.get("file")?)?;
        let is_json = match fields.get("format") {
            Some(node) => self.choice(node, &["csv", "jsonl"])? == 1,
            None => {
                let name = file.name.strip_suffix(".gz").unwrap_or(&file.name);
                name.ends_with(".jsonl") || name.ends_with(".ndjson")
            }
        };
        let read = self.table(&file, separator, is_json)?;
        Some(Declared {
            data: Data {
                name: entry.key.clone(),
                table: read.table,
                order,
                end,
            },
            columns: read.columns,
            place: entry.key_place.clone(),
            used: false,
        })
    }

    fn separator(&mut self, fields: &Fields<'_>) -> Option<char> {
        let node = fields.get_or_default("separator")?;
        let word = self.word(&node, "a character")?;
        let mut chars = word.text.chars();
        let found = match (word.text.as_str(), chars.next(), chars.next()) {
            ("tab" | "\t", ..) => Some('\t'),
            (_, Some(c), None) if c.is_ascii_graphic() && c != '"' => Some(c),
            _ => None,
        };
        if found.is_none() {
            let message = format!("`{}` cannot stand between cells", word.text);
            self.told
                .error("bad-word", &word.place, message)
                .hint("write one character like \",\" or \";\", or tab");
        }
        found
    }

    fn table(&mut self, file: &File, separator: char, is_json: bool) -> Option<Read> {
        let (read, hint) = if is_json {
            let hint = "each line is an object with the same keys: {\"name\": \"ann\", \"age\": 7}";
            (read_json_lines(&file.text), hint)
        } else {
            let hint = "the first row names the columns; quote cells with separators or quotes in \
                        them, and double their quotes";
            (read_csv(&file.text, separator), hint)
        };
        match read {
            Ok(read) => Some(read),
            Err(fault) => {
                self.file_fault(file, &fault, hint);
                None
            }
        }
    }

    /// `feed: NAME`: the columns of a row become variables.
    pub(super) fn feed(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let Some(word) = self.word(node, "the name of a table under `data`") else {
            return;
        };
        let found = self.data.iter().position(|one| one.data.name == word.text);
        let Some(at) = found else {
            let message = format!("there is no data `{}`", word.text);
            let names: Vec<String> = self.data.iter().map(|d| d.data.name.clone()).collect();
            let names = names.iter().map(String::as_str);
            let written = (word.text.as_str(), "under `data` are");
            self.unknown("unknown-data", &word.place, message, written, names);
            return;
        };
        self.data[at].used = true;
        let columns = match fields.get("as") {
            Some(node) => self.named_columns(node, at, program),
            None => self.all_columns(&word.place, at, program),
        };
        let data: DataId = super::index(at);
        let register = program.feed_register(data);
        program.push(Op::Feed(Box::new(Feed {
            data,
            register,
            columns,
        })));
    }

    /// Each column under its own name.
    fn all_columns(
        &mut self,
        place: &Place,
        at: usize,
        program: &mut Program,
    ) -> Vec<(u16, usize)> {
        let mut columns = Vec::new();
        for (index, name) in self.data[at].columns.clone().iter().enumerate() {
            if !is_name(name) {
                let message = format!("the column `{}` cannot be a variable", shortened(name));
                self.told
                    .error("bad-name", place, message)
                    .hint("say which columns are wanted: `as: { variable: \"the column\" }`");
                continue;
            }
            let slot = self.variable(name, place, program);
            columns.extend(slot.map(|slot| (slot, index)));
        }
        columns
    }

    /// The columns that are wanted, under names of the author's.
    fn named_columns(
        &mut self,
        node: &Node,
        at: usize,
        program: &mut Program,
    ) -> Vec<(u16, usize)> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of variables and columns");
            return Vec::new();
        };
        let mut columns = Vec::new();
        for entry in entries {
            let slot = self.variable(&entry.key, &entry.key_place, program);
            let Some(word) = self.word(&entry.value, "a column's name") else {
                continue;
            };
            let names = self.data[at].columns.clone();
            let Some(index) = names.iter().position(|name| *name == word.text) else {
                let message = format!("there is no column `{}`", word.text);
                let written = (word.text.as_str(), "the columns are");
                let names = names.iter().map(String::as_str);
                self.unknown("unknown-column", &word.place, message, written, names);
                continue;
            };
            columns.extend(slot.map(|slot| (slot, index)));
        }
        columns
    }

    /// Warns of tables that nothing takes rows of, and of those that are too short for the users
    /// that will come. Returns what the plan needs.
    pub(super) fn finish_data(&mut self, users_planned: f64) -> Vec<Data> {
        let declared = std::mem::take(&mut self.data);
        for Declared {
            data, place, used, ..
        } in &declared
        {
            let rows = data.table.rows_count();
            if !used {
                let message = format!("the data `{}` are never used", data.name);
                self.told
                    .warning("unused-data", place, message)
                    .hint(format!("take a row with `- feed: {}`", data.name));
            } else if data.order != Order::Random
                && data.end == End::Error
                && users_planned > rows as f64
            {
                let message = format!(
                    "`{}` has {rows} rows, and about {users_planned:.0} users will come",
                    data.name
                );
                self.told
                    .warning("too-few-rows", place, message)
                    .hint("add rows, or write `end: stop` or `end: wrap`");
            }
        }
        declared.into_iter().map(|one| one.data).collect()
    }
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
            return Err(format!("two columns are called `{}`", shortened(name)));
        }
        Ok(Builder {
            columns,
            text: String::new(),
            ends: Vec::new(),
        })
    }

    fn push(&mut self, cell: &str) -> Result<(), String> {
        self.text.push_str(cell);
        let end = u32::try_from(self.text.len());
        self.ends
            .push(end.map_err(|_| "the file has more than 4 GiB".to_owned())?);
        Ok(())
    }

    fn finish(self, is_json: bool) -> Result<Read, Fault> {
        if self.ends.is_empty() {
            return Err(at(1, 1, "there is no row"));
        }
        let table = Table::new(self.columns.len(), self.text, self.ends, is_json);
        Ok(Read {
            columns: self.columns,
            table,
        })
    }
}

fn at(line: usize, column: usize, message: impl Into<String>) -> Fault {
    Fault {
        line,
        column,
        message: message.into(),
    }
}

fn read_csv(text: &str, separator: char) -> Result<Read, Fault> {
    let mut rows = Rows::new(text, separator);
    let header = rows.next().transpose()?;
    let header = header.ok_or_else(|| at(1, 1, "the file is empty"))?;
    let names = header.cells.iter().map(|(_, cell)| cell.trim().to_owned());
    let mut table = Builder::new(names.collect()).map_err(|e| at(header.line, 1, e))?;
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

fn read_json_lines(text: &str) -> Result<Read, Fault> {
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line));
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
        for column in &columns {
            let Some(value) = row.get(column) else {
                let message = format!("`{}` is missing", shortened(column));
                return Err(at(number, 1, message));
            };
            table
                .push(&value.to_string())
                .map_err(|e| at(number, 1, e))?;
        }
    }
    table.finish(true)
}

fn object(number: usize, line: &str) -> Result<serde_json::Map<String, Json>, Fault> {
    match serde_json::from_str(line) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(at(number, 1, "this is no object")),
        Err(error) => {
            // serde_json counts bytes.
            let end = line.floor_char_boundary(error.column().saturating_sub(1).min(line.len()));
            let column = line[..end].chars().count() + 1;
            let text = error.to_string();
            let told = text.split(" at line ").next().unwrap_or_default();
            Err(at(number, column, format!("this is not JSON: {told}")))
        }
    }
}
