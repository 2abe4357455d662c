//! Users' own data: tables of rows, read from files, of which users take rows.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use stats::popularity::Popularity;
use stats::rng::Rng;

use crate::expr::Value;
use crate::hash::fnv1a;
use crate::ids::{DataId, Register, Slot};

/// A table and how rows are taken from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Data {
    /// As written: the key under `data`.
    pub name: String,
    pub table: Table,
    pub order: Order,
    pub end: End,
}

/// Which row a user gets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Order {
    /// User n begins with row n; each further one is the next.
    Sequential,
    /// Each time any row.
    Random,
    /// User n has row n, each time.
    Unique,
    /// Each row is used once: users take what no other has taken.
    Once,
    /// Each time any row, some more often than others.
    Popular(Popularity),
}

impl Order {
    /// True if rows are drawn, so that there is always one.
    pub fn draws(self) -> bool {
        match self {
            Order::Random | Order::Popular(_) => true,
            Order::Sequential | Order::Unique | Order::Once => false,
        }
    }
}

/// Behaviour beyond the last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum End {
    /// It continues with the first.
    Wrap,
    /// The user has finished.
    Stop,
    /// The step is an error and the user has finished.
    Error,
}

/// Outcome of a user's draw from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawnRow {
    Row(usize),
    /// There is no row and the user has finished.
    Stop,
    /// There is no row and that is an error.
    Error,
}

impl Data {
    /// The row that user number `user` gets at its draw number `draw`, both from 0. Rows that are used once depend on what
    /// others have taken: there is none here.
    pub fn row(&self, user: u64, draw: u64, rng: &mut Rng) -> DrawnRow {
        let rows = self.table.rows_count() as u64;
        let wanted = match self.order {
            Order::Random => return DrawnRow::Row(rng.below(rows) as usize),
            Order::Popular(popularity) => {
                return DrawnRow::Row(popularity.draw(rows, rng) as usize);
            }
            Order::Sequential => user.saturating_add(draw),
            Order::Unique => user,
            Order::Once => return self.none_left(),
        };
        match self.end {
            End::Wrap => DrawnRow::Row((wanted % rows) as usize),
            _ if wanted < rows => DrawnRow::Row(wanted as usize),
            End::Stop | End::Error => self.none_left(),
        }
    }

    /// The outcome after the last row, if the data do not continue with the first.
    pub fn none_left(&self) -> DrawnRow {
        match self.end {
            End::Error => DrawnRow::Error,
            End::Stop | End::Wrap => DrawnRow::Stop,
        }
    }
}

/// Cells by row and column: one text and where each cell ends in it, so that a table takes little
/// more than its file. Shared; never empty. Its `Debug` says its size and a hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Table(Arc<Cells>);

#[derive(PartialEq, Eq)]
struct Cells {
    columns_count: usize,
    text: String,
    ends: Vec<u32>,
    is_json: bool,
}

impl Table {
    /// `ends`: where each cell ends in `text`, row by row; at least one row, at least one column.
    /// `is_json`: cells are JSON values, else plain text.
    pub fn new(columns_count: usize, text: String, ends: Vec<u32>, is_json: bool) -> Table {
        Table(Arc::new(Cells { columns_count, text, ends, is_json }))
    }

    /// A hash of all cells.
    fn hash(&self) -> u64 {
        let ends = self.0.ends.iter().flat_map(|end| end.to_le_bytes());
        fnv1a(self.0.text.bytes().chain(ends))
    }

    pub fn rows_count(&self) -> usize {
        self.0.ends.len() / self.0.columns_count
    }

    /// The cell's value: text, or what JSON says it is.
    pub fn value(&self, row: usize, column: usize) -> Value {
        let cell = row * self.0.columns_count + column;
        let start = cell.checked_sub(1).map_or(0, |before| self.0.ends[before]);
        let text = &self.0.text[start as usize..self.0.ends[cell] as usize];
        if self.0.is_json { Value::from_json(text) } else { Value::text(text) }
    }
}

/// Serialised as the table's size and a hash of its cells.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = (self.rows_count(), self.0.columns_count);
        (counts, self.0.is_json, self.hash()).serialize(serializer)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = self.hash();
        let rows = self.rows_count();
        let columns = self.0.columns_count;
        write!(f, "Table({rows} x {columns}, {hash:016x})")
    }
}

/// Taking a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Feed {
    pub data: DataId,
    /// How many rows the user has taken of it so far.
    pub register: Register,
    /// Variables and the columns that they get.
    pub columns: Vec<(Slot, usize)>,
}
