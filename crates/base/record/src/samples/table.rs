//! Samples as text: a number a line, or columns of a CSV file. A pure function of the text.

use super::number::{Unit, VALUE_NS_MAX, nanoseconds};

/// Most samples of a column.
pub const SAMPLES_MAX: usize = 10_000_000;
/// Columns named in an error at most.
const NAMES_MAX: usize = 12;
/// Characters of a field shown in an error at most.
const SHOWN_MAX: usize = 40;

/// The part of the text to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// Columns with times of operations, by their names in the first line. None: the text has one number
    /// a line and no names.
    pub columns: Vec<String>,
    /// Unit of these times.
    pub unit: Unit,
    /// The column with the start of each operation, and its unit.
    pub start: Option<(String, Unit)>,
}

/// The samples of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    /// Name of the column; `None` if the text has no columns.
    pub column: Option<String>,
    /// Times of operations in nanoseconds, in the order of the text.
    pub times_ns: Vec<u64>,
    /// When each operation started, in nanoseconds since the zero of the column; empty if unknown.
    pub starts_ns: Vec<u64>,
}

/// Why samples could not be read. The file is named by whoever read it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamplesError {
    /// A line is not as it must be.
    #[error("line {line}{}: {problem}", column.as_ref().map_or(String::new(), |name| format!(", column {name:?}")))]
    Line {
        /// From 1.
        line: usize,
        /// The column, if there are columns.
        column: Option<String>,
        /// The fault, the expected form, and how to fix it.
        problem: String,
    },
    /// There is not a single sample.
    #[error("there are no samples: expected one number a line{}", if *header { " below the names of the columns" } else { "" })]
    Empty {
        /// True if there should be a line with names.
        header: bool,
    },
    /// A column is not there.
    #[error("line 1 has no column {name:?}, but {found}; give one of these")]
    NoColumn {
        /// The column.
        name: String,
        /// The names that are there.
        found: String,
    },
    /// More than [`SAMPLES_MAX`].
    #[error("line {line}: more than {SAMPLES_MAX} samples; divide the file")]
    TooMany {
        /// The first line too many.
        line: usize,
    },
}

/// The samples of each column that `format` names, or of the one that has no name.
///
/// Fields are separated by a comma, semicolon or tab and may be quoted (RFC 4180, without line ends in
/// quotes). Empty lines at the end are ignored.
///
/// # Errors
/// At the first line that is not as it must be.
pub fn parse(text: &str, format: &Format) -> Result<Vec<Samples>, SamplesError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_end();
    let mut lines = (1..).zip(text.lines());
    let mut names = format.columns.clone();
    names.extend(format.start.iter().map(|(name, _)| name.clone()));
    let header = !names.is_empty();
    let (separator, places) = match header {
        false => (None, vec![0]),
        true => {
            let (_, first) = lines.next().ok_or(SamplesError::Empty { header })?;
            let (separator, places) = columns(first, &names)?;
            (Some(separator), places)
        }
    };
    let reader = Reader { format, names, separator, places };
    let mut all: Vec<Samples> = match format.columns.as_slice() {
        [] => vec![empty(None)],
        columns => columns.iter().map(|name| empty(Some(name.clone()))).collect(),
    };
    for (line, text) in lines {
        if all[0].times_ns.len() >= SAMPLES_MAX {
            return Err(SamplesError::TooMany { line });
        }
        reader.read(text, &mut all).map_err(|(place, problem)| SamplesError::Line {
            line,
            column: place.and_then(|place| reader.names.get(place).cloned()),
            problem,
        })?;
    }
    match all[0].times_ns.is_empty() {
        true => Err(SamplesError::Empty { header }),
        false => Ok(all),
    }
}

/// How the lines below the names are read.
struct Reader<'a> {
    format: &'a Format,
    /// The columns that are read; that of starts, if there is one, is the last.
    names: Vec<String>,
    /// `None` if a line is one number.
    separator: Option<char>,
    /// By name: its place in a line.
    places: Vec<usize>,
}

/// The column of what is wrong, as a place in [`Reader::names`], and the text.
type Problem = (Option<usize>, String);

impl Reader<'_> {
    /// Adds the samples of a line.
    fn read(&self, text: &str, all: &mut [Samples]) -> Result<(), Problem> {
        let fields = match self.separator {
            None => vec![text.trim().to_owned()],
            Some(separator) => {
                fields(text, separator).map_err(|problem| (None, problem.to_owned()))?
            }
        };
        let at = match &self.format.start {
            None => None,
            Some((_, unit)) => {
                let last = self.places.len() - 1;
                let found = point(self.field(&fields, last)?, *unit);
                Some(found.map_err(|problem| (Some(last), problem))?)
            }
        };
        for (place, samples) in all.iter_mut().enumerate() {
            let text = self.field(&fields, place)?;
            let found = time(text, self.format.unit, self.separator.is_some());
            let ns = found.map_err(|problem| (Some(place), problem))?;
            samples.times_ns.push(ns);
            samples.starts_ns.extend(at);
        }
        Ok(())
    }

    fn field<'f>(&self, fields: &'f [String], place: usize) -> Result<&'f str, Problem> {
        let found = fields.get(self.places[place]).map(String::as_str);
        found.ok_or_else(|| {
            let problem = format!(
                "the line has {} fields, and this column is number {}; complete or remove it",
                fields.len(),
                self.places[place] + 1
            );
            (Some(place), problem)
        })
    }
}

fn empty(column: Option<String>) -> Samples {
    Samples { column, times_ns: Vec::new(), starts_ns: Vec::new() }
}

/// The time of an operation.
fn time(text: &str, unit: Unit, has_columns: bool) -> Result<u64, String> {
    let expected = format!("expected a time in {} such as 12.5", unit.name());
    let hint = match has_columns {
        true => "correct or remove the line",
        false => "correct or remove it, or choose a column of a CSV file with --column",
    };
    match nanoseconds(text, unit) {
        Ok(ns) if ns > VALUE_NS_MAX => Err(format!(
            "{} {} is longer than a day, the longest time; is the unit right?",
            shown(text),
            unit.name()
        )),
        Ok(ns) => Ok(ns as u64),
        Err(problem) => Err(format!("{}; {expected}; {hint}", shown(&problem))),
    }
}

/// A moment.
fn point(text: &str, unit: Unit) -> Result<u64, String> {
    let expected = format!(
        "expected the start of the operation in {} since any moment, as a number",
        unit.name()
    );
    let ns = nanoseconds(text, unit).map_err(|problem| {
        format!("{}; {expected}; correct or remove the line", shown(&problem))
    })?;
    // Parquet has signed numbers.
    let fits = u64::try_from(ns).ok().filter(|&ns| ns <= i64::MAX as u64);
    fits.ok_or_else(|| format!("{} is too large; {expected}", shown(text)))
}

/// The beginning of a text.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The separator of a first line, and the places of these columns in it.
fn columns(first: &str, names: &[String]) -> Result<(char, Vec<usize>), SamplesError> {
    let wrong =
        |problem: &str| SamplesError::Line { line: 1, column: None, problem: problem.to_owned() };
    let count = |separator: char| fields(first, separator).map_or(0, |fields| fields.len());
    // Of several the first, so that a line without any has commas.
    let most = [',', ';', '\t'].map(|separator| (count(separator), separator));
    let best = most.into_iter().rev().max_by_key(|(count, _)| *count);
    let separator = best.map_or(',', |(_, separator)| separator);
    let found = fields(first, separator).map_err(wrong)?;
    let places = names.iter().map(|name| {
        let mut places = found.iter().enumerate().filter(|(_, field)| *field == name);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => {
                Err(wrong(&format!("there are two columns {name:?}; rename one of them")))
            }
            (None, _) => Err(SamplesError::NoColumn { name: name.clone(), found: listed(&found) }),
        }
    });
    let places: Result<Vec<usize>, SamplesError> = places.collect();
    Ok((separator, places?))
}

fn listed(names: &[String]) -> String {
    let shown_names = names.iter().take(NAMES_MAX);
    let shown_names: Vec<String> = shown_names.map(|name| format!("{:?}", shown(name))).collect();
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown_names.join(", "),
        more => format!("{} and {more} more", shown_names.join(", ")),
    }
}

/// The fields of a line, blanks around them removed; or what is wrong with it.
fn fields(line: &str, separator: char) -> Result<Vec<String>, &'static str> {
    const UNCLOSED: &str =
        "a quote is not closed; a field must end in its line, and a quote in it is written twice";
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start_matches(|c: char| c == ' ' && c != separator);
        let after = if let Some(quoted) = trimmed.strip_prefix('"') {
            let mut field = String::new();
            let mut left = quoted;
            loop {
                let (part, behind) = left.split_once('"').ok_or(UNCLOSED)?;
                field.push_str(part);
                left = behind;
                match left.strip_prefix('"') {
                    Some(escaped) => {
                        field.push('"');
                        left = escaped;
                    }
                    None => break,
                }
            }
            fields.push(field);
            let left = left.trim_start_matches(' ');
            if !left.is_empty() && !left.starts_with(separator) {
                return Err("text follows a closing quote; write the complete field in quotes");
            }
            left
        } else {
            let end = rest.find(separator).unwrap_or(rest.len());
            fields.push(rest[..end].trim().to_owned());
            &rest[end..]
        };
        match after.strip_prefix(separator) {
            Some(next) => rest = next,
            None => return Ok(fields),
        }
    }
}

#[cfg(test)]
mod tests;
