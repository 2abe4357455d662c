//! The tables of the thesis that the meters come from, computed again from its published results.
//!
//! What was printed stands in `published.json` and nowhere else; what is computed comes from imported
//! results, from the example price list, or, where no results were published, from other printed
//! figures. Each figure is reported beside the printed one, with how well the two agree
//! ([`Agreement`]).

mod agreement;
mod derived;
mod measured;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use record::{Import, Probes};
use serde::Deserialize;

pub use agreement::Agreement;
use agreement::{Reading, agree};

/// A system under test, and what was published of it.
#[derive(Debug, Deserialize)]
struct System {
    /// The name of its folder among the results, and of its runs.
    id: String,
    name: String,
    /// The first of the printed minutes, in UTC; `None` where nothing was published.
    start: Option<String>,
    /// Cores that its CPU utilisation was weighted with, by role.
    cores: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
struct Region {
    id: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Table {
    number: String,
    title: String,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    /// What it is, for [`measured`] and [`derived`].
    id: String,
    name: String,
    unit: String,
    /// By system, digit by digit as printed.
    printed: Vec<Option<String>>,
    /// `TABLE/ID` of the row that this one repeats.
    #[serde(default, rename = "as")]
    repeats: Option<String>,
}

/// All that was printed.
#[derive(Debug, Deserialize)]
struct Published {
    source: String,
    minutes: i64,
    systems: Vec<System>,
    regions: Vec<Region>,
    remarks: Vec<String>,
    tables: Vec<Table>,
}

static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    serde_json::from_str(include_str!("tables/published.json"))
        .expect("the file is part of the program, and a test reads it")
});

impl Published {
    /// A figure as it is printed.
    fn printed(&self, table: &str, id: &str, system: usize) -> Option<&str> {
        let table = self.tables.iter().find(|found| found.number == table)?;
        let row = table.rows.iter().find(|row| row.id == id)?;
        row.printed.get(system)?.as_deref()
    }
}

/// The results of one system.
#[derive(Debug, Clone)]
pub struct Results {
    /// The run's name.
    pub name: String,
    /// What its clients reported.
    pub import: Import,
    /// What its servers reported, from the run's start on.
    pub probes: Probes,
}

/// All tables, printed beside computed.
#[derive(Debug, Clone, PartialEq)]
pub struct Reproduction {
    /// What was printed, and where.
    pub source: String,
    /// The systems, by column.
    pub systems: Vec<String>,
    /// What is to be known of the whole.
    pub remarks: Vec<String>,
    /// Table by table.
    pub tables: Vec<ReproducedTable>,
}

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct ReproducedTable {
    /// Its number there.
    pub number: String,
    /// What it is of.
    pub title: String,
    /// In the order of print.
    pub rows: Vec<ReproducedRow>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct ReproducedRow {
    /// What it is.
    pub name: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// By system.
    pub cells: Vec<ReproducedCell>,
}

/// One figure of one system.
#[derive(Debug, Clone, PartialEq)]
pub struct ReproducedCell {
    /// Digit by digit; `None` where nothing is printed.
    pub printed: Option<String>,
    /// What follows; `None` where there is nothing to compute it from.
    pub computed: Option<f64>,
    /// How the two agree.
    pub agreement: Agreement,
}

/// When the run of this name began, in UTC, if it is one of the thesis: `2015-07-31T15:36`.
pub fn start(name: &str) -> Option<&'static str> {
    let system = PUBLISHED.systems.iter().find(|system| system.id == name)?;
    system.start.as_deref()
}

/// Computes all tables again.
pub fn reproduce(results: &[Results]) -> Reproduction {
    let measured: Vec<Option<measured::System<'_>>> = PUBLISHED
        .systems
        .iter()
        .map(|system| {
            let found = results.iter().find(|found| found.name == system.id)?;
            Some(measured::System::new(found, system, PUBLISHED.minutes))
        })
        .collect();
    let tables = PUBLISHED.tables.iter().map(|table| ReproducedTable {
        number: table.number.clone(),
        title: table.title.clone(),
        rows: table
            .rows
            .iter()
            .map(|row| reproduced(row, &measured))
            .collect(),
    });
    Reproduction {
        source: PUBLISHED.source.clone(),
        systems: PUBLISHED.systems.iter().map(|s| s.name.clone()).collect(),
        remarks: PUBLISHED.remarks.clone(),
        tables: tables.collect(),
    }
}

fn reproduced(row: &Row, measured: &[Option<measured::System<'_>>]) -> ReproducedRow {
    let cells = measured.iter().enumerate().map(|(system, measured)| {
        let printed = row.printed.get(system).cloned().flatten();
        let reading = match &row.repeats {
            Some(repeats) => repeated(repeats, &row.id, system, measured.as_ref()),
            None => reading(&row.id, system, measured.as_ref()),
        };
        ReproducedCell {
            computed: reading.as_ref().map(|reading| reading.value),
            agreement: agree(printed.as_deref(), reading.as_ref()),
            printed,
        }
    });
    ReproducedRow {
        name: row.name.clone(),
        unit: row.unit.clone(),
        cells: cells.collect(),
    }
}

/// A figure from the results, or else from what is printed.
fn reading(id: &str, system: usize, measured: Option<&measured::System<'_>>) -> Option<Reading> {
    let found = measured.and_then(|measured| measured.reading(id));
    let derived = derived::reading(&PUBLISHED, id, system);
    match (found, derived) {
        // What the rounding of printed inputs allows is known from these alone.
        (Some(found), Some(derived)) => Some(Reading {
            range: derived.range,
            others: derived.others,
            note: derived.note,
            ..found
        }),
        (found, derived) => found.or(derived),
    }
}

/// A row that repeats another one is compared with what was printed there.
fn repeated(
    repeats: &str,
    id: &str,
    system: usize,
    measured: Option<&measured::System<'_>>,
) -> Option<Reading> {
    let (table, other) = repeats.split_once('/')?;
    let printed = PUBLISHED.printed(table, other, system)?;
    let mut reading = Reading::exactly(printed.parse().ok()?);
    reading.note = Some(format!("table {table} prints {printed}"));
    reading.others = measured.map_or_else(Vec::new, |measured| measured.others(id));
    Some(reading)
}

#[cfg(test)]
mod tests;
