//! Results of another tool: operations with their measure, start, time and end.

use std::collections::{BTreeMap, HashMap};

use stats::hist::LogHistogram;

use super::number::{Unit, VALUE_NS_MAX, nanoseconds};
use super::table::SAMPLES_MAX;
use crate::Outcome;
use crate::schema::ErrorCount;

/// Most measures of one import.
pub const MEASURES_MAX: usize = 1_000;
/// Most characters of a measure's name.
const NAME_CHARS_MAX: usize = 200;
/// Most characters of what a failure was.
const DETAIL_CHARS_MAX: usize = 120;
/// Most names of what was left out.
const LEFT_OUT_MAX: usize = 100;
/// Names of what was left out that a sentence has.
const LEFT_OUT_SHOWN: usize = 5;
/// Endings by which the latency log tells times of one measure apart.
const TAG_ENDINGS: [&str; 5] = [".failed", ".censored", ".service", ".lag", ".late"];
/// Statuses of HTTP that are no failure where a tool does not say what is one.
const GOOD_STATUSES: std::ops::Range<u16> = 200..400;

/// [`ToolResults::tool`] of numbers whose tool is not known.
pub(super) const PLAIN: &str = "samples";
/// The sentence for results that do not say which operations failed.
pub(super) const ENDS: &str = "operations that failed: each counts as succeeded";
/// The kind of a measure whose operations are requests.
pub(super) const REQUEST: &str = "request";
/// The kind of a measure whose operations consist of others.
pub(super) const TRANSACTION: &str = "transaction";

/// A measure of another tool's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolMeasure {
    /// The name that the tool gives it, without control characters, and cut if it is very long.
    pub name: String,
    /// As in [`MeasureInfo::kind`](crate::schema::MeasureInfo::kind).
    pub kind: &'static str,
}

/// An operation that another tool measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolOperation {
    /// When it started, in nanoseconds since a moment that all of them share; 0 if that is not known of any.
    pub start_ns: u64,
    /// Time in nanoseconds, at most a day.
    pub time_ns: u64,
    /// Bytes that were sent for it; 0 if unknown.
    pub bytes_out: u32,
    /// Bytes that were received for it; 0 if unknown.
    pub bytes_in: u32,
    /// Index into [`ToolResults::measures`].
    pub measure: u16,
    /// Status of HTTP; 0: none, or unknown.
    pub status: u16,
    /// Index into [`ToolResults::details`], from 1; 0: none.
    pub detail: u16,
    /// How it ended.
    pub outcome: Outcome,
}

/// Operations of a measure of which only the numbers by time are known. All of them succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramPart {
    /// Index into [`ToolResults::measures`].
    pub measure: u16,
    /// When the interval began, in nanoseconds since a moment that all of them share.
    pub start_ns: u64,
    /// Length of the interval.
    pub len_ns: u64,
    /// Times in nanoseconds.
    pub times: LogHistogram,
}

/// Single operations, or histograms of them.
#[derive(Debug, Clone, PartialEq)]
pub enum Measurements {
    /// Single operations, in the order of the file.
    Operations(Vec<ToolOperation>),
    /// Histograms by interval.
    Histograms(Vec<HistogramPart>),
}

/// Results of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResults {
    /// The tool and its form of results.
    pub tool: &'static str,
    /// The measures; operations refer to them by their index.
    pub measures: Vec<ToolMeasure>,
    /// The operations, one at least.
    pub measured: Measurements,
    /// True if it is known when operations started.
    pub has_starts: bool,
    /// Texts of failures, beyond their outcome.
    pub details: Vec<String>,
    /// Facts that the results lack, a sentence each without full stop.
    pub absent: Vec<String>,
}

/// How a file is to be read, where that does not follow from its content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// One measure for all operations; `None`: those of the tool.
    pub measure: Option<String>,
    /// The unit of histograms that do not state theirs; `None`: nanoseconds.
    pub unit: Option<Unit>,
}

/// Why results could not be read. The file is named by whoever read it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultsError {
    /// It has none of the known forms.
    #[error("the file has no form of results that is known")]
    Unknown,
    /// A line is not as it must be.
    #[error("line {line}: {problem}")]
    Line {
        /// From 1.
        line: usize,
        /// The fault, and how to fix it.
        problem: String,
    },
    /// A document is not as it must be.
    #[error("{tool}: {problem}")]
    Document {
        /// The tool and its form of results.
        tool: &'static str,
        /// The fault.
        problem: String,
    },
    /// A form that is known and does not say enough.
    #[error("{tool}: {lacks}; {instead}")]
    Lacks {
        /// The tool and its form of results.
        tool: &'static str,
        /// The missing part.
        lacks: String,
        /// A source that has it.
        instead: &'static str,
    },
    /// A unit was given for results that state theirs.
    #[error(
        "{tool}: the file states the unit of its times; leave out --unit, or choose a column with --column"
    )]
    Unit {
        /// The tool and its form of results.
        tool: &'static str,
    },
    /// There is not a single operation.
    #[error("{tool}: there are no operations{left_out}")]
    Empty {
        /// The tool and its form of results.
        tool: &'static str,
        /// The values that there are instead.
        left_out: String,
    },
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadLine {
    pub(super) line: usize,
    pub(super) problem: String,
}

impl BadLine {
    pub(super) fn new(line: usize, problem: impl Into<String>) -> BadLine {
        BadLine { line, problem: problem.into() }
    }

    /// The error of a document in which lines mean nothing.
    pub(super) fn in_document(self, tool: &'static str) -> ResultsError {
        ResultsError::Document { tool, problem: self.problem }
    }
}

impl From<BadLine> for ResultsError {
    fn from(bad: BadLine) -> ResultsError {
        ResultsError::Line { line: bad.line, problem: bad.problem }
    }
}

impl From<super::records::BadRecord> for ResultsError {
    fn from(bad: super::records::BadRecord) -> ResultsError {
        ResultsError::Line { line: bad.line, problem: bad.problem.to_owned() }
    }
}

/// How an operation ended, and what its failure was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End<'t> {
    pub(super) outcome: Outcome,
    pub(super) status: u16,
    /// Empty if the outcome says all.
    pub(super) detail: std::borrow::Cow<'t, str>,
}

impl<'t> End<'t> {
    /// A success with this status; 0 if there is none.
    pub(super) fn success(status: u16) -> End<'t> {
        End { outcome: Outcome::Ok, status, detail: "".into() }
    }

    /// An answer with a status that is a failure.
    pub(super) fn bad_status(status: u16) -> End<'t> {
        End { outcome: Outcome::Status, status, detail: status.to_string().into() }
    }

    /// The end that a status stands for, where the tool does not say what is a failure. 0 is none.
    pub(super) fn of_status(status: u16) -> End<'t> {
        match status {
            0 => End { outcome: Outcome::Other, status, detail: "no answer".into() },
            status if GOOD_STATUSES.contains(&status) => End::success(status),
            status => End::bad_status(status),
        }
    }

    /// An answer that was not what it should be.
    pub(super) fn check(status: u16, detail: &'t str) -> End<'t> {
        End { outcome: Outcome::Check, status, detail: detail.into() }
    }

    /// The end that the text of an error stands for, where there was no answer.
    pub(super) fn unanswered(error: &'t str) -> End<'t> {
        let lower = error.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let outcome = if has(&["timeout", "timed out", "deadline exceeded"]) {
            match has(&["connecttimeout", "connect timeout", "connection timed out", "dial"]) {
                true => Outcome::ConnectTimeout,
                false => Outcome::Timeout,
            }
        } else if has(&["refused"]) {
            Outcome::Refused
        } else if has(&["unreachable", "no route"]) {
            Outcome::Unreachable
        } else if has(&["reset"]) {
            Outcome::Reset
        } else if has(&["certificate", "x509"]) {
            Outcome::TlsUntrusted
        } else if has(&["ssl", "tls"]) {
            Outcome::Tls
        } else if has(&["eof", "closed", "nohttpresponse"]) {
            Outcome::Closed
        } else {
            Outcome::Other
        };
        End { outcome, status: 0, detail: error.into() }
    }
}

/// An operation as a reader of a form finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundOperation<'t> {
    pub(super) measure: u16,
    pub(super) start_ns: u64,
    pub(super) time_ns: u64,
    pub(super) end: End<'t>,
    pub(super) bytes_out: u64,
    pub(super) bytes_in: u64,
}

/// Results in the making.
#[derive(Debug)]
pub(super) struct Builder {
    tool: &'static str,
    /// One measure for all.
    only: Option<String>,
    measures: Vec<ToolMeasure>,
    known: HashMap<ToolMeasure, u16>,
    operations: Vec<ToolOperation>,
    details: Vec<String>,
    left_out: BTreeMap<String, u64>,
    absent: Vec<String>,
}

impl Builder {
    pub(super) fn new(tool: &'static str, options: &ReadOptions) -> Builder {
        Builder {
            tool,
            only: options.measure.clone(),
            measures: Vec::new(),
            known: HashMap::new(),
            operations: Vec::new(),
            details: Vec::new(),
            left_out: BTreeMap::new(),
            absent: Vec::new(),
        }
    }

    /// The number of the measure with this name.
    pub(super) fn measure(
        &mut self,
        line: usize,
        name: &str,
        kind: &'static str,
    ) -> Result<u16, BadLine> {
        // Operations that consist of others are no requests, whatever these are called.
        let only = self.only.as_deref().filter(|_| kind == REQUEST);
        let measure = ToolMeasure { name: clean_name(only.unwrap_or(name), kind), kind };
        if let Some(&number) = self.known.get(&measure) {
            return Ok(number);
        }
        if self.measures.len() == MEASURES_MAX {
            let problem = format!(
                "more than {MEASURES_MAX} different names of operations; give all of them one with --measure NAME"
            );
            return Err(BadLine::new(line, problem));
        }
        let number = self.measures.len() as u16;
        self.measures.push(measure.clone());
        self.known.insert(measure, number);
        Ok(number)
    }

    /// Adds an operation, which was found at this line.
    pub(super) fn push(&mut self, line: usize, found: &FoundOperation<'_>) -> Result<(), BadLine> {
        if self.operations.len() == SAMPLES_MAX {
            let problem = format!("more than {SAMPLES_MAX} operations; divide the file");
            return Err(BadLine::new(line, problem));
        }
        if u128::from(found.time_ns) > VALUE_NS_MAX {
            let problem = "an operation is longer than a day, the longest time";
            return Err(BadLine::new(line, problem));
        }
        if found.start_ns > i64::MAX as u64 {
            return Err(BadLine::new(line, "the start of an operation is too large"));
        }
        let detail = self.detail(&found.end.detail);
        self.operations.push(ToolOperation {
            start_ns: found.start_ns,
            time_ns: found.time_ns,
            bytes_out: u32::try_from(found.bytes_out).unwrap_or(u32::MAX),
            bytes_in: u32::try_from(found.bytes_in).unwrap_or(u32::MAX),
            measure: found.measure,
            status: found.end.status,
            detail,
            outcome: found.end.outcome,
        });
        Ok(())
    }

    /// The number of what a failure was, from 1; 0 of nothing.
    fn detail(&mut self, text: &str) -> u16 {
        let text = clean_detail(text);
        if text.is_empty() {
            return 0;
        }
        if let Some(place) = self.details.iter().position(|known| *known == text) {
            return place as u16 + 1;
        }
        let has_others = self.details.last().is_some_and(|last| last == ErrorCount::OTHERS);
        if self.details.len() + 1 < ErrorCount::DISTINCT_MAX {
            self.details.push(text);
        } else if !has_others {
            self.details.push(ErrorCount::OTHERS.to_owned());
        }
        self.details.len() as u16
    }

    /// Counts something that is no operation.
    pub(super) fn leave_out(&mut self, what: &str) {
        let what = short(what, NAME_CHARS_MAX);
        let is_full = self.left_out.len() >= LEFT_OUT_MAX && !self.left_out.contains_key(&what);
        let what = if is_full { "others".to_owned() } else { what };
        *self.left_out.entry(what).or_default() += 1;
    }

    /// Adds a sentence about what the results lack.
    pub(super) fn lacks(&mut self, sentence: &str) {
        if !self.absent.iter().any(|known| known == sentence) {
            self.absent.push(sentence.to_owned());
        }
    }

    /// Results of which only histograms are known, those that are given.
    pub(super) fn finish_histograms(
        mut self,
        parts: Vec<HistogramPart>,
        has_starts: bool,
    ) -> Result<ToolResults, ResultsError> {
        if parts.is_empty() {
            return Err(ResultsError::Empty { tool: self.tool, left_out: String::new() });
        }
        self.lacks("single operations: times are known by the buckets of histograms");
        Ok(ToolResults {
            tool: self.tool,
            measures: self.measures,
            measured: Measurements::Histograms(parts),
            has_starts,
            details: Vec::new(),
            absent: self.absent,
        })
    }

    /// The results.
    pub(super) fn finish(mut self, has_starts: bool) -> Result<ToolResults, ResultsError> {
        let left_out = left_out_text(&self.left_out);
        if self.operations.is_empty() {
            let left_out = left_out.map_or(String::new(), |text| format!(", but {text}"));
            return Err(ResultsError::Empty { tool: self.tool, left_out });
        }
        self.absent.extend(left_out.map(|text| format!("{text}: no operations")));
        Ok(ToolResults {
            tool: self.tool,
            measures: self.measures,
            measured: Measurements::Operations(self.operations),
            has_starts,
            details: self.details,
            absent: self.absent,
        })
    }
}

/// The fault of a text that should be JSON, without its place: texts are single lines of a file.
pub(super) fn json_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem).to_owned()
}

/// A time or moment, which is a number in `unit`, in nanoseconds.
pub(super) fn time_ns(line: usize, column: &str, text: &str, unit: Unit) -> Result<u64, BadLine> {
    let ns = nanoseconds(text, unit).map_err(|problem| {
        BadLine::new(line, format!("{column}: {}", short(&problem, DETAIL_CHARS_MAX)))
    })?;
    u64::try_from(ns).map_err(|_| BadLine::new(line, format!("{column}: the number is too large")))
}

/// A time of at most a day that is a number in `unit`, in nanoseconds; `None` of any other number.
pub(super) fn float_ns(value: f64, unit: Unit) -> Option<u64> {
    let ns = (value * unit.ns() as f64).round();
    (0.0..=VALUE_NS_MAX as f64).contains(&ns).then_some(ns as u64)
}

/// The values that were left out, the most frequent kind first: `12 of data_sent, 3 of vus and 2 kinds more`.
fn left_out_text(left_out: &BTreeMap<String, u64>) -> Option<String> {
    if left_out.is_empty() {
        return None;
    }
    let mut all: Vec<(&String, &u64)> = left_out.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown = all.iter().take(LEFT_OUT_SHOWN);
    let shown: Vec<String> = shown.map(|(what, count)| format!("{count} of {what}")).collect();
    Some(match all.len().saturating_sub(LEFT_OUT_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} kinds more", shown.join(", ")),
    })
}

/// A name that a measure can have, and that no tag of the latency log is mistaken for. That of an operation which
/// consists of others says so, so that none is taken for a request of the same name.
pub(super) fn clean_name(name: &str, kind: &str) -> String {
    let mut name = short(name, NAME_CHARS_MAX);
    for ending in TAG_ENDINGS {
        if let Some(start) = name.strip_suffix(ending) {
            name = format!("{start} {}", &ending[1..]);
        }
    }
    match (name.is_empty(), kind) {
        (true, kind) => kind.to_owned(),
        (false, TRANSACTION) => format!("{name} ({TRANSACTION})"),
        (false, _) => name,
    }
}

/// A URL or path without its query and fragment, in which secrets are; any other text as it is.
pub(super) fn without_query(text: &str) -> &str {
    match text.starts_with('/') || text.contains("://") {
        true => text.split(['?', '#']).next().unwrap_or(text),
        false => text,
    }
}

/// The first line of what a failure was, without the numbers in it, of which each failure has its own. A status is
/// a number.
fn clean_detail(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.len() <= 3 && line.bytes().all(|byte| byte.is_ascii_digit()) {
        return line.to_owned();
    }
    let mut clean = String::new();
    let mut chars = line.chars().filter(|c| !c.is_control()).peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_digit() {
            while chars.next_if(char::is_ascii_digit).is_some() {}
            clean.push('…');
        } else {
            clean.push(c);
        }
    }
    short(without_query(&clean), DETAIL_CHARS_MAX)
}

/// The beginning of a text, without control characters and blanks around it.
fn short(text: &str, chars_max: usize) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let clean: String = clean.take(chars_max).collect();
    clean.trim().to_owned()
}

/// A whole number; 0 of any other text.
pub(super) fn number_or_zero<N: std::str::FromStr + Default>(text: &str) -> N {
    text.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> Builder {
        Builder::new("tool", &ReadOptions::default())
    }

    #[test]
    fn names_are_no_tags_of_other_measures() {
        for (name, kind, expected) in [
            ("login", REQUEST, "login"),
            (" a\tb ", REQUEST, "a b"),
            ("login.failed", REQUEST, "login failed"),
            ("", REQUEST, "request"),
            ("login", TRANSACTION, "login (transaction)"),
        ] {
            assert_eq!(clean_name(name, kind), expected);
        }
        assert_eq!(clean_name(&"x".repeat(1_000), REQUEST).len(), NAME_CHARS_MAX);
        assert_eq!(without_query("GET http://a/b?token=1"), "GET http://a/b");
        assert_eq!(without_query("/b?token=1"), "/b");
        assert_eq!(without_query("what?"), "what?");
    }

    #[test]
    fn errors_are_told_apart_by_their_texts() {
        for (text, outcome) in [
            ("java.net.SocketTimeoutException: Read timed out", Outcome::Timeout),
            ("dial tcp 127.0.0.1:1: i/o timeout", Outcome::ConnectTimeout),
            ("dial tcp 127.0.0.1:1: connect: connection refused", Outcome::Refused),
            ("read: connection reset by peer", Outcome::Reset),
            ("x509: certificate signed by unknown authority", Outcome::TlsUntrusted),
            ("unexpected EOF", Outcome::Closed),
            ("lookup nowhere: no such host", Outcome::Other),
        ] {
            assert_eq!(End::unanswered(text).outcome, outcome, "{text}");
        }
        assert_eq!(End::of_status(204).outcome, Outcome::Ok);
        assert_eq!(End::of_status(503), End::bad_status(503));
        assert_eq!(End::of_status(0).outcome, Outcome::Other);
    }

    #[test]
    fn details_have_no_numbers_of_their_own_and_are_not_too_many() {
        assert_eq!(clean_detail("503"), "503");
        assert_eq!(clean_detail("dial 127.0.0.1:41234\nsecond"), "dial ….….….…:…");
        let mut builder = builder();
        assert_eq!(builder.detail(""), 0);
        for number in 0..1_000_u32 {
            let letters: String = number.to_string().bytes().map(|b| char::from(b + 17)).collect();
            builder.detail(&letters);
        }
        assert_eq!(builder.details.len(), ErrorCount::DISTINCT_MAX);
        assert_eq!(builder.details.last().unwrap(), ErrorCount::OTHERS);
        assert_eq!(builder.detail("A"), 1);
        assert_eq!(builder.detail("another") as usize, ErrorCount::DISTINCT_MAX);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut results = builder();
        results.leave_out("vus");
        results.leave_out("vus");
        results.leave_out("checks");
        let empty = results.finish(true).unwrap_err().to_string();
        assert_eq!(empty, "tool: there are no operations, but 2 of vus, 1 of checks");
        let mut results = builder();
        (0..2 * LEFT_OUT_MAX).for_each(|number| results.leave_out(&number.to_string()));
        assert_eq!(results.left_out.len(), LEFT_OUT_MAX + 1);
        assert_eq!(results.left_out["others"], LEFT_OUT_MAX as u64);
    }

    #[test]
    fn too_many_names_are_refused_with_the_way_out() {
        let mut results = builder();
        for number in 0..MEASURES_MAX {
            results.measure(1, &number.to_string(), REQUEST).unwrap();
        }
        let bad = results.measure(7, "x", REQUEST).unwrap_err();
        assert!(bad.line == 7 && bad.problem.ends_with("--measure NAME"), "{bad:?}");
        assert_eq!(results.measure(8, "3", REQUEST), Ok(3));
    }
}
