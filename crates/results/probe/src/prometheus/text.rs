//! The text format: Prometheus' "Exposition formats", version 0.0.4, what OpenMetrics 1.0 adds, and the names in UTF-8
//! of Prometheus 3.

use std::borrow::Cow;
use std::collections::HashMap;

/// Ending of the moment at which a counter, histogram or summary was created (OpenMetrics 1.0).
pub(super) const CREATED: &str = "_created";
/// Endings of the samples that belong to a metric of another name.
const ENDINGS: [&str; 5] = ["_total", "_sum", "_count", "_bucket", CREATED];

/// One line with a value.
#[derive(Debug, PartialEq)]
pub struct Sample<'t> {
    /// The metric.
    pub name: Cow<'t, str>,
    /// As they stand there, without the braces and without a name that stands in them.
    pub labels: &'t str,
    /// The value in the metric's unit.
    pub value: f64,
    /// Kind of the metric.
    pub kind: Kind,
}

/// Whether it may fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It may.
    Gauge,
    /// It only grows, until its process starts again.
    Counter,
}

impl Sample<'_> {
    /// The text of a label.
    pub(crate) fn label(&self, name: &str) -> Option<String> {
        let mut rest = self.labels;
        loop {
            let (key, after) = rest.trim_start_matches([',', ' ']).split_once('=')?;
            let quoted = after.trim_start().strip_prefix('"')?;
            let end = closing_quote(quoted)?;
            if key.trim() == name {
                return Some(unescaped(&quoted[..end]));
            }
            rest = &quoted[end + 1..];
        }
    }
}

/// The types that a page states, by metric.
type Types<'t> = HashMap<Cow<'t, str>, &'t str>;

/// All samples of a page; an error states the line's number, from 1, and ends them.
pub fn samples(text: &str) -> impl Iterator<Item = Result<Sample<'_>, (usize, String)>> {
    let mut types: Types<'_> = HashMap::new();
    let mut lines = text.lines().enumerate();
    std::iter::from_fn(move || {
        loop {
            let (number, line) = lines.next()?;
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                if let Some((name, kind)) = stated_type(comment) {
                    types.insert(name, kind);
                }
                continue;
            }
            if line.is_empty() {
                continue;
            }
            return Some(match sample(line, &types) {
                Some(sample) => Ok(sample),
                None => Err((number + 1, "this is not a sample".to_owned())),
            });
        }
    })
    .scan(false, |ended, sample| {
        if *ended {
            return None;
        }
        *ended = sample.is_err();
        Some(sample)
    })
}

/// The metric and its type in `TYPE name type`; `None` of any other comment.
fn stated_type(comment: &str) -> Option<(Cow<'_, str>, &str)> {
    let stated = comment.trim_start().strip_prefix("TYPE")?;
    let rest = stated.trim_start();
    if rest.len() == stated.len() {
        return None;
    }
    let (name, after) = match rest.strip_prefix('"') {
        Some(quoted) => {
            let end = closing_quote(quoted)?;
            (plain(&quoted[..end]), &quoted[end + 1..])
        }
        None => {
            let end = rest.find(char::is_whitespace)?;
            (Cow::Borrowed(&rest[..end]), &rest[end..])
        }
    };
    Some((name, after.split_ascii_whitespace().next()?))
}

/// `name{labels} value timestamp # exemplar`, or `{"name",labels} value …`.
fn sample<'t>(line: &'t str, types: &Types<'_>) -> Option<Sample<'t>> {
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (before, rest) = line.split_at(end);
    let (inside, rest) = match rest.trim_start().strip_prefix('{') {
        Some(inner) => {
            let end = closing_brace(inner)?;
            (&inner[..end], &inner[end + 1..])
        }
        None => ("", rest),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let (name, labels) = match before {
        "" => quoted_name(inside)?,
        before if before.chars().all(is_name) => (Cow::Borrowed(before), inside),
        _ => return None,
    };
    let labels = labels.trim_matches([',', ' ']);
    // Infinities and "not a number" are written as Rust reads them.
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    let kind = kind(&name, types);
    Some(Sample { name, labels, value, kind })
}

/// The name that begins the braces, and the labels behind it.
fn quoted_name(inside: &str) -> Option<(Cow<'_, str>, &str)> {
    let quoted = inside.trim_start().strip_prefix('"')?;
    let end = closing_quote(quoted).filter(|&end| end > 0)?;
    let labels = quoted[end + 1..].trim_start();
    // The name of a label may be in quotes, too.
    let is_name = labels.is_empty() || labels.starts_with(',');
    is_name.then(|| (plain(&quoted[..end]), labels))
}

fn kind(name: &str, types: &Types<'_>) -> Kind {
    let family = ENDINGS.iter().find_map(|end| name.strip_suffix(end));
    let stated = types.get(name).or_else(|| types.get(family.unwrap_or(name))).copied();
    match stated {
        // The moment belongs to its family, and does not grow.
        Some(_) if name.ends_with(CREATED) && !types.contains_key(name) => Kind::Gauge,
        Some("counter") => Kind::Counter,
        // A summary's quantiles have its own name and are no counters.
        Some("histogram" | "summary") if family.is_some() => Kind::Counter,
        None | Some("untyped" | "unknown") if name.ends_with("_total") => Kind::Counter,
        _ => Kind::Gauge,
    }
}

/// Position of the brace that ends the labels: not one inside quotes.
fn closing_brace(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = text[at..].find(['"', '}'])? + at;
        if text.as_bytes()[found] == b'}' {
            return Some(found);
        }
        at = found + 1;
        at += closing_quote(&text[at..])? + 1;
    }
}

/// Position of the quote that no backslash stands before.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    })
}

/// A text in quotes without its escapes.
fn plain(text: &str) -> Cow<'_, str> {
    match text.contains('\\') {
        true => Cow::Owned(unescaped(text)),
        false => Cow::Borrowed(text),
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => plain.push('\n'),
                Some(other) => plain.push(other),
                None => {}
            },
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(line: &str) -> Option<(String, String, f64)> {
        let sample = sample(line, &HashMap::new())?;
        Some((sample.name.into_owned(), sample.labels.to_owned(), sample.value))
    }

    #[test]
    fn lines_of_the_specification_are_read() {
        let found =
            |name: &str, labels: &str, value| Some((name.to_owned(), labels.to_owned(), value));
        for (line, expected) in [
            ("up 1", found("up", "", 1.0)),
            ("a:b{x=\"}\",} 2 99", found("a:b", "x=\"}\"", 2.0)),
            ("a{x=\"\\\"}\"} 3", found("a", "x=\"\\\"}\"", 3.0)),
            ("a 1.5e3 # {id=\"7\"} 1", found("a", "", 1500.0)),
            ("a +Inf", found("a", "", f64::INFINITY)),
            ("{\"http.server.duration\"} 1", found("http.server.duration", "", 1.0)),
            (
                "{\"a é\\\"}\", x=\"1\", \"y.z\"=\"2\",} 1",
                found("a é\"}", "x=\"1\", \"y.z\"=\"2\"", 1.0),
            ),
            ("a{\"y.z\"=\"2\"} 1", found("a", "\"y.z\"=\"2\"", 1.0)),
            ("{} 1", None),
            ("{\"\"} 1", None),
            ("{x=\"1\"} 1", None),
            ("{\"x\"=\"1\"} 1", None),
            ("{\"a\" \"b\"} 1", None),
            ("a", None),
            ("a{x=\"1\" 1", None),
            ("<html> 1", None),
            ("a b", None),
        ] {
            assert_eq!(one(line), expected, "{line}");
        }
    }

    #[test]
    fn kinds_follow_from_types_and_endings() {
        let text = "# TYPE a counter\n# TYPE h histogram\n# TYPE s summary\na 1\na_total 1\nh_sum 1\n\
                    s_count 1\ns{quantile=\"0.5\"} 1\nx_total 1\nx 1\n";
        let kinds: Vec<bool> =
            samples(text).map(|sample| sample.unwrap().kind == Kind::Counter).collect();
        assert_eq!(kinds, [true, true, true, true, false, true, false]);
    }

    #[test]
    fn the_moment_of_creation_is_no_total() {
        let text = "# TYPE a counter\n# TYPE h histogram\n# TYPE \"s.t\" summary\n# TYPE jobs_created counter\n\
                    a_created 1.7e9\nh_created 1.7e9\n{\"s.t_created\"} 1.7e9\n{\"s.t_count\"} 1\njobs_created 5\n\
                    x_created 1\n";
        let kinds: Vec<bool> =
            samples(text).map(|sample| sample.unwrap().kind == Kind::Counter).collect();
        assert_eq!(kinds, [false, false, false, true, true, false]);
    }

    #[test]
    fn types_of_quoted_names_are_read() {
        for (comment, expected) in [
            (" TYPE a counter", Some(("a", "counter"))),
            ("TYPE\ta  gauge ", Some(("a", "gauge"))),
            (" TYPE \"a b\\\\\" counter", Some(("a b\\", "counter"))),
            (" TYPES a counter", None),
            (" TYPE a", None),
            (" TYPE \"a counter", None),
            (" HELP a counter", None),
            ("", None),
        ] {
            let found = stated_type(comment);
            let found = found.as_ref().map(|(name, kind)| (&**name, *kind));
            assert_eq!(found, expected, "{comment}");
        }
    }

    #[test]
    fn the_first_invalid_line_is_an_error() {
        let found: Vec<_> = samples("a 1\n\n<html>\nb 2\n").collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], Err((3, "this is not a sample".to_owned())));
    }

    proptest! {
        #[test]
        fn no_page_panics(text in "\\PC*", line in "[a#{}\",\\\\= \n0-9é]*", word in "[\"\\\\{a é]*") {
            let comment = format!("# TYPE {word} counter\n{{{word}}} 1\n");
            for page in [text, line, comment] {
                for sample in samples(&page).flatten() {
                    sample.label("a");
                }
            }
        }
    }
}
