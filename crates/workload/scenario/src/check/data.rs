//! Users' own data: the tables, and the steps that take rows of them.

mod tables;

use crate::keys::{DATA, ORDERS};
use plan::{Data, DataId, End, Feed, Op, Order, Slot};
use stats::popularity::Popularity;
use tables::{Read, read_csv, read_json_lines, read_plain};

use super::Checker;
use super::fields::Fields;
use super::files::{File, shortened};
use super::program::Program;
use crate::document::node::{Entry, Node, Place};
use crate::expression::{is_name, reserved_as};

/// A table that was declared.
pub(super) struct DataTable {
    pub(super) data: Data,
    columns: Vec<String>,
    place: Place,
    used: bool,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    JsonLines,
    Plain,
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

    fn declared(&mut self, entry: &Entry) -> Option<DataTable> {
        let called = format!("the data `{}`", entry.key);
        let fields = self.fields(&entry.value, &DATA, &called)?;
        let order = self.order(&fields)?;
        let end = match fields.get("end") {
            Some(node) => {
                [End::Wrap, End::Stop, End::Error][self.choice(node, &["wrap", "stop", "error"])?]
            }
            None if order == Order::Unique => End::Error,
            None if order == Order::Once => End::Stop,
            None => End::Wrap,
        };
        if order == Order::Once
            && end == End::Wrap
            && let Some(node) = fields.get("end")
        {
            self.diagnostics
                .error("bad-word", &node.place, "rows that are used once do not begin again")
                .hint("write `end: stop` or `end: error`, or `order: sequential`");
        }
        let separator = self.separator(&fields)?;
        let file = self.file(fields.get("file")?)?;
        let format = match fields.get("format") {
            Some(node) => {
                let formats = [Format::Csv, Format::JsonLines, Format::Plain];
                formats[self.choice(node, &["csv", "jsonl", "plain"])?]
            }
            None => {
                let name = file.name.strip_suffix(".gz").unwrap_or(&file.name);
                let is_json = name.ends_with(".jsonl") || name.ends_with(".ndjson");
                if is_json { Format::JsonLines } else { Format::Csv }
            }
        };
        let columns = match fields.get("columns") {
            Some(node) => Some(self.column_names(node, format)?),
            None => None,
        };
        let read = self.table(&file, separator, format, columns)?;
        Some(DataTable {
            data: Data { name: entry.key.clone(), table: read.table, order, end },
            columns: read.columns,
            place: entry.key_place.clone(),
            used: false,
        })
    }

    /// `order`, with the keys that some orders have.
    fn order(&mut self, fields: &Fields<'_>) -> Option<Order> {
        let node = fields.get_or_default("order")?;
        let word = ORDERS[self.choice(&node, ORDERS)?];
        let known: &[&str] = match word {
            "zipfian" | "latest" => &["skew"],
            "hotspot" => &["hot_rows", "hot_draws"],
            _ => &[],
        };
        for key in ["skew", "hot_rows", "hot_draws"] {
            let Some(place) = fields.key_place(key) else { continue };
            if !known.contains(&key) {
                let message = format!("`order: {word}` has no `{key}`");
                self.diagnostics.error("misplaced-key", place, message).hint(
                    "`skew` belongs to `zipfian` and `latest`, `hot_rows` and `hot_draws` to `hotspot`",
                );
                return None;
            }
        }
        let popularity = match word {
            "sequential" => return Some(Order::Sequential),
            "random" => return Some(Order::Random),
            "unique" => return Some(Order::Unique),
            "once" => return Some(Order::Once),
            "zipfian" => Popularity::Zipfian { skew: self.skew(fields)? },
            "latest" => Popularity::Latest { skew: self.skew(fields)? },
            _ => {
                let items = fields.get_or_default("hot_rows")?;
                let draws = fields.get_or_default("hot_draws")?;
                Popularity::Hotspot {
                    items: self.share_within(&items)?,
                    draws: self.share_within(&draws)?,
                }
            }
        };
        Some(Order::Popular(popularity))
    }

    fn skew(&mut self, fields: &Fields<'_>) -> Option<f64> {
        let node = fields.get_or_default("skew")?;
        let skew = self.number(&node)?;
        match (Popularity::Zipfian { skew }).validate() {
            Ok(()) => Some(skew),
            Err(error) => {
                self.diagnostics.error("bad-number", &node.place, error.to_string());
                None
            }
        }
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
            self.diagnostics
                .error("bad-word", &word.place, message)
                .hint("write one character like \",\" or \";\", or tab");
        }
        found
    }

    /// Names of columns that the file does not name itself.
    fn column_names(&mut self, node: &Node, format: Format) -> Option<Vec<String>> {
        if format == Format::JsonLines {
            let message = "the keys of the objects are the column names";
            self.diagnostics.error("misplaced-key", &node.place, message);
            return None;
        }
        let Some(items) = node.sequence() else {
            self.expected(node, "a list of names");
            return None;
        };
        if items.is_empty() {
            self.diagnostics.error("empty", &node.place, "there is no name");
            return None;
        }
        let names = items.iter().map(|item| self.word(item, "a column's name"));
        let names: Vec<_> = names.collect();
        names.into_iter().map(|word| Some(word?.text)).collect()
    }

    fn table(
        &mut self,
        file: &File,
        separator: char,
        format: Format,
        columns: Option<Vec<String>>,
    ) -> Option<Read> {
        let text = &file.text;
        let (read, hint) = match format {
            Format::JsonLines => (
                read_json_lines(text),
                "each line is an object with the same keys: {\"name\": \"ann\", \"age\": 7}",
            ),
            Format::Csv => (
                read_csv(text, separator, columns),
                "the first row has the column names unless `columns` is set; quote cells that contain separators or quotes, and double the quotes",
            ),
            Format::Plain => {
                (read_plain(text, separator, columns), "each line has a cell for each column")
            }
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
            let written = word.text.as_str();
            let introduction = "the entries of `data` are";
            self.unknown("unknown-data", &word.place, message, written, introduction, names);
            return;
        };
        self.data[at].used = true;
        let columns = match fields.get("as") {
            Some(node) => self.named_columns(node, at, program),
            None => self.all_columns(&word.place, at, program),
        };
        let data: DataId = super::index(at);
        let register = program.feed_register(data);
        program.push(Op::Feed(Box::new(Feed { data, register, columns })));
    }

    /// Each column under its own name.
    fn all_columns(
        &mut self,
        place: &Place,
        at: usize,
        program: &mut Program,
    ) -> Vec<(Slot, usize)> {
        let names = self.data[at].columns.clone();
        if let Some(name) = names.iter().find(|name| !is_name(name)) {
            let why = reserved_as(name).map(|(meaning, _)| format!(": {meaning}"));
            let why = why.unwrap_or_default();
            let message = format!("the column `{}` cannot be a variable{why}", shortened(name));
            self.diagnostics
                .error("bad-name", place, message)
                .hint(format!("name the variables in this step: {}", renamed(&names)));
        }
        let sound = names.iter().enumerate().filter(|(_, name)| is_name(name));
        let slots = sound.map(|(index, name)| Some((self.variable(name, place, program)?, index)));
        slots.flatten().collect()
    }

    /// The columns that are wanted, under names of the author's.
    fn named_columns(
        &mut self,
        node: &Node,
        at: usize,
        program: &mut Program,
    ) -> Vec<(Slot, usize)> {
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
                let written = word.text.as_str();
                let introduction = "the columns are";
                let names = names.iter().map(String::as_str);
                self.unknown("unknown-column", &word.place, message, written, introduction, names);
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
        for DataTable { data, place, used, .. } in &declared {
            let rows = data.table.rows_count();
            if !used {
                let message = format!("the data `{}` are never used", data.name);
                self.diagnostics
                    .warning("unused-data", place, message)
                    .hint(format!("take a row with `- feed: {}`", data.name));
            } else if !data.order.draws() && data.end == End::Error && users_planned > rows as f64 {
                let message = format!(
                    "`{}` has {rows} rows, but about {users_planned:.0} users are expected",
                    data.name
                );
                self.diagnostics
                    .warning("too-few-rows", place, message)
                    .hint("add rows, or write `end: stop` or `end: wrap`");
            }
        }
        declared.into_iter().map(|one| one.data).collect()
    }
}

/// Most columns that a hint names.
const HINTED_MAX: usize = 8;

/// The key `as` that gives each column a variable: its own name where it can be one.
fn renamed(columns: &[String]) -> String {
    let quoted = |name: &str| match name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        true => name.to_owned(),
        false => format!("{:?}", shortened(name)),
    };
    let pairs = columns.iter().take(HINTED_MAX);
    let mut pairs: Vec<String> =
        pairs.map(|column| format!("{}: {}", variable_for(column), quoted(column))).collect();
    if columns.len() > HINTED_MAX {
        pairs.push("…".to_owned());
    }
    format!("`as: {{ {} }}`", pairs.join(", "))
}

/// A name for the variable of a column.
fn variable_for(column: &str) -> String {
    if is_name(column) {
        return column.to_owned();
    }
    if let Some((_, instead)) = reserved_as(column) {
        return instead;
    }
    let name: String =
        column.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect();
    if is_name(&name) { name } else { format!("column_{name}") }
}
