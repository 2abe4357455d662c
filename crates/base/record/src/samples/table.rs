//! Samples as text: a number a line, or columns of a CSV file. A pure function of the text.

use super::number::{Unit, VALUE_NS_MAX, nanoseconds};
use super::records::{BadRecord, Record, Records};
use super::results::{
    Builder, ENDS, End, FoundOperation, PLAIN, REQUEST, ReadOptions, ResultsError, ToolResults,
    number_or_zero,
};
use crate::Outcome;

/// Most samples of a column.
pub const SAMPLES_MAX: usize = 10_000_000;
/// Columns named in an error at most.
const NAMES_MAX: usize = 12;
/// Characters of a field shown in an error at most.
const SHOWN_MAX: usize = 40;
/// The names by which a table is JMeter's. Its columns `success` and `responseCode` say how operations ended.
const OF_JMETER: [&str; 3] = ["timeStamp", "elapsed", SUCCESS];
const SUCCESS: &str = "success";
const CODE: &str = "responseCode";

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
    /// The column that says whether an operation succeeded. `None`: `success`, if the columns are JMeter's; of others
    /// each operation counts as succeeded.
    pub success: Option<String>,
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleEnd {
    /// As which outcome it counts.
    pub outcome: Outcome,
    /// Status of HTTP; 0: none, or unknown.
    pub status: u16,
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
    /// How each operation ended; empty if unknown.
    pub ends: Vec<SampleEnd>,
}

impl Samples {
    /// The samples as operations of one measure.
    ///
    /// # Errors
    /// [`ResultsError::Empty`] if there is no sample.
    pub fn results(&self, measure: &str) -> Result<ToolResults, ResultsError> {
        let options = ReadOptions { measure: Some(measure.to_owned()), unit: None };
        let mut builder = Builder::new(PLAIN, &options);
        for (place, &time_ns) in self.times_ns.iter().enumerate() {
            let end = self.ends.get(place).map_or(End::success(0), |end| match end.outcome {
                Outcome::Status => End::bad_status(end.status),
                outcome => End { outcome, status: end.status, detail: "".into() },
            });
            let found = FoundOperation {
                measure: builder.measure(place + 1, measure, REQUEST)?,
                start_ns: self.starts_ns.get(place).copied().unwrap_or(0),
                time_ns,
                end,
                bytes_out: 0,
                bytes_in: 0,
            };
            builder.push(place + 1, &found)?;
        }
        if self.ends.is_empty() {
            builder.lacks(ENDS);
        }
        builder.finish(!self.starts_ns.is_empty())
    }
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

impl From<BadRecord> for SamplesError {
    fn from(bad: BadRecord) -> SamplesError {
        SamplesError::Line { line: bad.line, column: None, problem: bad.problem.to_owned() }
    }
}

/// The samples of each column that `format` names, or of the one that has no name.
///
/// Fields are separated by a comma, semicolon or tab and may be quoted (RFC 4180). Empty lines at the end are ignored.
///
/// # Errors
/// At the first line that is not as it must be.
pub fn parse(text: &str, format: &Format) -> Result<Vec<Samples>, SamplesError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_end();
    match format.columns.is_empty() {
        true => numbers(text, format.unit).map(|samples| vec![samples]),
        false => table(text, format),
    }
}

/// A number a line.
fn numbers(text: &str, unit: Unit) -> Result<Samples, SamplesError> {
    let mut samples = empty(None);
    for (line, text) in (1..).zip(text.lines()) {
        if samples.times_ns.len() >= SAMPLES_MAX {
            return Err(SamplesError::TooMany { line });
        }
        let ns = time(text.trim(), unit, false);
        let wrong = |problem| SamplesError::Line { line, column: None, problem };
        samples.times_ns.push(ns.map_err(wrong)?);
    }
    match samples.times_ns.is_empty() {
        true => Err(SamplesError::Empty { header: false }),
        false => Ok(samples),
    }
}

/// Columns below their names.
fn table(text: &str, format: &Format) -> Result<Vec<Samples>, SamplesError> {
    let mut records = Records::detect(text);
    let names = records.next().ok_or(SamplesError::Empty { header: true })??;
    let reader = Reader::new(&names, format)?;
    let mut all: Vec<Samples> =
        format.columns.iter().map(|name| empty(Some(name.clone()))).collect();
    for record in records {
        let record = record?;
        let line = record.line;
        if all[0].times_ns.len() >= SAMPLES_MAX {
            return Err(SamplesError::TooMany { line });
        }
        reader.read(&record, &mut all).map_err(|wrong| SamplesError::Line {
            line,
            column: Some(wrong.column),
            problem: wrong.problem,
        })?;
    }
    match all[0].times_ns.is_empty() {
        true => Err(SamplesError::Empty { header: true }),
        false => Ok(all),
    }
}

/// A column that is read.
struct Column {
    name: String,
    /// The place in a line.
    place: usize,
}

/// How the lines below the names are read.
struct Reader {
    unit: Unit,
    times: Vec<Column>,
    start: Option<(Column, Unit)>,
    success: Option<Column>,
    /// The column with the status of HTTP; only beside one of successes.
    code: Option<Column>,
}

/// A fault of a field.
struct BadField {
    column: String,
    problem: String,
}

impl Reader {
    fn new(names: &Record<'_>, format: &Format) -> Result<Reader, SamplesError> {
        let column = |name: &str| -> Result<Column, SamplesError> {
            let place = place(names, name)?;
            Ok(Column { name: name.to_owned(), place })
        };
        let times: Result<Vec<Column>, SamplesError> =
            format.columns.iter().map(|name| column(name)).collect();
        let start = match &format.start {
            None => None,
            Some((name, unit)) => Some((column(name)?, *unit)),
        };
        let has = |name: &str| names.fields.iter().any(|field| field == name);
        let is_of_jmeter = OF_JMETER.into_iter().all(has);
        let success = format.success.as_deref().or(is_of_jmeter.then_some(SUCCESS));
        Ok(Reader {
            unit: format.unit,
            times: times?,
            start,
            success: success.map(column).transpose()?,
            code: (success.is_some() && has(CODE)).then(|| column(CODE)).transpose()?,
        })
    }

    /// Adds the samples of a line.
    fn read(&self, record: &Record<'_>, all: &mut [Samples]) -> Result<(), BadField> {
        let start_ns = match &self.start {
            None => None,
            Some((column, unit)) => {
                Some(point(column.of(record)?, *unit).map_err(|problem| column.wrong(problem))?)
            }
        };
        let end = match &self.success {
            None => None,
            Some(column) => {
                let code = self.code.as_ref().map_or(Ok(""), |column| column.of(record))?;
                Some(end(column.of(record)?, code).map_err(|problem| column.wrong(problem))?)
            }
        };
        for (column, samples) in self.times.iter().zip(all) {
            let ns = time(column.of(record)?, self.unit, true);
            samples.times_ns.push(ns.map_err(|problem| column.wrong(problem))?);
            samples.starts_ns.extend(start_ns);
            samples.ends.extend(end);
        }
        Ok(())
    }
}

impl Column {
    /// The field of this column.
    fn of<'r>(&self, record: &'r Record<'_>) -> Result<&'r str, BadField> {
        let found = record.fields.get(self.place).map(|field| &**field);
        found.ok_or_else(|| {
            self.wrong(format!(
                "the line has {} fields, and this column is number {}; complete or remove it",
                record.fields.len(),
                self.place + 1
            ))
        })
    }

    fn wrong(&self, problem: String) -> BadField {
        BadField { column: self.name.clone(), problem }
    }
}

fn empty(column: Option<String>) -> Samples {
    Samples { column, times_ns: Vec::new(), starts_ns: Vec::new(), ends: Vec::new() }
}

/// How an operation ended, by whether it succeeded and by its status, which is empty if it is not known.
fn end(success: &str, code: &str) -> Result<SampleEnd, String> {
    const SUCCESSES: [&str; 5] = ["true", "1", "yes", "ok", "success"];
    const FAILURES: [&str; 7] = ["false", "0", "no", "ko", "fail", "failed", "error"];
    let is_one = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(success));
    let status: u16 = number_or_zero(code);
    let outcome = if is_one(&SUCCESSES) {
        Outcome::Ok
    } else if !is_one(&FAILURES) {
        return Err(format!(
            "{:?} is neither true nor false, 1 nor 0; correct or remove the line",
            shown(success)
        ));
    } else if status >= 400 {
        Outcome::Status
    } else if code.is_empty() || status > 0 {
        // It was answered, as far as is known: by an answer that was not what it should be.
        Outcome::Check
    } else {
        End::unanswered(code).outcome
    };
    Ok(SampleEnd { outcome, status })
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

/// The place of this column.
fn place(names: &Record<'_>, name: &str) -> Result<usize, SamplesError> {
    let mut places = names.fields.iter().enumerate().filter(|(_, field)| *field == name);
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => Err(SamplesError::Line {
            line: 1,
            column: None,
            problem: format!("there are two columns {name:?}; rename one of them"),
        }),
        (None, _) => {
            let found = names.fields.iter().map(|field| &**field).collect::<Vec<&str>>();
            Err(SamplesError::NoColumn { name: name.to_owned(), found: listed(&found) })
        }
    }
}

fn listed(names: &[&str]) -> String {
    let shown_names = names.iter().take(NAMES_MAX);
    let shown_names: Vec<String> = shown_names.map(|name| format!("{:?}", shown(name))).collect();
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown_names.join(", "),
        more => format!("{} and {more} more", shown_names.join(", ")),
    }
}

#[cfg(test)]
mod tests;
