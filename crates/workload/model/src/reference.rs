//! Reference figures: a table of known rates and probabilities that a model is tested against.
//!
//! ```text
//! publisher,share,impression,redeem
//! first,0.345028,0.247673,0.004014
//! ```
//! A row is a segment. One column has its share of all sessions; those of the classes have the probability
//! that a session goes on to the class from the one before it on the path.

use std::collections::HashMap;

/// Largest table, in bytes.
pub const REFERENCE_BYTES_MAX: u64 = 4 << 20;
/// Most rows.
const ROWS_MAX: usize = 10_000;
/// Most of the classes that a path goes through.
const PATH_MAX: usize = 50;

/// The meaning of a table's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceColumns {
    /// The column with each segment's share of all sessions.
    pub share: String,
    /// The known rate of all segments together, sessions a second.
    pub rate_per_s: f64,
    /// How many times faster than the table the log's users were.
    pub speed: f64,
    /// Classes in the order in which sessions come to them; all but the first are columns.
    pub path: Vec<String>,
    /// A probability above 1 is read as 1 and noted; else it is an error.
    pub above_one_is_one: bool,
}

/// A table of reference figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Segments in the table's order.
    pub segments: Vec<ReferenceSegment>,
    /// How many times faster than the table the log's users were.
    pub speed: f64,
    /// As in [`ReferenceColumns::path`].
    pub path: Vec<String>,
    /// Corrections, a sentence each, with line and column.
    pub repairs: Vec<String>,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceSegment {
    /// The segment's name.
    pub name: String,
    /// Sessions a second.
    pub rate_per_s: f64,
    /// For each class of the path but the last, the probability that the next one follows.
    pub probabilities: Vec<f64>,
}

/// Why a table was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct ReferenceError {
    /// Line of the table, from 1.
    pub line: usize,
    /// The column's name, or its number from 1.
    pub column: String,
    /// The problem, and what was expected.
    pub problem: String,
}

impl Reference {
    /// Reads a CSV table whose first line names the columns; the first column has the segments' names. Cells
    /// are plain: quotes are not supported. Shares count relative to their sum.
    ///
    /// # Errors
    /// With the first place that is not as it should be.
    pub fn read(text: &str, meaning: &ReferenceColumns) -> Result<Reference, ReferenceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = (1..).zip(text.lines());
        let head: Vec<&str> = lines.next().map_or_else(Vec::new, |(_, line)| cells(line));
        let (of_share, of_path) = columns(&head, meaning)?;
        let mut stated = Reference {
            segments: Vec::new(),
            speed: meaning.speed,
            path: meaning.path.clone(),
            repairs: Vec::new(),
        };
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (line, row) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let row = cells(row);
            if row.len() != head.len() {
                let problem =
                    format!("the row has {} cells, the table {} columns", row.len(), head.len());
                let column = row.len().min(head.len()).to_string();
                return Err(wrong(line, &column, problem));
            }
            if let Some(first) = seen.insert(row[0], line) {
                let problem = format!("{} is already in line {first}", row[0]);
                return Err(wrong(line, head[0], problem));
            }
            if stated.segments.len() == ROWS_MAX {
                let problem = format!("there are more than {ROWS_MAX} rows");
                return Err(wrong(line, head[0], problem));
            }
            let share =
                share(row[of_share]).map_err(|problem| wrong(line, head[of_share], problem))?;
            let mut probabilities = Vec::with_capacity(of_path.len());
            for &column in &of_path {
                let (number, is_above) = probability(row[column], meaning.above_one_is_one)
                    .map_err(|problem| wrong(line, head[column], problem))?;
                if is_above {
                    stated.repairs.push(format!(
                        "line {line}, column {}: the probability {} is read as 1",
                        head[column], row[column]
                    ));
                }
                probabilities.push(number);
            }
            stated.segments.push(ReferenceSegment {
                name: row[0].to_owned(),
                rate_per_s: share,
                probabilities,
            });
        }
        let sum: f64 = stated.segments.iter().map(|row| row.rate_per_s).sum();
        if sum <= 0.0 {
            let problem = "the shares add up to 0; at least one must be above 0";
            return Err(wrong(1, &meaning.share, problem.to_owned()));
        }
        if !sum.is_finite() {
            let problem = "the sum of the shares is too large";
            return Err(wrong(1, &meaning.share, problem.to_owned()));
        }
        for segment in &mut stated.segments {
            segment.rate_per_s = segment.rate_per_s / sum * meaning.rate_per_s;
        }
        Ok(stated)
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

fn wrong(line: usize, column: &str, problem: String) -> ReferenceError {
    ReferenceError { line, column: column.to_owned(), problem }
}

/// The places of the share and of each class but the path's first.
fn columns(
    head: &[&str],
    meaning: &ReferenceColumns,
) -> Result<(usize, Vec<usize>), ReferenceError> {
    if meaning.path.len() > PATH_MAX {
        let problem = format!("a path has at most {PATH_MAX} classes");
        return Err(wrong(1, &meaning.path[PATH_MAX], problem));
    }
    let place = |name: &String| {
        let place = head.iter().position(|column| column == name);
        place.filter(|&place| place > 0).ok_or_else(|| {
            let problem =
                format!("no such column after the first; the columns are {}", head.join(", "));
            wrong(1, name, problem)
        })
    };
    let share = place(&meaning.share)?;
    let path: Result<Vec<usize>, ReferenceError> = meaning.path.iter().skip(1).map(place).collect();
    Ok((share, path?))
}

/// A share: they count relative to their sum, so that counts and percentages do as well.
fn share(cell: &str) -> Result<f64, String> {
    let value = cell.parse::<f64>().ok();
    let value = value.filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("{cell:?} is not a number of 0 or more"))
}

/// A probability, and whether it stood above 1.
fn probability(cell: &str, above_one_is_one: bool) -> Result<(f64, bool), String> {
    let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
    match value {
        Some(value) if (0.0..=1.0).contains(&value) => Ok((value, false)),
        Some(value) if value > 1.0 && above_one_is_one => Ok((1.0, true)),
        Some(value) if value > 1.0 => Err(format!(
            "{cell} is above 1, and a probability is at most 1; fix it, or have it read as 1 (--above-one \
             take-as-one)"
        )),
        _ => Err(format!("{cell:?} is not a number from 0 to 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "who,share,seen,bought\n";

    fn meaning() -> ReferenceColumns {
        ReferenceColumns {
            share: "share".to_owned(),
            rate_per_s: 30.0,
            speed: 1.0,
            path: ["offered", "seen", "bought"].map(str::to_owned).to_vec(),
            above_one_is_one: false,
        }
    }

    fn read(rows: &str, meaning: &ReferenceColumns) -> Result<Reference, ReferenceError> {
        Reference::read(&format!("{HEAD}{rows}"), meaning)
    }

    #[test]
    fn shares_become_rates_and_columns_are_found_by_name() {
        let text = "\u{feff}who,note,bought, share,seen\r\na,x,0.1,0.2,0.3\r\n\r\nb,y,0,0.4,1\r\n";
        let stated = Reference::read(text, &meaning()).unwrap();
        let [a, b] = &stated.segments[..] else {
            panic!("{stated:?}");
        };
        assert_eq!((a.name.as_str(), &a.probabilities[..]), ("a", &[0.3, 0.1][..]));
        assert!((a.rate_per_s - 10.0).abs() < 1e-12 && (b.rate_per_s - 20.0).abs() < 1e-12);
    }

    #[test]
    fn shares_may_be_counts() {
        let stated = read("a,120,0.1,0\nb,40,0.1,0\n", &meaning()).unwrap();
        let rates: Vec<f64> = stated.segments.iter().map(|row| row.rate_per_s).collect();
        assert_eq!(rates, [22.5, 7.5]);
        assert!(stated.repairs.is_empty());
        // Numbers whose sum is beyond all numbers are none.
        let error = read("a,1e308,0,0\nb,1e308,0,0\n", &meaning()).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }

    #[test]
    fn probability_above_one_is_an_error_or_noted() {
        let rows = "a,0.5,0.1,0\nb,0.5,3.375,0\n";
        let error = read(rows, &meaning()).unwrap_err();
        assert!(error.to_string().starts_with("line 3, column seen: 3.375 is above 1"), "{error}");
        let taken = ReferenceColumns { above_one_is_one: true, ..meaning() };
        let stated = read(rows, &taken).unwrap();
        assert_eq!(stated.segments[1].probabilities, [1.0, 0.0]);
        assert_eq!(stated.repairs, ["line 3, column seen: the probability 3.375 is read as 1"]);
    }

    #[test]
    fn errors_name_line_and_column() {
        for (rows, place, part) in [
            ("", "line 1, column share", "add up to 0"),
            ("a,0,0,0\n", "line 1, column share", "add up to 0"),
            ("a,0.5,0\n", "line 2, column 3", "3 cells, the table 4 columns"),
            ("a,1,0,0\na,1,0,0\n", "line 3, column who", "already in line 2"),
            ("a,-1,0,0\n", "line 2, column share", "of 0 or more"),
            ("a,inf,0,0\n", "line 2, column share", "of 0 or more"),
            ("a,1,nan,0\n", "line 2, column seen", "from 0 to 1"),
            ("a,1,0,often\n", "line 2, column bought", "\"often\""),
        ] {
            let error = read(rows, &meaning()).unwrap_err().to_string();
            assert!(error.starts_with(place) && error.contains(part), "{rows:?}: {error}");
        }
        let error = Reference::read("who,seen\n", &meaning()).unwrap_err();
        assert_eq!((error.line, error.column.as_str()), (1, "share"));
        assert!(Reference::read("", &meaning()).is_err());
    }
}
