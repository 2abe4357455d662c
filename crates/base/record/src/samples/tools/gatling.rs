//! The text log of Gatling 3 (`simulation.log` before 3.13): records of fields between tabs. Up to 3.3 a request has the
//! number of its user before its groups.
//!
//! ```text
//! REQUEST  groups, by commas  name  start  end  OK or KO  message        times in milliseconds since 1970
//! ```

use std::borrow::Cow;

use crate::samples::number::Unit;
use crate::samples::results::{
    BadLine, Builder, End, FoundOperation, REQUEST, ReadOptions, ResultsError, ToolResults, time_ns,
};

const TOOL: &str = "Gatling, text log";
/// The message of a status that a check did not expect, up to the status.
const FOUND_STATUS: &str = "found ";

/// Reads the requests of a log.
pub(super) fn read(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new(TOOL, options);
    for (number, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[0] {
            "REQUEST" => request(number + 1, &fields[1..], &mut builder)?,
            "" | "RUN" | "ASSERTION" => {}
            "USER" => builder.leave_out("starts and ends of users"),
            "GROUP" => builder.leave_out("groups, whose requests have their names"),
            "ERROR" => builder.leave_out("errors that are no request's"),
            _ => {
                let problem = "this is no record of Gatling's log; remove the line";
                return Err(BadLine::new(number + 1, problem).into());
            }
        }
    }
    builder.finish(true)
}

fn request(line: usize, fields: &[&str], builder: &mut Builder) -> Result<(), BadLine> {
    let is_end = |place: usize| fields.get(place).is_some_and(|end| matches!(*end, "OK" | "KO"));
    // Of both forms the older one has a field more before its end.
    let fields = match (is_end(4), is_end(5)) {
        (true, _) => fields,
        (false, true) => &fields[1..],
        (false, false) => {
            let problem = "the record of a request has no OK or KO; complete or remove the line";
            return Err(BadLine::new(line, problem));
        }
    };
    let name = match fields[0] {
        "" => Cow::Borrowed(fields[1]),
        groups => Cow::Owned(format!("{} / {}", groups.replace(',', " / "), fields[1])),
    };
    let start_ns = time_ns(line, "start", fields[2], Unit::Ms)?;
    let end_ns = time_ns(line, "end", fields[3], Unit::Ms)?;
    let time_ns = end_ns
        .checked_sub(start_ns)
        .ok_or_else(|| BadLine::new(line, "the request ends before it starts"))?;
    let message = fields.get(5).map_or("", |message| message.trim());
    let end = match fields[4] {
        "OK" => End::success(0),
        _ => failure(message),
    };
    let measure = builder.measure(line, &name, REQUEST)?;
    builder
        .push(line, &FoundOperation { measure, start_ns, time_ns, end, bytes_out: 0, bytes_in: 0 })
}

/// The end that a message stands for: a check that did not hold on an answer, or an exception.
pub(super) fn failure(message: &str) -> End<'_> {
    if let Some(check) = message.strip_prefix("status.find") {
        let found = check.rsplit_once(FOUND_STATUS).map(|(_, found)| found);
        let digits = found.map(|found| found.trim_end_matches(|c: char| !c.is_ascii_digit()));
        if let Some(Ok(status)) = digits.map(str::parse) {
            return End::bad_status(status);
        }
    }
    let is_check = message.contains(".find") || message.contains(".exists");
    match is_check {
        true => End::check(0, message),
        false => End::unanswered(message),
    }
}
