//! Values one after the other, with a separator between them, in quotes where need be.

use std::borrow::Cow;

use super::{FieldMap, meaning, stamp, status, without_port};
use crate::entry::{Entry, Meaning, request_problem};
use crate::line_problems::ProblemKind;
use crate::time::Form;

/// Name of the format.
pub(crate) const CSV: &str = "CSV";
/// Most columns.
const COLUMNS_MAX: usize = 256;
/// Longest row that is shown as names of columns when it was not said to be one.
const NAMES_BYTES_MAX: usize = 1_000;

/// The meaning of each column.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    pub(super) name: &'static str,
    pub(super) meanings: Vec<Meaning>,
    pub(super) separator: u8,
    /// Lines that begin so are remarks.
    pub(super) remark: Option<u8>,
    /// The row of names, which is no record.
    pub(super) header: Option<Vec<u8>>,
    /// Rows may have more columns than are known, as later versions of a format add some.
    pub(super) more: bool,
    /// A time that names no zone is UTC by the format's definition.
    pub(super) utc: bool,
}

impl Columns {
    pub(super) fn is_remark(&self, line: &[u8]) -> bool {
        self.remark.is_some_and(|remark| line.first() == Some(&remark))
            || self.header.as_deref() == Some(line)
    }

    pub(super) fn parse<'a>(&'a self, line: &'a [u8]) -> Result<Entry<'a>, ProblemKind> {
        let mut entry = Entry::default();
        let mut date = None;
        let mut clock = None;
        let mut request = None;
        let mut count = 0;
        // Behind the last separator there may be nothing, which is a value too.
        let line = match self.separator {
            b'\t' => line,
            _ => line.trim_ascii_end(),
        };
        for value in split(line, self.separator) {
            let value = value.ok_or(ProblemKind::Format)?;
            let Some(meaning) = self.meanings.get(count) else {
                count += 1;
                continue;
            };
            count += 1;
            if value.is_empty() || &*value == b"-" {
                entry.lacks_request |= matches!(meaning, Meaning::Request | Meaning::Target);
                continue;
            }
            match meaning {
                Meaning::Time => entry.time = Some(stamp(&value, Form::Any)?),
                Meaning::Date => date = Some(value),
                Meaning::Clock => clock = Some(value),
                Meaning::Address => entry.address = value,
                Meaning::AddressPort => entry.address = Cow::Owned(without_port(&value).to_vec()),
                Meaning::Agent => entry.agent = value,
                Meaning::User => entry.user = value,
                Meaning::Method => entry.method = value,
                Meaning::SmallMethod => entry.method = Cow::Owned(value.to_ascii_uppercase()),
                Meaning::Target => entry.target = value,
                Meaning::Query => entry.query = value,
                Meaning::Request => request = Some(value),
                Meaning::Status => entry.status = status(&value),
                Meaning::Host => entry.host = value,
                Meaning::Referer => entry.referer = value,
                Meaning::Other(name) => entry.others.push((name, value)),
                Meaning::Nothing => {}
            }
        }
        let known = self.meanings.len();
        if count < known || (count > known && !self.more) {
            return Err(ProblemKind::Format);
        }
        // The method may be in a later column.
        if let Some(request) = request {
            let problem = request_problem(&request);
            if !entry.set_request_or_target(request) {
                return Err(problem);
            }
        }
        if let Some((date, clock)) = date.zip(clock) {
            let both = [&date[..], b" ", &clock[..]].concat();
            entry.time = Some(stamp(&both, Form::Any)?);
        }
        if let Some(time) = entry.time.as_mut().filter(|_| self.utc) {
            time.offset_s = time.offset_s.or(Some(0));
        }
        Ok(entry)
    }
}

/// The values of a line; `None` for one whose quote does not end. In quotes a doubled quote, or one
/// behind a backslash, is a quote.
pub(crate) fn split(line: &[u8], separator: u8) -> impl Iterator<Item = Option<Cow<'_, [u8]>>> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        if text.first() != Some(&b'"') {
            let end = memchr::memchr(separator, text).unwrap_or(text.len());
            rest = text.get(end + 1..);
            return Some(Some(Cow::Borrowed(&text[..end])));
        }
        let mut value = Vec::new();
        let mut at = 1;
        loop {
            let Some(found) = memchr::memchr2(b'"', b'\\', &text[at..]) else {
                rest = None;
                return Some(None);
            };
            let place = at + found;
            value.extend(&text[at..place]);
            match (text[place], text.get(place + 1)) {
                (b'"' | b'\\', Some(b'"')) => {
                    value.push(b'"');
                    at = place + 2;
                }
                (b'\\', _) => {
                    value.push(b'\\');
                    at = place + 1;
                }
                (_, next) => {
                    rest = match next {
                        Some(next) if *next == separator => Some(&text[place + 2..]),
                        _ => None,
                    };
                    // Text between a closing quote and the separator is an error.
                    let sound = next.is_none_or(|next| *next == separator);
                    return Some(sound.then_some(Cow::Owned(value)));
                }
            }
        }
    })
}

/// Whether a row has more than one value, whatever parts them.
pub(super) fn has_several(row: &[u8]) -> bool {
    split(row, separator(row)).nth(1).is_some()
}

/// Whether a row reads like names rather than like data or no text at all.
pub(super) fn could_be_names(row: &[u8]) -> bool {
    let is_text = |text: &str| !text.chars().any(|c| c.is_control() && c != '\t');
    row.len() <= NAMES_BYTES_MAX && std::str::from_utf8(row).is_ok_and(is_text)
}

/// The character that separates a row's values: a comma if the row has one.
fn separator(row: &[u8]) -> u8 {
    let found = [b',', b';', b'\t'].into_iter().find(|s| row.contains(s));
    found.unwrap_or(b',')
}

/// CSV with a first row of names, given meanings by the map, or by names that are common.
///
/// # Errors
/// The columns that are missing.
pub(super) fn csv(header: &[u8], map: &FieldMap) -> Result<Columns, String> {
    let separator = separator(header);
    let names: Option<Vec<_>> = split(header, separator).collect();
    let names = names.ok_or("the first row has an unclosed quote")?;
    if names.len() > COLUMNS_MAX {
        return Err(format!("the first row has more than {COLUMNS_MAX} columns"));
    }
    let names: Vec<String> =
        names.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
    for (means, name) in map {
        if !names.contains(name) {
            return Err(format!(
                "there is no column {name:?} for the {means}; the columns are {}",
                names.join(", ")
            ));
        }
    }
    let meanings: Vec<Meaning> = names
        .iter()
        .map(|name| {
            let mapped = map.iter().find(|(_, own)| own == name);
            let means = mapped.map_or(name.as_str(), |(means, _)| means);
            meaning(means).unwrap_or_else(|| Meaning::Other(name.clone()))
        })
        .collect();
    let has = |wanted: &[Meaning]| meanings.iter().any(|m| wanted.contains(m));
    if !has(&[Meaning::Time, Meaning::Clock]) || !has(&[Meaning::Target, Meaning::Request]) {
        return Err(format!(
            "the columns are {}: name those of the time and the path with --field time=NAME --field target=NAME",
            names.join(", ")
        ));
    }
    Ok(Columns {
        name: CSV,
        meanings,
        separator,
        remark: None,
        header: Some(header.to_vec()),
        more: false,
        utc: false,
    })
}
