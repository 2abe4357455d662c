//! Parts of a line that identify users and segments.

use std::borrow::Cow;
use std::str::FromStr;

use regex::bytes::Regex;

use crate::entry::Entry;

/// Most parts joined.
const PARTS_MAX: usize = 8;
/// Between parts that are joined: stands in none of them, and is shown as a blank.
pub(crate) const JOINED: char = '\0';

/// The source of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Address,
    Agent,
    User,
    Method,
    Path,
    Target,
    Host,
    Referer,
    Status,
    Query(String),
    Cookie(String),
    Header(String),
    Field(String),
}

/// One or more parts of a line, as `address+agent`, `query:user_id` or `path=^/shop/([^/]+)`.
///
/// With a regular expression only what its first group matches counts, or all that it matches; parts that are joined
/// have a blank between them there.
#[derive(Debug, Clone)]
pub struct LinePart {
    text: String,
    sources: Vec<Source>,
    pattern: Option<Regex>,
}

impl PartialEq for LinePart {
    fn eq(&self, other: &LinePart) -> bool {
        self.text == other.text
    }
}

impl std::fmt::Display for LinePart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for LinePart {
    type Err = String;

    fn from_str(text: &str) -> Result<LinePart, String> {
        let (sources, pattern) = match text.split_once('=') {
            Some((sources, pattern)) => (sources, Some(pattern)),
            None => (text, None),
        };
        let sources: Vec<Source> = sources.split('+').map(source).collect::<Result<_, _>>()?;
        if sources.len() > PARTS_MAX {
            return Err(format!("at most {PARTS_MAX} parts can be joined"));
        }
        let pattern = pattern.map(Regex::new).transpose();
        Ok(LinePart {
            text: text.to_owned(),
            sources,
            pattern: pattern.map_err(|error| error.to_string())?,
        })
    }
}

fn source(text: &str) -> Result<Source, String> {
    let (kind, name) = text.split_once(':').unwrap_or((text, ""));
    let named = |make: fn(String) -> Source| match name {
        "" => Err(format!("`{kind}` needs a name, as in {kind}:NAME")),
        name => Ok(make(name.to_owned())),
    };
    match kind {
        "address" => Ok(Source::Address),
        "agent" => Ok(Source::Agent),
        "user" => Ok(Source::User),
        "method" => Ok(Source::Method),
        "path" => Ok(Source::Path),
        "target" => Ok(Source::Target),
        "host" => Ok(Source::Host),
        "referer" => Ok(Source::Referer),
        "status" => Ok(Source::Status),
        "query" => named(Source::Query),
        "cookie" => named(Source::Cookie),
        "header" => named(Source::Header),
        "field" => named(Source::Field),
        _ => Err(format!(
            "`{text}` is not a part of a line; the parts are address, agent, user, method, path, target, \
             host, referer, status, query:NAME, cookie:NAME, header:NAME and field:NAME"
        )),
    }
}

impl LinePart {
    /// The text of this part of a line; `None` where one is missing, or does not match.
    pub(crate) fn text_of<'e>(&self, entry: &'e Entry<'_>) -> Option<Cow<'e, [u8]>> {
        let whole = match &self.sources[..] {
            [only] => one(only, entry)?,
            several => {
                let between = match self.pattern {
                    Some(_) => b' ',
                    None => JOINED as u8,
                };
                let mut joined = Vec::new();
                for (number, source) in several.iter().enumerate() {
                    if number > 0 {
                        joined.push(between);
                    }
                    joined.extend_from_slice(&one(source, entry)?);
                }
                Cow::Owned(joined)
            }
        };
        let Some(pattern) = &self.pattern else {
            return Some(whole);
        };
        let found = pattern.captures(&whole)?;
        let matched = found.get(1).or_else(|| found.get(0))?.range();
        Some(match whole {
            Cow::Borrowed(text) => Cow::Borrowed(&text[matched]),
            Cow::Owned(text) => Cow::Owned(text[matched].to_vec()),
        })
    }
}

fn one<'e>(source: &Source, entry: &'e Entry<'_>) -> Option<Cow<'e, [u8]>> {
    let text: &[u8] = match source {
        Source::Address => &entry.address,
        // A line without an agent is one whose agent is empty: many programs send none.
        Source::Agent => return Some(Cow::Borrowed(&entry.agent)),
        Source::User => &entry.user,
        Source::Method => &entry.method,
        Source::Path => entry.path(),
        Source::Target => &entry.target,
        Source::Host => &entry.host,
        Source::Referer => &entry.referer,
        Source::Status => return Some(Cow::Owned(entry.status.to_string().into_bytes())),
        Source::Query(name) => pair(entry.query(), b'&', name)?,
        Source::Cookie(name) => cookie(entry, name)?,
        Source::Header(name) => header(entry, name)?,
        Source::Field(name) => entry.other(name)?,
    };
    (!text.is_empty() && text != b"-").then_some(Cow::Borrowed(text))
}

/// The value of `name=value` among those that stand between separators.
fn pair<'a>(text: &'a [u8], separator: u8, name: &str) -> Option<&'a [u8]> {
    text.split(|&b| b == separator).find_map(|pair| {
        let pair = pair.trim_ascii_start();
        pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
    })
}

/// A cookie: logged by itself (`cookie_sid`), or among all of them.
fn cookie<'e>(entry: &'e Entry<'_>, name: &str) -> Option<&'e [u8]> {
    let own = entry.other(&format!("cookie_{name}"));
    own.or_else(|| {
        let all = ["http_cookie", "cookie", "cookies", "cs(Cookie)"];
        let all = all.iter().find_map(|all| entry.other(all))?;
        pair(all, b';', name)
    })
}

/// A header of the request, by the names that servers log it under.
fn header<'e>(entry: &'e Entry<'_>, name: &str) -> Option<&'e [u8]> {
    let snake = name.to_ascii_lowercase().replace('-', "_");
    let names = [
        name.to_owned(),
        format!("http_{snake}"),
        snake,
        format!("cs({name})"),
        format!("request.{name}"),
        format!("request_{name}"),
        format!("headers.{name}"),
        format!("request.headers.{name}"),
    ];
    let found = names.iter().find_map(|name| entry.other(name));
    // Some have a place of their own.
    let known = || match &*names[2] {
        "user_agent" => Some(&*entry.agent),
        "referer" => Some(&*entry.referer),
        "host" => Some(&*entry.host),
        _ => None,
    };
    found.or_else(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(part: &str, entry: &Entry<'_>) -> Option<String> {
        let part: LinePart = part.parse().unwrap();
        part.text_of(entry).map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn parts_are_found_where_servers_log_them() {
        let entry = Entry {
            address: Cow::Borrowed(b"::1"),
            target: Cow::Borrowed(b"/publishers/k1/api/?user_id=u7&x=1"),
            others: vec![
                ("http_cookie", Cow::Borrowed(b"a=1; sid=abc")),
                ("http_x_user", Cow::Borrowed(b"9")),
            ],
            ..Entry::default()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(text("query:user_id", &entry), some("u7"));
        assert_eq!(text("cookie:sid", &entry), some("abc"));
        assert_eq!(text("header:X-User", &entry), some("9"));
        assert_eq!(text("path=^/publishers/([^/]+)/", &entry), some("k1"));
        assert_eq!(text("address+agent", &entry), some("::1\0"));
        assert_eq!(text("address+path", &entry), some("::1\0/publishers/k1/api/"));
        assert_eq!(text("address+path=/api/$", &entry), some("/api/"));
        assert_eq!(text("address+path=^::1 (/[a-z]+)", &entry), some("/publishers"));
        assert_eq!(text("query:none", &entry), None);
        assert_eq!(text("user", &entry), None);
        assert_eq!(text("path=^/offers/([^/]+)/", &entry), None);
    }

    #[test]
    fn unknown_parts_are_errors() {
        for bad in ["", "adress", "query", "query:", "path=(", "address+"] {
            assert!(bad.parse::<LinePart>().is_err(), "{bad}");
        }
    }
}
