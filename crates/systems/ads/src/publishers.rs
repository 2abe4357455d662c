//! Publishers by a CSV file: whose requests are served, and what is known of their users.

use std::collections::HashMap;

/// Most publishers of one network.
pub(super) const PUBLISHERS_MAX: usize = 10_000;
/// Longest key of a publisher, in bytes.
const KEY_MAX: usize = 64;
/// Largest file, in bytes.
pub const PUBLISHERS_FILE_MAX: usize = 4 << 20;
/// The columns, in their order in [`Publisher::steps`] behind the first two.
const COLUMNS: [&str; 6] =
    ["publisher", "session_probability", "impression", "redeem", "click", "convert"];

/// A publisher.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Publisher {
    /// Key by which requests name the publisher.
    pub key: String,
    /// Share of all sessions.
    pub share: f64,
    /// Probabilities that impression, redeem, click and convert follow the step before.
    pub steps: [f64; 4],
}

/// Publishers, and what was done about what was not as it should be.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Publishers {
    /// In the file's order.
    pub list: Vec<Publisher>,
    /// A sentence each.
    pub repairs: Vec<String>,
}

/// Treatment of a probability above 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AboveOne {
    /// The file is refused.
    Refuse,
    /// It is taken as 1, and reported.
    TakeAsOne,
}

/// Why a file of publishers was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct PublishersError {
    /// From 1.
    pub line: usize,
    /// The problem, and what was expected.
    pub problem: String,
}

impl Publishers {
    /// Reads a CSV file whose first line names the columns `publisher`, `session_probability`,
    /// `impression`, `redeem`, `click` and `convert`, in any order and among others. Cells are
    /// plain: nothing that needs quotes can stand in these columns.
    ///
    /// # Errors
    /// With the first line that is not as it should be.
    pub fn read(text: &str, above_one: AboveOne) -> Result<Publishers, PublishersError> {
        let wrong = |line: usize, problem: String| PublishersError { line, problem };
        if text.len() > PUBLISHERS_FILE_MAX {
            let problem = format!("the file is longer than {PUBLISHERS_FILE_MAX} bytes");
            return Err(wrong(1, problem));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = (1..).zip(text.lines());
        let names: Vec<&str> = lines
            .next()
            .map_or_else(Vec::new, |(_, line)| line.split(',').map(str::trim).collect());
        let places = column_places(&names).map_err(|problem| wrong(1, problem))?;
        let mut found = Publishers::default();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let key = cells.get(places[0]).copied().unwrap_or_default();
            check_row(&cells, names.len(), key).map_err(|problem| wrong(number, problem))?;
            if let Some(first) = seen.insert(key, number) {
                let problem = format!("publisher {key} is in line {first} already");
                return Err(wrong(number, problem));
            }
            if found.list.len() == PUBLISHERS_MAX {
                let problem = format!("at most {PUBLISHERS_MAX} publishers are allowed");
                return Err(wrong(number, problem));
            }
            let mut numbers = [0.0; COLUMNS.len() - 1];
            for (at, value) in numbers.iter_mut().enumerate() {
                let column = COLUMNS[at + 1];
                let cell = cells[places[at + 1]];
                let (read, repair) = probability(column, cell, above_one)
                    .map_err(|problem| wrong(number, problem))?;
                *value = read;
                found.repairs.extend(repair.map(|what| format!("line {number}: {what}")));
            }
            let [share, impression, redeem, click, convert] = numbers;
            found.list.push(Publisher {
                key: key.to_owned(),
                share,
                steps: [impression, redeem, click, convert],
            });
        }
        if found.list.is_empty() {
            return Err(wrong(1, "the file has no publishers".to_owned()));
        }
        Ok(found)
    }
}

/// Position of each column of [`COLUMNS`].
fn column_places(names: &[&str]) -> Result<[usize; COLUMNS.len()], String> {
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let named = (0..).zip(names).filter(|(_, name)| **name == column);
        let mut named = named.map(|(place, _)| place);
        *place = match (named.next(), named.next()) {
            (Some(only), None) => only,
            (Some(_), Some(_)) => return Err(format!("the column `{column}` is there twice")),
            (None, _) => {
                let all = COLUMNS.join(", ");
                return Err(format!("there is no column `{column}`; required are {all}"));
            }
        };
    }
    Ok(places)
}

/// Checks the number of cells of a row, and the key of its publisher.
fn check_row(cells: &[&str], columns: usize, key: &str) -> Result<(), String> {
    let count = cells.len();
    if count != columns {
        return Err(format!("{count} cells, but the header has {columns}"));
    }
    if !is_key(key) {
        return Err(format!("{key:?} is not a key: 1 to 64 letters, digits, '-' or '_'"));
    }
    Ok(())
}

/// A probability, and how it was repaired.
fn probability(
    column: &str,
    cell: &str,
    above_one: AboveOne,
) -> Result<(f64, Option<String>), String> {
    let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
    match (value, above_one) {
        (Some(value), _) if (0.0..=1.0).contains(&value) => Ok((value, None)),
        (Some(value), AboveOne::TakeAsOne) if value > 1.0 => {
            Ok((1.0, Some(format!("{column} is {cell}, taken as 1"))))
        }
        (Some(value), AboveOne::Refuse) if value > 1.0 => Err(format!(
            "{column} is {cell}, and a probability is at most 1; fix it, or have it taken as 1 \
             (--above-one take-as-one)"
        )),
        _ => Err(format!("{column} is {cell:?}, and should be a number from 0 to 1")),
    }
}

/// Whether this can be a publisher's key.
pub(super) fn is_key(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=KEY_MAX).contains(&text.len()) && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "publisher,session_probability,impression,redeem,click,convert\n";

    fn read(rows: &str, above_one: AboveOne) -> Result<Publishers, PublishersError> {
        Publishers::read(&format!("{HEAD}{rows}"), above_one)
    }

    #[test]
    fn publishers_are_read_whatever_the_order_of_columns() {
        let text = "\u{feff}convert, note,publisher,session_probability,impression,redeem,click\r\n\
                    0.4,x,abc,0.5,0.1,0.2,0.3\r\n\r\n";
        let found = Publishers::read(text, AboveOne::Refuse).unwrap();
        assert!(found.repairs.is_empty());
        assert_eq!(found.list.len(), 1);
        assert_eq!(found.list[0].key, "abc");
        assert_eq!(found.list[0].share, 0.5);
        assert_eq!(found.list[0].steps, [0.1, 0.2, 0.3, 0.4]);
    }

    #[test]
    fn a_probability_above_one_is_refused_or_reported() {
        let rows = "a,0.5,0,0,0,0\nb,0.5,3.375,0,0,0\n";
        let error = read(rows, AboveOne::Refuse).unwrap_err();
        assert_eq!(error.line, 3);
        assert!(error.problem.contains("impression is 3.375"), "{error}");
        let found = read(rows, AboveOne::TakeAsOne).unwrap();
        assert_eq!(found.list[1].steps[0], 1.0);
        assert_eq!(found.repairs, ["line 3: impression is 3.375, taken as 1"]);
    }

    #[test]
    fn errors_name_their_line() {
        for (rows, line, part) in [
            ("", 1, "no publishers"),
            ("a,0.5,0,0,0\n", 2, "5 cells"),
            ("a b,0.5,0,0,0,0\n", 2, "not a key"),
            ("a,0.5,0,0,0,0\na,0.5,0,0,0,0\n", 3, "line 2 already"),
            ("a,-0.5,0,0,0,0\n", 2, "from 0 to 1"),
            ("a,nan,0,0,0,0\n", 2, "from 0 to 1"),
            ("a,0.5,x,0,0,0\n", 2, "impression is \"x\""),
        ] {
            let error = read(rows, AboveOne::TakeAsOne).unwrap_err();
            assert_eq!(error.line, line, "{rows:?}");
            assert!(error.problem.contains(part), "{rows:?}: {error}");
        }
        let error = Publishers::read("publisher\na\n", AboveOne::Refuse).unwrap_err();
        assert!(error.problem.contains("no column `session_probability`"), "{error}");
        let twice = format!("click,{HEAD}0.5,a,0.5,0,0,0,0\n");
        let error = Publishers::read(&twice, AboveOne::Refuse).unwrap_err();
        assert_eq!(error.line, 1);
        assert!(error.problem.contains("`click` is there twice"), "{error}");
    }
}
