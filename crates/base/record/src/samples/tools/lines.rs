//! Files with a line for each request and its status: those of hey, oha, h2load and Tsung. None of them says which requests
//! failed: a status beyond 200 to 399 is a failure.

use crate::samples::number::Unit;
use crate::samples::records::{Record, Records};
use crate::samples::results::{
    BadLine, Builder, ENDS, End, FoundOperation, REQUEST, ReadOptions, ResultsError, ToolResults,
    number_or_zero, time_ns, without_query,
};

/// The sentence for files that list answers only.
const NO_ERRORS: &str = "requests without an answer, which the file does not list";

/// The names of the columns of a table of seconds.
struct Columns {
    tool: &'static str,
    time: &'static str,
    start: &'static str,
    status: &'static str,
    bytes_in: &'static str,
}

/// Reads `hey -o csv`.
pub(super) fn read_hey(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let columns = Columns {
        tool: "hey, CSV",
        time: "response-time",
        start: "offset",
        status: "status-code",
        bytes_in: "",
    };
    columns.read(text, options)
}

/// Reads `oha --output-format csv`.
pub(super) fn read_oha(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let columns = Columns {
        tool: "oha, CSV",
        time: "request-duration",
        start: "request-start",
        status: "status",
        bytes_in: "bytes",
    };
    columns.read(text, options)
}

impl Columns {
    fn read(&self, text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
        let is_blank = |record: &Record<'_>| record.fields == [""];
        let mut records =
            Records::new(text, ',').skip_while(|record| record.as_ref().is_ok_and(is_blank));
        let names = match records.next() {
            Some(names) => names?,
            None => return Err(ResultsError::Unknown),
        };
        let place = |wanted: &str| names.fields.iter().position(|name| name == wanted);
        let time = place(self.time);
        let start = place(self.start);
        let status = place(self.status);
        let bytes_in = place(self.bytes_in);
        let mut builder = Builder::new(self.tool, options);
        for record in records {
            let record = record?;
            let line = record.line;
            let end = match status {
                None => End::success(0),
                Some(_) => End::of_status(status_of(line, record.field(status))?),
            };
            let start_ns = match start {
                None => 0,
                Some(_) => time_ns(line, self.start, record.field(start), Unit::S)?,
            };
            let found = FoundOperation {
                measure: builder.measure(line, REQUEST, REQUEST)?,
                start_ns,
                time_ns: time_ns(line, self.time, record.field(time), Unit::S)?,
                end,
                bytes_out: 0,
                bytes_in: number_or_zero(record.field(bytes_in)),
            };
            builder.push(line, &found)?;
        }
        if status.is_none() {
            builder.lacks(ENDS);
        }
        builder.lacks(NO_ERRORS);
        builder.finish(start.is_some())
    }
}

fn status_of(line: usize, text: &str) -> Result<u16, BadLine> {
    let whole = text.split([' ', '.']).next().unwrap_or(text);
    whole.parse().map_err(|_| BadLine::new(line, "the status is no number"))
}

/// Reads `h2load --log-file`: start in microseconds since 1970, status or -1 for a failed stream, and microseconds to
/// the end of the response (h2load(1)).
pub(super) fn read_h2load(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new("h2load, log", options);
    for (number, text) in text.lines().enumerate() {
        let line = number + 1;
        let fields: Vec<&str> = text.split('\t').map(str::trim).collect();
        if fields.len() < 3 {
            let problem = "the line has less than h2load's 3 fields; complete or remove it";
            return Err(BadLine::new(line, problem).into());
        }
        let end = match fields[1] {
            "-1" => End::unanswered("failed stream"),
            status => End::of_status(status_of(line, status)?),
        };
        let found = FoundOperation {
            measure: builder.measure(line, REQUEST, REQUEST)?,
            start_ns: time_ns(line, "the first field", fields[0], Unit::Us)?,
            time_ns: time_ns(line, "the third field", fields[2], Unit::Us)?,
            end,
            bytes_out: 0,
            bytes_in: 0,
        };
        builder.push(line, &found)?;
    }
    builder.finish(true)
}

/// The columns of Tsung's log before and behind a URL, which may hold the separator.
const TSUNG_BEFORE: usize = 5;
const TSUNG_BEHIND: usize = 7;

/// Reads what Tsung writes with `dumptraffic="protocol"` (`tsung.dump`): the end in seconds since 1970, process, user,
/// method, host, URL, status, bytes, milliseconds, transaction, match, error and tag.
pub(super) fn read_tsung(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new("Tsung, log", options);
    for (number, text) in text.lines().enumerate() {
        let line = number + 1;
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = text.split(';').collect();
        if fields.len() <= TSUNG_BEFORE + TSUNG_BEHIND {
            let problem = "the line has fewer than Tsung's 13 fields; complete or remove it";
            return Err(BadLine::new(line, problem).into());
        }
        let (before, rest) = fields.split_at(TSUNG_BEFORE);
        let (url, behind) = rest.split_at(rest.len() - TSUNG_BEHIND);
        let duration_ns = time_ns(line, "duration", behind[2], Unit::Ms)?;
        let end_ns = time_ns(line, "date", before[0], Unit::S)?;
        let start_ns = end_ns
            .checked_sub(duration_ns)
            .ok_or_else(|| BadLine::new(line, "the duration is longer than the time since 1970"))?;
        let end = match (behind[0].parse(), behind[5]) {
            (Ok(status), "") => End::of_status(status),
            (Ok(status), error) => End::check(status, error),
            (Err(_), _) => End::unanswered(behind[0]),
        };
        let url = url.join(";");
        let name = format!("{} {}", before[3].to_ascii_uppercase(), without_query(&url));
        let found = FoundOperation {
            measure: builder.measure(line, &name, REQUEST)?,
            start_ns,
            time_ns: duration_ns,
            end,
            bytes_out: 0,
            bytes_in: number_or_zero(behind[1]),
        };
        builder.push(line, &found)?;
    }
    builder.lacks(NO_ERRORS);
    builder.finish(true)
}
