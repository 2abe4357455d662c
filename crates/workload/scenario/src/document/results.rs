//! Factors and responses that were measured elsewhere, as CSV (RFC 4180).
//!
//! The first line names the columns. Columns that are no responses are factors; their levels are
//! numbered as they first appear, so that of two the first counts as low. Lines that begin with
//! `#` are skipped.

use stats::finite::{MAGNITUDE_MAX, is_measurable};

use crate::document::csv::{Fault, Row, Rows};

/// Most factors: each has a letter, and interactions of all of them are looked at.
pub const FACTORS_MAX: usize = 12;
/// Most lines of a table.
const ROWS_MAX: usize = 100_000;

/// A table of factors and responses.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub factors: Vec<TableFactor>,
    /// Their names.
    pub responses: Vec<String>,
    pub rows: Vec<TableRow>,
}

/// A column of levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFactor {
    pub name: String,
    pub levels: Vec<String>,
}

/// A line of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    /// Levels by factor, from 0.
    pub levels: Vec<usize>,
    /// By response; `None` where the field is empty.
    pub values: Vec<Option<f64>>,
}

/// Error in a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("the table has only a header")]
    Empty,
    #[error("line {line}: {problem}")]
    Line { line: usize, problem: String },
    #[error("there is no column {name:?}; the columns are {columns}")]
    NoColumn { name: String, columns: String },
    #[error("the column {name:?} is in the table twice")]
    TwoColumns { name: String },
    #[error(
        "{count} columns remain for factors; allowed are 1 to {FACTORS_MAX}; name the responses \
         with --response"
    )]
    Factors { count: usize },
    #[error("the factor {name:?} has the same level {level:?} in all lines; leave the column out")]
    OneLevel { name: String, level: String },
    #[error("the table has more than {ROWS_MAX} lines")]
    TooLong,
}

impl Table {
    /// Reads a table. `responses`: the names of those columns; where there are none, the last.
    ///
    /// # Errors
    /// If it is no such table; reported with the line.
    pub fn read(text: &str, responses: &[String]) -> Result<Table, TableError> {
        let mut rows = Rows::new(text, ',').commented();
        let header = rows.next().transpose().map_err(broken)?;
        let header = header.as_ref().map_or(Vec::new(), cells);
        let is_response = which_respond(&header, responses)?;
        let named = |wanted: bool| {
            let columns = header.iter().zip(&is_response);
            columns.filter(move |(_, is)| **is == wanted).map(|(name, _)| (*name).to_owned())
        };
        let mut table = Table {
            factors: named(false).map(|name| TableFactor { name, levels: Vec::new() }).collect(),
            responses: named(true).collect(),
            rows: Vec::new(),
        };
        if !(1..=FACTORS_MAX).contains(&table.factors.len()) {
            return Err(TableError::Factors { count: table.factors.len() });
        }
        for row in rows {
            let row = row.map_err(broken)?;
            if table.rows.len() == ROWS_MAX {
                return Err(TableError::TooLong);
            }
            table.add(&row, &is_response)?;
        }
        table.finished()
    }

    fn add(&mut self, read: &Row<'_>, is_response: &[bool]) -> Result<(), TableError> {
        let line = read.line;
        let fields = cells(read);
        if fields.len() != is_response.len() {
            let found = fields.len();
            let wanted = is_response.len();
            let problem = format!("{found} fields, but the header has {wanted}");
            return Err(TableError::Line { line, problem });
        }
        let mut row = TableRow { levels: Vec::new(), values: Vec::new() };
        for (field, is_response) in fields.into_iter().zip(is_response) {
            if *is_response {
                let name = &self.responses[row.values.len()];
                row.values.push(value(field).map_err(|problem| TableError::Line {
                    line,
                    problem: format!("column {name:?}: {problem}"),
                })?);
                continue;
            }
            let factor = &mut self.factors[row.levels.len()];
            if field.is_empty() {
                let problem = format!("the level of {:?} is missing", factor.name);
                return Err(TableError::Line { line, problem });
            }
            let level = factor.levels.iter().position(|level| level == field);
            row.levels.push(level.unwrap_or_else(|| {
                factor.levels.push(field.to_owned());
                factor.levels.len() - 1
            }));
        }
        self.rows.push(row);
        Ok(())
    }

    fn finished(self) -> Result<Table, TableError> {
        if self.rows.is_empty() {
            return Err(TableError::Empty);
        }
        match self.factors.iter().find(|factor| factor.levels.len() < 2) {
            Some(factor) => Err(TableError::OneLevel {
                name: factor.name.clone(),
                level: factor.levels.concat(),
            }),
            None => Ok(self),
        }
    }
}

fn cells<'r>(row: &'r Row<'_>) -> Vec<&'r str> {
    row.cells.iter().map(|(_, cell)| cell.trim()).collect()
}

fn which_respond(columns: &[&str], responses: &[String]) -> Result<Vec<bool>, TableError> {
    for (number, name) in columns.iter().enumerate() {
        if columns[..number].contains(name) {
            return Err(TableError::TwoColumns { name: (*name).to_owned() });
        }
    }
    if let Some(name) = responses.iter().find(|name| !columns.contains(&name.as_str())) {
        return Err(TableError::NoColumn { name: name.clone(), columns: columns.join(", ") });
    }
    let last = columns.len().saturating_sub(1);
    let is_response = columns.iter().enumerate().map(|(number, name)| match responses {
        [] => number == last,
        _ => responses.iter().any(|response| response == name),
    });
    Ok(is_response.collect())
}

fn value(field: &str) -> Result<Option<f64>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    match field.parse::<f64>() {
        Ok(value) if is_measurable(value) => Ok(Some(value)),
        Ok(value) if value.is_finite() => {
            Err(format!("{field} is beyond {MAGNITUDE_MAX:e}, and nothing can be computed of it"))
        }
        Ok(_) => {
            Err(format!("{field} is not a measurement; leave the field empty if there is none"))
        }
        Err(_) => Err(format!("{field:?} is not a number; write it like 12.5, without a unit")),
    }
}

fn broken(fault: Fault) -> TableError {
    TableError::Line { line: fault.line, problem: fault.message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbered_as_they_come() {
        let text = "# anything\nsize, nodes, rate\n1200,1,10.5\n200,1,\n1200,2,\"9\"\n";
        let table = Table::read(text, &[]).unwrap();
        assert_eq!(table.responses, ["rate"]);
        assert_eq!(table.factors[0].levels, ["1200", "200"]);
        assert_eq!(table.rows[1], TableRow { levels: vec![1, 0], values: vec![None] });
        assert_eq!(table.rows[2], TableRow { levels: vec![0, 1], values: vec![Some(9.0)] });
        let two = Table::read(text, &["rate".to_owned(), "nodes".to_owned()]).unwrap();
        assert_eq!((two.factors.len(), two.responses.len()), (1, 2));
    }

    #[test]
    fn wrong_tables_are_reported() {
        let diagnostics = |text: &str, responses: &[&str]| {
            let responses: Vec<String> = responses.iter().map(|r| (*r).to_owned()).collect();
            Table::read(text, &responses).unwrap_err().to_string()
        };
        assert_eq!(
            diagnostics("", &[]),
            "0 columns remain for factors; allowed are 1 to 12; name the responses with --response"
        );
        assert_eq!(diagnostics("a,b\n", &[]), "the table has only a header");
        assert_eq!(diagnostics("a,a\n1,2\n", &[]), "the column \"a\" is in the table twice");
        assert_eq!(
            diagnostics("a,b\n1,2\n", &["c"]),
            "there is no column \"c\"; the columns are a, b"
        );
        assert_eq!(diagnostics("a,b\n1,2,3\n", &[]), "line 2: 3 fields, but the header has 2");
        assert_eq!(
            diagnostics("a,b\n1,x\n", &[]),
            "line 2: column \"b\": \"x\" is not a number; write it like 12.5, without a unit"
        );
        for text in ["NaN", "inf", "1e309"] {
            let found = diagnostics(&format!("a,b\n1,2\n2,{text}\n"), &[]);
            let expected = format!("line 3: column \"b\": {text} is not a measurement");
            assert!(found.starts_with(&expected), "{found}");
        }
        assert_eq!(
            diagnostics("a,b,c\n1,2,3\n2,-1e200,3\n", &["c", "b"]),
            "line 3: column \"b\": -1e200 is beyond 1e100, and nothing can be computed of it"
        );
        assert_eq!(diagnostics("a,b\n1,2\n,3\n", &[]), "line 3: the level of \"a\" is missing");
        assert_eq!(diagnostics("a,b\n1,\"2\n", &[]), "line 2: this quote is never closed");
        assert!(diagnostics("a,b\n1,2\n1,3\n", &[]).contains("same level \"1\" in all lines"));
    }
}
