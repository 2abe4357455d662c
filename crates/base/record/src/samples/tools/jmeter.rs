//! JMeter's results: the CSV of its listeners, with and without names of columns ("Listeners", user's manual; the names
//! of `jmeter.save.saveservice`), and what a sample of it means.

use crate::Outcome;
use crate::samples::moment::moment;
use crate::samples::number::Unit;
use crate::samples::records::{Record, Records};
use crate::samples::results::{
    BadLine, Builder, ENDS, End, FoundOperation, REQUEST, ReadOptions, ResultsError, TRANSACTION,
    ToolResults, number_or_zero, time_ns,
};

const TOOL: &str = "JMeter, CSV";
/// Columns of a file without names of columns, by JMeter's own settings.
const COLUMNS: [&str; 17] = [
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "dataType",
    "success",
    "failureMessage",
    "bytes",
    "sentBytes",
    "grpThreads",
    "allThreads",
    "URL",
    "Latency",
    "IdleTime",
    "Connect",
];
/// The code of a sample without an answer, before the name of the exception.
const NO_ANSWER: &str = "Non HTTP response code: ";
/// How the message of a sample begins that a transaction controller made of others.
const OF_TRANSACTION: &str = "Number of samples in transaction";
pub(super) const ZONE: &str =
    "the zone of the times, which are written without one: they are read as UTC";

/// A sample as JMeter writes it; what is not written is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct JmeterSample<'t> {
    pub(super) time_stamp: &'t str,
    pub(super) elapsed: &'t str,
    pub(super) label: &'t str,
    pub(super) code: &'t str,
    pub(super) message: &'t str,
    pub(super) failure: &'t str,
    pub(super) success: &'t str,
    pub(super) bytes: &'t str,
    pub(super) sent_bytes: &'t str,
}

/// Facts that hold for all samples of a file so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileFacts {
    /// Each has a start.
    pub(super) has_starts: bool,
    /// Each says how it ended.
    pub(super) has_ends: bool,
    /// No start is without a zone.
    pub(super) has_zone: bool,
}

impl FileFacts {
    pub(super) const ALL: FileFacts =
        FileFacts { has_starts: true, has_ends: true, has_zone: true };

    /// Ends the results, with what they lack.
    pub(super) fn finish(self, mut builder: Builder) -> Result<ToolResults, ResultsError> {
        if !self.has_ends {
            builder.lacks(ENDS);
        }
        if self.has_starts && !self.has_zone {
            builder.lacks(ZONE);
        }
        builder.finish(self.has_starts)
    }
}

impl JmeterSample<'_> {
    /// True if a transaction controller made it of others.
    pub(super) fn is_transaction(&self) -> bool {
        self.message.starts_with(OF_TRANSACTION)
    }

    /// Adds the sample, which stands in this line.
    pub(super) fn add(
        &self,
        line: usize,
        builder: &mut Builder,
        known: &mut FileFacts,
    ) -> Result<(), BadLine> {
        let kind = if self.is_transaction() { TRANSACTION } else { REQUEST };
        let found = FoundOperation {
            measure: builder.measure(line, self.label, kind)?,
            start_ns: self.start_ns(line, known)?,
            time_ns: time_ns(line, "elapsed", self.elapsed, Unit::Ms)?,
            end: self.end(line, known)?,
            bytes_out: number_or_zero(self.sent_bytes),
            bytes_in: number_or_zero(self.bytes),
        };
        builder.push(line, &found)
    }

    fn start_ns(&self, line: usize, known: &mut FileFacts) -> Result<u64, BadLine> {
        if self.time_stamp.is_empty() {
            known.has_starts = false;
            return Ok(0);
        }
        if let Ok(ns) = time_ns(line, "timeStamp", self.time_stamp, Unit::Ms) {
            return Ok(ns);
        }
        let moment = moment(self.time_stamp).ok_or_else(|| {
            let problem = "timeStamp is neither a number of milliseconds nor a time such as 2026/01/31 12:00:00.500; \
                           let JMeter write jmeter.save.saveservice.timestamp_format=ms";
            BadLine::new(line, problem)
        })?;
        known.has_zone &= moment.has_zone;
        Ok(moment.ns)
    }

    /// The end of a sample without an answer. The exception names it, or its message does.
    fn unanswered<'s>(&'s self, exception: &'s str) -> End<'s> {
        let end = End::unanswered(exception);
        match end.outcome {
            Outcome::Other => End { outcome: End::unanswered(self.message).outcome, ..end },
            _ => end,
        }
    }

    fn end(&self, line: usize, known: &mut FileFacts) -> Result<End<'_>, BadLine> {
        let status: u16 = number_or_zero(self.code);
        if self.success.is_empty() {
            // A code says it as well, unless there is none either.
            known.has_ends &= !self.code.is_empty();
            return Ok(match self.code.strip_prefix(NO_ANSWER) {
                Some(error) => self.unanswered(error),
                None if status == 0 => End::success(status),
                None => End::of_status(status),
            });
        }
        if self.success.eq_ignore_ascii_case("true") {
            return Ok(End::success(status));
        }
        if !self.success.eq_ignore_ascii_case("false") {
            return Err(BadLine::new(line, "success is neither true nor false"));
        }
        let texts = [self.failure, self.message];
        let reason = texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        Ok(match self.code.strip_prefix(NO_ANSWER) {
            Some(error) => self.unanswered(error),
            None if status >= 400 => End::bad_status(status),
            // An assertion did not hold, or a sampler without statuses failed.
            None => End::check(status, reason),
        })
    }
}

/// The places of the columns that are read.
struct Places {
    count: usize,
    time_stamp: Option<usize>,
    elapsed: Option<usize>,
    label: Option<usize>,
    code: Option<usize>,
    message: Option<usize>,
    failure: Option<usize>,
    success: Option<usize>,
    bytes: Option<usize>,
    sent_bytes: Option<usize>,
}

impl Places {
    fn of(names: &[&str]) -> Places {
        let place = |wanted: &str| names.iter().position(|name| *name == wanted);
        Places {
            count: names.len(),
            time_stamp: place("timeStamp"),
            elapsed: place("elapsed"),
            label: place("label"),
            code: place("responseCode"),
            message: place("responseMessage"),
            failure: place("failureMessage"),
            success: place("success"),
            bytes: place("bytes"),
            sent_bytes: place("sentBytes"),
        }
    }

    fn sample<'r>(&self, record: &'r Record<'_>) -> JmeterSample<'r> {
        JmeterSample {
            time_stamp: record.field(self.time_stamp),
            elapsed: record.field(self.elapsed),
            label: record.field(self.label),
            code: record.field(self.code),
            message: record.field(self.message),
            failure: record.field(self.failure),
            success: record.field(self.success),
            bytes: record.field(self.bytes),
            sent_bytes: record.field(self.sent_bytes),
        }
    }
}

/// Reads the samples of a CSV file.
pub(super) fn read(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut records = Records::detect(text);
    let first = match records.clone().next() {
        Some(first) => first?,
        None => return Err(ResultsError::Unknown),
    };
    let names: Vec<&str> = first.fields.iter().map(|name| &**name).collect();
    let has_names = names.contains(&"elapsed");
    let places = if has_names {
        records.next();
        Places::of(&names)
    } else if names.len() == COLUMNS.len() {
        Places::of(&COLUMNS)
    } else {
        // Files of versions that did not write the URL.
        let columns: Vec<&str> = COLUMNS.into_iter().filter(|name| *name != "URL").collect();
        Places::of(&columns)
    };
    let mut builder = Builder::new(TOOL, options);
    let mut known = FileFacts::ALL;
    for record in records {
        let record = record?;
        if has_names && record.fields == first.fields {
            // JMeter appends a second run to a file that is there.
            builder.leave_out("names of columns within the file");
            continue;
        }
        if record.fields.len() < places.count {
            let problem = format!(
                "the line has {} fields, and the first one {}; complete or remove it",
                record.fields.len(),
                places.count
            );
            return Err(BadLine::new(record.line, problem).into());
        }
        places.sample(&record).add(record.line, &mut builder, &mut known)?;
    }
    known.finish(builder)
}
