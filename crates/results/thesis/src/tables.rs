//! The tables of the thesis that the meters come from, computed again from its published results.
//!
//! The printed figures stand in `published.json` and nowhere else; the computed ones come from
//! imported results, from the example price list, or, where no results were published, from other
//! printed figures. Each figure is reported beside the printed one, with how well the two agree
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
    /// Cores that its CPU utilisation is weighted with.
    cores: Cores,
    /// How its servers' figures were printed, where that is not how the text computes them.
    as_printed: Option<AsPrinted>,
}

/// Cores by role, or by `role/source` for a source that differs from the others of its role.
type Cores = BTreeMap<String, f64>;

/// Another computation of the servers' figures, from which the printed ones follow.
#[derive(Debug, Deserialize)]
struct AsPrinted {
    /// The source that is left out.
    without: String,
    /// The exclusion in words.
    words: String,
    cores: Cores,
    /// Divisor of the sum, in place of the sum of `cores`. A source without a row in a minute
    /// counts as idle in it.
    cores_total: f64,
    /// Both changes in words, for figures that the CPU is part of.
    cpu_words: String,
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
    /// Identifier of the row, for [`measured`] and [`derived`].
    id: String,
    name: String,
    unit: String,
    /// Printed figures by system, digit by digit.
    printed: Vec<Option<String>>,
    /// `TABLE/ID` of the row that this one repeats.
    #[serde(default, rename = "as")]
    repeats: Option<String>,
}

/// All that was printed.
#[derive(Debug, Deserialize)]
struct PublishedTables {
    source: String,
    minutes: i64,
    systems: Vec<System>,
    regions: Vec<Region>,
    remarks: Vec<String>,
    tables: Vec<Table>,
}

static PUBLISHED: LazyLock<PublishedTables> = LazyLock::new(|| {
    serde_json::from_str(include_str!("tables/published.json"))
        .expect("the file is part of the program, and a test reads it")
});

impl PublishedTables {
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
    /// Figures that the run's clients reported.
    pub import: Import,
    /// Metrics that the run's servers reported, from its start on.
    pub probes: Probes,
}

/// All tables, printed beside computed.
#[derive(Debug, Clone, PartialEq)]
pub struct Reproduction {
    /// Source of the printed tables.
    pub source: String,
    /// The systems, by column.
    pub systems: Vec<String>,
    /// Remarks on all tables.
    pub remarks: Vec<String>,
    /// Table by table.
    pub tables: Vec<ReproducedTable>,
}

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct ReproducedTable {
    /// Number of the table in the source.
    pub number: String,
    /// Title of the table.
    pub title: String,
    /// The rows in the order of print.
    pub rows: Vec<ReproducedRow>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct ReproducedRow {
    /// Name of the row.
    pub name: String,
    /// Unit of the row; may be empty.
    pub unit: String,
    /// The cells by system.
    pub cells: Vec<ReproducedCell>,
}

/// One figure of one system.
#[derive(Debug, Clone, PartialEq)]
pub struct ReproducedCell {
    /// Digit by digit; `None` where nothing is printed.
    pub printed: Option<String>,
    /// The computed figure; `None` if there is nothing to compute it from.
    pub computed: Option<f64>,
    /// How the two agree.
    pub agreement: Agreement,
}

/// When the run of this name began, in UTC, if it is one of the thesis: `2015-07-31T15:36`.
pub fn start(name: &str) -> Option<&'static str> {
    let system = PUBLISHED.systems.iter().find(|system| system.id == name)?;
    system.start.as_deref()
}

/// The names of the thesis's runs.
pub fn systems() -> Vec<&'static str> {
    let systems = PUBLISHED.systems.iter();
    systems.map(|system| system.id.as_str()).collect()
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
        rows: table.rows.iter().map(|row| reproduced(row, &measured)).collect(),
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
        let mut reading = match &row.repeats {
            Some(repeats) => repeated(repeats, &row.id, system, measured.as_ref()),
            None => reading(&row.id, system, measured.as_ref()),
        };
        if let Some(reading) = &mut reading {
            reading.note = reading.note.take().or_else(|| copied(row, system));
        }
        ReproducedCell {
            computed: reading.as_ref().map(|reading| reading.value),
            agreement: agree(printed.as_deref(), reading.as_ref()),
            printed,
        }
    });
    ReproducedRow { name: row.name.clone(), unit: row.unit.clone(), cells: cells.collect() }
}

/// A figure from the results, or else from what is printed.
fn reading(id: &str, system: usize, measured: Option<&measured::System<'_>>) -> Option<Reading> {
    let found = measured.and_then(|measured| measured.reading(id));
    let derived = derived::reading(&PUBLISHED, id, system);
    match (found, derived) {
        (Some(found), Some(derived)) => Some(joined(found, derived)),
        (found, derived) => found.or(derived),
    }
}

/// A figure from the results, and what the rounding of the printed inputs allows for it. Where these do
/// not follow from the results, they are another reading: the figure is not within their rounding.
fn joined(found: Reading, derived: Reading) -> Reading {
    let (low, high) = derived.range;
    let mut others = found.others;
    let range = if (low..=high).contains(&found.value) {
        derived.range
    } else {
        others.push(("from the printed inputs".to_owned(), derived.range));
        found.range
    };
    others.extend(derived.others);
    Reading { value: found.value, range, others, note: derived.note }
}

/// Which other systems the same figure is printed for.
fn copied(row: &Row, system: usize) -> Option<String> {
    let printed = row.printed.get(system)?.as_ref()?;
    let others = PUBLISHED.systems.iter().zip(&row.printed).enumerate();
    let same: Vec<&str> = others
        .filter(|(other, (_, figure))| *other != system && figure.as_ref() == Some(printed))
        .map(|(_, (other, _))| other.name.as_str())
        .collect();
    (!same.is_empty()).then(|| format!("the same is printed for {}", same.join(" and ")))
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
