//! Records of a CSV file (RFC 4180): fields in quotes may hold separators, quotes and line ends.

use std::borrow::Cow;

/// Most bytes of a field in quotes: what a quote that is never closed would take.
const QUOTED_BYTES_MAX: usize = 1 << 20;
/// Most fields of a record.
const FIELDS_MAX: usize = 1_000;

const UNCLOSED: &str =
    "a quote is not closed within 1 MiB; a quote inside of a field in quotes is written twice";

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record<'t> {
    /// The line that it begins in, from 1.
    pub(super) line: usize,
    /// The fields, without blanks around them.
    pub(super) fields: Vec<Cow<'t, str>>,
}

impl Record<'_> {
    /// The field at this place; empty where the record has none.
    pub(super) fn field(&self, place: Option<usize>) -> &str {
        place.and_then(|place| self.fields.get(place)).map_or("", |field| &**field)
    }
}

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadRecord {
    /// The line that it begins in, from 1.
    pub(super) line: usize,
    /// The fault, and how to fix it.
    pub(super) problem: &'static str,
}

/// The records of a text, in order. Nothing follows a bad one.
#[derive(Debug, Clone)]
pub(super) struct Records<'t> {
    rest: &'t str,
    line: usize,
    separator: char,
}

/// A field, and the text behind it.
struct Field<'t> {
    text: Cow<'t, str>,
    rest: &'t str,
}

impl<'t> Records<'t> {
    /// The records of `text`, whose first line is number 1.
    pub(super) fn new(text: &'t str, separator: char) -> Records<'t> {
        Records { rest: text, line: 1, separator }
    }

    /// The records of `text` by the separator that its first record has most of: a comma, semicolon or tab, in doubt a
    /// comma.
    pub(super) fn detect(text: &'t str) -> Records<'t> {
        let count = |separator: char| {
            let first = Records::new(text, separator).next();
            first.and_then(Result::ok).map_or(0, |record| record.fields.len())
        };
        let most = [',', ';', '\t'].map(|separator| (count(separator), separator));
        // Of several the first, so that a line without any has commas.
        let best = most.into_iter().rev().max_by_key(|(count, _)| *count);
        Records::new(text, best.map_or(',', |(_, separator)| separator))
    }

    fn field(&self, rest: &'t str) -> Result<Field<'t>, &'static str> {
        let trimmed = rest.trim_start_matches(' ');
        let Some(quoted) = trimmed.strip_prefix('"') else {
            let end = rest.find([self.separator, '\n']).unwrap_or(rest.len());
            return Ok(Field { text: Cow::Borrowed(rest[..end].trim()), rest: &rest[end..] });
        };
        let mut at = 0;
        let mut has_quotes = false;
        let end = loop {
            let found = quoted[at..].find('"').ok_or(UNCLOSED)? + at;
            if found > QUOTED_BYTES_MAX {
                return Err(UNCLOSED);
            }
            if !quoted[found + 1..].starts_with('"') {
                break found;
            }
            has_quotes = true;
            at = found + 2;
        };
        let text = &quoted[..end];
        let rest = quoted[end + 1..].trim_start_matches(' ');
        let is_end = rest.is_empty()
            || rest == "\r"
            || rest.starts_with([self.separator, '\n'])
            || rest.starts_with("\r\n");
        match is_end {
            false => Err("text follows a closing quote; write the complete field in quotes"),
            true if has_quotes => Ok(Field { text: Cow::Owned(text.replace("\"\"", "\"")), rest }),
            true => Ok(Field { text: Cow::Borrowed(text), rest }),
        }
    }

    fn record(&mut self) -> Result<Record<'t>, &'static str> {
        let line = self.line;
        let mut fields = Vec::new();
        let mut rest = self.rest;
        loop {
            if fields.len() == FIELDS_MAX {
                return Err("the line has more than 1,000 fields");
            }
            let field = self.field(rest)?;
            fields.push(field.text);
            match field.rest.strip_prefix(self.separator) {
                Some(next) => rest = next,
                None => {
                    rest = field.rest;
                    break;
                }
            }
        }
        let rest = rest.strip_prefix('\r').unwrap_or(rest);
        let rest = rest.strip_prefix('\n').unwrap_or(rest);
        let read = &self.rest[..self.rest.len() - rest.len()];
        self.line += read.bytes().filter(|&byte| byte == b'\n').count();
        self.rest = rest;
        Ok(Record { line, fields })
    }
}

impl<'t> Iterator for Records<'t> {
    type Item = Result<Record<'t>, BadRecord>;

    fn next(&mut self) -> Option<Result<Record<'t>, BadRecord>> {
        if self.rest.is_empty() {
            return None;
        }
        let line = self.line;
        Some(self.record().map_err(|problem| {
            self.rest = "";
            BadRecord { line, problem }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, Vec<String>)> {
        let records = Records::detect(text).map(Result::unwrap);
        records
            .map(|record| {
                let fields = record.fields.into_iter().map(Cow::into_owned);
                (record.line, fields.collect())
            })
            .collect()
    }

    #[test]
    fn quotes_hold_separators_quotes_and_line_ends() {
        let text = "\"a \"\"b\"\", c\" , d ,,\"\"\r\n\"one\r\ntwo\",x\n\nlast,\"\"\"\"";
        let expected = [
            (1, vec!["a \"b\", c", "d", "", ""]),
            (2, vec!["one\r\ntwo", "x"]),
            (4, vec![""]),
            (5, vec!["last", "\""]),
        ];
        let found = read(text);
        assert_eq!(found.len(), expected.len());
        for ((line, fields), (line_expected, expected)) in found.iter().zip(&expected) {
            assert_eq!((line, fields.as_slice()), (line_expected, &owned(expected)[..]));
        }
    }

    fn owned(fields: &[&str]) -> Vec<String> {
        fields.iter().map(|&field| field.to_owned()).collect()
    }

    #[test]
    fn bad_records_have_the_line_that_they_begin_in_and_end_the_rest() {
        let many = ",".repeat(FIELDS_MAX);
        let long = format!("a\n\"{}\"", "x".repeat(QUOTED_BYTES_MAX + 1));
        for (text, line, problem) in [
            ("a\n\"b\nc\nd", 2, "a quote is not closed"),
            ("a,\"b\" c\nd", 1, "text follows"),
            (many.as_str(), 1, "the line has more"),
            (long.as_str(), 2, "a quote is not closed"),
        ] {
            let found: Vec<_> = Records::new(text, ',').collect();
            let last = found.last().unwrap().as_ref().unwrap_err();
            assert_eq!((last.line, found.len()), (line, line), "{problem}");
            assert!(last.problem.starts_with(problem), "{last:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_text_ends(text in "[a,;\t\"\r\n é]{0,80}") {
            for records in [Records::detect(&text), Records::new(&text, '\t')] {
                let count = records.count();
                proptest::prop_assert!(count <= text.len());
            }
        }
    }
}
