//! Formats of logs, one file each, and which of them a log has.

mod alb;
mod client;
mod columns;
mod envoy;
mod haproxy;
mod json;
mod template;
mod tsung;
mod w3c;

use crate::entry::{Entry, Meaning};
use crate::input::without_end;
use crate::line_problems::ProblemKind;
use crate::time::{self, Form, TimeFault};

pub(crate) use columns::{CSV, Columns};
pub(crate) use json::NAME as JSON;
pub(crate) use template::Template;

/// The format name of a recorded run.
pub(crate) const RUN: &str = "requests.parquet";
/// Lines looked at to detect the format.
const SNIFFED_LINES: usize = 50;

/// A format, ready to take lines apart.
#[derive(Debug, Clone)]
pub(crate) enum Format {
    /// Combined, common, Envoy's, and whatever `log_format` says.
    Template(Template),
    /// HAProxy's, whose fields are not all in one order.
    Haproxy,
    /// An object a line.
    Json(json::Names),
    /// Values in columns: W3C extended, CloudFront, ALB, CSV, Tsung's dump.
    Columns(Columns),
}

/// The requested format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FormatSpec {
    /// Detected from the first lines.
    #[default]
    Detect,
    /// Apache's and nginx's combined, or common, with anything behind it.
    Combined,
    /// As nginx's `log_format` writes it.
    Template(String),
    /// JSON lines.
    Json,
    /// CSV with a first row of names.
    Csv,
    /// W3C extended, as of IIS and CloudFront.
    W3c,
    /// AWS application load balancer.
    Alb,
    /// HAProxy's `option httplog`.
    Haproxy,
    /// Envoy's default, and Istio's.
    Envoy,
    /// Tsung's `dumptraffic="protocol"`.
    Tsung,
}

/// A name of the log's own, and what it means.
pub(crate) type FieldMap = [(String, String)];

/// Meanings of fields in a field map.
pub const MEANINGS: &[&str] = &[
    "time", "date", "clock", "address", "agent", "user", "method", "target", "query", "request",
    "status", "host", "referer",
];

/// The meaning of this name of a field map.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    Some(match name {
        "time" => Meaning::Time,
        "date" => Meaning::Date,
        "clock" => Meaning::Clock,
        "address" => Meaning::Address,
        "agent" => Meaning::Agent,
        "user" => Meaning::User,
        "method" => Meaning::Method,
        "target" => Meaning::Target,
        "query" => Meaning::Query,
        "request" => Meaning::Request,
        "status" => Meaning::Status,
        "host" => Meaning::Host,
        "referer" => Meaning::Referer,
        _ => return None,
    })
}

/// The requested format, or the one that the first lines have. The error says what is wrong.
pub(crate) fn choose(spec: &FormatSpec, head: &[u8], map: &FieldMap) -> Result<Format, String> {
    for (place, (means, name)) in map.iter().enumerate() {
        if let Some((_, other)) = map[..place].iter().find(|(other, _)| other == means) {
            return Err(format!("--field gives the {means} two names, {other:?} and {name:?}"));
        }
    }
    match spec {
        FormatSpec::Detect => detect(head, map),
        FormatSpec::Combined => Ok(Format::Template(Template::combined())),
        FormatSpec::Template(text) => Template::new(text).map(Format::Template),
        FormatSpec::Json => Ok(Format::Json(json::Names::new(map)?)),
        FormatSpec::Csv => columns::csv(first_line(head), map).map(Format::Columns),
        FormatSpec::W3c => Ok(Format::Columns(w3c::columns(first_line(head)))),
        FormatSpec::Alb => Ok(Format::Columns(alb::columns())),
        FormatSpec::Haproxy => Ok(Format::Haproxy),
        FormatSpec::Envoy => Ok(Format::Template(envoy::template(sniffed(head)))),
        FormatSpec::Tsung => Ok(Format::Columns(tsung::columns(first_line(head)))),
    }
}

fn first_line(head: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    without_end(&head[..end])
}

/// The first lines that are not blank.
fn sniffed(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|&b| b == b'\n').map(without_end);
    lines.filter(|line| !line.trim_ascii().is_empty()).take(SNIFFED_LINES)
}

fn detect(head: &[u8], map: &FieldMap) -> Result<Format, String> {
    let first = first_line(head);
    if w3c::is_directive(first) {
        return Ok(Format::Columns(w3c::columns(first)));
    }
    if tsung::is_header(first) {
        return Ok(Format::Columns(tsung::columns(first)));
    }
    // The first line may be a bad one: the format that most of the first lines have counts.
    let most = |count: usize| count * 2 > sniffed(head).count();
    let like = |f: fn(&[u8]) -> bool| sniffed(head).filter(|line| f(line)).count();
    if most(like(json::looks)) {
        return Ok(Format::Json(json::Names::new(map)?));
    }
    if most(like(alb::looks)) {
        return Ok(Format::Columns(alb::columns()));
    }
    if most(like(envoy::looks)) {
        return Ok(Format::Template(envoy::template(sniffed(head))));
    }
    if most(like(haproxy::looks)) {
        return Ok(Format::Haproxy);
    }
    if most(like(Template::looks_combined)) {
        return Ok(Format::Template(Template::combined()));
    }
    let unknown = "unknown format".to_owned();
    if !columns::has_several(first) {
        return Err(unknown);
    }
    columns::csv(first, map).map(Format::Columns).map_err(|why| {
        match columns::could_be_names(first) {
            true => format!("{unknown}; as a CSV table: {why}"),
            false => unknown,
        }
    })
}

impl Format {
    /// Name of the format for people.
    pub(crate) fn name(&self) -> String {
        match self {
            Format::Template(template) => template.name(),
            Format::Haproxy => haproxy::NAME.to_owned(),
            Format::Json(_) => json::NAME.to_owned(),
            Format::Columns(columns) => columns.name.to_owned(),
        }
    }

    /// Lines that are no records: directives, comments, the row of names.
    pub(crate) fn is_remark(&self, line: &[u8]) -> bool {
        match self {
            Format::Columns(columns) => columns.is_remark(line),
            Format::Template(_) | Format::Haproxy | Format::Json(_) => false,
        }
    }

    /// Another order of columns, where this line says so.
    pub(crate) fn redirected(&self, line: &[u8]) -> Option<Format> {
        match self {
            Format::Columns(columns) if columns.name == w3c::NAME => {
                w3c::fields(line).map(Format::Columns)
            }
            _ => None,
        }
    }

    /// Whether lines can say what the columns are from then on.
    pub(crate) fn has_directives(&self) -> bool {
        matches!(self, Format::Columns(columns) if columns.name == w3c::NAME)
    }

    /// Whether each line brings names of its own.
    pub(crate) fn brings_names(&self) -> bool {
        matches!(self, Format::Json(_))
    }

    /// The names of the fields in the first of these lines.
    pub(crate) fn names(&self, head: &[u8]) -> Vec<String> {
        match self {
            Format::Json(_) => {
                let lines = head.split(|&b| b == b'\n').take(SNIFFED_LINES);
                lines.flat_map(json::names).collect()
            }
            Format::Template(_) | Format::Haproxy | Format::Columns(_) => Vec::new(),
        }
    }

    /// Takes a line apart.
    pub(crate) fn parse<'a>(&'a self, line: &'a [u8]) -> Result<Entry<'a>, ProblemKind> {
        let parsed = match self {
            Format::Template(template) => template.parse(line),
            Format::Haproxy => haproxy::parse(line),
            Format::Json(names) => names.parse(line),
            Format::Columns(columns) => columns.parse(line),
        };
        let is_other = |line: &[u8]| match self {
            Format::Json(_) => Template::looks_combined(line) || alb::looks(line),
            Format::Template(_) => json::looks(line) || alb::looks(line),
            Format::Haproxy | Format::Columns(_) => {
                json::looks(line) || Template::looks_combined(line)
            }
        };
        parsed.map_err(|kind| match kind {
            ProblemKind::Format if is_other(line) => ProblemKind::OtherFormat,
            kind => kind,
        })
    }
}

/// The default key of a format, by its name.
pub(crate) fn key(format: &str) -> &'static str {
    match format {
        // Tsung knows its users by two numbers of its own.
        tsung::NAME => "field:pid+field:id",
        RUN => "user",
        _ => "address+agent",
    }
}

/// Reads a time; the fault as a kind of line.
pub(crate) fn stamp(text: &[u8], form: Form) -> Result<time::Stamp, ProblemKind> {
    time::read(text, form).map_err(|fault| match fault {
        TimeFault::NoYear => ProblemKind::NoYear,
        TimeFault::OutOfRange | TimeFault::Unknown => ProblemKind::NotATime,
    })
}

/// A status; 0 where it is none.
pub(crate) fn status(text: &[u8]) -> u16 {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.parse().unwrap_or(0)
}

/// The address in `192.0.2.1:4711` or `[2001:db8::1]:4711`.
pub(crate) fn without_port(text: &[u8]) -> &[u8] {
    match text {
        [b'[', rest @ ..] => &rest[..memchr::memchr(b']', rest).unwrap_or(rest.len())],
        _ => match memchr::memrchr(b':', text) {
            // More than one colon without brackets is an address of IPv6 without a port.
            Some(at) if memchr::memchr(b':', &text[..at]).is_none() => &text[..at],
            _ => text,
        },
    }
}

#[cfg(test)]
mod tests;
